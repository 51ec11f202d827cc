"""Draft: what a caller proposes to remember, before admission.

Verdict: what became of a draft, and the receipt its writer gets.

Kept: what is remembered of a call that came with an idempotency key, so that a retry is harmless.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Protocol

from recollect.errors import FieldError, NotFound, show, show_name, suggest
from recollect.model import validation
from recollect.model.enums import Kind, Provenance, parse_choice, require_kind
from recollect.model.format import make_printable, shorten
from recollect.model.memory import Memory, MemoryId, require_metadata
from recollect.model.scope import Scope, as_scope

OPTIONAL_BODY_FIELDS = ("subject",)
"""The fields that drafts did not have in the first schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller proposes to remember, with the arguments of `remember`.

    Without a kind it is an observation, or of the kind its topic has. `at` is when it was observed, if not now; `key`
    makes a retry harmless; `id` keeps the one it had elsewhere.
    """

    text: str
    scope: Scope
    kind: Kind | None = None
    title: str | None = None
    topic_key: str | None = None
    subject: str | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    confidence: float | None = None
    pinned: bool = False
    shared: bool = False
    session: str | None = None
    speaker: str | None = None
    at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    provenance: Provenance = Provenance.MODEL_INFERENCE
    source: str | None = None
    derived_from: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    vector: tuple[float, ...] | None = None
    key: str | None = None
    id: MemoryId | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        if self.kind is not None:
            require_kind("kind", self.kind)
        if self.key is not None:
            validation.require_id("key", self.key)
        for name in ("speaker", "subject"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.require_id(name, getattr(self, name)))
        for name in ("at", "valid_from", "valid_until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.require_moment(name, getattr(self, name)))
        validation.require_validity_period(self.valid_from, self.valid_until)
        if self.metadata is not None:
            object.__setattr__(self, "metadata", require_metadata("metadata", self.metadata) or None)
        if self.vector is not None:
            object.__setattr__(self, "vector", validation.require_vector("vector", self.vector))

    @property
    def body(self) -> str:
        """What tells one proposal from another under the same key: a hash of all that was said.

        A field that drafts did not always have counts only if it is said, so that keys of before still hold. Who says
        it does not count, since at a terminal it is the user, and in a pipe a model; that of before is that of a model.
        """
        silent = {"key", *(name for name in OPTIONAL_BODY_FIELDS if getattr(self, name) is None)}
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in silent}
        said["provenance"] = Provenance.MODEL_INFERENCE
        return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()


_DRAFT_FIELDS = tuple(one.name for one in fields(Draft))


def read_draft(given: Mapping[str, Any], scope: Scope | str | None = None) -> Draft:
    """The draft that a mapping with `remember`'s arguments describes; `scope` is for those that name none."""
    if not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is no draft; give a recollect.Draft, or a mapping", field="drafts")
    unknown = next((name for name in map(show_name, given) if name not in _DRAFT_FIELDS), None)
    if unknown is not None:
        raise FieldError(f"a draft has no such field; {suggest(unknown, _DRAFT_FIELDS)}", field=unknown)
    values = dict(given)
    whose = values.get("scope", scope)
    if whose is None:
        raise FieldError("is missing; say whose memory it is, as acme/agent-7", field="scope")
    if "text" not in values:
        raise FieldError("is missing; a memory says something", field="text")
    values["scope"] = as_scope(whose)
    if values.get("kind") is not None:
        values["kind"] = parse_choice("kind", values["kind"], Kind)
    values["provenance"] = parse_choice("provenance", values.get("provenance", Provenance.MODEL_INFERENCE), Provenance)
    for name in ("tags", "derived_from", "evidence"):
        values[name] = validation.require_several(name, values.get(name, ()))
    return Draft(**values)


@dataclass(frozen=True, slots=True)
class Created:
    """It is news: a memory of its own."""


@dataclass(frozen=True, slots=True)
class Updated:
    """It is a new revision of a memory: the one of its topic, or the one that was revised; in place of another one of
    its subject, if one held.
    """

    revision: int
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Reinforced:
    """It is no news: the memory says so already, or its topic has a text that was observed later; it was echoed."""

    twin: MemoryId
    reason: str = "the same words"


@dataclass(frozen=True, slots=True)
class Superseded:
    """It is a memory of its own, and another one of its subject holds no longer."""

    old: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """It is a memory of its own that held until a later one of its subject, which was known already."""

    newer: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Reactivated:
    """It was said before and put away since; it is said again, so it is back, in place of the other if one held."""

    was: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unindexed:
    """It is an event like one that is known: kept, and not found by a question."""

    twin: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    """It is kept, and recalled only once an operator releases it; `other` is the memory that it is at odds with."""

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written; `other` is the memory that stands in the way, if one does."""

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Its standing changed, not its text: forgotten, restored in place of another if one held, pinned or unpinned."""

    to: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """It stood so already; nothing was written."""


Verdict = (
    Created
    | Updated
    | Reinforced
    | Superseded
    | Outdated
    | Reactivated
    | Unindexed
    | Quarantined
    | Refused
    | Changed
    | Unchanged
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer gets back: which memory now says it, what was decided, and the memory itself.

    A refused draft may have none: then asking for it says why. `redacted` names what was taken out before anything
    was kept: what was private, and kinds of secrets.
    """

    _id: MemoryId | None
    verdict: Verdict
    _memory: Memory | None
    redacted: tuple[str, ...] = ()

    @property
    def id(self) -> MemoryId:
        if self._id is None:
            raise NotFound(f"nothing was kept: {self.reason}")
        return self._id

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            raise NotFound(f"nothing was kept: {self.reason}")
        return self._memory

    @property
    def kept(self) -> bool:
        """Whether there is a memory that says it."""
        return self._memory is not None

    @property
    def reason(self) -> str:
        """Why it was decided so; empty where the verdict says it all."""
        match self.verdict:
            case Reinforced() | Superseded() | Outdated() | Unindexed() | Quarantined() | Refused():
                return self.verdict.reason
            case Reactivated(was, _):
                return f"it was {was}, and was said again since"
            case _:
                return ""

    @property
    def other(self) -> MemoryId | None:
        """The other memory that the decision was about, if there is one."""
        match self.verdict:
            case Reinforced(twin, _) | Unindexed(twin, _):
                return twin
            case Superseded(old, _) | Reactivated(_, old) | Updated(_, old) | Changed(_, old):
                return old
            case Outdated(newer, _):
                return newer
            case Quarantined(_, other) | Refused(_, other):
                return other
            case _:
                return None

    def __repr__(self) -> str:
        if self._id is None or self._memory is None:
            return f"<Receipt {self._describe_verdict}>"
        return f"<Receipt {self._describe_verdict}: {make_printable(self._id)}  {shorten(self._memory.text)}>"

    @property
    def _describe_verdict(self) -> str:
        """The verdict with what it says, and nothing of what it leaves open."""
        given = {one.name: getattr(self.verdict, one.name) for one in fields(self.verdict)}
        told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"{type(self.verdict).__name__}({told})"


IDEMPOTENCY_KEY_LIFETIME = timedelta(days=30)
"""How long a key is remembered."""


class HasIdempotencyKey(Protocol):
    """What is said under a key, if it has one; `body` tells it from all else that may be said."""

    @property
    def key(self) -> str | None: ...

    @property
    def body(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """A key, what was said under it, and what became of it."""

    scope: Scope
    key: str
    body: str
    memory: MemoryId
    verdict: Verdict
    at: datetime
