"""Plans: what a job will do to the memories of a scope, and what its runs did.

Also the results of curation (purges and undone runs), and the occurrences of scheduled jobs: when each was due, and
how it ended.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self, cast

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.enums import CALENDAR_LEVELS, Level, parse_choice, require_choice
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.model.validation import MAX_CLOCK_LEAD

PlanValue = str | int | float | bool | None
"""A parameter or count of a plan: a scalar of JSON."""


class Job(StrEnum):
    """The jobs that make a plan first."""

    CONSOLIDATE = "consolidate"
    PRUNE_VECTORS = "prune-vectors"
    REBUILD_INDEX = "rebuild-index"
    PRUNE_EPISODES = "prune-episodes"

    @property
    def changes_only_indexes(self) -> bool:
        """Whether it changes only how records are found."""
        return self in (Job.PRUNE_VECTORS, Job.REBUILD_INDEX)


class Act(StrEnum):
    """What a step does to a memory.

    `prune` removes it from an index and `return` puts it back. `stand-in` changes the levels for which it is found in
    place of records that left an index. `consolidate` replaces it by its successor, and `archive` ends its use because
    it is too old; both keep it in the store. `keep` changes nothing.
    """

    CREATE = "create"
    CONSOLIDATE = "consolidate"
    PRUNE = "prune"
    RETURN = "return"
    STAND_IN = "stand-in"
    ARCHIVE = "archive"
    KEEP = "keep"


INDEX_ACTS = (Act.PRUNE, Act.RETURN, Act.STAND_IN)
"""The acts that change how a record is indexed."""

UNSUMMARIZED = "untold"
"""The count of records old enough to leave an index that no coarser record summarizes yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionOverrides:
    """Overrides of the retention settings for one plan.

    Either only records of one `level` leave, those older than `age_days`; or records finer than `min_level` leave when
    older than `max_age_days`.
    """

    level: Level | None = None
    age_days: int | None = None
    min_level: Level | None = None
    max_age_days: int | None = None

    def __post_init__(self) -> None:
        for name, levels in (("level", AGING_LEVELS), ("min_level", CALENDAR_LEVELS)):
            level = getattr(self, name)
            if level is not None and require_choice(name, level, Level) not in levels:
                known = ", ".join(one.value for one in levels)
                raise FieldError(f"{show(level.value)} is not one of {known}", field=name)
        for name in ("age_days", "max_age_days"):
            days = getattr(self, name)
            if days is not None and not 1 <= validation.require_count(name, days) <= MAX_AGE_DAYS:
                raise FieldError(f"{days} days are not within 1..{MAX_AGE_DAYS}", field=name)
        if self.age_days is not None and self.level is None:
            raise FieldError("is the age for one level; give level too", field="age_days")

    def for_job(self, job: Job) -> "RetentionOverrides":
        """Return the overrides, or raise FieldError if one does not apply to the job."""
        for one in fields(self):
            if getattr(self, one.name) is not None and one.name not in OVERRIDES_BY_JOB.get(job, ()):
                raise FieldError(f"does not apply to {job.value}", field=one.name)
        return self


MAX_AGE_DAYS = 36_500
"""The highest age in days; without an age, records never leave."""

AGING_LEVELS = (Level.EVENT, Level.SEGMENT, Level.GRIP, Level.DAY, Level.WEEK)
"""The levels whose records may leave an index."""

OVERRIDES_BY_JOB: Mapping[Job, tuple[str, ...]] = {
    Job.PRUNE_VECTORS: ("level", "age_days"),
    Job.REBUILD_INDEX: ("min_level", "max_age_days"),
}
"""The overrides that each job accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happens to one memory, and why.

    `commit` is that of the version the plan looked at; a memory to create has none. `by` is the other memory involved:
    the successor, the source of the text, or the one that contradicts it. `text` is the start of its text, for people.
    `state` identifies a memory to create; for a change of indexes it is how the record is found afterwards.
    """

    memory: MemoryId
    act: Act
    reason: str
    text: str
    commit: int | None = None
    by: MemoryId | None = None
    state: str | None = None

    def __post_init__(self) -> None:
        validation.require_id("memory", self.memory)
        require_choice("act", self.act, Act)
        for name in ("reason", "text"):
            validation.require_content(name, getattr(self, name))
        if self.commit is not None:
            validation.require_count("commit", self.commit)
        if self.by is not None:
            validation.require_id("by", self.by)
        if self.state is not None:
            validation.require_text("state", self.state)
        made = self.act is Act.CREATE
        if made is not (self.commit is None) or (made or self.act in INDEX_ACTS) is not (self.state is not None):
            raise FieldError(
                "only a step that creates a memory or changes an index has a state, and only one that creates has no "
                "commit",
                field="act",
            )
        if self.by is None and self.act in (Act.CREATE, Act.CONSOLIDATE, Act.PRUNE):
            raise FieldError(f"is missing; name the memory that {self.memory} is made of or replaced by", field="by")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps that a job will take in a scope, with its parameters and counts.

    `apply` does exactly these steps, or nothing if any memory named in them has changed since.
    """

    job: Job
    scope: Scope
    made_at: datetime
    parameters: Mapping[str, PlanValue] = field(default_factory=dict[str, PlanValue], hash=False)
    counts: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        require_choice("job", self.job, Job)
        if not isinstance(self.scope, Scope):
            raise FieldError(f"{show(self.scope)} is not a scope; use recollect.Scope.parse(…)", field="scope")
        object.__setattr__(self, "made_at", validation.require_moment("made_at", self.made_at))
        for name, value in _require_text_keys("parameters", self.parameters).items():
            if value is not None and not isinstance(value, str):
                validation.require_number(f"parameters.{name}", float(value) if isinstance(value, bool) else value)
        for name, count in _require_text_keys("counts", self.counts).items():
            validation.require_count(f"counts.{name}", count)
        for name in ("parameters", "counts"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if not all(isinstance(one, Step) for one in validation.require_several("steps", self.steps)):
            raise FieldError(f"{show(self.steps)} has an item that is not a step", field="steps")
        repeated = len(self.steps) - len({one.memory for one in self.steps})
        if repeated:
            raise FieldError(
                f"names {format_count(repeated, 'memory', 'memories')} twice; give each one step", field="steps"
            )

    def __repr__(self) -> str:
        acts = [(len(self.of(act)), act) for act in Act]
        doing = ", ".join(f"{count} to {act.value}" for count, act in acts if count) or "nothing"
        return f"<Plan {self.hash[:12]} to {self.job.value} {self.scope}: {doing}>"

    def of(self, act: Act) -> tuple[Step, ...]:
        """Return the steps with this act, in order."""
        return tuple(one for one in self.steps if one.act is act)

    @property
    def changes(self) -> bool:
        """Whether applying the plan writes anything."""
        return any(one.act is not Act.KEEP for one in self.steps)

    @property
    def hash(self) -> str:
        """The hash of the plan; the time it was made does not count."""
        text = json.dumps(self._content, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON, with its hash."""
        return {"hash": self.hash, "made_at": self.made_at.isoformat(), **self._content}

    @property
    def _content(self) -> dict[str, Any]:
        return {
            "job": self.job.value,
            "scope": str(self.scope),
            "parameters": dict(self.parameters),
            "counts": dict(self.counts),
            "steps": [{one.name: getattr(step, one.name) for one in fields(Step)} for step in self.steps],
        }

    @classmethod
    def read(cls, given: "str | bytes | Mapping[str, Any]") -> "Plan":
        """Read a plan from the output of `to_json`; raise FieldError if its hash does not match."""
        record = _require_mapping("plan", _parse_json(given) if isinstance(given, str | bytes) else given)
        _refuse_other_fields("plan", record, ("hash", *(one.name for one in fields(cls))))
        plan = cls(
            job=parse_choice("job", validation.require_text("job", record["job"]), Job),
            scope=as_scope(validation.require_text("scope", record["scope"])),
            made_at=_parse_moment("made_at", record["made_at"]),
            parameters=_require_mapping("parameters", record["parameters"]),
            counts=_require_mapping("counts", record["counts"]),
            steps=tuple(_read_step(one) for one in validation.require_several("steps", record["steps"])),
        )
        if record["hash"] != plan.hash:
            raise FieldError(
                f"{show(record['hash'])} does not match the plan ({plan.hash[:12]}…); it was edited, so plan again",
                field="hash",
            )
        return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of applying a plan: the memories written in one commit, by id.

    `run` is that commit, which `undo` takes; `None` if there was nothing to do. `counts` counts the records whose
    indexing changed.
    """

    job: Job
    scope: Scope
    plan: str
    memories: tuple[Memory, ...]
    run: int | None
    counts: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)

    def __repr__(self) -> str:
        memories = format_count(len(self.memories), "memory", "memories")
        return f"<Run {self.run} to {self.job.value} {self.scope}, {memories}>"

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        """The ids of the memories."""
        return tuple(one.id for one in self.memories)


LEFT_COUNT, RETURNED_COUNT, STAND_IN_COUNT, STOOD_IN_COUNT = "left", "came_back", "stand_in", "stood_in"
"""What a run counts: records that left an index, returned, or began or ceased to stand in."""


def count_index_changes(changes: Iterable[tuple[Memory, Memory]]) -> dict[str, int]:
    """Count the memories, as (before, after) pairs, whose indexing changed."""
    counts = dict.fromkeys((LEFT_COUNT, RETURNED_COUNT, STAND_IN_COUNT, STOOD_IN_COUNT), 0)
    for was, now in changes:
        counts[LEFT_COUNT] += not set(now.left) <= set(was.left)
        counts[RETURNED_COUNT] += not set(was.left) <= set(now.left)
        counts[STAND_IN_COUNT] += bool(now.stands_for) and not was.stands_for
        counts[STOOD_IN_COUNT] += bool(was.stands_for) and not now.stands_for
    return {name: count for name, count in counts.items() if count}


def _parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{show(text)} is not JSON: {make_printable(str(error))}", field="plan") from error


def _require_mapping(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is not a mapping; give the output of `to_json`", field=field)
    return cast("Mapping[str, Any]", value)


def _require_text_keys(field: str, value: Any) -> Mapping[str, Any]:
    for name in _require_mapping(field, value):
        validation.require_text(field, name)
    return cast("Mapping[str, Any]", value)


def _read_step(given: Any) -> Step:
    record = _require_mapping("steps", given)
    _refuse_other_fields("steps", record, tuple(one.name for one in fields(Step)))
    return Step(**{**record, "act": parse_choice("act", validation.require_text("act", record["act"]), Act)})


def _refuse_other_fields(field: str, record: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise FieldError unless the mapping has exactly the known names.

    An extra field would have no effect, although a reader may expect one.
    """
    unknown = next((name for name in record if name not in known), None)
    missing = next((name for name in known if name not in record), None)
    if unknown is not None or missing is not None:
        problem = f"has no {show(missing)}" if unknown is None else f"has an unknown field {show(unknown)}"
        raise FieldError(f"{problem}; give the output of `to_json`", field=field)


def _parse_moment(field: str, value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(validation.require_text(field, value))
    except ValueError as error:
        raise FieldError(f"{show(value)} is not a datetime", field=field) from error
    return validation.require_moment(field, moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """All memories of a scope from a source, directly or derived, that are not forgotten yet.

    Without a `run` it is a preview. With one, that run forgot them, and `undo` brings them back.
    """

    scope: Scope
    source: str
    memories: tuple[Memory, ...]
    run: int | None = None

    def __repr__(self) -> str:
        memories = format_count(len(self.memories), "memory", "memories")
        state = "preview" if self.run is None else f"run {self.run}"
        return f"<Purge of {memories} of {self.scope} from {make_printable(self.source)}, {state}>"

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        """The ids of the memories."""
        return tuple(one.id for one in self.memories)

    @property
    def versions(self) -> dict[MemoryId, int | None]:
        """The memory ids, each with the commit of the version that was looked at."""
        return {one.id: one.commit for one in self.memories}


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """The memories restored by undoing a run; `run` is the run of the undo itself."""

    scope: Scope
    undone: int
    memories: tuple[Memory, ...]
    run: int

    def __repr__(self) -> str:
        memories = format_count(len(self.memories), "memory", "memories")
        return f"<Undone run {self.undone} of {self.scope}, {memories}, run {self.run}>"

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        """The ids of the memories."""
        return tuple(one.id for one in self.memories)


class JobState(StrEnum):
    """The state of an occurrence; an interrupted one waits for a scheduler to continue it."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOccurrence:
    """One time at which a job was due, and the state of its run.

    It is a lease: the holder has it until `until` and renews it while working. `attempt` counts the holders, so that a
    former holder can be told from the present one. `problem` is one of our own messages, without memory content. `runs`
    are the runs that can be undone, with their scopes; they are passed to the caller and not stored.
    """

    job: str
    due_at: datetime
    state: JobState
    attempt: int
    holder: str
    until: datetime
    started_at: datetime
    ended_at: datetime | None = None
    counts: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    problem: str | None = None
    runs: tuple[tuple[Scope, int], ...] = field(default=(), compare=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.state in (JobState.DONE, JobState.FAILED)

    def is_free(self, at: datetime, until: datetime) -> bool:
        """Whether another scheduler may take the lease until that time.

        It may if the run was interrupted, the lease expired, or the lease is so long that the holder's clock must have
        been wrong.
        """
        wrong = self.until - until > MAX_CLOCK_LEAD
        return self.state is JobState.INTERRUPTED or (self.state is JobState.RUNNING and (self.until < at or wrong))

    def acquire(self, by: str, at: datetime, until: datetime) -> Self:
        """Return the occurrence as leased by another holder, with the next attempt number."""
        return replace(
            self,
            state=JobState.RUNNING,
            attempt=self.attempt + 1,
            holder=by,
            until=until,
            started_at=at,
            ended_at=None,
            counts={},
            problem=None,
        )

    def finish(
        self, state: JobState, at: datetime, counts: Mapping[str, int] | None = None, problem: str | None = None
    ) -> Self:
        """Return the occurrence after its holder finished or stopped."""
        return replace(self, state=state, ended_at=at, counts=counts or {}, problem=problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as all schedulers of a store see it.

    Due times up to `since` do not count: that is when the job was first seen or resumed. Occurrences are newest first.
    """

    job: str
    since: datetime
    paused: bool
    occurrences: tuple[JobOccurrence, ...] = ()

    @property
    def unfinished(self) -> JobOccurrence | None:
        """The occurrence that is not over; there is at most one."""
        return next((one for one in self.occurrences if not one.is_over), None)

    @property
    def last_finished(self) -> JobOccurrence | None:
        """The latest occurrence that is over."""
        return next((one for one in self.occurrences if one.is_over), None)

    def is_clock_ahead(self, at: datetime) -> bool:
        """Whether it was recorded by a clock so far ahead that it must have been wrong."""
        return self.since - at > MAX_CLOCK_LEAD

    def should_run(self, due_at: datetime, at: datetime) -> bool:
        """Whether the job is to run for that due time: it is later than all those seen before.

        Due times from a clock that was far ahead do not count.
        """
        dues = [self.since, *(one.due_at for one in self.occurrences)]
        return not self.is_clock_ahead(at) and all(one < due_at for one in dues if one - at <= MAX_CLOCK_LEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """The status of a job: its next due time, whether it is paused, and its latest occurrences.

    `next_at` may be in the past if no scheduler has started the job yet. It is `None` for a job that is paused or never
    due.
    """

    job: str
    schedule: str
    paused: bool
    next_at: datetime | None
    under_way: JobOccurrence | None
    last: JobOccurrence | None
