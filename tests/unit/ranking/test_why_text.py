"""Where a candidate stands or fell, in the words that a terminal and an agent are told."""

from datetime import timedelta

from recollect.model.enums import Index, Level, Status
from recollect.model.memory import MemoryId
from recollect.ranking.why import (
    Barred,
    BelowMinimum,
    Fate,
    Gated,
    Outranked,
    Ranked,
    SignalChange,
    Unpacked,
    describe_change,
    describe_fate,
    format_start,
)
from recollect.retrieval.eligibility import Barrier
from recollect.testing import NOW, a_memory
from tests.tables import table

DAY = timedelta(days=1)


@table(
    ("fate", "said"),
    [
        (Barred(Barrier.STATUS, Status.FORGOTTEN), "is not recalled: it is forgotten"),
        (Barred(Barrier.NOT_YET_KNOWN, Status.ACTIVE), "is not recalled: it was not known yet"),
        (Barred(Barrier.NOT_YET_VALID, Status.ACTIVE), "is not recalled: it is not valid yet"),
        (Barred(Barrier.NO_LONGER_VALID, Status.ACTIVE), "is not recalled: it is no longer valid"),
        (
            Barred(Barrier.UNINDEXED, Status.ACTIVE),
            "is not recalled: it repeats another event and is stored without being indexed",
        ),
        (Barred(Barrier.LEVEL, Status.ACTIVE), "is not recalled: only other levels were requested"),
        (Barred(Barrier.KIND, Status.ACTIVE), "is not recalled: only other kinds were requested"),
        (
            Gated("relevance", None, 0.15, {"dated": 0.9}),
            "did not pass the gate: it has no evidence for relevance, and 0.15 is needed, or 0.9 of dated",
        ),
        (Gated("relevance", 0.0326, 0.05), "did not pass the gate: relevance is 0.033, and 0.05 is needed"),
        (Gated("relevance", 0.0499, 0.05), "did not pass the gate: relevance is 0.049, and 0.05 is needed"),
        (Gated("relevance", 0.1, 0.15), "did not pass the gate: relevance is 0.100, and 0.15 is needed"),
        (BelowMinimum(0.1), "is below the minimum score of 0.1"),
        (Outranked(7, 5), "is at place 7, and the limit is 5"),
        (
            Unpacked("budget", 90, 50, 840),
            "was ranked but not packed: it costs 90 tokens, 50 were left; a budget of 840 would be enough",
        ),
        (
            Unpacked("items", 90, 500, None),
            "was ranked but not packed: it costs 90 tokens, 500 were left, and the limit of items applied",
        ),
        (
            Unpacked("budget", 45, -9, 840),
            "was ranked but not packed: it costs 45 tokens, 0 were left; a budget of 840 would be enough",
        ),
        (Ranked(3), "is in, at place 3"),
    ],
)
def test_every_fate_has_its_words(fate: Fate, said: str) -> None:
    assert describe_fate(fate) == said


@table(
    ("barrier", "said"),
    [
        (Barrier.NOT_YET_VALID, "is not recalled: it is valid only from 2026-01-02"),
        (Barrier.NO_LONGER_VALID, "is not recalled: it was valid only until 2026-01-03 09:30:00Z"),
    ],
)
def test_what_does_not_hold_is_told_with_its_date(barrier: Barrier, said: str) -> None:
    memory = a_memory("m", valid_from=NOW + DAY, valid_until=NOW + 2 * DAY + timedelta(hours=9, minutes=30))
    assert describe_fate(Barred(barrier, Status.ACTIVE), memory) == said


@table("barrier", [Barrier.STATUS, Barrier.NO_LONGER_VALID])
@table(("by", "said"), [(None, "new"), ("new (Ana moved)", "new (Ana moved)")])
def test_what_is_over_is_told_with_what_took_its_place(barrier: Barrier, by: str | None, said: str) -> None:
    memory = a_memory("m", status=Status.SUPERSEDED, superseded_by=MemoryId("new"))
    words = describe_fate(Barred(barrier, Status.SUPERSEDED), memory, by)
    assert words.endswith(f"; it was replaced by {said}")


def test_what_was_not_asked_for_is_told_without_what_took_its_place() -> None:
    memory = a_memory("m", status=Status.SUPERSEDED, superseded_by=MemoryId("new"))
    assert "replaced" not in describe_fate(Barred(Barrier.KIND, Status.ACTIVE), memory)


def test_a_record_that_has_left_the_indexes_is_told_apart_from_an_event_that_never_was_in_one() -> None:
    memory = a_memory("m", level=Level.SEGMENT, left=tuple(Index))
    assert "a coarser record" in describe_fate(Barred(Barrier.UNINDEXED, Status.ACTIVE), memory)


@table(
    ("change", "said"),
    [
        (
            SignalChange("recency", 0.5, 0.71201, "at most 3 days old"),
            "recency 0.713 instead of 0.500 (at most 3 days old)",
        ),
        (SignalChange("relevance", None, 0.5), "relevance 0.500 instead of none at all"),
        (SignalChange("relevance", 0.49999, 0.5), "relevance 0.500 instead of 0.499"),
    ],
)
def test_a_change_is_rounded_to_the_side_that_is_enough(change: SignalChange, said: str) -> None:
    assert describe_change(change) == said


def test_the_beginning_of_a_day_is_told_as_the_day() -> None:
    assert [format_start(NOW), format_start(NOW + timedelta(hours=9))] == ["2026-01-01", "2026-01-01 09:00:00Z"]
