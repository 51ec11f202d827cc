"""Claim rules for relations, events and properties, and the shapes of their values.

A person lives in, works at or is so old; a thing is called, takes place or costs so much. The shape of a value ensures
that the words are that value and nothing else.
"""

import re
from collections.abc import Sequence

from recollect.text.lexer import Token
from recollect.text.lexicon import (
    BINDING_PREPOSITIONS,
    CONTEXT_NOUNS,
    JOB_TITLES,
    MONTH_WORDS,
    REPEATABLE_RELATIONS,
    STATE_WORDS,
    UNIQUE_ADJECTIVES,
    WEEKDAY_WORDS,
    is_person_name,
    place_suffix,
    word_set,
)
from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.statement import (
    Claim,
    SpeakerContext,
    Statement,
    canonical_key,
    head_noun,
    is_name,
    is_name_word,
    is_single_thing,
    resolve_person,
    resolve_property,
    resolve_thing,
)

# ── a person: lives in, works at, is married to, is so old ───────────────────────────────────────────────────────────


def read_person_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Read a relation that a person has in one way at a time."""
    words, lowered = said.words, said.lowered
    for at in range(1, min(len(words), _MAX_RELATION_POSITION)):
        for phrase, relation, shape in _RELATIONS.get(lowered[at], ()):
            if lowered[at : at + len(phrase)] != phrase:
                continue
            whose, rest = resolve_person(words[:at], who), words[at + len(phrase) :]
            if whose is None or not rest:
                return None
            if shape == "employer":
                return _read_employment(whose, relation, rest, denied=said.negated)
            if time_parts(rest) != "at" if shape == "clock" else not fits_shape(rest, shape):
                return None
            kept = place_suffix(" ".join(rest)) if shape == "name" else ""
            return Claim(f"{whose}: {relation}{kept}", (" ".join(rest),), said.negated)
    return _read_age(words, who)


def _read_employment(whose: str, relation: str, words: Sequence[str], *, denied: bool) -> Claim | None:
    """Read the employer of a person.

    The role is ignored, unless it is a job of which a person has one at an employer.
    """
    lowered = [word.lower() for word in words]
    at = lowered.index("as") if "as" in lowered else len(words)
    employer, role = words[:at], words[at + 1 :]
    if (
        not employer
        or not fits_shape(employer, "name")
        or (at < len(words) and (denied or not fits_shape(role, "role")))
    ):
        return None
    if relation == "works for" and is_person_name(employer):
        return Claim(f"{whose}: works for", (" ".join(employer),), denied) if not role else None
    job = " ".join(role[1:]) if role and lowered[-1] in JOB_TITLES else None
    return Claim(f"{whose}: works at", (" ".join(employer), job), denied)


def _read_age(words: Sequence[str], who: SpeakerContext) -> Claim | None:
    """Read an age or a height: 30 years old, 180 cm tall."""
    found = _AGE.fullmatch(" ".join(words))
    whose = None if found is None else resolve_person(found["who"].split(), who)
    return Claim(f"{whose}: is {found['what'].lower()}") if found is not None and whose else None


_AGE = re.compile(
    r"(?P<who>.{1,80}?) (?:is|am) [\w.,-]{1,20} ?(?:years?|cm|m|metres?|meters?|centimetres?|centimeters?)"
    r" (?P<what>old|tall)",
    re.IGNORECASE,
)
_MAX_RELATION_POSITION = 6
_RELATIONS: dict[str, list[tuple[list[str], str, str]]] = {}
"""By its first word, every way to word a relation: the phrase, the relation, and the shape of its value."""

for _verbs, _relation, _value in (
    ("lives in|live in|resides in|reside in", "lives in", "name"),
    ("lives at|live at|resides at|reside at", "lives at", "place"),
    ("lives on|live on", "lives on", "street"),
    ("is based in|am based in", "is based in", "name"),
    ("works at|work at|is employed at|am employed at|is employed by|am employed by", "works at", "employer"),
    ("works for|work for", "works for", "employer"),
    ("is married to|am married to", "is married to", "name"),
    ("is engaged to|am engaged to", "is engaged to", "name"),
    ("reports to|report to", "reports to", "name"),
    ("goes by|go by", "goes by", "name"),
    ("is born in|am born in", "is born in", "name"),
    ("is born on|am born on", "is born on", "day"),
    ("goes to bed at|go to bed at", "goes to bed", "clock"),
    ("wakes up at|wake up at|gets up at|get up at", "gets up", "clock"),
    ("starts work at|start work at", "starts work", "clock"),
    ("finishes work at|finish work at", "finishes work", "clock"),
):
    for _verb in _verbs.split("|"):
        _RELATIONS.setdefault(_verb.split()[0], []).append((_verb.split(), _relation, _value))


# ── a thing: is at, expires on, takes place in ───────────────────────────────────────────────────────────────────────


def read_event_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Read when or where a definite thing takes place, if it is one that happens once."""
    words, lowered = said.words, said.lowered
    for at in range(1, len(words)):
        if lowered[at] not in _EVENT_VERBS:
            continue
        what = resolve_thing(words[:at], who)
        if what is None:
            continue
        if (head_noun(words[:at]) in _PLACED_THINGS or " ".join(lowered[at - 2 : at]) in _PLACED_THINGS) and (
            found := _read_location(words[at:])
        ):
            return Claim(f"{what}: is {found[0]}", (found[1],), said.negated)
        for phrase, relation, shape in _EVENT_VERBS[lowered[at]]:
            if lowered[at : at + len(phrase)] != phrase:
                continue
            rest = words[at + len(phrase) :]
            if shape == "when":
                parts = time_parts(rest)
                if parts and (relation in _PERMANENT_RELATIONS or _happens_once(words[:at])):
                    return Claim(f"{what}: {relation} {parts}", (_strip_time_preposition(rest),), said.negated)
            elif rest and fits_shape(rest, shape) and (not relation.startswith("is held") or _happens_once(words[:at])):
                kept = place_suffix(" ".join(rest)) if shape == "name" else ""
                return Claim(f"{what}: {relation}{kept}", (" ".join(rest),), said.negated)
    return None


def _strip_time_preposition(words: Sequence[str]) -> str:
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in ("at", "on", "in") else words)


def _happens_once(words: Sequence[str]) -> bool:
    """Return whether a thing happens once; a meeting only with a person who is named."""
    head, lowered = head_noun(words), [word.lower() for word in words]
    if head in ("meeting", "call"):
        return "with" in lowered and is_name(words[lowered.index("with") + 1 :]) and _ROUTINE_WORDS.isdisjoint(lowered)
    numbered = lowered[0] in _ONE_TIME_EVENTS and len(words) > 1 and words[1][:1].isdigit()
    return (head in _ONE_TIME_EVENTS or numbered) and _ROUTINE_WORDS.isdisjoint(lowered)


_ONE_TIME_EVENTS = word_set("""
    exam wedding interview launch release deadline appointment surgery operation keynote offsite ceremony funeral
    graduation hearing election kickoff kick-off go-live freeze review presentation christening defence defense contract
    lease warranty sprint support semester internship cutover handover inauguration
""")
_ROUTINE_WORDS = word_set("weekly daily monthly quarterly yearly annual regular recurring biweekly fortnightly")
_PERMANENT_RELATIONS = frozenset(("is founded", "expires"))


def _read_location(words: Sequence[str]) -> tuple[str, str] | None:
    """Return how and where a thing is that has one place at a time.

    A place by name is a relation of its own: what is in a town may also be in a garage there.
    """
    lowered = [word.lower() for word in words]
    at = 2 if lowered[1:2] and lowered[1] in ("parked", "kept", "stored", "hidden", "located") else 1
    rest = words[at + 1 :]
    if lowered[0] != "is" or not rest or lowered[at] not in ("in", "at", "on", "under", "behind", "near"):
        return None
    said = " ".join(rest)
    if fits_shape(rest, "name"):
        return f"where {lowered[at]} by name{place_suffix(said)}", said
    return (f"where {lowered[at]}", said) if fits_shape(rest, "spot") else None


_PLACED_THINGS = word_set("""
    key passport car bike bicycle wallet suitcase toolbox ladder van gym hq headquarters head_office main_office
""")
_EVENT_VERBS: dict[str, list[tuple[list[str], str, str]]] = {}
for _verbs, _relation, _value in (
    ("is due|is scheduled for|is moved to|is postponed to|is rescheduled to|is rescheduled for", "is", "when"),
    ("takes place in|is held in", "is held in", "name"),
    ("takes place at|is held at", "is held at", "name"),
    ("takes place|is held|happens", "is", "when"),
    ("is founded in|is established in", "is founded", "when"),
    ("is led by|is headed by|is chaired by", "is led by", "name"),
    ("is managed by", "is managed by", "name"),
    ("is hosted on", "is hosted on", "name"),
    ("is headquartered in|is based in|is located in", "is based in", "name"),
    ("expires|runs out", "expires", "when"),
    ("ends|end|finishes", "ends", "when"),
    ("begins|begin|starts|start|kicks off", "starts", "when"),
    ("runs until|lasts until", "ends", "when"),
    ("is", "is", "when"),
    ("is in", "is in path", "path"),
    ("is at", "is at path", "path"),
    ("is under", "is under path", "path"),
):
    for _verb in _verbs.split("|"):
        _EVENT_VERBS.setdefault(_verb.split()[0], []).append((_verb.split(), _relation, _value))


# ── a property: favorite color, email, deadline, port ────────────────────────────────────────────────────────────────


def read_property_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Read the value of a person's or a thing's property."""
    words, lowered = said.words, said.lowered
    labelled = next((at for at, word in enumerate(words[:_MAX_RELATION_POSITION]) if word.endswith(":")), None)
    if labelled is not None:
        label = [*words[:labelled], words[labelled][:-1]]
        owned = label[0].lower() in ("my", "our") or "'s" in " ".join(label) or "of" in label
        if not owned and not who.source_suffix:  # only the page tells what it is the deadline of
            return None
        label[0] = label[0] if label[0].isupper() else label[0].lower()
        label = label if owned else [word.lower() for word in label]
        whole = label if label[0] == "the" or (owned and "of" not in label) else ["the", *label]
        return _read_property(whole, words[labelled + 1 :], who, denied=said.negated)
    if "is" not in lowered:
        return None
    at = lowered.index("is")
    value = words[at + 1 :]
    if value and value[0].lower() in ("called", "named"):
        return _read_naming(words[:at], value[1:], who, denied=said.negated)
    return _read_property(words[:at], value, who, denied=said.negated)


def _read_property(words: Sequence[str], value: Sequence[str], who: SpeakerContext, *, denied: bool) -> Claim | None:
    owner, what = resolve_property(words, who)
    if owner is None or not what or not value or not is_single_thing(what):
        return None
    shape = _value_shape(what)
    if shape is None or not fits_shape(value, shape):
        return None
    said = f"{canonical_key(' '.join(what))}{_value_qualifier(value, shape, what)}"
    if (not owner or owner.startswith("(")) and len(what) == 1 and what[0].lower() in CONTEXT_NOUNS:
        return None
    whole = f"{owner}: {said}" if owner and not owner.startswith("(") else f"{said}{f' {owner}' if owner else ''}: is"
    return Claim(whole, (" ".join(value),), denied)


def _value_qualifier(value: Sequence[str], shape: str, what: Sequence[str]) -> str:
    """Return what separates values that may both be true: two currencies, a weekday and a date."""
    if shape == "day":
        return " (weekday)" if time_parts([word for word in value if word.lower() != "on"]) == "weekday" else ""
    if shape == "name" and what[-1].lower() in _PLACE_PROPERTIES:
        return place_suffix(" ".join(value))
    if shape not in ("number", "pay"):
        return ""
    rated = shape == "pay" and len(value) > 2 and value[-2].lower() in ("a", "an", "per")
    mark = (measure_mark(value[:-2] if rated else value) or "#")[1:]
    period = f"per {value[-1].lower()}" if rated else ""
    return f" ({f'{mark} {period}'.strip()})" if mark or period else ""


_PLACE_PROPERTIES = word_set("destination hometown birthplace")


def _read_naming(words: Sequence[str], name: Sequence[str], who: SpeakerContext, *, denied: bool) -> Claim | None:
    """Read what a definite thing is called.

    A person is left out: another name would mean another person.
    """
    what = resolve_thing(words, who)
    if what is None or set(what.split()) & REPEATABLE_RELATIONS:
        return None
    named = fits_shape(name, "name") or fits_shape(name, "word")
    return Claim(f"{what}: is named", (" ".join(name),), denied) if named else None


def _value_shape(what: Sequence[str]) -> str | None:
    """Return the shape of the property's value; None if the property may have several values."""
    lowered = [word.lower() for word in what]
    if lowered[0] in UNIQUE_ADJECTIVES and len(what) > 1:
        return "free"
    if lowered[0] in _NOT_CURRENT_WORDS:
        return None
    if lowered[0] == "main" and len(what) > 1:
        return "name"
    head = head_noun(what)
    bound = lowered.index(head)
    two = " ".join(lowered[max(bound - 1, 0) : bound + 1])
    return _PROPERTY_SHAPES.get(two, _PROPERTY_SHAPES.get(head))


_NOT_CURRENT_WORDS = word_set("former old ex previous next new second third another future past last first one")
_PROPERTY_SHAPES = {
    name: shape
    for shape, names in {
        "address": "email|e-mail|email address|e-mail address",
        "number": (
            "age|height|weight|budget|price|cost|timeout|temperature|quota|interval|retention|ttl|dose|dosage|deposit|"
            "mileage"
        ),
        "pay": "salary|wage|rent|hourly rate|day rate|consulting rate|rate|pay|pocket money",
        "code": (
            "gate|terminal|platform|seat|licence plate|license plate|number plate|locker|registration number|"
            "phone number|phone|telephone number|mobile number|port|version|room number|account number|flight number|"
            "pin|locker number|phone extension|extension|shoe size|bust size"
        ),
        "date": "birthday|anniversary|wedding anniversary",
        "day": (
            "deadline|due date|start date|end date|launch date|release date|expiry date|"
            "expiration date|closing date|moving date"
        ),
        "name": (
            "name|surname|last name|first name|manager|boss|wife|husband|spouse|employer|ceo|cto|cfo|coo|owner|"
            "landlord|capital|country|home country|destination|city|hometown|nickname|maiden name|dentist|gp|"
            "family doctor|paediatrician|pediatrician|"
            "accountant|tax advisor|tax adviser|project lead|team lead|tech lead|lead|project manager|product owner|"
            "therapist|"
            "scrum master|on-call engineer|emergency contact|payment provider|mobile provider|internet provider|"
            "cloud provider|hosting provider|email provider|energy provider|chat tool|head coach|mayor|"
            "prime minister|president|chairman|chairwoman|chairperson|headmaster|headmistress|head teacher|principal|"
            "codename|code name|registrar|insurer|girlfriend|boyfriend|partner|fiancé|fiancée|mother|father|"
            "supervisor|line manager|phd supervisor|godfather|godmother|primary contact|package manager|"
            "issue tracker|version control system|web framework|birthplace|birth name|best friend"
        ),
        "link": "url|host|hostname|website|ip address|homepage|username|user name|handle|domain|ip",
        "free": (
            "job|job title|role|status|time zone|timezone|branch|region|venue|theme|native language|postcode|zip code|"
            "blood type|primary language|main language|blood group|star sign|shirt size|eye colour|eye color|"
            "hair colour|hair color|marital status|nationality|mother tongue"
        ),
        "place": "address|home address|office address|work address|mailing address|postal address|billing address",
    }.items()
    for name in names.split("|")
}
"""The shape of each property's value; without it, "her email is broken" would be her new address."""

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
    """Return which parts of a time the words give: at, on, in, weekday, or both as in "at on".

    None if the words are anything else. A clock time with a zone gives the zone as well.
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
    """Return the mark for what an amount measures; None if the words are anything else."""
    found = canonicalize_text(" ".join(words)) if words else ()
    if not found or found[0].kind != "number":
        return None
    mark, taken = dimension_mark(found, 0)
    return mark if len(found) == 1 + taken else None


def dimension_mark(found: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the mark for what a number measures, and how many tokens behind it are its unit."""
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
"""Units of one dimension convert into each other without a table; currencies and systems of units stay apart."""


def fits_shape(value: Sequence[str], shape: str) -> bool:
    """Return whether the words look like one value of that shape, and say nothing else."""
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
"""Capitalized words that are not names: times, nationalities, religions and the like."""
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
