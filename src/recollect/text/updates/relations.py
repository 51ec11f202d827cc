"""Claim rules for relations, events and properties, and the shapes of their values.

A person lives in, works at or is so old; a thing is called, takes place or costs so much. The shape of a value ensures
that the words are that value and nothing else.
"""

import re
from collections.abc import Sequence

from recollect.text.lexer import Token
from recollect.text.lexicon import (
    ARTICLES,
    BINDING_PREPOSITIONS,
    CONTEXT_NOUNS,
    JOB_TITLES,
    MONTH_WORDS,
    RATE_WORDS,
    REPEATABLE_RELATIONS,
    STATE_WORDS,
    UNIQUE_ADJECTIVES,
    VERB_ENDINGS,
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


def read_person_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read a relation that a person has in one way at a time."""
    words, lowered = statement.words, statement.lowered
    for at in range(1, min(len(words), _MAX_RELATION_POSITION)):
        for phrase, relation, shape in _RELATIONS.get(lowered[at], ()):
            if lowered[at : at + len(phrase)] != phrase:
                continue
            person, rest = resolve_person(words[:at], context), words[at + len(phrase) :]
            if person is None or not rest:
                return None
            if shape == "employer":
                return _read_employment(person, relation, rest, denied=statement.negated)
            if _time_parts(rest) != "at" if shape == "clock" else not _fits_shape(rest, shape):
                return None
            qualifier = place_suffix(" ".join(rest)) if shape == "name" else ""
            return Claim(f"{person}: {relation}{qualifier}", (" ".join(rest),), statement.negated)
    return _read_age(words, context)


def _read_employment(person: str, relation: str, words: Sequence[str], *, denied: bool) -> Claim | None:
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
        return Claim(f"{person}: works for", (" ".join(employer),), denied) if not role else None
    job = " ".join(role[1:]) if role and lowered[-1] in JOB_TITLES else None
    return Claim(f"{person}: works at", (" ".join(employer), job), denied)


def _read_age(words: Sequence[str], context: SpeakerContext) -> Claim | None:
    """Read an age or a height: 30 years old, 180 cm tall."""
    match = _AGE.fullmatch(" ".join(words))
    person = None if match is None else resolve_person(match["who"].split(), context)
    return Claim(f"{person}: is {match['what'].lower()}") if match is not None and person else None


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


def read_event_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read when or where a definite thing takes place, if it is one that happens once."""
    words, lowered = statement.words, statement.lowered
    for at in range(1, len(words)):
        if lowered[at] not in _EVENT_VERBS:
            continue
        thing = resolve_thing(words[:at], context)
        if thing is None:
            continue
        if (head_noun(words[:at]) in _PLACED_THINGS or " ".join(lowered[at - 2 : at]) in _PLACED_THINGS) and (
            location := _read_location(words[at:])
        ):
            return Claim(f"{thing}: is {location[0]}", (location[1],), statement.negated)
        for phrase, relation, shape in _EVENT_VERBS[lowered[at]]:
            if lowered[at : at + len(phrase)] != phrase:
                continue
            rest = words[at + len(phrase) :]
            if shape == "when":
                parts = _time_parts(rest)
                if parts and (relation in _PERMANENT_RELATIONS or _happens_once(words[:at])):
                    return Claim(f"{thing}: {relation} {parts}", (_strip_time_preposition(rest),), statement.negated)
            elif (
                rest and _fits_shape(rest, shape) and (not relation.startswith("is held") or _happens_once(words[:at]))
            ):
                qualifier = place_suffix(" ".join(rest)) if shape == "name" else ""
                return Claim(f"{thing}: {relation}{qualifier}", (" ".join(rest),), statement.negated)
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

    A place by name is a separate relation: a thing in a town may also be in a garage there.
    """
    lowered = [word.lower() for word in words]
    at = 2 if lowered[1:2] and lowered[1] in _PLACE_PARTICIPLES else 1
    rest = words[at + 1 :]
    if lowered[0] != "is" or not rest or lowered[at] not in _PLACE_PREPOSITIONS:
        return None
    place = " ".join(rest)
    if _fits_shape(rest, "name"):
        return f"where {lowered[at]} by name{place_suffix(place)}", place
    return (f"where {lowered[at]}", place) if _fits_shape(rest, "spot") else None


_PLACED_THINGS = load_words("events.placed_things")
_PLACE_PARTICIPLES = load_words("events.place_participles")
_PLACE_PREPOSITIONS = load_words("events.place_prepositions")
_EVENT_VERBS = _load_relations("events.relations")


# ── a property: favorite color, email, deadline, port ────────────────────────────────────────────────────────────────


def read_property_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read the value of a person's or a thing's property."""
    words, lowered = statement.words, statement.lowered
    label_end = next((at for at, word in enumerate(words[:_MAX_RELATION_POSITION]) if word.endswith(":")), None)
    if label_end is not None:
        label = [*words[:label_end], words[label_end][:-1]]
        owned = label[0].lower() in ("my", "our") or "'s" in " ".join(label) or "of" in label
        if not owned and not context.source_suffix:  # only the page tells what it is the deadline of
            return None
        label[0] = label[0] if label[0].isupper() else label[0].lower()
        label = label if owned else [word.lower() for word in label]
        property_words = label if label[0] == "the" or (owned and "of" not in label) else ["the", *label]
        return _read_property(property_words, words[label_end + 1 :], context, denied=statement.negated)
    if "is" not in lowered:
        return None
    at = lowered.index("is")
    value = words[at + 1 :]
    if value and value[0].lower() in _NAMING_VERBS:
        return _read_naming(words[:at], value[1:], context, denied=statement.negated)
    return _read_property(words[:at], value, context, denied=statement.negated)


def _read_property(
    words: Sequence[str], value: Sequence[str], context: SpeakerContext, *, denied: bool
) -> Claim | None:
    owner, property_words = resolve_property(words, context)
    if owner is None or not property_words or not value or not is_single_thing(property_words):
        return None
    shape = _value_shape(property_words)
    if shape is None or not _fits_shape(value, shape):
        return None
    property_key = f"{canonical_key(' '.join(property_words))}{_value_qualifier(value, shape, property_words)}"
    if (not owner or owner.startswith("(")) and len(property_words) == 1 and property_words[0].lower() in CONTEXT_NOUNS:
        return None
    subject = (
        f"{owner}: {property_key}"
        if owner and not owner.startswith("(")
        else f"{property_key}{f' {owner}' if owner else ''}: is"
    )
    return Claim(subject, (" ".join(value),), denied)


def _value_qualifier(value: Sequence[str], shape: str, property_words: Sequence[str]) -> str:
    """Return what separates values that may both be true: two currencies, a weekday and a date."""
    if shape == "day":
        return " (weekday)" if _time_parts([word for word in value if word.lower() != "on"]) == "weekday" else ""
    if shape == "name" and property_words[-1].lower() in _PLACE_PROPERTIES:
        return place_suffix(" ".join(value))
    if shape not in ("number", "pay"):
        return ""
    rated = shape == "pay" and len(value) > 2 and value[-2].lower() in RATE_WORDS
    mark = (_measure_mark(value[:-2] if rated else value) or "#")[1:]
    period = f"per {value[-1].lower()}" if rated else ""
    return f" ({f'{mark} {period}'.strip()})" if mark or period else ""


_PLACE_PROPERTIES = load_words("properties.place_properties")
_NAMING_VERBS = load_words("properties.naming_verbs")


def _read_naming(words: Sequence[str], name: Sequence[str], context: SpeakerContext, *, denied: bool) -> Claim | None:
    """Read what a definite thing is called.

    A person is left out: another name would mean another person.
    """
    thing = resolve_thing(words, context)
    if thing is None or set(thing.split()) & REPEATABLE_RELATIONS:
        return None
    is_name_like = _fits_shape(name, "name") or _fits_shape(name, "word")
    return Claim(f"{thing}: is named", (" ".join(name),), denied) if is_name_like else None


def _value_shape(property_words: Sequence[str]) -> str | None:
    """Return the shape of the property's value; None if the property may have several values."""
    lowered = [word.lower() for word in property_words]
    if lowered[0] in UNIQUE_ADJECTIVES and len(property_words) > 1:
        return "free"
    if lowered[0] in _NOT_CURRENT_WORDS:
        return None
    if lowered[0] == "main" and len(property_words) > 1:
        return "name"
    head = head_noun(property_words)
    head_at = lowered.index(head)
    two = " ".join(lowered[max(head_at - 1, 0) : head_at + 1])
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
    match = _TIME_EXPRESSION.fullmatch(" ".join(words))
    if match is None:
        return None
    return " ".join(sorted({_time_part(name.rstrip("2"), value) for name, value in match.groupdict().items() if value}))


def _time_part(name: str, value: str) -> str:
    if name == "clock":
        zone = _TIME_ZONE.search(value)
        return f"at {zone[1].lower()}" if zone and zone[1].lower() not in ("am", "pm") else "at"
    if name == "day":
        return "weekday" if value.lower() in WEEKDAY_WORDS else "on"
    return "in"


def _measure_mark(words: Sequence[str]) -> str | None:
    """Return the mark for what an amount measures; None if the words are anything else."""
    tokens = canonicalize_text(" ".join(words)) if words else ()
    if not tokens or tokens[0].kind != "number":
        return None
    mark, taken = dimension_mark(tokens, 0)
    return mark if len(tokens) == 1 + taken else None


def dimension_mark(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the mark for what a number measures, and how many tokens behind it are its unit."""
    unit = tokens[at].key.partition("·")[2]
    if unit:
        return f"#{_UNIT_DIMENSIONS.get(unit, unit)}", 0
    following = [token.key.lower() for token in tokens[at + 1 : at + 3]]
    for length in (2, 1):
        known = _UNIT_DIMENSIONS.get(" ".join(following[:length]))
        if known is not None and len(following) >= length:
            return f"#{known}", length
    return "#", 0


_CURRENCY_WORDS = load_words("values.currencies")
_UNIT_DIMENSIONS = {name: name for name in _CURRENCY_WORDS} | load_groups("values.dimensions")


def _fits_shape(value: Sequence[str], shape: str) -> bool:
    """Return whether the words are one value of that shape and nothing else."""
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
            return _measure_mark(value[:-2] if len(value) > 2 and lowered[-2] in RATE_WORDS else value) is not None
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
                lowered[0] in ARTICLES | {"head"}
                and len(value) <= 5
                and not set(lowered) & BINDING_PREPOSITIONS - {"of"}
            )
        case "word":
            return len(value) == 1 and lowered[0] not in STATE_WORDS and not lowered[0].endswith(VERB_ENDINGS)
        case "path":
            return len(value) == 1 and len(first) > 2 and ("/" in first or "\\" in first)
        case _:
            return _is_free_value(lowered)


def _is_name_value(value: Sequence[str]) -> bool:
    words = [word.rstrip(",") for word in value]
    max_words = 4 + (words[0].rstrip(".").lower() in _PERSON_TITLES)
    all_names = all(is_name_word(word) or word.lower() in _NAME_PARTICLES for word in words)
    return len(words) <= max_words and all_names and is_name_word(words[0]) and words[0].lower() not in _NOT_NAME_WORDS


def _is_code(word: str) -> bool:
    return any(char.isdigit() for char in word) or (word.isupper() and len(word) <= _MAX_LABEL_CHARS)


_MAX_LABEL_CHARS = 3
_NOT_NAME_WORDS = WEEKDAY_WORDS | MONTH_WORDS | load_words("values.not_name_words")
_PERSON_TITLES = load_words("values.person_titles")


def _is_free_value(lowered: Sequence[str]) -> bool:
    content = lowered[1:] if lowered[0] in ARTICLES and len(lowered) > 1 else lowered
    is_verb = len(content) == 1 and content[0].endswith(VERB_ENDINGS) and content[0] not in ("red",)
    prepositions = set(content) & (BINDING_PREPOSITIONS - {"of"} | {"by"})
    return len(lowered) <= 5 and content[0] not in STATE_WORDS and not is_verb and not prepositions


_STREET_WORDS = load_words("values.street_words")
_DETERMINERS = load_words("values.determiners")
_NAME_PARTICLES = load_words("values.name_particles")
_NOT_ADDRESS_WORDS = load_words("values.not_address_words")
