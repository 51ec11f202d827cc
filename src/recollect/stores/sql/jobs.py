"""RelationalTimetable: when jobs fell due and what became of it, in tables that all schedulers of a store share."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.model.job_runs import MOST_ATTEMPTS, MOST_OCCURRENCES, Entry, Occurrence, State
from recollect.model.validation import MOST_AHEAD
from recollect.stores.sql.rows import maybe_micros, maybe_moment, micros, moment
from recollect.stores.sql.transaction import Row, Session
from recollect.stores.sql.transaction_runner import Transactions

GIVEN_UP = f"whoever was at it ended without a word, {MOST_ATTEMPTS} times"


class RelationalTimetable:
    """Every change has the row of its job to itself, so that of many who ask for the same one gets it."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def close(self) -> None:
        self._transactions.close()

    def entry(self, job: str) -> Entry | None:
        def look(db: Session) -> Entry | None:
            row = db.one("job", job=job)
            return None if row is None else _entry(db, job, row)

        return self._transactions.seen(look)

    def claim(self, job: str, due_at: datetime | None, *, by: str, at: datetime, until: datetime) -> Occurrence | None:
        seen = self.entry(job)
        if seen is not None and not _is_worth_asking(seen, due_at, by, at, until):  # nobody waits for who only looks
            return None

        def change(db: Session) -> Occurrence | None:
            entry = _taken(db, job, at)
            if entry.is_ahead(at):
                _set(db, replace(entry, since=at))
            if not _is_worth_asking(entry, due_at, by, at, until):
                return None
            begun = entry.begun
            if begun is not None and begun.holder == by and begun.state is State.RUNNING:  # the answer was lost
                return _put(db, replace(begun, until=max(until, begun.until)))
            if begun is not None and (begun.state is State.INTERRUPTED or begun.attempt < MOST_ATTEMPTS):
                return _put(db, begun.taken(by, at, until))
            if begun is not None:
                _put(db, begun.ended(State.FAILED, at, begun.counts, GIVEN_UP))
            if due_at is None or not entry.awaits(due_at, at):
                return None
            new = Occurrence(
                job=job, due_at=due_at, state=State.RUNNING, attempt=1, holder=by, started_at=at, until=until
            )
            _put(db, new)
            db.run("drop_occurrences", job=job, ahead=micros(at + MOST_AHEAD), most=MOST_OCCURRENCES)
            return new

        return self._transactions.changed(change)

    def renew(self, ours: Occurrence, until: datetime) -> bool:
        return self._change(ours, lambda one: replace(one, until=max(one.until, until)))

    def finish(self, ours: Occurrence) -> bool:
        return self._change(ours, lambda _: ours)

    def pause(self, job: str, at: datetime) -> None:
        def change(db: Session) -> None:
            _set(db, replace(_taken(db, job, at), paused=True))

        self._transactions.changed(change)

    def resume(self, job: str, at: datetime) -> None:
        def change(db: Session) -> None:
            entry = _taken(db, job, at)
            if entry.paused:
                _set(db, replace(entry, since=at if entry.is_ahead(at) else max(entry.since, at), paused=False))

        self._transactions.changed(change)

    def _change(self, ours: Occurrence, changed: Callable[[Occurrence], Occurrence]) -> bool:
        """Change the occurrence, unless somebody else is at it by now, or it is over otherwise."""

        def change(db: Session) -> bool:
            entry = _taken(db, ours.job, ours.started_at)
            found = next((one for one in entry.occurrences if one.due_at == ours.due_at), None)
            if found is None or (found.attempt, found.holder) != (ours.attempt, ours.holder):
                return False
            if found.state is State.RUNNING:
                _put(db, changed(found))
                return True
            return found == ours  # the answer was lost

        return self._transactions.changed(change)


def _is_worth_asking(entry: Entry, due_at: datetime | None, by: str, at: datetime, until: datetime) -> bool:
    """Whether there may be something to do for whoever asks."""
    begun = entry.begun
    if entry.paused:
        return False
    if begun is not None:
        return begun.is_free(at, until) or begun.holder == by
    return entry.is_ahead(at) or (due_at is not None and entry.awaits(due_at, at))


def _taken(db: Session, job: str, at: datetime) -> Entry:
    """The entry of the job, which nobody else changes until the transaction ends; one never seen begins now."""
    db.run("add_job", job=job, since=micros(at), paused=False)
    return _entry(db, job, db.the("take_job", job=job))


def _entry(db: Session, job: str, row: Row) -> Entry:
    since, paused = row
    found = tuple(_occurrence(job, *one) for one in db.all("occurrences", job=job))
    return Entry(job=job, since=moment(since), paused=bool(paused), occurrences=found)


def _occurrence(job: str, *row: Any) -> Occurrence:
    due, state, attempt, holder, until, started, ended, counts, problem = row
    return Occurrence(
        job=job,
        due_at=moment(due),
        state=State(state),
        attempt=attempt,
        holder=holder,
        until=moment(until),
        started_at=moment(started),
        ended_at=maybe_moment(ended),
        counts=json.loads(counts),
        problem=problem,
    )


def _set(db: Session, entry: Entry) -> None:
    db.run("set_job", job=entry.job, since=micros(entry.since), paused=entry.paused)


def _put(db: Session, one: Occurrence) -> Occurrence:
    db.run(
        "put_occurrence",
        job=one.job,
        due=micros(one.due_at),
        state=one.state.value,
        attempt=one.attempt,
        holder=one.holder,
        until=micros(one.until),
        started=micros(one.started_at),
        ended=maybe_micros(one.ended_at),
        counts=json.dumps(dict(one.counts)),
        problem=one.problem,
    )
    return one
