"""What every timetable promises to all schedulers that share it, whichever database it is in."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recollect.model.plan import JobOccurrence, JobState
from recollect.protocols import JobStore
from recollect.stores.sql.jobs import MAX_ATTEMPTS, MAX_OCCURRENCES
from tests.contract.timetables import DAY, HOUR, LEASE, MINUTE, NOON, a_timetable

JOB = "rollup"


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new file, and an empty store on PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "agent.db")
    url: str = request.getfixturevalue("postgres_store_url")
    return url


@pytest.fixture
def timetable(target: str) -> Iterator[JobStore]:
    with closing(a_timetable(target)) as timetable:
        yield timetable


@pytest.fixture
def known(timetable: JobStore) -> JobStore:
    """One that saw the job at noon."""
    assert claim(timetable, NOON, at=NOON) is None
    return timetable


def claim(timetable: JobStore, due: datetime | None, *, at: datetime, by: str = "one") -> JobOccurrence | None:
    return timetable.claim(JOB, due, by=by, at=at, until=at + LEASE)


def claimed(timetable: JobStore, due: datetime | None, *, at: datetime, by: str = "one") -> JobOccurrence:
    found = claim(timetable, due, at=at, by=by)
    assert found is not None
    return found


def done(timetable: JobStore, one: JobOccurrence, at: datetime) -> bool:
    return timetable.finish(one.finish(JobState.DONE, at, {"scopes": 3}))


def kept(timetable: JobStore) -> tuple[JobOccurrence, ...]:
    entry = timetable.entry(JOB)
    assert entry is not None
    return entry.occurrences


def test_a_job_that_was_never_seen_begins_with_what_falls_due_next(timetable: JobStore) -> None:
    assert timetable.entry(JOB) is None
    assert claim(timetable, NOON - HOUR, at=NOON) is None
    entry = timetable.entry(JOB)
    assert entry is not None
    assert (entry.since, entry.paused, entry.occurrences) == (NOON, False, ())
    assert claim(timetable, NOON, at=NOON + MINUTE) is None
    assert claimed(timetable, NOON + HOUR, at=NOON + HOUR).due_at == NOON + HOUR


def test_what_is_claimed_is_kept_as_it_is_given_also_for_who_opens_the_store_anew(known: JobStore, target: str) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR + MINUTE)
    expected = JobOccurrence(
        job=JOB,
        due_at=NOON + HOUR,
        state=JobState.RUNNING,
        attempt=1,
        holder="one",
        until=NOON + HOUR + MINUTE + LEASE,
        started_at=NOON + HOUR + MINUTE,
    )
    assert one == expected
    ended = one.finish(JobState.FAILED, NOON + 2 * HOUR, {"scopes": 3, "made": 0}, "StoreBusy in 1 scope")
    assert known.finish(ended)
    with closing(a_timetable(target)) as other:
        assert kept(other) == (ended,)


def test_of_ten_who_ask_at_the_same_time_one_gets_it(target: str) -> None:
    with ExitStack() as opened:
        tables = [opened.enter_context(closing(a_timetable(target))) for _ in range(10)]
        assert claim(tables[0], NOON, at=NOON) is None
        for hour in range(1, 6):
            found: list[JobOccurrence | None] = []
            barrier = threading.Barrier(len(tables))
            moment = NOON + hour * HOUR

            def ask(
                number: int,
                moment: datetime = moment,
                barrier: threading.Barrier = barrier,
                found: list[JobOccurrence | None] = found,
            ) -> None:
                barrier.wait()
                found.append(claim(tables[number], moment, at=moment, by=f"scheduler {number}"))

            threads = [threading.Thread(target=ask, args=[number]) for number in range(len(tables))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (winner,) = [one for one in found if one is not None]
            assert len(found) == len(tables)
            assert done(tables[0], winner, moment)
        assert [(one.due_at, one.attempt) for one in kept(tables[0])] == [(NOON + h * HOUR, 1) for h in range(5, 0, -1)]


def test_nobody_else_begins_anything_of_a_job_that_somebody_is_at(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert claim(known, NOON + HOUR, at=NOON + HOUR, by="two") is None
    assert known.renew(one, NOON + 3 * HOUR)
    assert claim(known, NOON + 2 * HOUR, at=NOON + 2 * HOUR, by="two") is None
    assert done(known, one, NOON + 2 * HOUR)
    assert claimed(known, NOON + 2 * HOUR, at=NOON + 2 * HOUR, by="two").holder == "two"


def test_jobs_have_nothing_to_do_with_each_other(known: JobStore) -> None:
    claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert known.claim("other", NOON, by="two", at=NOON, until=NOON + LEASE) is None
    assert known.claim("other", NOON + HOUR, by="two", at=NOON + HOUR, until=NOON + 2 * HOUR) is not None
    known.pause("other", NOON)
    entry = known.entry(JOB)
    assert entry is not None
    assert not entry.paused


def test_who_is_not_heard_of_is_given_up_and_finds_that_somebody_else_went_on(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert claim(known, NOON + HOUR, at=one.until, by="two") is None  # at the last moment it is still theirs
    later = one.until + MINUTE
    two = claimed(known, None, at=later, by="two")
    assert (two.due_at, two.attempt, two.holder, two.started_at) == (one.due_at, 2, "two", later)
    assert not known.renew(one, later + DAY)
    assert not done(known, one, later)
    assert kept(known) == (two,)
    assert known.renew(two, later + HOUR)
    assert done(known, two, later)
    assert not done(known, one, later)
    (last,) = kept(known)
    assert (last.state, last.attempt) == (JobState.DONE, 2)


def test_a_lease_that_is_renewed_lasts_and_is_never_cut_short(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert known.renew(one, NOON + 2 * HOUR)
    assert known.renew(one, NOON + HOUR)  # by a clock that went back
    assert claim(known, None, at=NOON + 2 * HOUR, by="two") is None
    assert claim(known, None, at=NOON + 2 * HOUR + MINUTE, by="two") is not None


def test_who_lets_go_is_followed_at_once(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert known.finish(one.finish(JobState.INTERRUPTED, NOON + HOUR, {"scopes": 1}, "a problem"))
    two = claimed(known, None, at=NOON + HOUR, by="two")
    assert two == replace(one, attempt=2, holder="two")
    assert done(known, two, NOON + HOUR)


def test_what_nobody_comes_back_from_is_failed_in_the_end_and_the_next_is_begun(known: JobStore) -> None:
    at = NOON + HOUR
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert claimed(known, NOON + HOUR, at=at, by=f"attempt {attempt}").attempt == attempt
        at += LEASE + MINUTE
    due = NOON + 2 * HOUR
    assert at > due
    new = claimed(known, due, at=at, by="last")
    assert (new.due_at, new.attempt) == (due, 1)
    _, failed = kept(known)
    assert (failed.state, failed.attempt, failed.ended_at) == (JobState.FAILED, MAX_ATTEMPTS, at)
    assert failed.problem == "no result after 5 attempts; giving up"


def test_who_did_not_hear_the_answer_may_ask_again(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    again = claimed(known, NOON + HOUR, at=NOON + HOUR + MINUTE)
    assert again == replace(one, until=one.until + MINUTE)
    ended = again.finish(JobState.DONE, NOON + 2 * HOUR, {"made": 1})
    assert known.finish(ended)
    assert known.finish(ended)
    assert not known.renew(again, NOON + 3 * HOUR)
    assert kept(known) == (ended,)


def test_what_is_over_is_never_begun_again_nor_what_fell_due_before_it(known: JobStore) -> None:
    assert done(known, claimed(known, NOON + 3 * HOUR, at=NOON + 3 * HOUR), NOON + 3 * HOUR)
    for hour in (3, 2, 1):
        for at in (NOON + 3 * HOUR, NOON + 9 * HOUR, NOON + hour * HOUR, NOON - HOUR):
            assert claim(known, NOON + hour * HOUR, at=at, by="two") is None
    assert claimed(known, NOON + 4 * HOUR, at=NOON + 4 * HOUR).attempt == 1


def test_while_a_job_is_paused_nothing_begins_and_what_fell_due_is_not_made_up_for(known: JobStore) -> None:
    known.pause(JOB, NOON + MINUTE)
    known.pause(JOB, NOON + 2 * MINUTE)
    assert claim(known, NOON + HOUR, at=NOON + HOUR) is None
    known.resume(JOB, NOON + 2 * HOUR + MINUTE)
    assert claim(known, NOON + 2 * HOUR, at=NOON + 2 * HOUR + MINUTE) is None
    assert claimed(known, NOON + 3 * HOUR, at=NOON + 3 * HOUR).attempt == 1


def test_what_was_left_behind_waits_for_the_end_of_a_pause(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    known.pause(JOB, NOON + HOUR)
    assert known.renew(one, NOON + 2 * HOUR)  # what is under way goes on
    assert claim(known, NOON + 5 * HOUR, at=NOON + 5 * HOUR, by="two") is None
    known.resume(JOB, NOON + 5 * HOUR)
    two = claimed(known, NOON + 5 * HOUR, at=NOON + 5 * HOUR, by="two")
    assert (two.due_at, two.attempt) == (one.due_at, 2)


def test_a_job_that_is_not_paused_is_resumed_without_losing_what_is_due(known: JobStore) -> None:
    known.resume(JOB, NOON + HOUR + MINUTE)
    assert claimed(known, NOON + HOUR, at=NOON + HOUR + MINUTE).due_at == NOON + HOUR


def test_a_job_that_was_never_seen_can_be_paused_and_resumed(timetable: JobStore) -> None:
    timetable.pause(JOB, NOON)
    entry = timetable.entry(JOB)
    assert entry is not None
    assert entry.paused
    assert claim(timetable, NOON + HOUR, at=NOON + HOUR) is None
    timetable.resume(JOB, NOON + HOUR)
    assert claimed(timetable, NOON + 2 * HOUR, at=NOON + 2 * HOUR).attempt == 1


def test_a_clock_that_was_far_ahead_stops_nothing_for_ever(timetable: JobStore) -> None:
    ahead = NOON.replace(year=2126)
    assert claim(timetable, None, at=ahead) is None
    wrong = claimed(timetable, ahead + HOUR, at=ahead + HOUR)
    assert done(timetable, wrong, ahead + HOUR)
    assert claim(timetable, NOON, at=NOON) is None  # as if it were seen for the first time
    right = claimed(timetable, NOON + HOUR, at=NOON + HOUR)
    assert done(timetable, right, NOON + HOUR)
    assert claim(timetable, NOON + HOUR, at=NOON + HOUR) is None
    assert [one.due_at for one in kept(timetable)] == [ahead + HOUR, NOON + HOUR]


def test_who_resumes_by_a_clock_far_ahead_stops_nothing_for_ever(known: JobStore) -> None:
    known.pause(JOB, NOON)
    known.resume(JOB, NOON.replace(year=2126))
    assert claim(known, NOON + HOUR, at=NOON + HOUR) is None
    assert claimed(known, NOON + 2 * HOUR, at=NOON + 2 * HOUR).attempt == 1


@pytest.mark.parametrize("ahead", [DAY + 2 * HOUR, 365 * DAY])
def test_who_died_by_a_clock_far_ahead_is_given_up_at_once(known: JobStore, ahead: timedelta) -> None:
    dead = claimed(known, NOON + ahead, at=NOON + ahead, by="dead")
    two = claimed(known, NOON + HOUR, at=NOON, by="two")  # by a clock that is right
    assert (two.due_at, two.attempt, two.until) == (dead.due_at, 2, NOON + LEASE)
    assert not known.renew(dead, dead.until + LEASE)
    assert done(known, two, NOON)
    assert claimed(known, NOON + HOUR, at=NOON + HOUR, by="two").attempt == 1


def test_who_holds_a_job_for_a_day_by_a_clock_a_bit_ahead_is_not_given_up(known: JobStore) -> None:
    ahead = NOON + HOUR + 5 * MINUTE
    assert known.claim(JOB, NOON + HOUR, by="one", at=ahead, until=ahead + DAY) is not None
    assert known.claim(JOB, NOON + HOUR, by="two", at=NOON + HOUR, until=NOON + HOUR + DAY) is None


def test_whoever_renewed_by_a_clock_that_was_far_ahead_for_a_moment_does_not_hold_it_for_ever(known: JobStore) -> None:
    one = claimed(known, NOON + HOUR, at=NOON + HOUR)
    assert known.renew(one, NOON.replace(year=2126))
    assert claimed(known, None, at=NOON + HOUR, by="two").attempt == 2


def test_a_hundred_moments_of_a_clock_far_ahead_take_the_place_of_no_present_one(known: JobStore) -> None:
    ahead = NOON + 30 * DAY
    for minute in range(MAX_OCCURRENCES + 5):
        at = ahead + minute * MINUTE
        assert done(known, claimed(known, at, at=at), at)
    for hour in (1, 2, 3):
        due = NOON + hour * HOUR
        one = claimed(known, due, at=due)
        assert known.renew(one, due + 2 * LEASE)
        assert done(known, one, due)
        assert claim(known, due, at=due + MINUTE) is None
    found = [one.due_at for one in kept(known)]
    assert len(found) == MAX_OCCURRENCES
    assert found[-3:] == [NOON + hour * HOUR for hour in (3, 2, 1)]


def test_the_last_hundred_are_kept(known: JobStore) -> None:
    more = 7
    for hour in range(1, MAX_OCCURRENCES + more + 1):
        assert done(known, claimed(known, NOON + hour * HOUR, at=NOON + hour * HOUR), NOON + hour * HOUR)
    found = [one.due_at for one in kept(known)]
    assert found == [NOON + hour * HOUR for hour in range(MAX_OCCURRENCES + more, more, -1)]
    assert claim(known, NOON + HOUR, at=NOON + HOUR) is None  # by a clock that went back
