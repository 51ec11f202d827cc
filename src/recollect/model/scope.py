"""Scope: the owner of a memory, as a path of whole parts."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from recollect.errors import ScopeError, show
from recollect.model import validation

MAX_PARTS = 16
MAX_PART_CHARS = 128
ALLOWED_MARKS = frozenset("-_.@:+=~#")
"""The characters allowed in a part besides letters, digits and combining marks."""

_LETTER_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No"})


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """The owner of a memory, such as `acme/team-2/agent-7`.

    Parts are compared whole, so `acme` does not contain `acme-labs`.
    """

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple):
            raise ScopeError(f"{show(self.parts)} is not a tuple of parts; use Scope.parse to read a path")
        if not 1 <= len(self.parts) <= MAX_PARTS:
            raise ScopeError(f"scope {show(self.parts)} needs 1 to {MAX_PARTS} parts, as in acme/agent-7")
        for part in self.parts:
            _refuse_bad_part(part)

    @staticmethod
    def parse(text: str) -> "Scope":
        """Parse a path into a scope, in Unicode's composed form (NFC)."""
        if not isinstance(text, str):
            raise ScopeError(f"{show(text)} is not a scope; write one such as acme/agent-7")
        if not text:
            raise ScopeError("the scope is empty; write one such as acme/agent-7")
        if len(text) > MAX_PARTS * (MAX_PART_CHARS * 4 + 1):
            raise ScopeError(
                f"the scope has {len(text)} characters; at most {MAX_PARTS} parts of {MAX_PART_CHARS} are allowed"
            )
        return _parse_cached(text)

    def __str__(self) -> str:
        return "/".join(self.parts)

    def __repr__(self) -> str:
        return f"Scope.parse({str(self)!r})"

    @property
    def ancestors(self) -> tuple["Scope", ...]:
        """The scopes above, root first."""
        return tuple(Scope(self.parts[:length]) for length in range(1, len(self.parts)))

    def within(self, other: "Scope") -> bool:
        """Whether it is the other scope or one below it."""
        return self.parts[: len(other.parts)] == other.parts


@lru_cache(maxsize=4096)
def _parse_cached(text: str) -> Scope:
    """Parse a path; cached, because calls repeat the same few scopes."""
    return Scope(tuple(unicodedata.normalize("NFC", text).split("/")))


def as_scope(value: "str | Scope") -> Scope:
    """Return the scope, given as a scope or as its path."""
    return value if isinstance(value, Scope) else Scope.parse(value)


def _refuse_bad_part(part: str) -> None:
    if not isinstance(part, str):
        raise ScopeError(f"scope part {show(part)} is not text")
    if not 1 <= len(part) <= MAX_PART_CHARS:
        remedy = "shorten it" if part else "write the scope without empty parts, as in acme/agent-7"
        raise ScopeError(f"scope part {show(part)} needs 1 to {MAX_PART_CHARS} characters; {remedy}")
    odd = next(
        (one for one in part if one not in ALLOWED_MARKS and unicodedata.category(one) not in _LETTER_CATEGORIES), None
    )
    if odd is not None:
        marks = " ".join(sorted(ALLOWED_MARKS))
        raise ScopeError(f"scope part {show(part)} has {odd!r}; only letters, digits and {marks} are allowed")
    hidden = validation.find_invisible_character(part)
    if hidden is not None:
        code = validation.format_code_point(hidden)
        raise ScopeError(f"scope part {show(part)} has an invisible character ({code}); remove it")
    if not unicodedata.is_normalized("NFC", part):
        raise ScopeError(f"scope part {show(part)} is not in composed form (NFC); use Scope.parse")
    if not part.strip("."):
        raise ScopeError(f"scope part {show(part)} has only dots; use a name")
