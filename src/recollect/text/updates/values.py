"""Values: how what a statement gives a subject must look, so that it is its value and nothing beside."""

import re
from collections.abc import Sequence

from recollect.text.canonical_tokens import Token
from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.subjects import is_name_word
from recollect.text.updates.word_lists import BINDING_PREPOSITIONS, MONTH_WORDS, STATE_WORDS, WEEKDAY_WORDS, word_set

_CLOCK = (
    r"(?:\d{1,2}(?:[:.]\d\d|h\d{0,2})?(?: ?[ap]\.?m\b\.?)?(?: o'clock)?(?: (?:CET|CEST|UTC|GMT|EST|PST|BST|ET|PT)\b)?"
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
_TIME_EXPRESSION = re.compile(
    rf"(?:(?:at |{_CLOCK_ALONE})(?P<clock>{_CLOCK})|(?:on )?(?P<day>{_DAY})|(?:in )?(?P<span>{_SPAN}))"
    rf"(?:,? (?:at (?P<clock2>{_CLOCK})|on (?P<day2>{_DAY})))?",
    re.IGNORECASE,
)
_TIME_ZONE = re.compile(r" ([A-Z]{2,4})$", re.IGNORECASE)


def time_parts(words: Sequence[str]) -> str | None:
    """Which parts of a time the words give and nothing else: at, on, in, weekday, or "at on"; none if they give
    another. A clock time in a zone is that of the zone.
    """
    found = _TIME_EXPRESSION.fullmatch(" ".join(words))
    if found is None:
        return None
    return " ".join(sorted({_time_part(name.rstrip("2"), value) for name, value in found.groupdict().items() if value}))


def _time_part(name: str, value: str) -> str:
    if name == "clock":
        zone = _TIME_ZONE.search(value)
        return f"at {zone[1].lower()}" if zone and zone[1].lower() not in ("am", "pm") else "at"
    if name == "day":
        return "weekday" if value.lower() in WEEKDAY_WORDS else "on"
    return "in"


def measure_mark(words: Sequence[str]) -> str | None:
    """The mark for what a number with its unit measures; none if the words are anything besides."""
    found = canonicalize_text(" ".join(words)) if words else ()
    if not found or found[0].kind != "number":
        return None
    mark, taken = dimension_mark(found, 0)
    return mark if len(found) == 1 + taken else None


def dimension_mark(found: Sequence[Token], at: int) -> tuple[str, int]:
    """The mark for what a number measures, and how many tokens behind it are its unit."""
    unit = found[at].key.partition("·")[2]
    if unit:
        return f"#{_UNIT_DIMENSIONS.get(unit, unit)}", 0
    behind = [token.key.lower() for token in found[at + 1 : at + 3]]
    for length in (2, 1):
        known = _UNIT_DIMENSIONS.get(" ".join(behind[:length]))
        if known is not None and len(behind) >= length:
            return f"#{known}", length
    return "#", 0


_CURRENCY_WORDS = word_set(
    "dollar eur usd gbp yen lira kronor rupees francs pesos chf jpy pound pounds cents cent sek nok pln"
)
_UNIT_DIMENSIONS = {name: name for name in _CURRENCY_WORDS} | {
    unit: dimension
    for dimension, units in {
        "time": "s min h ms µs ns day week month year second seconds",
        "length": "metre km cm mm m",
        "length-in-feet": "mile foot inch yard",
        "mass": "g kg mg µg mcg t tonne tonnes",
        "mass-in-pounds": "lb oz",
        "volume": "l ml",
        "volume-in-pints": "gallon gallons pint pints",
        "area": "square_metres square_meters square_metre sqm m² hectares",
        "area-in-feet": "square_feet square_foot sqft acres",
        "celsius": "°C °_c",
        "fahrenheit": "°F °_f",
        "data": "kB MB GB TB kb mb gb tb KiB MiB GiB",
        "power": "W kW MW mW",
    }.items()
    for unit in units.replace(" ", "|").replace("_", " ").split("|")
}
"""What two amounts of which each can be put in the other's unit without a table are of; rates and systems differ."""


def fits_shape(value: Sequence[str], shape: str) -> bool:
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
            return len(value) == 1 and lowered[0] not in STATE_WORDS and len(first) > 1
        case "code":
            return len(value) <= 4 and all(map(_is_code, value)) and any(char.isdigit() for char in " ".join(value))
        case "number":
            return measure_mark(value) is not None
        case "pay":
            return (
                measure_mark(value[:-2] if len(value) > 2 and lowered[-2] in ("a", "an", "per") else value) is not None
            )
        case "street":
            return 1 < len(value) <= 4 and is_name_word(first) and lowered[-1] in _STREET_WORDS
        case "spot":
            return 1 < len(value) <= 7 and (lowered[0] in _DETERMINERS or is_name_word(first) or first.endswith("'s"))
        case "day":
            return time_parts([word for word in value if word.lower() != "on"]) in ("on", "weekday")
        case "date":
            return time_parts([word for word in value if word.lower() != "on"]) == "on"
        case "name":
            return _is_name_value(value)
        case "place":
            numbered = any(char.isdigit() for char in " ".join(value))
            return len(value) <= 8 and numbered and first[0].isalnum() and not set(lowered) & _NOT_ADDRESS_WORDS
        case "role":
            return (
                lowered[0] in ("a", "an", "the", "head")
                and len(value) <= 5
                and not set(lowered) & BINDING_PREPOSITIONS - {"of"}
            )
        case "word":
            return len(value) == 1 and lowered[0] not in STATE_WORDS and not lowered[0].endswith(("ing", "ed"))
        case "path":
            return len(value) == 1 and len(first) > 2 and ("/" in first or "\\" in first)
        case _:
            return _is_free_value(lowered)


def _is_name_value(value: Sequence[str]) -> bool:
    named = [word.rstrip(",") for word in value]
    most = 4 + (named[0].rstrip(".").lower() in _PERSON_TITLES)
    fine = all(is_name_word(word) or word.lower() in _NAME_PARTICLES for word in named)
    return len(named) <= most and fine and is_name_word(named[0]) and named[0].lower() not in _NOT_NAME_WORDS


def _is_code(word: str) -> bool:
    return any(char.isdigit() for char in word) or (word.isupper() and len(word) <= _MAX_LABEL_CHARS)


_MAX_LABEL_CHARS = 3
_NOT_NAME_WORDS = (
    WEEKDAY_WORDS
    | MONTH_WORDS
    | word_set("""
    may afghan african albanian algerian american arab arabic argentinian armenian asian australian austrian belgian
    bolivian brazilian british bulgarian canadian chilean chinese colombian croatian cuban czech danish dutch
    ecuadorian egyptian english estonian ethiopian european filipino finnish french georgian german ghanaian greek
    hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jordanian kenyan korean
    latvian lebanese lithuanian malaysian mexican moroccan nepali nigerian norwegian pakistani peruvian polish
    portuguese romanian russian scottish serbian slovak slovenian somali spanish swedish swiss syrian taiwanese thai
    tunisian turkish ukrainian venezuelan vietnamese welsh yemeni buddhist catholic hindu jewish muslim protestant
    republican democrat bavarian parisian
""")
)
"""Words with a capital that are no name: times, and how somebody is."""
_PERSON_TITLES = word_set("mr mrs ms dr prof sir señor señora miss")


def _is_free_value(lowered: Sequence[str]) -> bool:
    told = lowered[1:] if lowered[0] in ("the", "a", "an") and len(lowered) > 1 else lowered
    moving = len(told) == 1 and told[0].endswith(("ing", "ed")) and told[0] not in ("red",)
    beside = set(told) & (BINDING_PREPOSITIONS - {"of"} | {"by"})
    return len(lowered) <= 5 and told[0] not in STATE_WORDS and not moving and not beside


_STREET_WORDS = word_set("street road avenue lane square drive way boulevard court close terrace st rd ave")
_DETERMINERS = word_set("the a an my our his her their level")
_NAME_PARTICLES = word_set("de da di van von der den la le del of the al el bin")
_NOT_ADDRESS_WORDS = word_set("in with for at during near when if")
