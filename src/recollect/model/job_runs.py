"""Job runs: when jobs were due, and what became of each occurrence."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from recollect.model.scope import Scope
from recollect.model.validation import MAX_CLOCK_LEAD

MAX_ATTEMPTS = 5
"""How often an occurrence is started again after its scheduler vanished."""

MAX_OCCURRENCES = 100
"""How many occurrences of a job are kept."""


class JobState(StrEnum):
    """The state of an occurrence; an interrupted one waits for a scheduler to continue it."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOccurrence:
    """One time at which a job was due, and what became of it.

    It is a lease: the holder has it until `until` and renews it while working. `attempt` counts the holders, so that a
    holder that was given up differs from the present one. `problem` is a text of this project and has no memory
    content. `runs` are the runs that can be undone, with their scopes; they are passed to the caller and not stored.
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
