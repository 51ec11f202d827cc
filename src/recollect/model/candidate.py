"""Candidate: a memory to rank, with the evidence for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.enums import Kind, require_kind
from recollect.model.format import make_printable, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.validation import copy_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What ranking may know about a memory; every field but the id may be unknown (`None`).

    Evidence depends on the query: `similarity` (a cosine), `lexical` and `relevance` (0..1); `addressed`, 1 if the
    query names the speaker and 0 if it names others; `days_off`, the distance in days from a day that the query names;
    `setting` (0..1), the share of the query's words found in the session; `linked` (0..1), how strongly names link the
    memory to the query, and `link`, which names.

    `words` counts the informative words of the memory, 0 if it is a question. A session belongs to its `scope`: the
    same name in two scopes means two sessions. `memory` is only shown to readers; ranking never looks at it. Dates are
    in UTC.
    """

    id: MemoryId
    kind: Kind | None = None
    similarity: float | None = None
    lexical: float | None = None
    relevance: float | None = None
    addressed: float | None = None
    days_off: float | None = None
    setting: float | None = None
    linked: float | None = None
    link: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_accessed_at: datetime | None = None
    valid_from: datetime | None = None
    importance: float | None = None
    usefulness: float | None = None
    confidence: float | None = None
    salience: float | None = None
    served: int | None = None
    revisions: int | None = None
    words: int | None = None
    scope: Scope | None = None
    session: str | None = None
    speaker: str | None = None
    vector: tuple[float, ...] | None = None
    memory: Memory | None = None

    def __post_init__(self) -> None:
        validation.require_id("id", self.id)
        for field, check in _FIELD_CHECKS.items():
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, check(field, value))
        if self.memory is not None and not isinstance(self.memory, Memory):
            raise FieldError(f"{show(self.memory)} is not a memory", field="memory")
        if self.memory is not None and self.memory.id != self.id:
            raise FieldError(
                f"has the id {self.memory.id!r}, but its candidate has the id {self.id!r}",
                field="memory",
            )

    def with_memory(self, memory: Memory) -> "Candidate":
        """Return the candidate with the memory to show; the other fields are not checked again."""
        if memory.id != self.id:
            raise FieldError(f"has the id {memory.id!r}, but its candidate has the id {self.id!r}", field="memory")
        return copy_with(self, memory=memory)

    def __repr__(self) -> str:
        values = {"similarity": self.similarity, "lexical": self.lexical, "relevance": self.relevance}
        evidence = [f", {name} {value:.3f}" for name, value in values.items() if value is not None]
        text = "" if self.memory is None else f": {shorten(self.memory.text)}"
        return f"<Candidate {make_printable(self.id)}{''.join(evidence)}{text}>"

    @property
    def questioned(self) -> bool:
        """Whether a query left any evidence on this candidate."""
        return any(value is not None for value in (self.similarity, self.lexical, self.relevance))


FRACTION_FIELDS = (
    *("lexical", "relevance", "addressed", "setting", "linked"),
    *("importance", "usefulness", "confidence", "salience"),
)
"""The fields that are numbers within 0..1."""

COUNT_FIELDS = ("served", "revisions", "words")
"""The fields that are counts."""

DATE_FIELDS = ("created_at", "updated_at", "last_accessed_at", "valid_from")
"""The fields that are dates."""

LABEL_FIELDS = ("session", "speaker")
"""The fields that are names shared by many candidates."""

LINK_FIELD = "link"
"""The field with the names that link the candidate to the query."""


def _require_scope(field: str, value: Any) -> Scope:
    if not isinstance(value, Scope):
        raise FieldError(f"{show(value)} is not a scope; use recollect.Scope.parse(…)", field=field)
    return value


_FIELD_CHECKS: Mapping[str, Callable[[str, Any], object]] = {
    "kind": require_kind,
    "scope": _require_scope,
    "similarity": validation.require_cosine,
    "days_off": validation.require_days_off,
    **dict.fromkeys((*LABEL_FIELDS, LINK_FIELD), validation.require_id),
    **dict.fromkeys(FRACTION_FIELDS, validation.require_fraction),
    **dict.fromkeys(DATE_FIELDS, validation.require_moment),
    **dict.fromkeys(COUNT_FIELDS, validation.require_count),
    "vector": validation.require_vector,
}
