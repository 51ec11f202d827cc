"""Amounts of subjects: statements that are the same but for one number, or the value of one setting."""

import re
from collections.abc import Sequence

from recollect.text.canonical_tokens import Token
from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.statement import MAX_VERB_POSITION, Claim, Statement, base_form
from recollect.text.updates.subjects import (
    UNCOUNTED_SUBJECTS,
    SpeakerContext,
    resolve_kind,
    resolve_person,
    resolve_thing,
)
from recollect.text.updates.values import dimension_mark
from recollect.text.updates.word_lists import BINDING_PREPOSITIONS, MONTH_WORDS, POINTER_WORDS, WEEKDAY_WORDS, word_set


def read_number_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Something has so many, costs so much, runs on such a version: all but the number is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in _ORDER_VERBS and len(words) > 2 and who.context_suffix is not None:
        masked = _mask_number(words[1:]) if _has_object(lowered[1:]) else None
        return Claim(f"{lowered[0]}{who.context_suffix}: {masked}") if masked else None
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        if lowered[at] not in _NUMBER_VERBS:
            continue
        verb, habit = base_form(lowered[at]), lowered[-2] in ("a", "per") and lowered[-1] in _PERIOD_NOUNS
        whose = resolve_person(words[:at], who) if lowered[at] not in ("are", "must") else None
        if (
            whose is not None
            and verb == "have"
            and (count := _count_possessions(words[at + 1 :], negated=said.negated))
        ):
            return Claim(f"{whose}: have # {count[1]}", (count[0], "no" if said.negated else "yes"))
        if lowered[:at] in UNCOUNTED_SUBJECTS:
            whose = None
        elif whose is not None and not (_applies_to_people(lowered[at:]) or (habit and lowered[at] in _HABIT_VERBS)):
            return None
        masked = _mask_number(words[at + 1 :])
        if masked is None or not _names_measured_thing(verb, masked.split()):
            return None
        whose = whose or resolve_thing(words[:at], who) or resolve_kind(words[:at], who)
        if whose is None and verb == "take" and masked == "#time" and who.context_suffix is not None:
            whose = (
                f"{lowered[1]}{who.context_suffix}"
                if at == 2 and lowered[0] == "the" and lowered[1] in _PROCESS_NOUNS
                else None
            )
        return Claim(f"{whose}: {verb} {masked}") if whose else None
    return None


def _has_object(lowered: Sequence[str]) -> bool:
    """Whether it is said to what something is to be done, in a word that means the same each time."""
    known = lowered[0] not in BINDING_PREPOSITIONS and lowered[0][:1].isalpha() and len(lowered) > 1
    return known and not set(lowered) & POINTER_WORDS and canonicalize_text(lowered[0])[0].kind != "number"


def _names_measured_thing(verb: str, masked: Sequence[str]) -> bool:
    """Whether a number is one of something of which there are not several: 32 GB may be of this or that."""
    needed = {"take": "of", "pay": "for"}.get(verb)
    if needed is not None:
        return needed in masked or masked == ["#time"]
    return verb not in ("have", "need", "use") or len(masked) > 1


def _count_possessions(words: Sequence[str], *, negated: bool) -> tuple[str | None, str] | None:
    """How many of a kind somebody has who may have any number of it for years, if that is said, and the kind; nothing
    of any others.
    """
    kind = _COUNTED_FORMS.get(words[-1].lower()) if 0 < len(words) <= 2 else None
    if kind is None:
        return None
    said = words[0].lower() if len(words) > 1 else ""
    if negated:
        return ("0", kind) if said in ("", "a", "an", "any") else None
    if said in ("a", "an"):
        return "1", kind
    if not said:
        return (
            (None, kind) if words[0].lower() not in (*_COUNTED_NOUNS, "child", "kid", "grandchild", "puppy") else None
        )
    number = canonicalize_text(said)[0]
    return (number.key, kind) if number.kind == "number" else None


_COUNTED_NOUNS = word_set("""
    dog cat pet horse rabbit parrot hamster kitten son daughter brother sister sibling grandson granddaughter nephew
    niece
    car bike bicycle motorbike motorcycle boat
""")
_COUNTED_FORMS = {form: one for one in _COUNTED_NOUNS for form in (one, f"{one}s")} | {
    "child": "children",
    "children": "children",
    "kid": "children",
    "kids": "children",
    "grandchild": "grandchild",
    "grandchildren": "grandchild",
    "puppy": "puppy",
    "puppies": "puppy",
}
_PROCESS_NOUNS = word_set("deploy deployment build release")
"""What is done again and again, and takes about as long each time."""


def _applies_to_people(said: Sequence[str]) -> bool:
    """Whether it can be said of whoever or whatever has a name; that somebody is number 5 need not last."""
    return said[0] in _VERBS_OF_ANYONE or said[1:2] == ["pinned"] or said[1:3] == ["at", "version"]


def _mask_number(words: Sequence[str]) -> str | None:
    """The words with a mark in place of their only number, with what it measures; none if there is not exactly one."""
    lowered = {word.lower().strip(",") for word in words}
    if not 0 < len(words) <= _MAX_NUMBER_WORDS or lowered & _TIME_WORDS or any("," in word[-1:] for word in words):
        return None
    found = canonicalize_text(" ".join(words))
    numbers = [at for at, token in enumerate(found) if token.kind == "number"]
    numbers = numbers or [at for at, token in enumerate(found) if at and _is_label(found[at - 1], token)]
    if len(numbers) != 1 or any(token.kind in ("date", "time", "negation", "question") for token in found):
        return None
    at = numbers[0]
    mark, taken = dimension_mark(found, at)
    said = [*(token.key for token in found[:at]), mark, *(token.key for token in found[at + 1 + taken :])]
    return " ".join(said).lower()


def _is_label(before: Token, token: Token) -> bool:
    """Whether it is a letter or a code that counts like a number: revision C, level P2."""
    return before.key in _LABELED_NOUNS and _LABEL.fullmatch(token.text) is not None


_LABELED_NOUNS = word_set("revision version tier level grade class terminal gate platform zone plan floor row seat bay")
_LABEL = re.compile(r"[A-Z]|[A-Z]{1,2}\d{1,3}[A-Z]?")


_VERBS_OF_ANYONE = word_set("""
    has have takes take owes weighs weigh earns earn pays pay shares share lives live costs lasts
    requires allows targets seats
""")
_HABIT_VERBS = word_set(
    "sleeps sleep drinks drink works work runs run walks walk smokes smoke eats eat reads read swims swim"
)
_PERIOD_NOUNS = word_set("day night week month year hour")
_QUANTITY_VERBS = _VERBS_OF_ANYONE | word_set("""
    needs need is are costs cost lasts last runs run uses use targets target requires require allows
    allow keeps keep holds hold seats seat contains contain measures measure employs employ charges charge ends
    retries must accommodates fits covers consumes draws rotates refreshes polls syncs consists comprises
""")
"""Verbs of which the number tells how it is, not what happened or how often."""

_NUMBER_VERBS = _QUANTITY_VERBS | _HABIT_VERBS

_ORDER_VERBS = word_set("pin retry limit cap set keep restrict throttle")
"""What can be ordered only in one way."""

_TIME_WORDS = (
    WEEKDAY_WORDS
    | MONTH_WORDS
    | {f"{day}s" for day in WEEKDAY_WORDS}
    | word_set("""
    weekend may this ago late early left called named
""")
)
_MAX_NUMBER_WORDS = 9


_SETTING_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z][\w.-]{2,60}) ?= ?(?P<value>\S{1,60})")
"""A setting and its value."""


def read_setting(text: str, who: SpeakerContext) -> str | None:
    """A setting as code has it: MAX_UPLOADS = 5."""
    found = _SETTING_ASSIGNMENT.fullmatch(text)
    if found is None or who.context_suffix is None or not (found["name"].isupper() or "_" in found["name"].strip("_")):
        return None
    return f"{found['name']}{who.context_suffix}: ="
