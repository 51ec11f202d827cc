"""Values: how what a statement gives a subject must look, so that it is its value and nothing beside."""

import re
from collections.abc import Sequence

from recollect.admission.subject_things import is_named
from recollect.admission.subject_words import BINDING, COUNTRIES, DAYS, MONTHS, STATES, listed

_CLOCK = (
    r"(?:\d{1,2}(?:[:.]\d\d|h\d{0,2})?(?: ?[ap]\.?m\b\.?)?(?: o'clock)?(?: (?:CET|CEST|UTC|GMT|EST|PST|BST|ET|PT))?"
    r"(?: in the (?:morning|afternoon|evening)| at night)?|noon|midnight|midday)"
)
_CLOCK_ALONE = r"(?=\S{0,9}(?:[:]|h\b| ?[ap]\.?m\b| o'clock)|noon|mid)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth)"
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2}/\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}"
    rf"|(?:the )?(?:\d{{1,2}}|{_ORDINAL}) (?:of )?{_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|the \d{{1,2}}(?:st|nd|rd|th))"
)
_DAY = rf"(?:{_WEEKDAY}(?:,? {_DATE})?|{_DATE}(?:, {_WEEKDAY})?)"
_SPAN = rf"(?:{_MONTH}(?: (?:of )?\d{{4}})?|(?:1[89]|20|21)\d\d|(?:calendar )?week \d{{1,2}}|Q[1-4](?: \d{{4}})?)"
_WHEN = re.compile(
    rf"(?:(?:at |{_CLOCK_ALONE})(?P<clock>{_CLOCK})|(?:on )?(?P<day>{_DAY})|(?:in )?(?P<span>{_SPAN}))"
    rf"(?:,? (?:at (?P<clock2>{_CLOCK})|on (?P<day2>{_DAY})))?",
    re.IGNORECASE,
)
_HOURS = re.compile(rf"(?:from )?{_CLOCK}(?: ?[-–] ?| to ){_CLOCK}", re.IGNORECASE)


def when(words: Sequence[str]) -> str | None:
    """Which parts of a time the words give and nothing else: at, on, in, or "at on"; none if they give another."""
    said = " ".join(words)
    if _HOURS.fullmatch(said):
        return "from to"
    found = _WHEN.fullmatch(said)
    if found is None:
        return None
    parts = {name.rstrip("2") for name, value in found.groupdict().items() if value}
    return " ".join(sorted(_PARTS[part] for part in parts))


_PARTS = {"clock": "at", "day": "on", "span": "in"}


def is_country(words: Sequence[str]) -> bool:
    """Whether the words name something that towns are in."""
    return " ".join(words).lower() in COUNTRIES


def fits(value: Sequence[str], shape: str) -> bool:
    """Whether the words look like one value of that shape, and say nothing beside."""
    if not value:
        return False
    first, lowered = value[0], [word.lower() for word in value]
    if any(word.endswith(",") for word in value[:-1]) and shape not in ("name", "place", "day"):
        return False
    match shape:
        case "address":
            return len(value) == 1 and "@" in first
        case "link":
            return len(value) == 1 and lowered[0] not in STATES and len(first) > 1
        case "code":
            return len(value) <= 2 and any(char.isdigit() for char in first + value[-1]) and lowered[0] not in STATES
        case "number":
            digits = any(char.isdigit() for char in " ".join(value[:3]))
            return len(value) <= 4 and digits and lowered[0] not in STATES and not set(lowered) & BINDING
        case "pay":
            return fits(value[:-2] if len(value) > 2 and lowered[-2] in ("a", "an", "per") else value, "number")
        case "street":
            return 1 < len(value) <= 4 and is_named(first) and lowered[-1] in _STREETS
        case "spot":
            return 1 < len(value) <= 7 and (lowered[0] in _DEFINITE or is_named(first) or first.endswith("'s"))
        case "day":
            return (when([word for word in value if word.lower() != "on"]) or "in") == "on" or lowered[0] in DAYS
        case "name":
            return _is_a_name(value)
        case "place":
            numbered = any(char.isdigit() for char in " ".join(value))
            return len(value) <= 8 and numbered and first[0].isalnum() and not set(lowered) & _BESIDE
        case "role":
            return lowered[0] in ("a", "an", "the", "head") and len(value) <= 5 and not set(lowered) & BINDING - {"of"}
        case "word":
            return len(value) == 1 and lowered[0] not in STATES and not lowered[0].endswith(("ing", "ed"))
        case "path":
            return len(value) == 1 and len(first) > 2 and ("/" in first or "\\" in first)
        case _:
            return _is_a_choice(lowered)


def _is_a_name(value: Sequence[str]) -> bool:
    named = [word.rstrip(",") for word in value]
    most = 4 + (named[0].rstrip(".").lower() in _TITLES)
    fine = all(is_named(word) or word.lower() in _PARTICLES for word in named)
    return len(named) <= most and fine and is_named(named[0]) and named[0].lower() not in _TIMES


_TIMES = DAYS | MONTHS | {"may"}
_TITLES = listed("mr mrs ms dr prof sir señor señora miss")


def _is_a_choice(lowered: Sequence[str]) -> bool:
    told = lowered[1:] if lowered[0] in ("the", "a", "an") and len(lowered) > 1 else lowered
    moving = len(told) == 1 and told[0].endswith(("ing", "ed")) and told[0] not in ("red",)
    beside = set(told) & (BINDING - {"of"} | {"by"})
    return len(lowered) <= 5 and told[0] not in STATES and not moving and not beside


_STREETS = listed("street road avenue lane square drive way boulevard court close terrace st rd ave")
_DEFINITE = listed("the a an my our his her their level")
_PARTICLES = listed("de da di van von der den la le del of the al el bin")
_BESIDE = listed("in with for at during near when if")
