"""How it looks what a store has, and what was done to it."""

from typing import Any

from pydantic import Field

from recollect.api.operation import AnswerSchema
from recollect.api.schemas.memories import Memory


class Count(AnswerSchema):
    """A scope and how many memories it has."""

    scope: str
    memories: int


class Encoder(AnswerSchema):
    """The model that vectors come from."""

    name: str
    dimensions: int


class Stats(AnswerSchema):
    """How much there is."""

    scope: str | None
    memories: int
    statuses: dict[str, int]
    kinds: dict[str, int]
    scopes: int
    largest: list[Count]
    versions: int
    contexts: int
    uses: dict[str, int]
    unembedded: int
    embedder: Encoder | None
    analyser: str | None
    schema_: int | None = Field(alias="schema")
    bytes: int | None


class Erasure(AnswerSchema):
    """What was or would be erased, where it was looked for, what was found, and what is out of reach."""

    dry_run: bool
    scope: str
    ids: list[str]
    memories: int
    versions: int | None = None
    vectors: int | None = None
    uses: int | None = None
    votes: int | None = None
    keys: int | None = None
    checkpoints: int | None = None
    contexts: int | None = None
    restored: list[str] | None = None
    made_of: list[str] | None = None
    proven: bool | None = None
    retryable: bool | None = None
    search: dict[str, Any] | None = None
    out_of_reach: list[str] | None = None


class Plan(AnswerSchema):
    """What a job would do, or the runs in which it did it."""

    dry_run: bool
    plan: dict[str, Any] | None
    runs: list[dict[str, Any]]


class Undone(AnswerSchema):
    """What stands again as it did before a run."""

    undone: int
    scope: str
    run: int | None
    memories: list[Memory]


class ProfileSummary(AnswerSchema):
    """A rank profile."""

    name: str
    version: str
    about: str


class Profiles(AnswerSchema):
    """The rank profiles that can be asked for."""

    profiles: list[ProfileSummary]


class Scopes(AnswerSchema):
    """Scopes that have memories, in order."""

    scopes: list[str]
