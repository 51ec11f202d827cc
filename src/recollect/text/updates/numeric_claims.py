"""Amounts of subjects: statements that are the same but for one number, or the value of one setting."""

import re
from collections.abc import Sequence

from recollect.text.canonical_tokens import Token
from recollect.text.paraphrase import tokens
from recollect.text.updates.statement import LATEST, Reading, Statement, base_of
from recollect.text.updates.subjects import UNCOUNTED_ALONE, Speaking, kind_of, person, thing
from recollect.text.updates.values import dimension
from recollect.text.updates.word_lists import BINDING, DAYS, MONTHS, POINTERS, listed


def of_a_number(said: Statement, who: Speaking) -> Reading | None:
    """Something has so many, costs so much, runs on such a version: all but the number is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in _ORDERS and len(words) > 2 and who.within is not None:
        masked = _masked(words[1:]) if _has_an_object(lowered[1:]) else None
        return Reading(f"{lowered[0]}{who.within}: {masked}") if masked else None
    for at in range(1, min(len(words), LATEST)):
        if lowered[at] not in _TELLING:
            continue
        verb, habit = base_of(lowered[at]), lowered[-2] in ("a", "per") and lowered[-1] in _PERIODS
        whose = person(words[:at], who) if lowered[at] not in ("are", "must") else None
        if whose is not None and verb == "have" and (count := _count(words[at + 1 :], negated=said.negated)):
            return Reading(f"{whose}: have # {count[1]}", (count[0], "no" if said.negated else "yes"))
        if lowered[:at] in UNCOUNTED_ALONE:
            whose = None
        elif whose is not None and not (_is_of_people(lowered[at:]) or (habit and lowered[at] in _HABITS)):
            return None
        masked = _masked(words[at + 1 :])
        if masked is None or not _says_of_what(verb, masked.split()):
            return None
        whose = whose or thing(words[:at], who) or kind_of(words[:at], who)
        if whose is None and verb == "take" and masked == "#time" and who.within is not None:
            whose = (
                f"{lowered[1]}{who.within}" if at == 2 and lowered[0] == "the" and lowered[1] in _PROCESSES else None
            )
        return Reading(f"{whose}: {verb} {masked}") if whose else None
    return None


def _has_an_object(lowered: Sequence[str]) -> bool:
    """Whether it is said to what something is to be done, in a word that means the same each time."""
    known = lowered[0] not in BINDING and lowered[0][:1].isalpha() and len(lowered) > 1
    return known and not set(lowered) & POINTERS and tokens(lowered[0])[0].sort != "number"


def _says_of_what(verb: str, masked: Sequence[str]) -> bool:
    """Whether a number is one of something of which there are not several: 32 GB may be of this or that."""
    needed = {"take": "of", "pay": "for"}.get(verb)
    if needed is not None:
        return needed in masked or masked == ["#time"]
    return verb not in ("have", "need", "use") or len(masked) > 1


def _count(words: Sequence[str], *, negated: bool) -> tuple[str | None, str] | None:
    """How many of a kind somebody has who may have any number of it for years, if that is said, and the kind; nothing
    of any others.
    """
    kind = _HAD.get(words[-1].lower()) if 0 < len(words) <= 2 else None
    if kind is None:
        return None
    said = words[0].lower() if len(words) > 1 else ""
    if negated:
        return ("0", kind) if said in ("", "a", "an", "any") else None
    if said in ("a", "an"):
        return "1", kind
    if not said:
        return (None, kind) if words[0].lower() not in (*_PLAIN, "child", "kid", "grandchild", "puppy") else None
    number = tokens(said)[0]
    return (number.key, kind) if number.sort == "number" else None


_PLAIN = listed("""
    dog cat pet horse rabbit parrot hamster kitten son daughter brother sister sibling grandson granddaughter nephew
    niece
    car bike bicycle motorbike motorcycle boat
""")
_HAD = {form: one for one in _PLAIN for form in (one, f"{one}s")} | {
    "child": "children",
    "children": "children",
    "kid": "children",
    "kids": "children",
    "grandchild": "grandchild",
    "grandchildren": "grandchild",
    "puppy": "puppy",
    "puppies": "puppy",
}
_PROCESSES = listed("deploy deployment build release")
"""What is done again and again, and takes about as long each time."""


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
    mark, taken = dimension(found, at)
    said = [*(token.key for token in found[:at]), mark, *(token.key for token in found[at + 1 + taken :])]
    return " ".join(said).lower()


def _is_a_mark(before: Token, token: Token) -> bool:
    """Whether it is a letter or a code that counts like a number: revision C, level P2."""
    return before.key in _MARKED and _MARK.fullmatch(token.said) is not None


_MARKED = listed("revision version tier level grade class terminal gate platform zone plan floor row seat bay")
_MARK = re.compile(r"[A-Z]|[A-Z]{1,2}\d{1,3}[A-Z]?")


_OF_ALL = listed("""
    has have takes take owes weighs weigh earns earn pays pay shares share lives live costs lasts
    requires allows targets seats
""")
_HABITS = listed("sleeps sleep drinks drink works work runs run walks walk smokes smoke eats eat reads read swims swim")
_PERIODS = listed("day night week month year hour")
_COUNTING = _OF_ALL | listed("""
    needs need is are costs cost lasts last runs run uses use targets target requires require allows
    allow keeps keep holds hold seats seat contains contain measures measure employs employ charges charge ends
    retries must accommodates fits covers consumes draws rotates refreshes polls syncs consists comprises
""")
"""Verbs of which the number tells how it is, not what happened or how often."""

_TELLING = _COUNTING | _HABITS

_ORDERS = listed("pin retry limit cap set keep restrict throttle")
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
