"""Answers for administrators: counts, erasures, plans and runs."""

from dataclasses import fields
from typing import Any

from pydantic import Field

from recollect.api.schemas.base import AnswerSchema, ScopeText
from recollect.api.schemas.memories import Memory
from recollect.model.archive import ErasureReceipt, VerifyReport
from recollect.model.archive import Stats as StoreStats
from recollect.model.enums import Index
from recollect.model.plan import Run
from recollect.model.scope import Scope


class Count(AnswerSchema):
    """A scope and how many memories it has."""

    scope: ScopeText
    memories: int

    @classmethod
    def read(cls, value: tuple[Scope, int]) -> dict[str, Any]:
        return dict(zip(("scope", "memories"), value, strict=True))


class Encoder(AnswerSchema):
    """The model that vectors come from."""

    name: str
    dimensions: int


class Stats(AnswerSchema):
    """How much there is."""

    scope: ScopeText | None
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

    @classmethod
    def read(cls, value: StoreStats) -> dict[str, Any]:
        return {**super().read(value), "embedder": value.encoder}


class Erasure(AnswerSchema):
    """What was or would be erased, where it was looked for, what was found, and what is out of reach."""

    dry_run: bool
    scope: ScopeText
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

    @classmethod
    def read(cls, value: ErasureReceipt) -> dict[str, Any]:
        names = (one.name for one in fields(value.search) if one.name != "out_of_reach")  # the receipt lists these
        return {**super().read(value), "search": {name: getattr(value.search, name) for name in names}}


class Plan(AnswerSchema):
    """What a job would do, or the runs in which it did it."""

    dry_run: bool
    plan: dict[str, Any] | None
    runs: list[dict[str, Any]]


def summarize_run(run: Run) -> dict[str, Any]:
    """Return one of many runs with the ids of its memories, and for an index what left it and what stands in."""
    header = {"job": run.job.value, "scope": str(run.scope), "run": run.run}
    return {**header, **(_read_index_changes(run) if run.job.changes_only_indexes else {}), "memories": list(run.ids)}


def _read_index_changes(run: Run) -> dict[str, Any]:
    left = {index.value: [one.id for one in run.memories if index in one.left] for index in Index}
    return {"left": left, "stand_in": [one.id for one in run.memories if one.stands_for]}


class Undone(AnswerSchema):
    """What stands again as it did before a run."""

    undone: int
    scope: ScopeText
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

    scopes: list[ScopeText]


class Purged(AnswerSchema):
    """The memories that came from a source; without a run they are only listed."""

    source: str
    scope: ScopeText
    run: int | None
    memories: list[Memory]


class JobRun(AnswerSchema):
    """The memories that a job wrote; without a run there was nothing to do."""

    job: str
    scope: ScopeText
    plan: str
    run: int | None
    memories: list[Memory]


class Imported(AnswerSchema):
    """What a store took in from an export."""

    memories: int
    contexts: int
    skipped: int
    re_embedded: Encoder | None


class Verification(AnswerSchema):
    """What a store file or a backup has, and every problem found in it."""

    path: str
    ok: bool
    problems: list[str]
    bytes: int
    sealed: bool
    schema_: int = Field(alias="schema")
    embedder: Encoder | None
    memories: int
    versions: int
    contexts: int
    recalled: bool

    @classmethod
    def read(cls, value: VerifyReport) -> dict[str, Any]:
        return {**super().read(value), "embedder": value.encoder}
