"""Screening: what is private and what is secret is taken out of a draft before anything else sees it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Generic, TypeVar

from recollect.admission.policy import SecretsPolicy
from recollect.admission.private_tags import without_private
from recollect.admission.secrets import find_secrets, redact, redact_named
from recollect.model.scope import Scope
from recollect.model.verdict import Refused
from recollect.text.confusables import plain

T = TypeVar("T", bound=Any)

PROSE = ("text", "title", "evidence", "metadata", "remark")
"""The fields that read the same with something taken out; all others are names, which would be other names."""

PRIVATE = "private"
"""What a receipt calls what stood between `<private>` and `</private>`."""

_PLACEHOLDER = re.compile(r"\[REDACTED[^\]]*\]")
_DEEPEST = 128
"""How many levels down is looked; nothing that is nested deeper is kept anywhere."""

_WORDY = (str, Scope, Mapping, tuple, list)


@dataclass(frozen=True, slots=True)
class Screened(Generic[T]):
    """A value with nothing private or secret left, and what was taken out of it."""

    value: T
    redacted: tuple[str, ...]


def screen(value: T, policy: SecretsPolicy, *, may_be_blank: bool = False) -> Screened[T] | Refused:
    """A value with fields of a draft, without what is private or secret.

    Refused if that is the policy, if a name has some of it, or if nothing else is left of its text; unless that may be,
    as of what was kept elsewhere.
    """
    changes: dict[str, Any] = {}
    taken: dict[str, None] = {}
    kind: Any = type(value)
    for name in _names(kind):
        said = getattr(value, name)
        if not isinstance(said, _WORDY) or not said:
            continue
        if name in PROSE:
            cleaned = _cleaned(said, policy, taken)
            if isinstance(said, Mapping) and len(cleaned) < len(said):
                return Refused(f"names in its {name} have what looks like a secret; give others")
            if cleaned != said:
                changes[name] = cleaned
        elif (problem := _problem(said, policy)) is not None:
            has = "have" if name == "tags" else "has"
            return Refused(f"its {name} {has} {problem}; give others")
    if policy.enabled and (text := _told_by_a_name(value, changes.get("text"), taken)) is not None:
        changes["text"] = text
    if (refused := _forbidden(taken, policy)) is not None:
        return refused
    if not changes:
        return Screened(value, ())
    if not may_be_blank and _is_blank(changes.get("text")):
        return Refused(f"nothing is left of it but what was taken out ({', '.join(taken)})")
    return Screened(replace(value, **changes), tuple(taken))


def screen_value(value: T, policy: SecretsPolicy) -> Screened[T] | Refused:
    """A text, or a value of JSON with texts in it, without what is private or secret; refused if that is the policy."""
    if _is_deeper(value, _DEEPEST):
        return Refused(f"it is nested more than {_DEEPEST} levels deep, where nobody looks; give it flatter")
    taken: dict[str, None] = {}
    cleaned = _cleaned(value, policy, taken)
    refused = _forbidden(taken, policy)
    return Screened(cleaned, tuple(taken)) if refused is None else refused


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether a value is nested deeper than that."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [one for each in layer for one in _within(each)]
    return bool(layer)


def _within(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return value.values()
        case list() | tuple():
            return value
        case _:
            return ()


def _forbidden(taken: Mapping[str, None], policy: SecretsPolicy) -> Refused | None:
    """That something is refused for what would be taken out of it."""
    secrets = [kind for kind in taken if kind != PRIVATE]
    if not secrets or policy.action != "refuse":
        return None
    return Refused(f"it has what looks like a secret ({', '.join(secrets)}); take that out")


def clean(text: str, policy: SecretsPolicy) -> str:
    """The text with placeholders for what is private or secret in it."""
    return str(_cleaned(text, policy, {}))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields that may have words; a vector has numbers alone, and many."""
    return tuple(one.name for one in fields(kind) if one.name != "vector")


def _is_blank(text: Any) -> bool:
    """Whether nothing is left of a text but placeholders."""
    return isinstance(text, str) and not any(map(str.isalnum, _PLACEHOLDER.sub("", text)))


def _cleaned(said: Any, policy: SecretsPolicy, taken: dict[str, None], name: str = "", depth: int = 0) -> Any:
    """The same with placeholders; what was taken out is noted. What is nested too deep to be kept is left as it is."""
    if depth > _DEEPEST:
        return said
    match said:
        case str():
            return _cleaned_text(said, policy, taken, name)
        case Mapping():
            inner = [(_cleaned(key, policy, taken), key, one) for key, one in said.items()]
            return {new: _cleaned(one, policy, taken, _name(key, said, name), depth + 1) for new, key, one in inner}
        case tuple() | list():
            return type(said)(_cleaned(one, policy, taken, name, depth + 1) for one in said)
        case int() | float() if policy.enabled and not isinstance(said, bool) and _LEAST <= abs(said) < _MOST:
            digits = str(int(said)) if said == int(said) else str(said)
            found = _cleaned_text(digits, policy, taken, name)
            return said if found == digits else found
        case _:
            return said


def _cleaned_text(said: str, policy: SecretsPolicy, taken: dict[str, None], name: str) -> str:
    public = without_private(said)
    if public != said:
        taken[PRIVATE] = None
    if not policy.enabled:
        return public
    found = redact(public)
    if name and not found.kinds:
        found = redact_named(name, public)
    taken.update(dict.fromkeys(found.kinds))
    return found.text


_LEAST, _MOST = 10**3, 10**20
"""No PIN has fewer digits, and no card so many."""

_UNSAYING = frozenset(("value", "val", "text", "content", "current", "plain", "raw", "string", "data"))
_NAMING = ("name", "key", "label", "field", "title", "type", "kind")
_ALL_OF_THEM = re.compile(r"pass(?:word|wd|phrase|code)s?|secrets?|credentials?", re.IGNORECASE)


def _name(key: object, among: Mapping[str, Any], outer: str) -> str:
    """What a value in a mapping is called: by its key, or where that says nothing, by what is named beside it, or by
    what the mapping is called; and so if the mapping is one of secrets.
    """
    if not isinstance(key, str):
        return outer
    called = "".join(map(plain, key))
    if _ALL_OF_THEM.fullmatch(outer) and not _ALL_OF_THEM.search(called):
        return outer
    if called.lower() not in _UNSAYING:
        return called
    beside = (among.get(one) for one in _NAMING)
    return next((one for one in beside if isinstance(one, str)), outer)


_ALONE = re.compile(
    r"\s*(?:(?:it|this) is |it's |is |[=:] ?)?[\"'`“]?(?P<s>[^\s\"'`“”]{4,200}?)[\"'`”]?[.!]?\s*", re.IGNORECASE
)
_SHORT = 250
"""A text that is one word is what its title says."""


def _told_by_a_name(value: Any, cleaned: str | None, taken: dict[str, None]) -> str | None:
    """The text without the one word that it is, if its title, subject, topic or a tag says that this is a secret."""
    text = getattr(value, "text", None) if cleaned is None else cleaned
    word = _ALONE.fullmatch(text) if isinstance(text, str) and len(text) <= _SHORT else None
    if word is None:
        return None
    for name in _titles(value):
        found = redact_named(name, word["s"], quoted=False)
        if found.kinds:
            taken.update(dict.fromkeys(found.kinds))
            return f"{word.string[: word.start('s')]}{found.text}{word.string[word.end('s') :]}"
    return None


def _titles(value: Any) -> Iterator[str]:
    said = (getattr(value, name, None) for name in ("title", "subject", "topic_key", "tags"))
    return (text for one in said for text in _texts(one))


def _problem(said: Any, policy: SecretsPolicy) -> str | None:
    """What a name has that it may not have."""
    if any(without_private(text) != text for text in _texts(said)):
        return f"a part that is {PRIVATE}"
    secret = next((one.kind for text in _texts(said) for one in find_secrets(text)), None) if policy.enabled else None
    return None if secret is None else f"what looks like a secret ({secret})"


def _texts(said: Any) -> Iterator[str]:
    match said:
        case str():
            yield str(said)
        case Scope():
            yield str(said)
        case tuple() | list():
            yield from (one for one in said if isinstance(one, str))
        case _:
            pass
