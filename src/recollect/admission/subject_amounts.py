"""Amounts of subjects: statements that are the same but for one number, or the value of one setting."""

import re
from collections.abc import Sequence

from recollect.admission.subject_statement import LATEST, Statement, base_of
from recollect.admission.subject_things import UNCOUNTED_ALONE, Speaking, kind_of, person, thing
from recollect.admission.subject_words import DAYS, MONTHS, listed
from recollect.evidence.sameness import tokens
from recollect.evidence.tokens import Token


def of_a_number(said: Statement, who: Speaking) -> str | None:
    """Something has so many, costs so much, runs on such a version: all but the number is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in _ORDERS and len(words) > 2 and who.within is not None:
        masked = _masked(words[1:])
        return f"{lowered[0]}{who.within}: {masked}" if masked else None
    for at in range(1, min(len(words), LATEST)):
        if lowered[at] not in _COUNTING | _HABITS:
            continue
        verb, habit = base_of(lowered[at]), lowered[-2] in ("a", "per") and lowered[-1] in _PERIODS
        whose = person(words[:at], who) if lowered[at] not in ("are", "must") else None
        if lowered[:at] in UNCOUNTED_ALONE:
            whose = None
        elif whose is not None and not (_is_of_people(lowered[at:]) or (habit and lowered[at] in _HABITS)):
            return None
        whose = whose or thing(words[:at], who) or kind_of(words[:at], who)
        masked = None if whose is None else _masked(words[at + 1 :])
        return f"{whose}: {verb} {masked}" if masked else None
    return None


def _is_of_people(said: Sequence[str]) -> bool:
    """Whether it can be said of whoever or whatever has a name; that somebody is number 5 need not last."""
    return said[0] in _OF_ALL or said[1:2] == ["pinned"] or said[1:3] == ["at", "version"]


def _masked(words: Sequence[str]) -> str | None:
    """The words with a mark in place of their only number, with what it measures; none if there is not exactly one."""
    lowered = {word.lower().strip(",") for word in words}
    if not 0 < len(words) <= _MOST_BEHIND or lowered & _AT_A_TIME or any("," in word[-1:] for word in words):
        return None
    found = tokens(" ".join(words))
    numbers = [at for at, token in enumerate(found) if token.sort == "number"]
    numbers = numbers or [at for at, token in enumerate(found) if at and _is_a_mark(found[at - 1], token)]
    if len(numbers) != 1 or any(token.sort in ("date", "time", "negation", "question") for token in found):
        return None
    at = numbers[0]
    dimension, taken = _dimension(found, at)
    said = [*(token.key for token in found[:at]), dimension, *(token.key for token in found[at + 1 + taken :])]
    return " ".join(said).lower()


def _is_a_mark(before: Token, token: Token) -> bool:
    """Whether it is a letter or a code that counts like a number: revision C, level P2."""
    return before.key in _MARKED and _MARK.fullmatch(token.said) is not None


_MARKED = listed("revision version tier level grade class terminal gate platform zone plan floor row seat bay")
_MARK = re.compile(r"[A-Z]|[A-Z]{1,2}\d{1,3}[A-Z]?")


def _dimension(found: Sequence[Token], at: int) -> tuple[str, int]:
    """The mark for what a number measures, and how many tokens behind it are its unit."""
    unit = found[at].key.partition("·")[2]
    if unit:
        return f"#{_DIMENSIONS.get(unit, unit)}", 0
    behind = [token.key.lower() for token in found[at + 1 : at + 3]]
    for length in (2, 1):
        known = _DIMENSIONS.get(" ".join(behind[:length]))
        if known is not None and len(behind) >= length:
            return f"#{known}", length
    return "#", 0


_DIMENSIONS = {
    unit: dimension
    for dimension, units in {
        "time": "s min h ms µs ns day week month year second seconds",
        "length": "metre km cm mm m mile foot inch yard",
        "mass": "g kg mg µg lb oz t tonne tonnes",
        "volume": "l ml gallon gallons pint pints",
        "area": "square_feet square_foot square_metres square_meters square_metre sqm sqft m² hectares acres",
        "heat": "°C °F °_c °_f",
        "data": "kB MB GB TB kb mb gb tb KiB MiB GiB",
        "speed": "mph km/h",
        "pace": "mbit/s gbit/s mb/s gb/s kb/s Mbps Gbps Mb Gb kbit/s",
        "money": "dollar eur usd gbp yen lira kronor rupees francs pesos chf jpy pounds cents cent sek nok dkk pln",
        "power": "W kW MW mW",
    }.items()
    for unit in units.replace(" ", "|").replace("_", " ").split("|")
}

_OF_ALL = listed("""
    has have takes take owes weighs weigh earns earn pays pay shares share lives live listens costs lasts
    requires allows targets seats
""")
_HABITS = listed("sleeps sleep drinks drink works work runs run walks walk smokes smoke eats eat reads read swims swim")
_PERIODS = listed("day night week month year hour")
_COUNTING = _OF_ALL | listed("""
    needs need is are costs cost lasts last listens listen runs run uses use targets target requires require allows
    allow keeps keep holds hold seats seat contains contain measures measure employs employ charges charge ends
    retries must accommodates fits covers consumes draws rotates refreshes polls syncs consists comprises
""")
"""Verbs of which the number tells how it is, not what happened or how often."""

_ORDERS = listed("pin retry bake limit cap set keep cook preheat roast limit_to restrict throttle wait")
"""What can be ordered only in one way."""

_AT_A_TIME = (
    DAYS
    | MONTHS
    | {f"{day}s" for day in DAYS}
    | listed("""
    weekend may this ago late early left called named
""")
)
_MOST_BEHIND = 9


_SETTING = re.compile(r"(?P<name>[A-Za-z][\w.-]{2,60}) ?= ?(?P<value>\S{1,60})")
"""A setting and its value."""


def of_a_setting(text: str, who: Speaking) -> str | None:
    """A setting as code has it: MAX_UPLOADS = 5."""
    found = _SETTING.fullmatch(text)
    if found is None or who.within is None or not (found["name"].isupper() or "_" in found["name"].strip("_")):
        return None
    return f"{found['name']}{who.within}: ="
