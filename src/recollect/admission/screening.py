"""Screening: what is private and what is secret is taken out of a draft before anything else sees it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

from recollect.admission.policy import SecretsPolicy
from recollect.admission.private import without_private
from recollect.admission.secrets import find_secrets, redact
from recollect.model.draft import Draft
from recollect.model.memory import DEEPEST_METADATA
from recollect.model.scope import Scope
from recollect.model.verdict import Refused

T = TypeVar("T", bound=Any)

PROSE = ("text", "title", "evidence", "metadata")
"""The fields that read the same with something taken out; all others are names, which would be other names."""

PRIVATE = "private"
"""What a receipt calls what stood between `<private>` and `</private>`."""

_PLACEHOLDER = re.compile(r"\[REDACTED[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Screened:
    """A draft with nothing private or secret left, and what was taken out of it."""

    draft: Draft
    redacted: tuple[str, ...]


def screen(draft: Draft, policy: SecretsPolicy) -> Screened | Refused:
    """The draft without what is private or secret; refused if that is its policy, or if nothing else is left."""
    found = screened(draft, policy)
    return found if isinstance(found, Refused) else Screened(*found)


def screened(value: T, policy: SecretsPolicy) -> tuple[T, tuple[str, ...]] | Refused:
    """A value with the fields of a draft without what is private or secret, and what that was."""
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
        elif any(without_private(text) != text for text in _texts(said)):
            return Refused(f"its {name} has a part that is {PRIVATE}; give it another")
        elif policy.enabled and (secret := _secret_in(said)) is not None:
            return Refused(f"its {name} has what looks like a secret ({secret}); give it another")
    secrets = [kind for kind in taken if kind != PRIVATE]
    if secrets and policy.action == "refuse":
        return Refused(f"it has what looks like a secret ({', '.join(secrets)}); take that out")
    if not changes:
        return value, ()
    if "text" in changes and not any(map(str.isalnum, _PLACEHOLDER.sub("", changes["text"]))):
        return Refused(f"nothing is left of it but what was taken out ({', '.join(taken)})")
    return replace(value, **changes), tuple(taken)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields that may have words; a vector has numbers alone, and many."""
    return tuple(one.name for one in fields(kind) if one.name != "vector")


_WORDY = (str, Scope, Mapping, tuple, list)


def clean(text: str, policy: SecretsPolicy) -> str:
    """The text with placeholders for what is private or secret in it."""
    return str(_cleaned(text, policy, {}))


def _cleaned(said: Any, policy: SecretsPolicy, taken: dict[str, None], depth: int = 0) -> Any:
    """The same with placeholders; what was taken out is noted. What is nested too deep to be kept is left as it is."""
    if depth > DEEPEST_METADATA:
        return said
    match said:
        case str():
            public = without_private(said)
            if public != said:
                taken[PRIVATE] = None
            if not policy.enabled:
                return public
            found = redact(public)
            taken.update(dict.fromkeys(found.kinds))
            return found.text
        case Mapping():
            inner = ((_cleaned(name, policy, taken), one) for name, one in said.items())
            return {name: _cleaned(one, policy, taken, depth + 1) for name, one in inner}
        case tuple() | list():
            return type(said)(_cleaned(one, policy, taken, depth + 1) for one in said)
        case _:
            return said


def _secret_in(said: Any) -> str | None:
    return next((secret.kind for text in _texts(said) for secret in find_secrets(text)), None)


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
