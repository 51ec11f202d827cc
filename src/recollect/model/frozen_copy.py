"""Copies of frozen values, made without checking again what was checked when the first was made."""

from typing import Any, TypeVar

FrozenT = TypeVar("FrozenT")


def copy_with(value: FrozenT, **changes: Any) -> FrozenT:
    """The same value with some of its fields changed; whoever asks vouches for those."""
    kind = type(value)
    found: FrozenT = object.__new__(kind)
    for name in kind.__slots__:  # type: ignore[attr-defined]
        object.__setattr__(found, name, changes[name] if name in changes else getattr(value, name))
    return found
