"""Job runs in SQL tables that a store's schedulers share: due times, leases and results."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.model.plan import JobOccurrence, JobRecord, JobState
from recollect.model.validation import MAX_CLOCK_LEAD
from recollect.stores.sql.rows import from_micros, from_optional_micros, to_micros, to_optional_micros
from recollect.stores.sql.transaction import Row, Transaction, TransactionRunner

MAX_ATTEMPTS = 5
"""How often a job run is started again after its scheduler vanished."""

MAX_OCCURRENCES = 100
"""How many runs of a job are kept."""

GIVEN_UP_MESSAGE = f"no result after {MAX_ATTEMPTS} attempts; giving up"


class SqlJobStore:
    """Keeps job runs; each change locks the row of its job, so only one scheduler gets a run."""

    def __init__(self, transactions: TransactionRunner) -> None:
        self._transactions = transactions

    def close(self) -> None:
        self._transactions.close()

    def entry(self, job: str) -> JobRecord | None:
        def read(db: Transaction) -> JobRecord | None:
            row = db.fetch_first("job", job=job)
            return None if row is None else _read_entry(db, job, row)

        return self._transactions.read(read)

    def claim(
        self, job: str, due_at: datetime | None, *, by: str, at: datetime, until: datetime
    ) -> JobOccurrence | None:
        record = self.entry(job)
        if record is not None and not _may_change(record, due_at, by, at, until):  # a plain read needs no lock
            return None

        def change(db: Transaction) -> JobOccurrence | None:
            entry = _lock_entry(db, job, at)
            if entry.is_clock_ahead(at):
                _save_entry(db, replace(entry, since=at))
            if not _may_change(entry, due_at, by, at, until):
                return None
            unfinished = entry.unfinished
            if unfinished is not None and unfinished.holder == by and unfinished.state is JobState.RUNNING:  # a retry
                return _save_occurrence(db, replace(unfinished, until=max(until, unfinished.until)))
            if unfinished is not None and (
                unfinished.state is JobState.INTERRUPTED or unfinished.attempt < MAX_ATTEMPTS
            ):
                return _save_occurrence(db, unfinished.acquire(by, at, until))
            if unfinished is not None:
                _save_occurrence(db, unfinished.finish(JobState.FAILED, at, unfinished.counts, GIVEN_UP_MESSAGE))
            if due_at is None or not entry.should_run(due_at, at):
                return None
            occurrence = JobOccurrence(
                job=job, due_at=due_at, state=JobState.RUNNING, attempt=1, holder=by, started_at=at, until=until
            )
            _save_occurrence(db, occurrence)
            db.execute("drop_occurrences", job=job, ahead=to_micros(at + MAX_CLOCK_LEAD), most=MAX_OCCURRENCES)
            return occurrence

        return self._transactions.write(change)

    def renew(self, ours: JobOccurrence, until: datetime) -> bool:
        return self._update_occurrence(ours, lambda one: replace(one, until=max(one.until, until)))

    def finish(self, ours: JobOccurrence) -> bool:
        return self._update_occurrence(ours, lambda _: ours)

    def pause(self, job: str, at: datetime) -> None:
        def change(db: Transaction) -> None:
            _save_entry(db, replace(_lock_entry(db, job, at), paused=True))

        self._transactions.write(change)

    def resume(self, job: str, at: datetime) -> None:
        def change(db: Transaction) -> None:
            entry = _lock_entry(db, job, at)
            if entry.paused:
                _save_entry(
                    db, replace(entry, since=at if entry.is_clock_ahead(at) else max(entry.since, at), paused=False)
                )

        self._transactions.write(change)

    def _update_occurrence(self, ours: JobOccurrence, update: Callable[[JobOccurrence], JobOccurrence]) -> bool:
        """Change the run, unless another worker has taken it over or it has already ended."""

        def change(db: Transaction) -> bool:
            entry = _lock_entry(db, ours.job, ours.started_at)
            found = next((one for one in entry.occurrences if one.due_at == ours.due_at), None)
            if found is None or (found.attempt, found.holder) != (ours.attempt, ours.holder):
                return False
            if found.state is JobState.RUNNING:
                _save_occurrence(db, update(found))
                return True
            return found == ours  # retried: the first answer was lost

        return self._transactions.write(change)


def _may_change(entry: JobRecord, due_at: datetime | None, by: str, at: datetime, until: datetime) -> bool:
    """Whether the caller may have something to do: a run to start, continue or take over."""
    unfinished = entry.unfinished
    if entry.paused:
        return False
    if unfinished is not None:
        return unfinished.is_free(at, until) or unfinished.holder == by
    return entry.is_clock_ahead(at) or (due_at is not None and entry.should_run(due_at, at))


def _lock_entry(db: Transaction, job: str, at: datetime) -> JobRecord:
    """Lock the job's row until the transaction ends and return the job; add it if it is new."""
    db.execute("add_job", job=job, since=to_micros(at), paused=False)
    return _read_entry(db, job, db.fetch_one("take_job", job=job))


def _read_entry(db: Transaction, job: str, row: Row) -> JobRecord:
    since, paused = row
    found = tuple(_parse_occurrence(job, *one) for one in db.fetch_all("occurrences", job=job))
    return JobRecord(job=job, since=from_micros(since), paused=bool(paused), occurrences=found)


def _parse_occurrence(job: str, *row: Any) -> JobOccurrence:
    due, state, attempt, holder, until, started, ended, counts, problem = row
    return JobOccurrence(
        job=job,
        due_at=from_micros(due),
        state=JobState(state),
        attempt=attempt,
        holder=holder,
        until=from_micros(until),
        started_at=from_micros(started),
        ended_at=from_optional_micros(ended),
        counts=json.loads(counts),
        problem=problem,
    )


def _save_entry(db: Transaction, entry: JobRecord) -> None:
    db.execute("set_job", job=entry.job, since=to_micros(entry.since), paused=entry.paused)


def _save_occurrence(db: Transaction, occurrence: JobOccurrence) -> JobOccurrence:
    db.execute(
        "put_occurrence",
        job=occurrence.job,
        due=to_micros(occurrence.due_at),
        state=occurrence.state.value,
        attempt=occurrence.attempt,
        holder=occurrence.holder,
        until=to_micros(occurrence.until),
        started=to_micros(occurrence.started_at),
        ended=to_optional_micros(occurrence.ended_at),
        counts=json.dumps(dict(occurrence.counts)),
        problem=occurrence.problem,
    )
    return occurrence
