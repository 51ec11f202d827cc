"""Order: where phrases stand in a sentence that can stand elsewhere in it."""

from collections.abc import Sequence

from recollect.text.canonical_tokens import Token
from recollect.text.lexicon import (
    AUXILIARIES,
    MONTHS,
    RECURRING_TIMES,
    REPORTING_VERBS,
    VERB_FORMS,
    WEEKDAYS,
    split_words,
)

_MAX_PHRASE_TOKENS = 8


def normalize_order(sentence: list[Token]) -> list[Token]:
    """The sentence with the phrase that was put before it behind it, and times at its end in one order."""
    asked = sentence[-1:] if sentence and sentence[-1].key == "?" else []
    said = sentence[:-1] if asked else sentence
    front = _front_length(said)
    if front:
        rest = said[front:]
        if rest[0].key == ",":
            rest = rest[1:]
        said = rest + said[:front]
    return _sort_times(said) + asked if said else said


def _front_length(sentence: list[Token]) -> int:
    """How many tokens at the start can as well stand at the end; none where that might say something else."""
    end = _time_phrase_end(sentence, 0)
    timely = end > 0
    if not timely and sentence and sentence[0].key in _FRONTABLE_WORDS:
        commas = [at for at, token in enumerate(sentence[: _MAX_PHRASE_TOKENS + 2]) if token.key == ","]
        end = commas[0] if commas else 0
    rest = sentence[end + 1 :] if end < len(sentence) and sentence[end].key == "," else sentence[end:]
    if (
        not end
        or not rest
        or rest[0].key in AUXILIARIES
        or rest[0].key in _NEVER_AFTER_FRONT
        or rest[0].key in VERB_FORMS
    ):
        return 0
    if len(rest) < 2 or any(_may_attract(rest, at, timely=timely) for at in range(len(rest))):
        return 0
    return end


def _may_attract(rest: Sequence[Token], at: int, *, timely: bool) -> bool:
    """Whether the token may draw a phrase at the end to itself, away from the whole sentence."""
    token = rest[at]
    if token.key in _CLAUSE_WORDS or token.key in REPORTING_VERBS or (at > 2 and token.key in _EVENT_NOUNS):
        return True
    if token.key == "to":
        after = rest[at + 1] if at + 1 < len(rest) else None
        return after is None or (after.kind == "word" and after.key not in _TIME_WORDS)
    return not timely and (token.kind == "negation" or token.key == "only")


def _time_phrase_end(sentence: Sequence[Token], at: int) -> int:
    """Where a phrase that says when ends, or the same place if there is none."""
    start = at
    if at < len(sentence) and sentence[at].key in _TIME_PREPOSITIONS:
        at += 1
    prepositional = at > start
    while at < len(sentence) and at - start < _MAX_PHRASE_TOKENS and sentence[at].key in _TIME_DETERMINERS:
        at += 1
    begin = at
    if begin == start and at < len(sentence):  # without a word before it, only what is never a name or a subject
        token = sentence[at]
        if token.kind not in ("date", "time") and token.key not in _BARE_TIMES:
            return start
    while at < len(sentence) and at - start < _MAX_PHRASE_TOKENS and _is_time(sentence[at], yearly=prepositional):
        at += 1
    return at if at > begin else start


def _is_time(token: Token, *, yearly: bool) -> bool:
    if token.kind in ("date", "time") or token.key in _TIME_WORDS:
        return True
    return yearly and token.kind == "number" and len(token.key) == 4 and token.key[0] in "12"


def _sort_times(sentence: list[Token]) -> list[Token]:
    """The sentence with the phrases that say when, at its end, in one order."""
    if not _is_time(sentence[-1], yearly=True):
        return sentence
    phrases: list[tuple[int, int]] = []
    at = 0
    while at < len(sentence):
        end = _time_phrase_end(sentence, at)
        if end > at:
            if not phrases or phrases[-1][1] != at:
                phrases = []
            phrases.append((at, end))
            at = end
        else:
            at += 1
    if len(phrases) < 2 or phrases[-1][1] != len(sentence):
        return sentence
    openings = [sentence[start].key for start, _ in phrases]
    if len(set(openings)) != len(openings):
        return sentence
    parts = sorted((sentence[start:end] for start, end in phrases), key=lambda part: [token.key for token in part])
    return sentence[: phrases[0][0]] + [token for part in parts for token in part]


_TIME_WORDS = frozenset(
    [
        *(*WEEKDAYS, *RECURRING_TIMES, *MONTHS, "May", "March", "August", "April", "June"),
        *split_words("today tomorrow yesterday tonight morning afternoon evening night weekend weekday noon midnight"),
        *split_words("week month year quarter summer winter autumn afternoons day utc gmt cet cest est pst"),
    ]
) - {"may", "march"}
_BARE_TIMES = frozenset(split_words("today tomorrow yesterday tonight"))
_TIME_PREPOSITIONS = frozenset(split_words("on in at since until before after during by from"))
_TIME_DETERMINERS = frozenset(split_words("every each last next this early late other"))
_FRONTABLE_WORDS = frozenset(split_words("if when whenever unless while once because during before after since until"))
"""What a phrase before the sentence may begin with; not where, which may say where somebody is from."""

_NEVER_AFTER_FRONT = frozenset(split_words("of and or to , : - 's"))
_CLAUSE_WORDS = frozenset(
    split_words("""
    and or but , : ; if when whenever unless while because that who which whose whom where whether although though so
    than before after until since once
    """)
)
_EVENT_NOUNS = frozenset(
    split_words("""
    meeting meetings appointment appointments flight flights call calls trip trips booking reservation ticket tickets
    event events deadline delivery party interview interviews exam exams lesson lessons class classes session sessions
    shift shifts conference visit visits release launch deployment concert show dinner lunch train bus talk report game
    match news note email message letter order plan plans election vote review
    """)
)
"""What has a time of its own, so that a time behind it may be its."""
