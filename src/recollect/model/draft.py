"""Draft: what a caller proposes to remember, before admission."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from recollect.errors import FieldError, show, show_name, suggest
from recollect.model import validation
from recollect.model.memory import Kind, MemoryId, parse_choice, require_kind, require_metadata
from recollect.model.scope import Scope, as_scope
from recollect.model.trust import Provenance

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
