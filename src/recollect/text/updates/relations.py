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
)
from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.statement import (
    DATA,
    Claim,
    SpeakerContext,
    Statement,
    canonical_key,
    head_noun,
    is_name,
    is_name_word,
    is_single_thing,
    load_groups,
    load_words,
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
            if _time_parts(rest) != "at" if shape == "clock" else not _fits_shape(rest, shape):
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
        or not _fits_shape(employer, "name")
        or (at < len(words) and (denied or not _fits_shape(role, "role")))
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


_AGE = re.compile(DATA.pattern("patterns.age"), re.IGNORECASE)
_MAX_RELATION_POSITION = 6


def _load_relations(key: str) -> dict[str, list[tuple[list[str], str, str]]]:
    """Return every wording of the relations by its first word: the phrase, the relation and the shape of its value."""
    relations: dict[str, list[tuple[list[str], str, str]]] = {}
    for row in DATA.rows(key):
        for phrase in (wording.split("_") for wording in row["wordings"].split()):
            relations.setdefault(phrase[0], []).append((phrase, row["relation"], row["value"]))
    return relations


_RELATIONS = _load_relations("people.relations")


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
                parts = _time_parts(rest)
                if parts and (relation in _PERMANENT_RELATIONS or _happens_once(words[:at])):
                    return Claim(f"{what}: {relation} {parts}", (_strip_time_preposition(rest),), said.negated)
            elif (
                rest and _fits_shape(rest, shape) and (not relation.startswith("is held") or _happens_once(words[:at]))
            ):
                kept = place_suffix(" ".join(rest)) if shape == "name" else ""
                return Claim(f"{what}: {relation}{kept}", (" ".join(rest),), said.negated)
    return None


def _strip_time_preposition(words: Sequence[str]) -> str:
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in ("at", "on", "in") else words)


def _happens_once(words: Sequence[str]) -> bool:
    """Return whether a thing happens once; a meeting only with a person who is named."""
    head, lowered = head_noun(words), [word.lower() for word in words]
    if head in _MEETING_NOUNS:
        return "with" in lowered and is_name(words[lowered.index("with") + 1 :]) and _ROUTINE_WORDS.isdisjoint(lowered)
    numbered = lowered[0] in _ONE_TIME_EVENTS and len(words) > 1 and words[1][:1].isdigit()
    return (head in _ONE_TIME_EVENTS or numbered) and _ROUTINE_WORDS.isdisjoint(lowered)


_ONE_TIME_EVENTS = load_words("events.one_time_events")
_MEETING_NOUNS = load_words("events.meeting_nouns")
_ROUTINE_WORDS = load_words("events.routine_words")
_PERMANENT_RELATIONS = load_words("events.permanent_relations")


def _read_location(words: Sequence[str]) -> tuple[str, str] | None:
    """Return how and where a thing is that has one place at a time.

    A place by name is a relation of its own: what is in a town may also be in a garage there.
    """
    lowered = [word.lower() for word in words]
    at = 2 if lowered[1:2] and lowered[1] in _PLACE_PARTICIPLES else 1
    rest = words[at + 1 :]
    if lowered[0] != "is" or not rest or lowered[at] not in _PLACE_PREPOSITIONS:
        return None
    said = " ".join(rest)
    if _fits_shape(rest, "name"):
        return f"where {lowered[at]} by name{place_suffix(said)}", said
    return (f"where {lowered[at]}", said) if _fits_shape(rest, "spot") else None


_PLACED_THINGS = load_words("events.placed_things")
_PLACE_PARTICIPLES = load_words("events.place_participles")
_PLACE_PREPOSITIONS = load_words("events.place_prepositions")
_EVENT_VERBS = _load_relations("events.relations")


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
    if value and value[0].lower() in _NAMING_VERBS:
        return _read_naming(words[:at], value[1:], who, denied=said.negated)
    return _read_property(words[:at], value, who, denied=said.negated)


def _read_property(words: Sequence[str], value: Sequence[str], who: SpeakerContext, *, denied: bool) -> Claim | None:
    owner, what = resolve_property(words, who)
    if owner is None or not what or not value or not is_single_thing(what):
        return None
    shape = _value_shape(what)
    if shape is None or not _fits_shape(value, shape):
        return None
    said = f"{canonical_key(' '.join(what))}{_value_qualifier(value, shape, what)}"
    if (not owner or owner.startswith("(")) and len(what) == 1 and what[0].lower() in CONTEXT_NOUNS:
        return None
    whole = f"{owner}: {said}" if owner and not owner.startswith("(") else f"{said}{f' {owner}' if owner else ''}: is"
    return Claim(whole, (" ".join(value),), denied)


def _value_qualifier(value: Sequence[str], shape: str, what: Sequence[str]) -> str:
    """Return what separates values that may both be true: two currencies, a weekday and a date."""
    if shape == "day":
        return " (weekday)" if _time_parts([word for word in value if word.lower() != "on"]) == "weekday" else ""
    if shape == "name" and what[-1].lower() in _PLACE_PROPERTIES:
        return place_suffix(" ".join(value))
    if shape not in ("number", "pay"):
        return ""
    rated = shape == "pay" and len(value) > 2 and value[-2].lower() in ("a", "an", "per")
    mark = (_measure_mark(value[:-2] if rated else value) or "#")[1:]
    period = f"per {value[-1].lower()}" if rated else ""
    return f" ({f'{mark} {period}'.strip()})" if mark or period else ""


_PLACE_PROPERTIES = load_words("properties.place_properties")
_NAMING_VERBS = load_words("properties.naming_verbs")


def _read_naming(words: Sequence[str], name: Sequence[str], who: SpeakerContext, *, denied: bool) -> Claim | None:
    """Read what a definite thing is called.

    A person is left out: another name would mean another person.
    """
    what = resolve_thing(words, who)
    if what is None or set(what.split()) & REPEATABLE_RELATIONS:
        return None
    named = _fits_shape(name, "name") or _fits_shape(name, "word")
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


_NOT_CURRENT_WORDS = load_words("properties.not_current_words")
_PROPERTY_SHAPES = load_groups("properties.shapes")


# ── the shape of a value: a time, an amount, a name ──────────────────────────────────────────────────────────────────

_TIME_EXPRESSION = re.compile(DATA.pattern("patterns.time_expression"), re.IGNORECASE)
_TIME_ZONE = re.compile(r" ([A-Z]{2,4})$", re.IGNORECASE)


def _time_parts(words: Sequence[str]) -> str | None:
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


def _measure_mark(words: Sequence[str]) -> str | None:
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


_CURRENCY_WORDS = load_words("values.currencies")
_UNIT_DIMENSIONS = {name: name for name in _CURRENCY_WORDS} | load_groups("values.dimensions")


def _fits_shape(value: Sequence[str], shape: str) -> bool:
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
            return _measure_mark(value) is not None
        case "pay":
            return (
                _measure_mark(value[:-2] if len(value) > 2 and lowered[-2] in ("a", "an", "per") else value) is not None
            )
        case "street":
            return 1 < len(value) <= 4 and is_name_word(first) and lowered[-1] in _STREET_WORDS
        case "spot":
            return 1 < len(value) <= 7 and (lowered[0] in _DETERMINERS or is_name_word(first) or first.endswith("'s"))
        case "day":
            return _time_parts([word for word in value if word.lower() != "on"]) in ("on", "weekday")
        case "date":
            return _time_parts([word for word in value if word.lower() != "on"]) == "on"
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
_NOT_NAME_WORDS = WEEKDAY_WORDS | MONTH_WORDS | load_words("values.not_name_words")
_PERSON_TITLES = load_words("values.person_titles")


def _is_free_value(lowered: Sequence[str]) -> bool:
    told = lowered[1:] if lowered[0] in ("the", "a", "an") and len(lowered) > 1 else lowered
    moving = len(told) == 1 and told[0].endswith(("ing", "ed")) and told[0] not in ("red",)
    beside = set(told) & (BINDING_PREPOSITIONS - {"of"} | {"by"})
    return len(lowered) <= 5 and told[0] not in STATE_WORDS and not moving and not beside


_STREET_WORDS = load_words("values.street_words")
_DETERMINERS = load_words("values.determiners")
_NAME_PARTICLES = load_words("values.name_particles")
_NOT_ADDRESS_WORDS = load_words("values.not_address_words")
