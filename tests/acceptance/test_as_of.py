"""Asked about a moment, a memory says what it said then; whether it is pinned or forgotten is a matter of now."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import recollect
from recollect.model.draft import Updated
from recollect.ranking.why import Barred, Ranked
from recollect.retrieval.eligibility import Barrier

ANA = "acme/ana"
START, DAY = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)
WINDOW, AISLE = "Ana sits at the window", "Ana sits at the aisle"
BETWEEN = START + 2 * DAY


class Clock:
    """A clock that stands still until it is moved."""

    now = START + 10 * DAY

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[recollect.Engine]:
    with recollect.open(":memory:", embedder="hashing", clock=clock) as engine:
        yield engine


def drafts(**more: datetime) -> list[dict[str, object]]:
    """A seat, and another one four days later."""
    first = {"text": WINDOW, "topic_key": "seat", "at": START}
    return [first, {"text": AISLE, "topic_key": "seat", "at": START + 4 * DAY, **more}]


def test_two_texts_of_one_call_have_each_its_time(memory: recollect.Engine) -> None:
    first, _ = memory.remember_all(drafts(), scope=ANA)
    for at, text in ((BETWEEN, WINDOW), (START + 4 * DAY, AISLE)):
        (scored,) = memory.search("where does Ana sit?", scope=ANA, as_of=at)
        assert (scored.id, scored.memory.text) == (first.id, text)
        assert text in memory.recall("where does Ana sit?", scope=ANA, as_of=at).text


def dated(memory: recollect.Memory) -> tuple[datetime, datetime | None, datetime | None]:
    return memory.created_at, memory.observed_at, memory.updated_at


def test_what_is_said_again_of_an_earlier_moment_does_not_date_a_memory_back(
    memory: recollect.Engine, clock: Clock
) -> None:
    first = memory.remember(WINDOW, scope=ANA)
    again = memory.remember(WINDOW, scope=ANA, importance=0.9, at=START)
    assert (again.verdict, again.memory.importance) == (Updated(2), 0.9)
    assert dated(again.memory) == dated(first.memory) == (clock.now,) * 3
    assert memory.search("sit", scope=ANA, as_of=START + DAY).excluded == {"not_yet_known": 1}
    assert [one.memory.importance for one in memory.search("sit", scope=ANA, as_of=clock.now)] == [0.9]


def test_a_revision_is_not_older_than_what_it_revises(memory: recollect.Engine) -> None:
    first, second = memory.remember_all(drafts(), scope=ANA)
    since = second.memory.updated_at
    assert since is not None
    problem = f"field 'at': .* is before {re.escape(since.isoformat())}, the time of the present text"
    with pytest.raises(recollect.errors.FieldError, match=problem):
        memory.revise(first.id, "Ana stands", scope=ANA, at=since - timedelta(microseconds=1))
    assert len(memory.history(first.id, scope=ANA)) == 2
    revised = memory.revise(first.id, "Ana stands", scope=ANA, at=since).memory
    assert dated(revised) == (START, since, since)
    assert [one.memory.text for one in memory.search("Ana", scope=ANA, as_of=since)] == ["Ana stands"]


@pytest.mark.parametrize("way", ["topic", "revise"])
def test_what_is_said_now_is_the_latest_also_if_the_clock_went_back(
    way: str, memory: recollect.Engine, clock: Clock
) -> None:
    first = memory.remember(WINDOW, scope=ANA, topic_key="seat")
    later = clock.now
    clock.now -= DAY
    if way == "topic":
        second = memory.remember(AISLE, scope=ANA, topic_key="seat")
    else:
        second = memory.revise(first.id, AISLE, scope=ANA)
    assert (second.id, second.verdict, dated(second.memory)) == (first.id, Updated(2), (later,) * 3)
    assert [one.memory.text for one in memory.search("sit", scope=ANA)] == [AISLE]


def test_a_pin_of_now_counts_for_then_and_is_shown(memory: recollect.Engine, clock: Clock) -> None:
    first, _ = memory.remember_all(drafts(), scope=ANA)
    before = clock.now
    clock.now += DAY
    memory.pin(first.id, scope=ANA)
    context = memory.recall("qqqq", scope=ANA, as_of=BETWEEN)  # which finds nothing, so that only a pin brings it in
    assert [(one.memory.text, one.memory.pinned) for one in context.packed] == [(WINDOW, True)]
    unpinned = memory.recall("qqqq", scope=ANA, as_of=BETWEEN, known_at=before)
    assert unpinned.packed == ()


def test_what_is_forgotten_now_is_not_recalled_for_then_unless_as_it_was_known_then(
    memory: recollect.Engine, clock: Clock
) -> None:
    first, _ = memory.remember_all(drafts(), scope=ANA)
    before = clock.now
    clock.now += DAY
    memory.forget(first.id, scope=ANA)
    assert memory.search("sit", scope=ANA, as_of=BETWEEN).excluded == {"status": 1}
    (scored,) = memory.search("sit", scope=ANA, as_of=BETWEEN, known_at=before)
    assert (scored.memory.text, scored.memory.status) == (WINDOW, recollect.Status.ACTIVE)
    assert memory.why(first.id, "sit", scope=ANA, as_of=BETWEEN, known_at=before).fate == Ranked(1)


def test_a_text_that_never_held_is_told_as_no_longer_valid(memory: recollect.Engine) -> None:
    first, _ = memory.remember_all(drafts(valid_until=START + DAY), scope=ANA)
    assert memory.search("sit", scope=ANA, as_of=BETWEEN).excluded == {"no_longer_valid": 1}
    fate = memory.why(first.id, "sit", scope=ANA, as_of=BETWEEN).fate
    assert fate == Barred(Barrier.NO_LONGER_VALID, recollect.Status.ACTIVE)


def test_a_former_text_may_begin_after_its_memory_ended(memory: recollect.Engine) -> None:
    late, early = {"valid_from": START + DAY}, {"valid_until": START}
    first, second = drafts()
    receipt, _ = memory.remember_all([first | late, second | early], scope=ANA)
    assert memory.search("sit", scope=ANA, as_of=BETWEEN).excluded == {"no_longer_valid": 1}
    fate = memory.why(receipt.id, "sit", scope=ANA, as_of=BETWEEN).fate
    assert fate == Barred(Barrier.NO_LONGER_VALID, recollect.Status.ACTIVE)


ROME, OSLO = "Ana lives in Rome", "Ana lives in Oslo"
HOUR = timedelta(hours=1)


def texts(found: recollect.Ranking) -> list[str]:
    return sorted(one.memory.text for one in found)


def test_a_clock_that_goes_back_brings_nothing_back_that_was_replaced(memory: recollect.Engine, clock: Clock) -> None:
    former = memory.remember(ROME, scope=ANA)
    clock.now += HOUR
    memory.remember(OSLO, scope=ANA)
    clock.now -= timedelta(seconds=1)
    found = memory.search("where does Ana live?", scope=ANA)
    assert (texts(found), dict(found.excluded)) == ([OSLO], {"no_longer_valid": 1})
    assert memory.why(former.id, "home", scope=ANA).fate == Barred(Barrier.NO_LONGER_VALID, recollect.Status.SUPERSEDED)
    assert texts(memory.search("where does Ana live?", scope=ANA, past=True)) == [OSLO, ROME]
    assert texts(memory.search("where does Ana live?", scope=ANA, as_of=clock.now)) == [ROME]


def test_what_was_forgotten_and_said_again_is_not_given_for_the_time_between(
    memory: recollect.Engine, clock: Clock
) -> None:
    start = clock.now
    former = memory.remember(ROME, scope=ANA)
    clock.now += HOUR
    memory.forget(former.id, scope=ANA)
    clock.now += HOUR
    memory.remember(OSLO, scope=ANA)
    clock.now += HOUR
    assert memory.remember(ROME, scope=ANA).id == former.id
    moments = [start + hours * HOUR for hours in range(4)]
    given = [texts(memory.search("where does Ana live?", scope=ANA, as_of=at)) for at in moments]
    assert given == [[ROME], [], [OSLO], [ROME]]
    fate = memory.why(former.id, "home", scope=ANA, as_of=start + HOUR).fate
    assert fate == Barred(Barrier.STATUS, recollect.Status.FORGOTTEN)
