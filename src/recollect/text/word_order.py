"""Order: where phrases stand in a sentence that can stand elsewhere in it."""

from collections.abc import Sequence

from recollect.text.canonical_tokens import Token
from recollect.text.lexicon import AUXILIARIES, MONTHS, RECURRING, REPORTING, VERBS, WEEKDAYS, words

_LONGEST_PHRASE = 8


def ordered(sentence: list[Token]) -> list[Token]:
    """The sentence with the phrase that was put before it behind it, and times at its end in one order."""
    asked = sentence[-1:] if sentence and sentence[-1].key == "?" else []
    said = sentence[:-1] if asked else sentence
    front = _front(said)
    if front:
        rest = said[front:]
        if rest[0].key == ",":
            rest = rest[1:]
        said = rest + said[:front]
    return _times_sorted(said) + asked if said else said


def _front(sentence: list[Token]) -> int:
    """How many tokens at the start can as well stand at the end; none where that might say something else."""
    end = _time_phrase(sentence, 0)
    timely = end > 0
    if not timely and sentence and sentence[0].key in _FRONTED:
        commas = [at for at, token in enumerate(sentence[: _LONGEST_PHRASE + 2]) if token.key == ","]
        end = commas[0] if commas else 0
    rest = sentence[end + 1 :] if end < len(sentence) and sentence[end].key == "," else sentence[end:]
    if not end or not rest or rest[0].key in AUXILIARIES or rest[0].key in _NOT_FOLLOWED or rest[0].key in VERBS:
        return 0
    if len(rest) < 2 or any(_holds(rest, at, timely=timely) for at in range(len(rest))):
        return 0
    return end


def _holds(rest: Sequence[Token], at: int, *, timely: bool) -> bool:
    """Whether the token may draw a phrase at the end to itself, away from the whole sentence."""
    token = rest[at]
    if token.key in _DIVIDING or token.key in REPORTING or (at > 2 and token.key in _EVENTS):
        return True
    if token.key == "to":
        after = rest[at + 1] if at + 1 < len(rest) else None
        return after is None or (after.sort == "word" and after.key not in _TIMES)
    return not timely and (token.sort == "negation" or token.key == "only")


def _time_phrase(sentence: Sequence[Token], at: int) -> int:
    """Where a phrase that says when ends, or the same place if there is none."""
    start = at
    if at < len(sentence) and sentence[at].key in _TIME_PREPOSITIONS:
        at += 1
    prepositional = at > start
    while at < len(sentence) and at - start < _LONGEST_PHRASE and sentence[at].key in _TIME_DETERMINERS:
        at += 1
    begin = at
    if begin == start and at < len(sentence):  # without a word before it, only what is never a name or a subject
        token = sentence[at]
        if token.sort not in ("date", "time") and token.key not in _BARE_TIMES:
            return start
    while at < len(sentence) and at - start < _LONGEST_PHRASE and _is_time(sentence[at], yearly=prepositional):
        at += 1
    return at if at > begin else start


def _is_time(token: Token, *, yearly: bool) -> bool:
    if token.sort in ("date", "time") or token.key in _TIMES:
        return True
    return yearly and token.sort == "number" and len(token.key) == 4 and token.key[0] in "12"


def _times_sorted(sentence: list[Token]) -> list[Token]:
    """The sentence with the phrases that say when, at its end, in one order."""
    if not _is_time(sentence[-1], yearly=True):
        return sentence
    phrases: list[tuple[int, int]] = []
    at = 0
    while at < len(sentence):
        end = _time_phrase(sentence, at)
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


_TIMES = frozenset(
    [
        *(*WEEKDAYS, *RECURRING, *MONTHS, "May", "March", "August", "April", "June"),
        *words("today tomorrow yesterday tonight morning afternoon evening night weekend weekday noon midnight"),
        *words("week month year quarter summer winter autumn afternoons day utc gmt cet cest est pst"),
    ]
) - {"may", "march"}
_BARE_TIMES = frozenset(words("today tomorrow yesterday tonight"))
_TIME_PREPOSITIONS = frozenset(words("on in at since until before after during by from"))
_TIME_DETERMINERS = frozenset(words("every each last next this early late other"))
_FRONTED = frozenset(words("if when whenever unless while once because during before after since until"))
"""What a phrase before the sentence may begin with; not where, which may say where somebody is from."""

_NOT_FOLLOWED = frozenset(words("of and or to , : - 's"))
_DIVIDING = frozenset(
    words("""
    and or but , : ; if when whenever unless while because that who which whose whom where whether although though so
    than before after until since once
    """)
)
_EVENTS = frozenset(
    words("""
    meeting meetings appointment appointments flight flights call calls trip trips booking reservation ticket tickets
    event events deadline delivery party interview interviews exam exams lesson lessons class classes session sessions
    shift shifts conference visit visits release launch deployment concert show dinner lunch train bus talk report game
    match news note email message letter order plan plans election vote review
    """)
)
"""What has a time of its own, so that a time behind it may be its."""
