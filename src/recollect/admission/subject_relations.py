"""Relations and properties: somebody lives in, works at, is so old; something is called, is at, is so much."""

import re
from collections.abc import Sequence

from recollect.admission.subject_statement import Statement
from recollect.admission.subject_things import Speaking, head_of, is_one, key_of, person, property_of, thing
from recollect.admission.subject_values import fits, is_country, when
from recollect.admission.subject_words import CHOSEN, POINTING, SEVERAL, listed

# ── somebody: lives in, works at, is married to, is so old ─────────────────────────────────────────────────────────


def of_a_person(said: Statement, who: Speaking) -> str | None:
    """What is true of somebody in one way at a time."""
    words, lowered = said.words, said.lowered
    for at in range(1, min(len(words), _LATEST)):
        for phrase, relation, shape in _RELATIONS.get(lowered[at], ()):
            if lowered[at : at + len(phrase)] != phrase:
                continue
            whose, rest = person(words[:at], who), words[at + len(phrase) :]
            if whose is None or not rest:
                return None
            if shape == "clock":
                return f"{whose}: {relation}" if when(rest) == "at" else None
            if not fits(rest, shape):
                return None
            return f"{whose}: {relation}{' (country)' if shape == 'name' and is_country(rest) else ''}"
    return _of_an_age(words, who)


def _of_an_age(words: Sequence[str], who: Speaking) -> str | None:
    """Somebody is 30 years old, or 180 cm tall."""
    found = _AGE.fullmatch(" ".join(words))
    whose = None if found is None else person(found["who"].split(), who)
    return f"{whose}: is {found['what'].lower()}" if found is not None and whose else None


_AGE = re.compile(
    r"(?P<who>.{1,80}?) (?:is|am) [\w.,-]{1,20} ?(?:years?|cm|m|metres?|meters?|centimetres?|centimeters?)"
    r" (?P<what>old|tall)",
    re.IGNORECASE,
)
_LATEST = 6
_RELATIONS: dict[str, list[tuple[list[str], str, str]]] = {}
"""By its first word every way to put a relation, what it is called, and how the other side of it looks."""

for _verbs, _relation, _value in (
    ("lives in|live in|resides in|reside in", "lives in", "name"),
    ("lives at|live at|resides at|reside at", "lives at", "place"),
    ("lives on|live on", "lives on", "street"),
    ("is based in|am based in", "is based in", "name"),
    ("works at|work at", "works at", "name"),
    ("works for|work for", "works for", "name"),
    ("works as|work as", "works as", "role"),
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


# ── something: is at, expires on, takes place in ───────────────────────────────────────────────────────────────────


def of_an_event(said: Statement, who: Speaking) -> str | None:
    """Something definite is at a time, on a day, or in a place where it can only be once."""
    words, lowered = said.words, said.lowered
    for at in range(1, len(words)):
        if lowered[at] not in _VERBS:
            continue
        what = thing(words[:at], who) or _habit(words[:at], who)
        if what is None:
            continue
        if (head_of(words[:at]) in _PLACED or " ".join(lowered[at - 2 : at]) in _PLACED) and (
            found := _where(words[at:])
        ):
            return f"{what}: is {found}"
        for phrase, relation, shape in _VERBS[lowered[at]]:
            if lowered[at : at + len(phrase)] != phrase:
                continue
            rest = words[at + len(phrase) :]
            if shape == "when":
                parts = when(rest)
                if parts:
                    return f"{what}: {relation} {parts}"
            elif rest and fits(rest, shape):
                return f"{what}: {relation}{' (country)' if shape == 'name' and is_country(rest) else ''}"
    return None


def _where(words: Sequence[str]) -> str | None:
    """Where something is that is in one place at a time."""
    lowered = [word.lower() for word in words]
    at = 2 if lowered[1:2] and lowered[1] in ("parked", "kept", "stored", "hidden", "located") else 1
    rest = words[at + 1 :]
    if lowered[0] != "is" or not rest or lowered[at] not in ("in", "at", "on", "under", "behind", "near"):
        return None
    return "where" if fits(rest, "spot") or fits(rest, "name") else None


_PLACED = listed("""
    key passport car bike bicycle wallet suitcase umbrella charger toolbox ladder van gym hq headquarters head_office
    main_office
""")


def _habit(words: Sequence[str], who: Speaking) -> str | None:
    """Something that everybody who speaks of it has one of, without an article."""
    said = " ".join(words).lower()
    return None if who.within is None or said not in _HABITS else f"{said}{who.within}"


_HABITS = listed("standup stand-up bedtime check-in checkout check-out curfew quiet_hours office_hours opening_hours")
_VERBS: dict[str, list[tuple[list[str], str, str]]] = {}
for _verbs, _relation, _value in (
    ("is due|is scheduled for|is moved to|is postponed to|is rescheduled to|is rescheduled for", "is", "when"),
    ("takes place in|takes place at|is held in|is held at", "is held", "name"),
    ("takes place|is held|happens", "is", "when"),
    ("is set to|is set for", "is set", "when"),
    ("is founded in|is established in", "is founded", "when"),
    ("is led by|is headed by|is chaired by|is run by|is managed by", "is led by", "name"),
    ("is hosted on|is hosted at|is hosted by", "is hosted", "name"),
    ("is headquartered in|is based in|is located in", "is based in", "name"),
    ("meets|meets on", "meets", "when"),
    ("is called|is named", "is named", "called"),
    ("is from", "is from", "when"),
    ("is open until|closes", "closes", "when"),
    ("runs", "runs", "when"),
    ("opens|open|is open from", "opens", "when"),
    ("expires|runs out", "expires", "when"),
    ("ends|end|finishes", "ends", "when"),
    ("begins|begin|starts|start|kicks off", "starts", "when"),
    ("leaves|departs", "leaves", "when"),
    ("arrives|lands", "arrives", "when"),
    ("runs until|lasts until", "ends", "when"),
    ("is", "is", "when"),
    ("is in|is at|is under", "is at path", "path"),
):
    for _verb in _verbs.split("|"):
        if _value != "called":
            _VERBS.setdefault(_verb.split()[0], []).append((_verb.split(), _relation, _value))


# ── a property: favourite colour, email, deadline, port ────────────────────────────────────────────────────────────


def of_a_property(said: Statement, who: Speaking) -> str | None:
    """What somebody's or something's property is."""
    words, lowered = said.words, said.lowered
    labelled = next((at for at, word in enumerate(words[:_LATEST]) if word.endswith(":")), None)
    if labelled is not None:
        label = [*words[:labelled], words[labelled][:-1]]
        label[0] = label[0] if label[0].isupper() else label[0].lower()
        whole = label if label[0].lower() in ("the", "my", "our") or "'s" in " ".join(label) else ["the", *label]
        return _property(whole, words[labelled + 1 :], who)
    if "is" not in lowered:
        return None
    at = lowered.index("is")
    value = words[at + 1 :]
    if value and value[0].lower() in ("called", "named"):
        return _of_a_name(words[:at], value[1:], who)
    return _property(words[:at], value, who)


def _property(words: Sequence[str], value: Sequence[str], who: Speaking) -> str | None:
    owner, what = property_of(words, who)
    if owner is None or not what or not value or not is_one(what):
        return None
    shape = _shape(what)
    if shape is None or not fits(value, shape):
        return None
    said = key_of(" ".join(what))
    if (not owner or owner.startswith("(")) and len(what) == 1 and what[0].lower() in POINTING:
        return None
    return f"{owner}: {said}" if owner and not owner.startswith("(") else f"{said}{f' {owner}' if owner else ''}: is"


def _of_a_name(words: Sequence[str], name: Sequence[str], who: Speaking) -> str | None:
    """Something definite is called so; not somebody, who would rather be somebody else by another name."""
    what = thing(words, who)
    if what is None or set(what.split()) & SEVERAL:
        return None
    return f"{what}: is named" if fits(name, "name") or fits(name, "word") else None


def _shape(what: Sequence[str]) -> str | None:
    """What a value of the property looks like; none if the property may have several values."""
    lowered = [word.lower() for word in what]
    if lowered[0] in CHOSEN and len(what) > 1:
        return "free"
    if lowered[0] in _NOT_THE_ONE:
        return None
    if lowered[0] == "main" and len(what) > 1:
        return "name"
    head = head_of(what)
    bound = lowered.index(head)
    two = " ".join(lowered[max(bound - 1, 0) : bound + 1])
    return _SHAPES.get(two, _SHAPES.get(head))


_NOT_THE_ONE = listed("former old ex previous next new second third another future past last first one")
_SHAPES = {
    name: shape
    for shape, names in {
        "address": "email|e-mail|email address|e-mail address",
        "number": (
            "phone number|phone|telephone number|mobile number|port|age|height|weight|budget|price|cost|"
            "timeout|temperature|quota|version|interval|retention|room number|account number|flight number|pin|ttl|"
            "dose|dosage|locker number|phone extension|extension|deposit|mileage|shoe size|bust size"
        ),
        "pay": "salary|wage|rent|hourly rate|day rate|consulting rate|rate|pay|pocket money",
        "code": "gate|terminal|platform|seat|licence plate|license plate|number plate|locker|registration number",
        "day": (
            "deadline|due date|birthday|start date|end date|launch date|release date|expiry date|anniversary|"
            "wedding anniversary|expiration date|closing date|moving date"
        ),
        "name": (
            "name|surname|last name|first name|manager|boss|wife|husband|spouse|employer|ceo|cto|cfo|coo|owner|"
            "landlord|"
            "capital|nationality|hometown|nickname|maiden name|dentist|gp|family doctor|paediatrician|pediatrician|"
            "accountant|tax advisor|tax adviser|project lead|team lead|tech lead|lead|project manager|product owner|"
            "therapist|"
            "scrum master|on-call engineer|emergency contact|payment provider|mobile provider|internet provider|"
            "cloud provider|hosting provider|email provider|energy provider|chat tool|head coach|mayor|"
            "prime minister|president|chairman|chairwoman|chairperson|headmaster|headmistress|head teacher|principal|"
            "codename|code name|registrar|insurer|girlfriend|boyfriend|partner|fiancé|fiancée|mother|father|"
            "supervisor|line manager|phd supervisor|godfather|godmother|primary contact|package manager|"
            "issue tracker|version control system|web framework|birthplace|birth name|mother tongue|best friend"
        ),
        "link": "url|host|hostname|website|ip address|homepage|username|user name|handle|domain|ip",
        "free": (
            "job|job title|role|status|time zone|timezone|branch|region|venue|theme|native language|postcode|zip code|"
            "blood type|primary language|main language|blood group|star sign|shirt size|eye colour|eye color|"
            "hair colour|hair color|marital status|mother tongue"
        ),
        "place": "address|home address|office address|work address|mailing address|postal address|billing address",
    }.items()
    for name in names.split("|")
}
"""How the value of each property looks; without that, "her email is broken" would be her new address."""
