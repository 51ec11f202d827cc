"""Foreign things as memories: names that a scope or a key can spell, and values that come back as they were given."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from recollect.errors import Conflict, FieldError, ScopeError, show
from recollect.model import validation
from recollect.model.memory import Memory, a_metadata
from recollect.model.scope import Scope

T = TypeVar("T")

DEEPEST = 100
"""How many levels a value may be nested."""


def below(root: Scope, *labels: str) -> Scope:
    """The scope below a root that these labels name, one part each; whatever no scope can have is escaped."""
    return Scope((*root.parts, *map(_a_part, labels)))


def labels_of(scope: Scope, root: Scope) -> tuple[str, ...]:
    """The labels by which the scope is below the root."""
    return tuple(_unescaped(part, "~") for part in scope.parts[len(root.parts) :])


def a_key(prefix: str, name: str) -> str:
    """The topic key for a name: with the prefix of whoever gives such names, and what no key can have escaped."""
    validation.a_text("key", name)
    ends = {0, len(name) - 1}
    odd = {place for place in ends if name and name[place].isspace()}
    return prefix + "".join(
        _escape(one, "%") if one == "%" or place in odd or validation.unseen(one) else one
        for place, one in enumerate(name)
    )


def name_of(prefix: str, topic_key: str | None) -> str | None:
    """The name that a topic key was made of; `None` if it has another prefix, or is none."""
    if topic_key is None or not topic_key.startswith(prefix):
        return None
    try:
        return _unescaped(topic_key.removeprefix(prefix), "%")
    except UnicodeDecodeError:  # which nothing of ours was escaped to
        return None


@lru_cache(maxsize=4096)
def _a_part(label: str) -> str:
    if not isinstance(label, str):
        raise ScopeError(f"{show(label)} is no text, so no part of a scope can be called so")
    part = _escaped(label, lambda one: not _can_be_in_a_part(one))
    if not unicodedata.is_normalized("NFC", part):
        part = _escaped(label, lambda one: not one.isascii() or not _can_be_in_a_part(one))
    if not part.strip("."):
        return part.replace(".", _escape(".", "~")) or "~"
    return part


def _escaped(label: str, odd: Callable[[str], bool]) -> str:
    return "".join(_escape(one, "~") if odd(one) else one for one in label)


@lru_cache(maxsize=4096)
def _can_be_in_a_part(one: str) -> bool:
    if one == "~":
        return False
    try:
        Scope((f"a{one}",))
    except ScopeError:
        return False
    return True


def _escape(one: str, mark: str) -> str:
    return "".join(f"{mark}{byte:02X}" for byte in one.encode("utf-8", "surrogatepass"))


def _unescaped(text: str, mark: str) -> str:
    """What was escaped with the mark; a mark by itself is an empty text."""
    if text == mark:
        return ""
    pieces = re.sub(re.escape(mark.encode()) + rb"([0-9A-F]{2})", _byte, text.encode("utf-8", "surrogatepass"))
    return pieces.decode("utf-8", "surrogatepass")


def _byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)])


@dataclass(frozen=True, slots=True)
class Carried:
    """A value as a memory has it: a text to be found by, and metadata from which the value can be had again."""

    text: str
    metadata: Mapping[str, Any]


def carry(mark: str, value: T, say: Callable[[T], str], **notes: Any) -> Carried:
    """The value under a mark of whoever keeps it, with notes beside it, in a memory that says what `say` makes of it.

    A value that metadata cannot have, because it is long, deep, or has characters that no store keeps, is the memory's
    text instead, as JSON.
    """
    written = _json(value)
    metadata = {mark: {**notes, "value": value}}
    try:
        a_metadata("value", metadata)
    except FieldError:
        return Carried(written, {mark: notes})
    said = say(value)
    blank = not said or said.isspace() or not validation.can_be_kept(said)
    return Carried(written if blank else said, metadata)


def carried(mark: str, memory: Memory) -> Any:
    """The value that the memory carries under the mark, as a copy."""
    notes = notes_of(mark, memory) or {}
    if "value" in notes:
        return deepcopy(notes["value"])
    try:
        return json.loads(memory.text)
    except (ValueError, RecursionError) as error:
        what = f"the memory {show(memory.id)} of {memory.scope} was revised, and its text is no JSON any more"
        raise Conflict(f"{what}; revise it again, or forget it") from error


def notes_of(mark: str, memory: Memory) -> Mapping[str, Any] | None:
    """What is noted in the memory under the mark; `None` if it is somebody else's."""
    notes = memory.metadata.get(mark)
    return notes if isinstance(notes, Mapping) else None


def is_too_deep(value: Any) -> bool:
    """Whether a value of JSON is nested deeper than one can be that is carried."""
    try:
        _refuse_odd(value, DEEPEST)
    except FieldError:
        return True
    return False


def _json(value: Any) -> str:
    """The value as JSON, in as many characters of its own as a store can keep; refused if JSON cannot have it."""
    _refuse_odd(value, DEEPEST)
    try:
        plain = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return plain if validation.can_be_kept(plain) else json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FieldError(f"{show(value)} cannot be written as JSON", field="value") from error


def _refuse_odd(value: Any, levels: int) -> None:
    """Refuse names that are no texts, of which JSON would make some, and what is nested too deep."""
    if levels == 0:
        raise FieldError(f"is nested more than {DEEPEST} levels deep", field="value")
    match value:
        case Mapping():
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise FieldError(f"the name {show(name)} in it is no text", field="value")
                _refuse_odd(inner, levels - 1)
        case list() | tuple():
            for inner in value:
                _refuse_odd(inner, levels - 1)
        case _:
            pass
