"""Relations and properties: somebody lives in, works at, is so old; something is called, is at, is so much."""

import re
from collections.abc import Sequence

from recollect.text.updates.given_names import is_of_a_person
from recollect.text.updates.places import around
from recollect.text.updates.statement import Reading, Statement
from recollect.text.updates.subjects import Speaking, head_of, is_name, is_one, key_of, person, property_of, thing
from recollect.text.updates.values import fits, measure, when
from recollect.text.updates.word_lists import CHOSEN, JOBS, POINTING, SEVERAL, listed

# ── somebody: lives in, works at, is married to, is so old ─────────────────────────────────────────────────────────


def of_a_person(said: Statement, who: Speaking) -> Reading | None:
    """What is true of somebody in one way at a time."""
    words, lowered = said.words, said.lowered
    for at in range(1, min(len(words), _LATEST)):
        for phrase, relation, shape in _RELATIONS.get(lowered[at], ()):
            if lowered[at : at + len(phrase)] != phrase:
                continue
            whose, rest = person(words[:at], who), words[at + len(phrase) :]
            if whose is None or not rest:
                return None
            if shape == "employer":
                return _of_work(whose, relation, rest, denied=said.negated)
            if when(rest) != "at" if shape == "clock" else not fits(rest, shape):
                return None
            kept = around(" ".join(rest)) if shape == "name" else ""
            return Reading(f"{whose}: {relation}{kept}", (" ".join(rest),), said.negated)
    return _of_an_age(words, who)


def _of_work(whose: str, relation: str, words: Sequence[str], *, denied: bool) -> Reading | None:
    """For whom somebody works; as what is another matter, unless it is a job of which one has one."""
    lowered = [word.lower() for word in words]
    at = lowered.index("as") if "as" in lowered else len(words)
    employer, role = words[:at], words[at + 1 :]
    if not employer or not fits(employer, "name") or (at < len(words) and (denied or not fits(role, "role"))):
        return None
    if relation == "works for" and is_of_a_person(employer):
        return Reading(f"{whose}: works for", (" ".join(employer),), denied) if not role else None
    job = " ".join(role[1:]) if role and lowered[-1] in JOBS else None
    return Reading(f"{whose}: works at", (" ".join(employer), job), denied)


def _of_an_age(words: Sequence[str], who: Speaking) -> Reading | None:
    """Somebody is 30 years old, or 180 cm tall."""
    found = _AGE.fullmatch(" ".join(words))
    whose = None if found is None else person(found["who"].split(), who)
    return Reading(f"{whose}: is {found['what'].lower()}") if found is not None and whose else None


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


# ── something: is at, expires on, takes place in ───────────────────────────────────────────────────────────────────


def of_an_event(said: Statement, who: Speaking) -> Reading | None:
    """Something definite is at a time, on a day, or in a place where it can only be once."""
    words, lowered = said.words, said.lowered
    for at in range(1, len(words)):
        if lowered[at] not in _VERBS:
            continue
        what = thing(words[:at], who)
        if what is None:
            continue
        if (head_of(words[:at]) in _PLACED or " ".join(lowered[at - 2 : at]) in _PLACED) and (
            found := _where(words[at:])
        ):
            return Reading(f"{what}: is {found[0]}", (found[1],), said.negated)
        for phrase, relation, shape in _VERBS[lowered[at]]:
            if lowered[at : at + len(phrase)] != phrase:
                continue
            rest = words[at + len(phrase) :]
            if shape == "when":
                parts = when(rest)
                if parts and (relation in _ONCE_FOR_ALL or _is_once(words[:at])):
                    return Reading(f"{what}: {relation} {parts}", (_moment(rest),), said.negated)
            elif rest and fits(rest, shape) and (not relation.startswith("is held") or _is_once(words[:at])):
                kept = around(" ".join(rest)) if shape == "name" else ""
                return Reading(f"{what}: {relation}{kept}", (" ".join(rest),), said.negated)
    return None


def _moment(words: Sequence[str]) -> str:
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in ("at", "on", "in") else words)


def _is_once(words: Sequence[str]) -> bool:
    """Whether something happens once, and is not done week by week; a meeting only with somebody by name."""
    head, lowered = head_of(words), [word.lower() for word in words]
    if head in ("meeting", "call"):
        return "with" in lowered and is_name(words[lowered.index("with") + 1 :]) and _ROUTINES.isdisjoint(lowered)
    numbered = lowered[0] in _ONCE and len(words) > 1 and words[1][:1].isdigit()
    return (head in _ONCE or numbered) and _ROUTINES.isdisjoint(lowered)


_ONCE = listed("""
    exam wedding interview launch release deadline appointment surgery operation keynote offsite ceremony funeral
    graduation hearing election kickoff kick-off go-live freeze review presentation christening defence defense contract
    lease warranty sprint support semester internship cutover handover inauguration
""")
_ROUTINES = listed("weekly daily monthly quarterly yearly annual regular recurring biweekly fortnightly")
_ONCE_FOR_ALL = frozenset(("is founded", "expires"))


def _where(words: Sequence[str]) -> tuple[str, str] | None:
    """How and where something is that is in one place at a time; what is in a town may be in a garage of it."""
    lowered = [word.lower() for word in words]
    at = 2 if lowered[1:2] and lowered[1] in ("parked", "kept", "stored", "hidden", "located") else 1
    rest = words[at + 1 :]
    if lowered[0] != "is" or not rest or lowered[at] not in ("in", "at", "on", "under", "behind", "near"):
        return None
    said = " ".join(rest)
    if fits(rest, "name"):
        return f"where {lowered[at]} by name{around(said)}", said
    return (f"where {lowered[at]}", said) if fits(rest, "spot") else None


_PLACED = listed("""
    key passport car bike bicycle wallet suitcase toolbox ladder van gym hq headquarters head_office main_office
""")
_VERBS: dict[str, list[tuple[list[str], str, str]]] = {}
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
        _VERBS.setdefault(_verb.split()[0], []).append((_verb.split(), _relation, _value))


# ── a property: favourite colour, email, deadline, port ────────────────────────────────────────────────────────────


def of_a_property(said: Statement, who: Speaking) -> Reading | None:
    """What somebody's or something's property is."""
    words, lowered = said.words, said.lowered
    labelled = next((at for at, word in enumerate(words[:_LATEST]) if word.endswith(":")), None)
    if labelled is not None:
        label = [*words[:labelled], words[labelled][:-1]]
        owned = label[0].lower() in ("my", "our") or "'s" in " ".join(label) or "of" in label
        if not owned and not who.beside:  # of what it is the deadline, only the page tells
            return None
        label[0] = label[0] if label[0].isupper() else label[0].lower()
        label = label if owned else [word.lower() for word in label]
        whole = label if label[0] == "the" or (owned and "of" not in label) else ["the", *label]
        return _property(whole, words[labelled + 1 :], who, denied=said.negated)
    if "is" not in lowered:
        return None
    at = lowered.index("is")
    value = words[at + 1 :]
    if value and value[0].lower() in ("called", "named"):
        return _of_a_name(words[:at], value[1:], who, denied=said.negated)
    return _property(words[:at], value, who, denied=said.negated)


def _property(words: Sequence[str], value: Sequence[str], who: Speaking, *, denied: bool) -> Reading | None:
    owner, what = property_of(words, who)
    if owner is None or not what or not value or not is_one(what):
        return None
    shape = _shape(what)
    if shape is None or not fits(value, shape):
        return None
    said = f"{key_of(' '.join(what))}{_apart(value, shape, what)}"
    if (not owner or owner.startswith("(")) and len(what) == 1 and what[0].lower() in POINTING:
        return None
    whole = f"{owner}: {said}" if owner and not owner.startswith("(") else f"{said}{f' {owner}' if owner else ''}: is"
    return Reading(whole, (" ".join(value),), denied)


def _apart(value: Sequence[str], shape: str, what: Sequence[str]) -> str:
    """What tells values of a property apart that may both be true: amounts in two currencies, a weekday and a date."""
    if shape == "day":
        return " (weekday)" if when([word for word in value if word.lower() != "on"]) == "weekday" else ""
    if shape == "name" and what[-1].lower() in _PLACES:
        return around(" ".join(value))
    if shape not in ("number", "pay"):
        return ""
    rated = shape == "pay" and len(value) > 2 and value[-2].lower() in ("a", "an", "per")
    mark = (measure(value[:-2] if rated else value) or "#")[1:]
    period = f"per {value[-1].lower()}" if rated else ""
    return f" ({f'{mark} {period}'.strip()})" if mark or period else ""


_PLACES = listed("destination hometown birthplace")


def _of_a_name(words: Sequence[str], name: Sequence[str], who: Speaking, *, denied: bool) -> Reading | None:
    """Something definite is called so; not somebody, who would rather be somebody else by another name."""
    what = thing(words, who)
    if what is None or set(what.split()) & SEVERAL:
        return None
    named = fits(name, "name") or fits(name, "word")
    return Reading(f"{what}: is named", (" ".join(name),), denied) if named else None


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
"""How the value of each property looks; without that, "her email is broken" would be her new address."""
