"""Lexicon: facts about single English words, loaded once from `en/lexicon.toml`.

Comments in the file explain each list. The constants here are in the order of the file. The lexer, amounts and the
tokenizer read lists that only they need from `LEXICON` themselves.
"""

import re
from collections.abc import Sequence

from recollect.text.data_files import load_data_file

LEXICON = load_data_file("recollect.text", "en/lexicon.toml")


def word_set(text: str) -> frozenset[str]:
    """Split a table of words into a set; an underscore stands for a blank."""
    return frozenset(word.replace("_", " ") for word in text.split())


def _entries(key: str) -> frozenset[str]:
    return word_set(LEXICON.text(key))


INDEFINITE_ARTICLES = _entries("grammar.indefinite_articles")
ARTICLES = INDEFINITE_ARTICLES | _entries("grammar.definite_articles")
RATE_WORDS = INDEFINITE_ARTICLES | _entries("grammar.rate_prepositions")
"""Words between an amount and its period: 50 euros an hour."""

VERB_ENDINGS = LEXICON.words("grammar.verb_endings")
"""Endings of verb forms that other words seldom have."""

AUXILIARIES = _entries("grammar.auxiliaries")
VERB_FORMS = LEXICON.mapping("grammar.irregular_verbs") | {
    f"{verb}s": verb for verb in LEXICON.words("grammar.regular_verbs")
}
REPORTING_VERBS = _entries("grammar.reporting_verbs")
FUNCTION_WORDS = _entries("grammar.function_words")
FUNCTION_WORDS_AS_TITLES = _entries("grammar.function_words_as_titles")
ES_ENDINGS = LEXICON.words("grammar.es_endings")
"""Endings that take "es" in the plural and the third person."""

SINGULAR_ENDINGS = LEXICON.words("grammar.singular_endings")
"""Endings in "s" that are not plurals."""

NAME_HOMOGRAPHS = _entries("case.name_homographs")
ACRONYM_HOMOGRAPHS = _entries("case.acronym_homographs")
CASE_SENSITIVE_NOUNS = _entries("case.case_sensitive_nouns")

MONTHS = LEXICON.words("time.months")
SHORT_MONTHS = LEXICON.words("time.short_months")
VERB_MONTHS = frozenset(LEXICON.words("time.verb_months"))
"""Months that are also verbs, unless they have a capital."""

MONTH_WORDS = frozenset({*MONTHS, *SHORT_MONTHS}) - {"may"}
"""Names and short names, but "may", which is more often a verb."""

WEEKDAYS = LEXICON.words("time.weekdays")
SHORT_WEEKDAYS = LEXICON.mapping("time.short_weekdays")
WEEKDAY_WORDS = frozenset(WEEKDAYS)
RECURRING_TIMES = frozenset({*(f"{day}s" for day in WEEKDAYS), *LEXICON.words("time.recurring")})
CLOCK_WORDS = LEXICON.mapping("time.clock")

MULTIPLIERS = {word: int(value) for word, value in LEXICON.mapping("numbers.multipliers").items()}
ORDINAL_SUFFIXES = LEXICON.words("numbers.ordinal_suffixes")

UNITS = {
    spelling.strip(): symbol
    for symbol, spellings in LEXICON.mapping("units.spellings").items()
    for spelling in spellings.split("|")
}
"""The symbol of each unit by the ways to write it after a number."""

CURRENCY_SYMBOLS = LEXICON.mapping("currencies.symbols")

DOUBTFUL_WORDS = _entries("claims.doubtful")
POINTER_WORDS = _entries("claims.pointers")
NEVER_NAME_STARTS = POINTER_WORDS | _entries("claims.never_name_starts")
UNIQUE_RELATIONS = _entries("claims.unique_relations")
UNIQUE_POSSESSIONS = UNIQUE_RELATIONS | _entries("claims.unique_possessions")
REPEATABLE_RELATIONS = _entries("claims.repeatable_relations")
EVENT_NOUNS = _entries("claims.events")
TIMETABLED_NOUNS = _entries("claims.timetabled")
CONTEXT_NOUNS = _entries("claims.context_nouns")
BINDING_PREPOSITIONS = _entries("claims.binding_prepositions")
UNIQUE_ADJECTIVES = _entries("claims.unique_adjectives")
STATE_WORDS = _entries("claims.states")
JOB_GRADES = _entries("claims.job_grades")
JOB_TITLES = _entries("claims.job_titles")

_GIVEN_NAMES = _entries("people.titles") | _entries("people.given_names")

COUNTRIES = _entries("places.countries")
REGIONS = _entries("places.regions")
CITY_DISTRICTS = _entries("places.districts")
CITIES = _entries("places.cities")

AMERICAN_SPELLINGS = LEXICON.mapping("american")
CONTRACTIONS = {
    **{f"{verb}nt": f"{verb} not" for verb in LEXICON.words("contractions.without_apostrophe")},
    **LEXICON.mapping("contractions.words"),
}
CONTRACTION_ENDINGS = LEXICON.mapping("contractions.endings")


def is_person_name(words: Sequence[str]) -> bool:
    """Return whether the name is a person's, judged by its first word."""
    return words[0].lower().rstrip(".,") in _GIVEN_NAMES


def place_suffix(words: str) -> str:
    """Return the kind of a place that is not a town, in brackets; empty for everything else."""
    lowered = words.lower()
    if lowered in COUNTRIES:
        return " (country)"
    if lowered in REGIONS:
        return " (region)"
    return " (quarter)" if lowered in CITY_DISTRICTS else ""


def is_place(words: str) -> bool:
    """Return whether the words name a known place, such as "Porto" or "Porto, Portugal"."""
    town, _, region = (part.strip() for part in words.lower().partition(","))
    return (town in CITIES and (not region or place_suffix(region) != "")) or (not region and place_suffix(town) != "")


def to_american(word: str) -> str:
    """Return the word in American spelling."""
    if word in AMERICAN_SPELLINGS:
        return AMERICAN_SPELLINGS[word]
    if len(word) > _MAX_UNCHANGED_CHARS and ("is" in word or "ys" in word) and (match := _ISE_WORD.fullmatch(word)):
        return f"{match[1]}{match[2].replace('s', 'z', 1)}"
    return word


_MAX_UNCHANGED_CHARS = 5
_ISE_WORD = re.compile(LEXICON.text("spelling.ise_word"))
