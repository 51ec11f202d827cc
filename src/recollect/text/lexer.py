"""Lexer: splits a text into sentences of tokens, from which canonical forms are made.

The patterns here are notation: numbers, dates, clock times, code. Words come from the lexicon.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple

from recollect.text.lexicon import (
    ACRONYM_HOMOGRAPHS,
    AMERICAN_SPELLINGS,
    AUXILIARIES,
    CASE_SENSITIVE_NOUNS,
    CLOCK_WORDS,
    CONTRACTION_ENDINGS,
    CONTRACTIONS,
    CURRENCY_SYMBOLS,
    ES_ENDINGS,
    FUNCTION_WORDS,
    FUNCTION_WORDS_AS_TITLES,
    LEXICON,
    MONTHS,
    MULTIPLIERS,
    NAME_HOMOGRAPHS,
    ORDINAL_SUFFIXES,
    RECURRING_TIMES,
    SHORT_MONTHS,
    SHORT_WEEKDAYS,
    SINGULAR_ENDINGS,
    UNITS,
    VERB_FORMS,
    to_american,
)

TokenKind = Literal[
    "number", "date", "time", "unit", "name", "negation", "quantity", "modality", "question", "word", "order", "text"
]
"""The kind of a token or difference; "text" is for texts in which nothing can be read."""


class Token(NamedTuple):
    """One word of a canonical form: its key, its kind, and how the text has it."""

    key: str
    kind: TokenKind
    text: str


SENTENCE_BREAK = Token("|", "word", "")
COMMA = Token(",", "word", ",")
POSSESSIVE = "'s"

_LISTED_KINDS: tuple[TokenKind, ...] = ("negation", "quantity", "modality")
WORD_KINDS: dict[str, TokenKind] = {
    word: kind for kind in _LISTED_KINDS for word in LEXICON.words(f"grammar.kinds.{kind}")
}


def classify_word(word: str) -> TokenKind:
    """Return the kind of a word by itself; "word" for most."""
    return WORD_KINDS.get(word, "word")


def singularize(token: Token) -> str:
    """Return the singular of a noun; a name stays as it is, because it may end in "s"."""
    word = token.key
    if token.text != token.text.lower() or len(word) < 4 or word in RECURRING_TIMES or not word.isalpha():
        return word
    if word.endswith(SINGULAR_ENDINGS) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(ES_ENDINGS) else word[:-1]


def tokenize_sentences(text: str) -> list[list[Token]]:
    """Return the sentences of a text as tokens; a sentence may be empty."""
    reading = _SentenceBuilder()
    for found in _SCANNER.finditer(_normalize_layout(text)):
        said = found[0]
        match found.lastgroup:
            case "words":
                _read_words(reading, said)
            case "word":
                _read_word(reading, said)
            case "comma":
                reading.tokens.append(COMMA)
            case "symbol":
                _read_symbol(reading, said)
            case "kept":
                reading.add(said.replace(" ", ""), "word", said)
            case "end":
                reading.end_sentence(said)
            case "quote":
                _read_quote(reading, said, found.string[max(found.start() - 1, 0) : found.start()])
            case "measure" | "number":
                _read_number(reading, said)
            case "ymd" | "xyz" | "dmy" | "mdy":
                _read_date(reading, found)
            case "clock":
                _read_clock(reading, found)
            case "initials":
                reading.add(said.replace(".", ""), "word", said)
            case "link":
                reading.add(said, "word", said)
    return reading.sentences


def _normalize_layout(text: str) -> str:
    """Return the text with one kind of quotes and blanks, and without layout marks."""
    if text.isupper() and len(text.split(maxsplit=2)) > 2:  # capitals throughout carry no information
        text = text.lower()
    if not text.isascii():
        text = _REPLACED_MARK.sub(lambda mark: _MARK_REPLACEMENTS[mark[0]], text)
    if text[:1].isalnum() and "  " not in text and "](" not in text and text.isprintable():  # one line, as most are
        text = f" {text}"
    else:
        text = _LINE_STARTS.sub("\n\n", "\n" + text)
        if "](" in text:
            text = _LINK.sub(r"\1 (\2)", text)
        text = _BLANK_RUN.sub(lambda run: " ; " if run[0].count("\n") > 1 else " ", text)
    if "*" in text or "__" in text:
        text = _EMPHASIS.sub(_unwrap_emphasis, text)
    return text.replace("`", "")


_MARK_REPLACEMENTS = {
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
    **dict.fromkeys("\u00ad\ufeff", ""),
    **dict.fromkeys("\u2014\u2015\u2026", " , "),
}
_REPLACED_MARK = re.compile(f"[{''.join(_MARK_REPLACEMENTS)}]")
_LINE_STARTS = re.compile(r"\n[ \t]*(?:[-*>\u2022](?= +[^\d ])|#{1,6}(?= ))")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\(([^()\s]{1,500})\)")
_BLANK_RUN = re.compile(r"\s(?:\s+|(?<! ))")
"""Any run of whitespace except a single plain blank."""

_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{2,3})(?=[^\s*_])([^*_]*[^\s*_])\1(?![\w*])")


def _unwrap_emphasis(found: re.Match[str]) -> str:
    """Return emphasized text without its marks; a name such as __init__ stays as it is."""
    named = found[1].startswith("_") and found[2].islower() and found[2].isidentifier()
    return found[0] if named else found[2]


NUMBER_PATTERN = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
LEADING_NUMBER = re.compile(rf"[-+]?{NUMBER_PATTERN}")
AMBIGUOUS_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""Three digits behind a point are thousands in half of the world, so such a number equals only itself."""

_MONTH_NUMBERS = {name[:3]: at for at, name in enumerate(MONTHS, start=1)}
_MONTH = rf"(?i:{'|'.join(MONTHS)})\b|(?i:{'|'.join(SHORT_MONTHS)})\b\.?"
_DAY = f"(?:0?[1-9]|[12][0-9]|3[01])(?:{'|'.join(ORDINAL_SUFFIXES)})?"
_YEAR = "[12][0-9]{3}"
_NUMBER_END = r"(?![\w@/\\]|[.,:][0-9]|-[0-9])"
"""What must not follow a number: then it is part of an address, a serial number or the like."""

_NOT_CLOCK = rf"{_NUMBER_END}(?! ?[aApP]\.?[mM]\b)"
_MINUTES = "(?:[:.](?P<mi>[0-5][0-9]))?(?::(?P<s>[0-5][0-9]))?"
_AM_PM = r" ?(?P<half>[aApP])\.?[mM]\b\.?"
_CLOCK_END = r"(?<=:[0-9]{2})(?P<zulu>Z?)(?![\w:]|\.[0-9])"
_JOINED_LETTER = "(?!T[0-9]{2}:[0-9]{2})[^\\W0-9]"

_GLUED_UNIT = "|".join(map(re.escape, LEXICON.words("units.glued")))

_MAX_RUN_WORDS = 50
_WORD_RUN = rf"(?:[A-Za-z]+ (?![0-9])){{1,{_MAX_RUN_WORDS}}}(?:[A-Za-z]+(?=[.,;!?](?: (?![0-9])|\Z)))?"
"""Several plain words at once, none of which can be a month before its day; most of a text matches this."""

_NUMERIC_PATTERNS = (
    rf"(?P<ymd>(?<![\w.-])(?P<y1>{_YEAR})(?P<cut>[-/])(?P<m1>[0-9]{{1,2}})(?P=cut)(?P<d1>[0-9]{{1,2}})(?![0-9/-])(?!{_JOINED_LETTER}))",
    rf"(?P<xyz>(?<![\w./-])(?P<x>[0-9]{{1,2}})/(?P<z>[0-9]{{1,2}})/(?P<y4>{_YEAR})(?![\w/-]))",
    rf"(?P<dmy>(?<![\w.:/-])(?P<d2>{_DAY}) (?:of )?(?P<m2>{_MONTH})(?:,? (?P<y2>{_YEAR}){_NUMBER_END})?)",
    rf"(?P<clock>(?:(?<=[0-9])T|(?<![\w.:]))(?P<h>[01]?[0-9]|2[0-3]){_MINUTES}(?:{_AM_PM}|{_CLOCK_END}))",
    rf"(?P<measure>(?<![\w.])[-+]?{NUMBER_PATTERN}(?:{_GLUED_UNIT}){_NUMBER_END})",
    rf"(?P<number>(?<![\w.,@/])(?:(?<![)\]])[-+])?{NUMBER_PATTERN}{_NUMBER_END})",
)
_CODE_PATTERNS = (
    r"(?<![\w)\]-])-{1,2}[^\W\d_](?:\w|[./:=-](?=\w))*",  # an option: -v, --force
    r"(?<![\w.)\]])(?:\.{0,2}[/\\]|~[/\\]|\.)(?=[^\W\d])(?:\w|[./\\~@+=-](?=\w))*/?",  # a path: ../run, .env
    r"[:;=]['^-]?[()\[\]DPp/\\|](?![\w/])|(?<=\s)[()]-?[:;](?!\S)",  # an emoticon
    r"(?<![\w!?.,;:)\]\"'])!(?=\w)",  # a prefix: !important
    r"\(\)|\[ ?\]|\{\}|(?<=[\w)\]])\((?=\S)|[\[\]{}]",  # brackets of code
    r"(?<=\w )\.{1,2}(?!\S)",  # a folder: . or ..
)
"""Symbols that carry meaning, with the text that belongs to them."""

_TOKEN_PATTERNS = (
    rf"(?P<words>{_WORD_RUN})",
    rf"(?P<kept>(?=[-./\\~:;=!()\[\]{{}}])(?:{'|'.join(_CODE_PATTERNS)})|(?<!\w)(?:[A-DO]|AB)-(?![\w-]))",
    r"(?P<comma>[,()])",
    r"(?P<end>[.;!?]+)",
    r"(?P<quote>[\"']+)",
    rf"(?=[0-9T+-])(?:{'|'.join(_NUMERIC_PATTERNS)})",
    r"(?P<link>[a-z][a-z0-9+.-]{1,20}://[^\s\"<>]*[^\s\"<>.,;:!?)\]'])",
    rf"(?P<mdy>(?<![\w-])(?P<m3>{_MONTH}) (?P<d3>{_DAY}){_NOT_CLOCK}(?:,? (?P<y3>{_YEAR}){_NUMBER_END})?)",
    r"(?P<initials>(?<!\w)(?:[^\W\d_]\.){2,}(?!\w))",
    r"(?P<word>\w(?:[\w\u0300-\u036f]|[.,@/\\:=&'~+*#$%-](?=\w))*(?:\+{1,2}|#)?)",
    r"(?P<symbol>[^\w\s.,;!?()\[\]{}\"']+)",
)
_SCANNER = re.compile("|".join(_TOKEN_PATTERNS))


class _SentenceBuilder:
    """The sentences read so far, and the tokens of the current one."""

    __slots__ = ("begins", "quoted", "sentences", "tokens")

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.sentences = [self.tokens]
        self.begins = True
        self.quoted = ""

    def add(self, key: str, sort: TokenKind, said: str) -> None:
        """Append a token; the next word does not begin a sentence."""
        self.tokens.append(Token(key, sort, said))
        self.begins = False

    @property
    def is_exact(self) -> bool:
        """Whether the sentence is about something case-sensitive."""
        return any(token.key in CASE_SENSITIVE_NOUNS for token in self.tokens[-_EXACT_WINDOW_TOKENS:])

    def end_sentence(self, mark: str) -> None:
        """End the sentence, unless the mark is the full stop of an abbreviation."""
        if mark == "." and self.tokens and self.tokens[-1].text.lower() in _ABBREVIATIONS:
            return
        if "?" in mark:
            self.tokens.append(Token("?", "question", "?"))
        self.tokens = []
        self.sentences.append(self.tokens)
        self.begins = True


_EXACT_WINDOW_TOKENS = 6
"""How many tokens after a case-sensitive noun case still matters."""

_ABBREVIATIONS = frozenset({*LEXICON.words("case.abbreviations"), *SHORT_WEEKDAYS})


def _read_date(reading: _SentenceBuilder, found: re.Match[str]) -> None:
    """Add a date that exists as year, month and day; add anything else word by word."""
    match found.lastgroup:
        case "ymd":
            year, month, day = found["y1"], int(found["m1"]), int(found["d1"])
        case "xyz":
            year, month, day = found["y4"], *sorted((int(found["x"]), int(found["z"])))
            if day <= _MONTHS_PER_YEAR and found["x"] != found["z"]:  # day and month cannot be told apart
                day = 0
        case "dmy":
            year, month, day = found["y2"], _MONTH_NUMBERS[found["m2"][:3].casefold()], _parse_day_number(found["d2"])
        case _:
            year, month, day = found["y3"], _MONTH_NUMBERS[found["m3"][:3].casefold()], _parse_day_number(found["d3"])
    named = found["m2"] or found["m3"]
    if named and not year and named[0].islower():  # "5 may join": a month without a year needs a capital
        day = 0
    if _is_valid_date(int(year or _LEAP_YEAR), month, day):
        reading.add(f"{year or '-'}-{month:02}-{day:02}", "date", found[0])
        return
    for part in found[0].split():
        if part[0].isdigit() and part.rstrip(",").isdigit():
            reading.add(part.rstrip(","), "number", part)
        else:
            reading.add(part if found.lastgroup in ("ymd", "xyz") else part.strip(",.").lower(), "date", part)


_MONTHS_PER_YEAR = 12
_LEAP_YEAR = 2000


def _parse_day_number(text: str) -> int:
    return int(text.rstrip("".join(ORDINAL_SUFFIXES)))


def _is_valid_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_FIRST_CERTAIN_HOUR = 9
"""From this hour on, a time is read as written; an earlier one may mean the afternoon, unless it begins with 0."""


def _read_clock(reading: _SentenceBuilder, found: re.Match[str]) -> None:
    hour, said = int(found["h"]), found[0]
    rest = f"{found['mi'] or '00'}{':' + found['s'] if found['s'] and found['s'] != '00' else ''}"
    if found["half"]:
        if not 1 <= hour <= 12:
            reading.add(said.lower(), "time", said)
            return
        hour = hour % 12 + (12 if found["half"] in "pP" else 0)
        reading.add(f"{hour:02}:{rest}", "time", said)
    elif hour >= _FIRST_CERTAIN_HOUR or len(found["h"]) > 1:
        reading.add(f"{hour:02}:{rest}", "time", said)
    else:
        reading.add(f"{hour}:{rest}", "time", said)
    if found["zulu"]:
        reading.add("utc", "word", "Z")


def _read_number(reading: _SentenceBuilder, said: str) -> None:
    """Add a number without thousands separators, and the unit after it."""
    figure = LEADING_NUMBER.match(said)
    end = figure.end() if figure else len(said)
    if (hour := _HOUR_WITH_H.fullmatch(said)) and reading.tokens and reading.tokens[-1].key == "at":
        reading.add(f"{int(hour[1]):02}:{hour[2] or '00'}", "time", said)
        return
    reading.add(said[:end].replace(",", "").removeprefix("+"), "number", said[:end])
    if said[end:]:
        reading.add(UNITS.get(said[end:], said[end:]), "unit", said[end:])


_HOUR_WITH_H = re.compile("([01]?[0-9]|2[0-3])h([0-5][0-9])?")


def _read_quote(reading: _SentenceBuilder, said: str, before: str) -> None:
    """Track quotation marks; a mark after a number that closes no quotation is a unit.

    About something case-sensitive, an opening mark is a token too.
    """
    mark = '"' if said == "''" else said
    if len(mark) > 1:
        return
    if before.isdigit() and mark not in reading.quoted:
        reading.add(mark, "unit", mark)
    elif mark in reading.quoted:
        reading.quoted = reading.quoted.replace(mark, "")
    elif not before.isalnum():
        reading.quoted += mark
        if reading.is_exact:
            reading.add(mark, "word", said)


def _read_symbol(reading: _SentenceBuilder, said: str) -> None:
    if said in _DASHES:
        reading.tokens.append(Token("-", "word", said))
    elif said == ":":
        reading.tokens.append(Token(":", "word", said))
        reading.begins = True
    elif said == "&":
        reading.add("and", "word", said)
    elif said in CURRENCY_SYMBOLS:
        reading.add(CURRENCY_SYMBOLS[said], "unit", said)
    elif said == "%":
        reading.add("%", "unit", said)
    elif said == "~":
        reading.add("about", "word", said)
    else:
        reading.add(said, "word", said)


_DASHES = frozenset({"-", "--", "---"})

_CODE_CHARACTER = re.compile(r"[\d@/\\_=:,.~*#$%+]")
_NUMBER_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_YEAR_AND_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_ORDINAL_NUMBER = re.compile(f"([0-9]{{1,9}})(?:{'|'.join(ORDINAL_SUFFIXES)})")
_NUMBER_COMPOUND = re.compile(r"([0-9]{1,9})-([a-z]{3,}(?:-[a-z]{3,})*)")
_AMOUNT_SUFFIXES = LEXICON.mapping("numbers.suffixes")
_ABBREVIATED_AMOUNT = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?)({'|'.join(_AMOUNT_SUFFIXES)})")
_VERSION_NUMBER = re.compile(r"[vV]([0-9]+(?:\.[0-9]+)*)")


def _read_words(reading: _SentenceBuilder, said: str) -> None:
    """Add words that consist of letters alone."""
    tokens = reading.tokens
    for word in said.split():
        known = _KNOWN_WORDS.get(word)
        if known is not None:
            tokens.append(known)
        elif word.islower() and word not in CONTRACTIONS:
            tokens.append(Token(to_american(word), "word", word))
        elif word[0].isupper() and word.lower() not in CONTRACTIONS:
            _read_plain_word(reading, word)
            continue
        else:
            _read_word(reading, word)
            continue
        reading.begins = False


_KNOWN_WORDS: dict[str, Token] = {
    **{
        word: Token(to_american(word), classify_word(word), word)
        for word in {*FUNCTION_WORDS, *VERB_FORMS, *VERB_FORMS.values(), *AMERICAN_SPELLINGS, *WORD_KINDS}
        - CONTRACTIONS.keys()
    },
    **{word: Token(hour, "time", word) for word, hour in CLOCK_WORDS.items()},
}
"""Frequent words in lower case, and words that are more than their spelling."""


def _read_word(reading: _SentenceBuilder, said: str) -> None:
    """Add a word, the parts of a contraction or compound, or a code-like word as it is."""
    bare = said.lower()
    if bare in CONTRACTIONS:
        for word in CONTRACTIONS[bare].split():
            reading.add(word, classify_word(word), said)
    elif said.isalpha() and (said == bare or said[0].isupper()):
        _read_plain_word(reading, said)
    elif _CODE_CHARACTER.search(said):
        _read_code(reading, said)
    elif "'" in said:
        _read_apostrophe(reading, said)
    elif (
        "-" in said
        and bare == said
        and all(len(part) > 1 for part in said.split("-"))
        and said not in AMERICAN_SPELLINGS
    ):
        for part in [said] if reading.is_exact else said.split("-"):
            reading.add(to_american(part), classify_word(part), part)
    elif "&" in said:
        reading.add(bare, "word", said)
    elif said[0].islower() and bare != said:
        reading.add(said, "word", said)
    else:
        _read_plain_word(reading, said)


def _read_plain_word(reading: _SentenceBuilder, said: str) -> None:
    bare, begins = said.lower(), reading.begins
    if said in ACRONYM_HOMOGRAPHS:
        reading.add(said, "name", said)
        return
    if bare not in _SPECIAL_WORDS:
        if begins or bare == said:
            reading.add(to_american(bare), "word", said)
        else:  # a name keeps its spelling
            reading.add(bare if len(said) > 1 else said, "name", said)
        return
    if (
        bare == said
        or (said[1:].islower() and bare in FUNCTION_WORDS and (begins or bare not in FUNCTION_WORDS_AS_TITLES))
        or said == "I"
    ):
        key = to_american(bare)
    elif bare in FUNCTION_WORDS or bare in NAME_HOMOGRAPHS:
        key = said
    else:
        key = to_american(bare) if begins else bare
    if said == "A" and not begins:
        key = said
    if bare in CLOCK_WORDS:
        reading.add(CLOCK_WORDS[bare], "time", said)
        return
    if bare in SHORT_WEEKDAYS and bare != said and not begins:
        reading.add(SHORT_WEEKDAYS[bare], "name", said)
        return
    sort = classify_word(bare)
    reading.add(key, "name" if sort == "word" and bare != said and not begins else sort, said)


_SPECIAL_WORDS = FUNCTION_WORDS | NAME_HOMOGRAPHS | CLOCK_WORDS.keys() | SHORT_WEEKDAYS.keys() | WORD_KINDS.keys()
"""Words of which more is known than their spelling."""


def _read_code(reading: _SentenceBuilder, said: str) -> None:
    if (found := _NUMBER_RANGE.fullmatch(said)) and not _YEAR_AND_MONTH.fullmatch(said):
        reading.add(found[1], "number", found[1])
        reading.add("to", "word", "-")
        reading.add(found[2], "number", found[2])
    elif found := _ORDINAL_NUMBER.fullmatch(said.lower()):
        reading.add(f"{found[1]}th", "number", said)
    elif found := _NUMBER_COMPOUND.fullmatch(said):
        reading.add(found[1], "number", found[1])
        for part in found[2].split("-"):
            reading.add(to_american(part), classify_word(part), part)
    elif (found := _ABBREVIATED_AMOUNT.fullmatch(said)) and _is_money_amount(reading, found[1]):
        amount = Decimal(found[1]) * MULTIPLIERS[_AMOUNT_SUFFIXES[found[2]]]
        reading.add(format(amount.normalize(), "f"), "number", said)
    elif _HOUR_WITH_H.fullmatch(said) and reading.tokens and reading.tokens[-1].key == "at":
        _read_number(reading, said)
    elif found := _VERSION_NUMBER.fullmatch(said):
        reading.add("version", "word", said)
        reading.add(found[1], "number", found[1])
    elif said.lower().endswith(POSSESSIVE):
        _read_apostrophe(reading, said)
    elif said in AMERICAN_SPELLINGS:
        reading.add(AMERICAN_SPELLINGS[said], "word", said)
    else:
        reading.add(said, "number" if said[0].isdigit() else "word", said)


def _is_money_amount(reading: _SentenceBuilder, figure: str) -> bool:
    """Return whether a number with k, m or bn behind it is a certain amount of money."""
    return bool(
        reading.tokens and reading.tokens[-1].text in CURRENCY_SYMBOLS and not AMBIGUOUS_THOUSANDS.fullmatch(figure)
    )


_MAX_APOSTROPHES = 10
"""Apostrophes that are split off a word; each one costs another call and another copy of the rest."""


def _read_apostrophe(reading: _SentenceBuilder, said: str) -> None:
    """Add what stands before an apostrophe, and what the rest is short for.

    An 's or 'd stays a token: the words around it decide later what it means.
    """
    before, mark, after = said.rpartition("'")
    after = after.lower()
    if before.count("'") >= _MAX_APOSTROPHES:
        _read_plain_word(reading, said)
    elif after == "t" and before.lower().endswith("n") and before.lower()[:-1] in AUXILIARIES:
        reading.add(before.lower()[:-1], classify_word(before.lower()[:-1]), said)
        reading.add("not", "negation", said)
    elif after in CONTRACTION_ENDINGS and before:
        _read_word(reading, before)
        reading.add(CONTRACTION_ENDINGS[after], classify_word(CONTRACTION_ENDINGS[after]), said)
    elif after in ("s", "d") and before:
        _read_word(reading, before)
        reading.add(mark + after, "word", said)
    else:
        _read_plain_word(reading, said)
