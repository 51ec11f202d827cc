"""Drafts, verdicts, receipts and idempotency records.

A caller proposes a draft, admission reaches a verdict, and the caller gets a receipt. With an idempotency record, a
caller can safely retry the same call.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

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

    The default kind is that of its topic, or else an observation. `at` is when it was observed, if not now. A call with
    the same `key` can be retried safely. `id` keeps the id that the memory had in another store.
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
        """The hash of all fields, which separates two drafts with the same key.

        Optional fields of later schemas count only if given, so that old keys stay valid. The provenance does not
        count, because the same command comes from the user at a terminal and from a model through a pipe; it is hashed
        as `model_inference`.
        """
        ignored = {"key", *(name for name in OPTIONAL_BODY_FIELDS if getattr(self, name) is None)}
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ignored}
        values["provenance"] = Provenance.MODEL_INFERENCE
        return hashlib.sha256(json.dumps(values, default=str, sort_keys=True).encode()).hexdigest()


_DRAFT_FIELDS = tuple(one.name for one in fields(Draft))


def read_draft(given: Mapping[str, Any], scope: Scope | str | None = None) -> Draft:
    """Read a draft from a mapping with `remember`'s arguments; `scope` is the default scope."""
    if not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is not a draft; give a recollect.Draft or a mapping", field="drafts")
    unknown = next((name for name in map(show_name, given) if name not in _DRAFT_FIELDS), None)
    if unknown is not None:
        raise FieldError(f"unknown field of a draft; {suggest(unknown, _DRAFT_FIELDS)}", field=unknown)
    values = dict(given)
    owner = values.get("scope", scope)
    if owner is None:
        raise FieldError("is missing; give one such as acme/agent-7", field="scope")
    if "text" not in values:
        raise FieldError("is missing; give the text to remember", field="text")
    values["scope"] = as_scope(owner)
    if values.get("kind") is not None:
        values["kind"] = parse_choice("kind", values["kind"], Kind)
    values["provenance"] = parse_choice("provenance", values.get("provenance", Provenance.MODEL_INFERENCE), Provenance)
    for name in ("tags", "derived_from", "evidence"):
        values[name] = validation.require_several(name, values.get(name, ()))
    return Draft(**values)


@dataclass(frozen=True, slots=True)
class Created:
    """A new memory was created."""


@dataclass(frozen=True, slots=True)
class Updated:
    """The draft is a new revision of a memory, the one of its topic or the one revised.

    `instead_of` is another memory of its subject that it replaced, if one was valid.
    """

    revision: int
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Reinforced:
    """A memory already says this, or its topic has a text that was observed later; its echoes grow by one."""

    twin: MemoryId
    reason: str = "the same words"


@dataclass(frozen=True, slots=True)
class Superseded:
    """A new memory was created, and another one of its subject is no longer valid."""

    old: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """A new memory was created, valid only until a known later memory of its subject."""

    newer: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Reactivated:
    """A memory with this text was not active, and is active again.

    `instead_of` is another memory that it replaced, if one was valid.
    """

    was: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unindexed:
    """The draft is an event like an earlier one: it is stored but not indexed."""

    twin: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    """The draft is stored, and not recalled until an operator releases it.

    `other` is the memory that it conflicts with.
    """

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written; `other` is the memory that prevented it, if there is one."""

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The status of a memory changed, not its text: forgotten, restored, pinned or unpinned.

    `instead_of` is another memory that a restored one replaced, if one was valid.
    """

    to: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing was written, because the memory already had the requested state."""


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
    """What a writer gets back: the id, the verdict and the memory.

    A refused draft may have no memory; then `id` and `memory` raise NotFound with the reason. `redacted` names what was
    removed before the text was stored: private parts and kinds of secrets.
    """

    _id: MemoryId | None
    verdict: Verdict
    _memory: Memory | None
    redacted: tuple[str, ...] = ()

    @property
    def id(self) -> MemoryId:
        if self._id is None:
            raise NotFound(f"nothing was stored: {self.reason}")
        return self._id

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            raise NotFound(f"nothing was stored: {self.reason}")
        return self._memory

    @property
    def kept(self) -> bool:
        """Whether the content of the draft is stored in a memory."""
        return self._memory is not None

    @property
    def reason(self) -> str:
        """Return the reason of the verdict; empty if the verdict needs none."""
        match self.verdict:
            case Reinforced() | Superseded() | Outdated() | Unindexed() | Quarantined() | Refused():
                return self.verdict.reason
            case Reactivated(was, _):
                return f"it was {was} and has been stated again"
            case _:
                return ""

    @property
    def other(self) -> MemoryId | None:
        """Return the other memory that the verdict is about, if there is one."""
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
        """The name of the verdict with the fields that are set."""
        values = {one.name: getattr(self.verdict, one.name) for one in fields(self.verdict)}
        arguments = ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)
        return f"{type(self.verdict).__name__}({arguments})"


IDEMPOTENCY_KEY_LIFETIME = timedelta(days=30)
"""How long an idempotency key is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyRecord:
    """An idempotency key with the hash of its request and the result."""

    scope: Scope
    key: str
    body: str
    memory: MemoryId
    verdict: Verdict
    at: datetime
