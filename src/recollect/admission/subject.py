"""Subject: what a text is about, where only one thing of that can be true at a time."""

import re
from collections.abc import Sequence

from recollect.evidence.sameness import canonical
from recollect.model.composed import composed

LONGEST_TEXT = 200
"""Longer texts say more than one thing."""

LONGEST = 120
"""Longer subjects are none: nobody would name it again in the same words."""

MOST_WORDS = 6
"""How many words name somebody or something."""


def subject_of(text: str, speaker: str | None) -> str | None:
    """What the text gives the present value of, as "ana: lives in"; none if anything about that is in doubt.

    Only one short statement in the present tense has a subject: nothing negated, hedged, asked, conditional, counted
    up or bound to a time. What is said in the first person is about the speaker; without one, about nobody known.
    """
    if len(text) > LONGEST_TEXT:
        return None
    words = _statement(text)
    if words is None:
        return None
    for read in (_of_a_person, _of_an_event, _of_a_property):
        found = read(words, speaker)
        if found is not None:
            return found if len(found) <= LONGEST else None
    return None


def _statement(text: str) -> list[str] | None:
    """The words of the only sentence; none if there are more, or if it is no plain statement."""
    plain = " ".join(composed(text).replace("\u2019", "'").split()).strip()
    plain = _FILLER.sub("", plain).rstrip(".! ")
    if not plain or _NO_STATEMENT.search(plain):
        return None
    words = [word for word in _ADVERBS.sub(" ", f" {plain} ").split() if word]
    if len(words) > _MOST or any(word.strip(",").lower() in _DOUBTFUL for word in words):
        return None
    return words


_MOST = 24
_FILLER = re.compile(
    r"^(?:please )?(?:note|remember|reminder|fyi|btw|just so you know|by the way)(?: that\b|:|,)?\s+", re.IGNORECASE
)
_NO_STATEMENT = re.compile(r"[?;!…\n\"“”()\[\]]|[.] |: |n't\b| - ")
_ADVERBS = re.compile(r"(?<= )(?:currently|now|actually|really|presently)(?= )", re.IGNORECASE)
_DOUBTFUL = frozenset(
    [
        *(
            "also",
            "too",
            "not",
            "no",
            "never",
            "none",
            "nobody",
            "nothing",
            "neither",
            "nor",
            "without",
            "hardly",
            "barely",
            "rarely",
        ),
        *(
            "maybe",
            "perhaps",
            "probably",
            "possibly",
            "might",
            "may",
            "could",
            "would",
            "should",
            "can",
            "must",
            "will",
        ),
        *(
            "shall",
            "seems",
            "apparently",
            "likely",
            "allegedly",
            "supposedly",
            "think",
            "thinks",
            "believe",
            "believes",
        ),
        *(
            "guess",
            "hope",
            "hopes",
            "said",
            "says",
            "told",
            "heard",
            "if",
            "unless",
            "when",
            "whenever",
            "while",
            "because",
        ),
        *("and", "or", "but", "&", "and/or", "either", "both", "sometimes", "usually", "often", "mostly", "partly"),
        *(
            "was",
            "were",
            "been",
            "had",
            "did",
            "used",
            "going",
            "about",
            "around",
            "almost",
            "nearly",
            "until",
            "before",
        ),
        *(
            "every",
            "each",
            "other",
            "another",
            "except",
            "than",
            "who",
            "which",
            "where",
            "whose",
            "what",
            "how",
            "why",
        ),
        *(
            "soon",
            "tomorrow",
            "next",
            "last",
            "yesterday",
            "formerly",
            "previously",
            "temporarily",
            "so",
            "still",
            "only",
        ),
    ]
)
"""Words that make a statement less than certain, or more than one."""


# ── somebody: lives in, works at, is married to, is so old ─────────────────────────────────────────────────────────


def _of_a_person(words: Sequence[str], speaker: str | None) -> str | None:
    lowered = [word.lower() for word in words]
    for at in range(1, min(len(words), MOST_WORDS)):
        for phrase, relation, value in _RELATIONS.get(lowered[at], ()):
            if lowered[at : at + len(phrase)] != phrase:
                continue
            who = _person(words[:at], speaker)
            rest = words[at + len(phrase) :]
            return f"{who}: {relation}" if who and rest and _fits(rest, value) else None
    return _of_an_age(words, speaker)


def _of_an_age(words: Sequence[str], speaker: str | None) -> str | None:
    """Somebody is 30 years old, or 180 cm tall."""
    found = _AGE.fullmatch(" ".join(words))
    if found is None:
        return None
    who = _person(found["who"].split(), speaker)
    return f"{who}: is {found['what'].lower()}" if who else None


_AGE = re.compile(
    r"(?P<who>.{1,80}?) (?:is|am) [\w.-]+ (?:years?|cm|m|metres?|meters?|centimetres?|centimeters?) (?P<what>old|tall)",
    re.IGNORECASE,
)

_PLACE, _NAME, _ROLE = "place", "name", "role"
_RELATIONS: dict[str, list[tuple[list[str], str, str]]] = {}
"""By its first word every way to put a relation, what it is called, and how the other side of it looks."""

for _verbs, _relation, _value in (
    ("lives in|live in|resides in|reside in", "lives in", _NAME),
    ("lives at|live at|resides at|reside at", "lives at", _PLACE),
    ("is based in|am based in", "is based in", _NAME),
    ("works at|work at", "works at", _NAME),
    ("works for|work for", "works for", _NAME),
    ("works as|work as", "works as", _ROLE),
    ("is married to|am married to", "is married to", _NAME),
    ("is engaged to|am engaged to", "is engaged to", _NAME),
    ("reports to|report to", "reports to", _NAME),
    ("weighs|weigh", "weighs", "number"),
):
    for _verb in _verbs.split("|"):
        _RELATIONS.setdefault(_verb.split()[0], []).append((_verb.split(), _relation, _value))


def _person(words: Sequence[str], speaker: str | None) -> str | None:
    """Who is spoken of: the speaker, a user, a name, or somebody of whom a person has but one."""
    said = " ".join(words)
    if said == "I":
        return _key(speaker) if speaker else None
    if said.lower() in ("user", "the user"):
        return "user"
    if len(words) <= _LONGEST_NAME and all(map(_is_named, words)) and words[0].lower() not in _NO_NAMES:
        return _key(said)
    owner, rest = _owner(words, speaker)
    return f"{owner} {rest[0].lower()}" if owner and len(rest) == 1 and rest[0].lower() in _ONLY_ONE else None


_LONGEST_NAME = 3
_NO_NAMES = frozenset(
    [
        *("he", "she", "it", "they", "we", "you", "this", "that", "these", "those", "there", "here", "everyone"),
        *("everybody", "someone", "somebody", "anyone", "people", "the", "a", "an", "my", "our", "your", "his", "her"),
        *("their", "its", "all", "some", "most", "many", "few", "one", "two", "three", "several", "i", "today", "in"),
        *("on", "at", "from", "since", "after", "with", "for", "as", "to", "of", "by", "during"),
    ]
)
_ONLY_ONE = frozenset(
    ["wife", "husband", "spouse", "partner", "mother", "father", "mom", "mum", "dad", "boss", "manager", "employer"]
)
"""Of these a person has one at a time; of sisters, friends and dogs there may be several."""


def _is_named(word: str) -> bool:
    return (
        word[:1].isupper() and word.replace("-", "").replace("'", "").replace(".", "").isalpha() and word[-2:] != "'s"
    )


# ── something that happens: is at, is on ───────────────────────────────────────────────────────────────────────────


def _of_an_event(words: Sequence[str], speaker: str | None) -> str | None:
    """Something definite is at a time, or on a day."""
    lowered = [word.lower() for word in words]
    for verb in ("is", "starts", "begins", "ends"):
        if verb not in lowered:
            continue
        at = lowered.index(verb)
        what = _thing(words[:at], speaker)
        found = _WHEN.fullmatch(" ".join(words[at + 1 :]))
        if what and found:
            prepositions = sorted(word.lower() for word in (found["one"], found["two"]) if word)
            return f"{what}: {' '.join([verb, *prepositions])}"
    return None


_CLOCK = r"(?:\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b\.?)?(?: [A-Z]{3,4})?|noon|midnight)"
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:,? )?)?"
    rf"(?:\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTHS})[a-z]*\.?(?:,? \d{{4}})?"
    rf"|(?:{_MONTHS})[a-z]*\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)?"
)
_WHEN = re.compile(rf"(?:(?P<one>at|on) (?:{_CLOCK}|{_DAY}))(?:,? (?P<two>at|on) (?:{_CLOCK}|{_DAY}))?", re.IGNORECASE)


def _thing(words: Sequence[str], speaker: str | None) -> str | None:
    """What is spoken of, if it is one certain thing: the …, my …, somebody's …"""
    owner, rest = _owner(words, speaker)
    if owner:
        return f"{owner} {_key(' '.join(rest))}" if 0 < len(rest) <= MOST_WORDS and _is_one(rest) else None
    if words and words[0].lower() == "the" and 1 < len(words) <= MOST_WORDS + 1 and _is_one(words[1:]):
        return _key(" ".join(words[1:]))
    return None


def _owner(words: Sequence[str], speaker: str | None) -> tuple[str | None, Sequence[str]]:
    """Whose it is, and what; nobody if it is nobody's."""
    if not words:
        return None, words
    if words[0].lower() == "my":
        return (_key(speaker) if speaker else None), words[1:]
    start = 1 if words[0].lower() == "the" else 0
    for at in range(start, min(len(words), start + _LONGEST_NAME)):
        word = words[at]
        if word.endswith("'s"):
            named = [*words[start:at], word[:-2]]
            known = all(map(_is_named, named)) and named[0].lower() not in _NO_NAMES
            known = known or [name.lower() for name in named] == ["user"]
            known = known or (start == 1 and len(named) == 1 and named[0].isalpha())
            known = known or (named[0].lower() == "project" and len(named) > 1)
            return (_key(" ".join(named)) if known else None), words[at + 1 :]
    return None, words


def _is_one(words: Sequence[str]) -> bool:
    """Whether the words name one thing: no list, and no more than one."""
    head = next((words[at - 1] for at, word in enumerate(words) if at and word.lower() in _BINDING), words[-1])
    plural = head.lower().endswith("s") and not head.lower().endswith(("ss", "us", "is", "address"))
    return not plural and not any("," in word for word in words) and words[0].lower() not in _NO_NAMES


_BINDING = frozenset(["of", "with", "for", "in", "on", "at", "between", "from", "to"])


# ── a property: favourite colour, email, deadline, port ────────────────────────────────────────────────────────────


def _of_a_property(words: Sequence[str], speaker: str | None) -> str | None:
    lowered = [word.lower() for word in words]
    if "is" not in lowered:
        return None
    at = lowered.index("is")
    value = words[at + 1 :]
    if value and value[0].lower() in ("called", "named"):
        return _of_a_name(words[:at], value[1:], speaker)
    owner, what, free = _property(words[:at], speaker)
    if not what or not value or not _is_one(what):
        return None
    shape = _shape(what)
    if shape is None or not _fits(value, shape):
        return None
    said = _key(" ".join(what))
    if owner:
        return f"{owner}: {said}"
    return f"{said}: is" if free else None


def _of_a_name(words: Sequence[str], name: Sequence[str], speaker: str | None) -> str | None:
    """Something definite is called so; not somebody, who would rather be somebody else by another name."""
    what = _thing(words, speaker)
    if what is None or not name or set(what.split()) & _SEVERAL:
        return None
    return f"{what}: is named" if _fits(name, _NAME) else None


def _property(words: Sequence[str], speaker: str | None) -> tuple[str | None, Sequence[str], bool]:
    """Whose property, which, and whether it may be nobody's: the deadline of project Y is project Y's deadline."""
    owner, what = _owner(words, speaker)
    if owner:
        return owner, what, False
    lowered = [word.lower() for word in words]
    if lowered[:1] == ["the"] and len(words) <= MOST_WORDS + 1:
        if lowered.count("of") == 1 and lowered.index("of") > 1:
            at = lowered.index("of")
            whose = words[at + 1 :]
            if whose and whose[0].lower() == "the":
                whose = whose[1:]
            return (_key(" ".join(whose)) if whose else None), words[1:at], False
        return None, words[1:], True
    if lowered[:1] and lowered[0] in ("default", "current", "preferred") and 1 < len(words) <= MOST_WORDS:
        return None, words, True
    return None, (), False


def _shape(what: Sequence[str]) -> str | None:
    """What a value of the property looks like; none if the property may have several values."""
    lowered = [word.lower() for word in what]
    if lowered[0] in _CHOSEN and len(what) > 1:
        return "free"
    bound = next((at for at, word in enumerate(lowered) if at and word in _BINDING), len(lowered))
    for length in (2, 1):
        head = " ".join(lowered[max(bound - length, 0) : bound])
        if head in _SHAPES:
            return _SHAPES[head]
    return None


_CHOSEN = frozenset(["favourite", "favorite", "preferred", "default", "current"])
_SHAPES = {
    name: shape
    for shape, names in {
        "address": "email|e-mail|email address|e-mail address",
        "number": (
            "phone number|phone|telephone number|mobile number|port|age|height|weight|budget|price|cost|salary|rent|"
            "timeout|limit|quota|threshold|capacity|temperature|version|size|rate|interval|retention|room number|"
            "account number|flight number|pin"
        ),
        "day": "deadline|due date|birthday|start date|end date|launch date|release date|expiry date|anniversary",
        "name": (
            "name|surname|last name|first name|manager|boss|wife|husband|spouse|employer|ceo|cto|owner|landlord|"
            "capital|nationality|hometown"
        ),
        "link": "url|host|hostname|website|ip address|homepage|username|user name|handle",
        "free": (
            "job|job title|role|status|time zone|timezone|branch|region|venue|theme|native language|postcode|zip code|"
            "blood type|primary language|main language"
        ),
        "place": "address|home address|office address",
    }.items()
    for name in names.split("|")
}
"""How the value of each property looks; without that, "her email is broken" would be her new address."""

_SEVERAL = frozenset(
    [
        *(
            "sister",
            "brother",
            "friend",
            "colleague",
            "cousin",
            "child",
            "son",
            "daughter",
            "dog",
            "cat",
            "pet",
            "aunt",
        ),
        *(
            "uncle",
            "neighbor",
            "coworker",
            "kid",
            "baby",
            "horse",
            "rabbit",
            "bird",
            "fish",
            "parrot",
            "hamster",
            "boy",
        ),
        *("girl", "man", "woman", "person", "teacher", "roommate", "flatmate", "grandson", "nephew", "niece"),
    ]
)
_STATES = frozenset(
    [
        *(
            "closed",
            "open",
            "broken",
            "late",
            "gone",
            "good",
            "bad",
            "great",
            "nice",
            "expensive",
            "cheap",
            "near",
            "far",
        ),
        *("new", "old", "unavailable", "available", "busy", "unknown", "missing", "important", "very", "too", "quite"),
        *(
            "in",
            "at",
            "on",
            "from",
            "with",
            "by",
            "to",
            "of",
            "for",
            "like",
            "similar",
            "better",
            "worse",
            "best",
            "here",
        ),
        *("there", "hard", "easy", "fun", "safe", "private", "public", "secret", "full", "empty", "down", "up", "back"),
        *("being", "getting", "becoming", "tight", "close", "wrong", "right", "correct", "fine", "okay", "ok", "true"),
        *(
            "high",
            "low",
            "large",
            "small",
            "big",
            "long",
            "short",
            "fast",
            "slow",
            "more",
            "less",
            "one",
            "some",
            "any",
        ),
    ]
)
"""What something is besides what it is: its value goes on holding."""


def _fits(value: Sequence[str], shape: str) -> bool:
    """Whether the words look like one value of that shape, and say nothing beside."""
    first, lowered = value[0], [word.lower() for word in value]
    if any(word.endswith(",") for word in value[:-1]) and shape not in (_NAME, _PLACE, "day"):
        return False
    match shape:
        case "address":
            return len(value) == 1 and "@" in first
        case "link":
            return len(value) == 1 and lowered[0] not in _STATES
        case "number":
            return len(value) <= 4 and any(char.isdigit() for char in " ".join(value)) and lowered[0] not in _STATES
        case "day":
            found = _WHEN.fullmatch(f"on {' '.join(value).removeprefix('on ')}")
            return found is not None or lowered[0] in _WEEKDAYS
        case "name":
            return (
                len(value) <= 4
                and all(_is_named(word.rstrip(",")) or word.lower() in _PARTICLES for word in value)
                and (_is_named(first.rstrip(",")))
            )
        case "place":
            return len(value) <= 8 and (first[0].isdigit() or first[0].isupper())
        case "role":
            return lowered[0] in ("a", "an", "the", "head") and len(value) <= 5 and not set(lowered) & _BINDING - {"of"}
        case _:
            told = lowered[1:] if lowered[0] in ("the", "a", "an") and len(value) > 1 else lowered
            moving = told[0].endswith(("ing", "ed")) and told[0] not in ("red",) and len(told) == 1
            return len(value) <= 5 and told[0] not in _STATES and not moving and not set(told) & (_BINDING - {"of"})


_WEEKDAYS = frozenset(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])
_PARTICLES = frozenset(
    ["de", "da", "di", "van", "von", "der", "den", "la", "le", "del", "of", "the", "al", "el", "bin"]
)


def _key(words: str) -> str:
    """The words in their canonical form."""
    return " ".join(canonical(words)).lower()
