"""Timetable: when jobs fell due, and what became of each of these occurrences."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from recollect.model.scope import Scope
from recollect.model.validation import MAX_CLOCK_LEAD

MAX_ATTEMPTS = 5
"""How often an occurrence is begun whose schedulers end without a word."""

MAX_OCCURRENCES = 100
"""How many occurrences of a job are kept."""


class JobState(StrEnum):
    """Where an occurrence stands: somebody is at it, nobody is and it is not over, or it ended well or badly."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOccurrence:
    """One moment at which a job fell due, and what became of it.

    It is the holder's until a moment, which the holder puts off while at it. `attempt` counts who was at it, so that
    one who was given up is told from the present one. `problem` has words of ours alone, and none of a memory. `runs`
    are those that can be undone, each with its scope: whoever hears that it ended is told, and they are kept nowhere.
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
        """Whether another one may go on with it until that moment: it was let go of, or its holder was not heard of, or
        has it for so long that its clock must have been wrong.
        """
        wrong = self.until - until > MAX_CLOCK_LEAD
        return self.state is JobState.INTERRUPTED or (self.state is JobState.RUNNING and (self.until < at or wrong))

    def acquire(self, by: str, at: datetime, until: datetime) -> Self:
        """The same in the hands of somebody else."""
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
        """The same when whoever was at it is done, or stopped."""
        return replace(self, state=state, ended_at=at, counts=counts or {}, problem=problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as all schedulers of a store know it.

    Nothing counts that fell due up to `since`: when it was first seen, or resumed. Occurrences are the latest first.
    """

    job: str
    since: datetime
    paused: bool
    occurrences: tuple[JobOccurrence, ...] = ()

    @property
    def unfinished(self) -> JobOccurrence | None:
        """The occurrence that is not over; there is one at most."""
        return next((one for one in self.occurrences if not one.is_over), None)

    @property
    def last_finished(self) -> JobOccurrence | None:
        """The last one that is over."""
        return next((one for one in self.occurrences if one.is_over), None)

    def is_clock_ahead(self, at: datetime) -> bool:
        """Whether it was seen by a clock so far ahead that it must have been wrong."""
        return self.since - at > MAX_CLOCK_LEAD

    def should_run(self, due_at: datetime, at: datetime) -> bool:
        """Whether it is to be run for that moment: it was for none as late, but for those of a clock far ahead."""
        dues = [self.since, *(one.due_at for one in self.occurrences)]
        return not self.is_clock_ahead(at) and all(one < due_at for one in dues if one - at <= MAX_CLOCK_LEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """How it stands with a job: when it falls due, whether it is paused, what is under way, and what came of the last.

    `next_at` may be past, if nobody has begun yet; there is none for a job that is paused or never falls due.
    """

    job: str
    schedule: str
    paused: bool
    next_at: datetime | None
    under_way: JobOccurrence | None
    last: JobOccurrence | None
