"""Answers with memories, and the receipts of what was written."""

from dataclasses import fields
from typing import Any, Literal

from pydantic import Field

from recollect.api.schemas.base import AnswerSchema, Moment, ScopeText
from recollect.model.draft import Receipt as ReceiptValue


class Memory(AnswerSchema):
    """A memory with all that is known of it but its use."""

    id: str
    scope: ScopeText
    text: str
    created_at: Moment = Field(description="When it was first observed.")
    kind: str
    level: str | None = Field(description="How coarse it is as a record of what happened; plain memories have none.")
    title: str | None
    tags: list[str]
    session: str | None
    speaker: str | None
    topic_key: str | None
    subject: str | None = Field(description="What it is about, where only one thing holds at a time.")
    shared: bool
    pinned: bool
    importance: float | None
    confidence: float | None
    salience: float | None
    observed_at: Moment | None
    updated_at: Moment | None
    valid_from: Moment | None
    valid_until: Moment | None
    provenance: str
    trust: str
    source: str | None
    evidence: list[str]
    derived_from: list[str]
    metadata: dict[str, Any]
    revisions: int
    status: str
    indexed: bool
    left: list[str]
    stands_for: list[str]
    superseded_by: str | None
    remark: str | None
    recorded_at: Moment | None
    commit: int | None


class Receipt(AnswerSchema):
    """Which memory now says it, what was decided and why, and what was taken out before anything was kept."""

    id: str | None = Field(description="The memory that says it now; none if nothing was kept.")
    verdict: Literal[
        "created",
        "updated",
        "reinforced",
        "superseded",
        "outdated",
        "reactivated",
        "unindexed",
        "quarantined",
        "refused",
        "changed",
        "unchanged",
    ]
    revision: int | None = None
    was: str | None = None
    to: str | None = None
    instead_of: str | None = None
    twin: str | None = None
    old: str | None = None
    newer: str | None = None
    reason: str | None = None
    other: str | None = None
    redacted: list[str]
    memory: Memory | None

    @classmethod
    def read(cls, value: ReceiptValue) -> dict[str, Any]:
        verdict = value.verdict
        return {
            "id": value.id if value.kept else None,
            "verdict": type(verdict).__name__.lower(),
            **{one.name: getattr(verdict, one.name) for one in fields(verdict)},
            "redacted": value.redacted,
            "memory": value.memory if value.kept else None,
        }


class Receipts(AnswerSchema):
    """What became of each, in the order given."""

    receipts: list[Receipt]


class Usage(AnswerSchema):
    """What happened to a memory since it was written."""

    served: int
    helped: int
    misled: int
    echoed: int
    quoted: int
    followed: int
    last_served_at: Moment | None
    last_echoed_at: Moment | None
    usefulness: float | None


class Replacement(AnswerSchema):
    """What took the place of a memory."""

    id: str
    text: str


class Shown(Memory):
    """A memory with its use, and what took its place if something did."""

    usage: Usage
    replacement: Replacement | None


class Versions(AnswerSchema):
    """Every version of a memory, the oldest first."""

    id: str
    versions: list[Memory]
    replacement: Replacement | None


class Memories(AnswerSchema):
    """Memories of a scope in the order of ids; `next` is where to go on, if there are more."""

    scope: ScopeText
    memories: list[Memory]
    next: str | None
