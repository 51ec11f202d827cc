"""Eligibility: which moments a memory may be recalled for."""

from datetime import datetime, timedelta
from typing import Any

from recollect.model.enums import Status
from recollect.retrieval.eligibility import Barrier, find_barrier, version_at
from recollect.testing import NOW, a_memory
from tests.tables import table

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


VERSIONS = [
    a_memory(text="window", created_at=NOW, updated_at=NOW, importance=0.1),
    a_memory(text="window", created_at=NOW, updated_at=NOW, importance=0.1, pinned=True),
    a_memory(text="aisle", created_at=NOW, updated_at=NOW + DAY, importance=0.9, pinned=True),
    a_memory(text="aisle", created_at=NOW, updated_at=NOW + DAY, importance=0.9, status=Status.FORGOTTEN),
]


@table(
    ("at", "text", "importance"), [(NOW, "window", 0.1), (NOW + DAY - SECOND, "window", 0.1), (NOW + DAY, "aisle", 0.9)]
)
def test_a_revised_memory_is_what_it_was_with_the_standing_it_has(at: datetime, text: str, importance: float) -> None:
    was = version_at(VERSIONS, at)
    assert was is not None
    assert (was.text, was.importance, was.pinned, was.status) == (text, importance, False, Status.FORGOTTEN)
    assert find_barrier(VERSIONS[2], at) is (None if at >= NOW + DAY else Barrier.NOT_YET_KNOWN)


def test_of_a_memory_whose_former_text_nobody_knows_nothing_is_known() -> None:
    assert version_at(VERSIONS[2:], NOW) is None


def test_a_memory_that_held_until_it_was_replaced_did_so_with_its_former_text_too() -> None:
    end = NOW + 2 * DAY
    replaced = a_memory(text="aisle", created_at=NOW, updated_at=NOW + DAY, status=Status.SUPERSEDED, valid_until=end)
    was = version_at([VERSIONS[0], replaced], NOW)
    assert was is not None
    assert (was.text, was.valid_until, find_barrier(was, NOW)) == ("window", end, None)


@table(
    ("given", "expected"),
    [
        ({}, None),
        ({"created_at": NOW + SECOND}, Barrier.NOT_YET_KNOWN),
        ({"valid_from": NOW}, None),
        ({"valid_from": NOW + SECOND}, Barrier.NOT_YET_VALID),
        ({"valid_until": NOW + SECOND}, None),
        ({"valid_until": NOW}, Barrier.NO_LONGER_VALID),
        ({"status": Status.SUPERSEDED}, Barrier.STATUS),
        ({"status": Status.SUPERSEDED, "valid_until": NOW + SECOND}, None),
        ({"status": Status.SUPERSEDED, "valid_until": NOW}, Barrier.NO_LONGER_VALID),
        *(
            ({"status": status}, Barrier.STATUS)
            for status in Status
            if status not in (Status.ACTIVE, Status.SUPERSEDED)
        ),
    ],
)
def test_a_memory_is_recalled_for_the_moments_in_which_it_was_known_and_held(
    given: dict[str, Any], expected: Barrier | None
) -> None:
    assert find_barrier(a_memory(**given), NOW) is expected


@table(
    ("at", "expected"),
    [
        (NOW, Status.ACTIVE),  # before anybody forgot it
        (NOW + SECOND, Status.FORGOTTEN),
        (NOW + DAY - SECOND, Status.FORGOTTEN),
        (NOW + DAY, Status.ACTIVE),  # when it was said again
    ],
)
def test_what_was_put_away_by_then_and_was_said_again_later_was_away(at: datetime, expected: Status) -> None:
    said = a_memory(created_at=NOW, updated_at=NOW, recorded_at=NOW)
    away = said.with_changes(status=Status.FORGOTTEN, recorded_at=NOW + SECOND)
    was = version_at([said, away, said.with_changes(updated_at=NOW + DAY, recorded_at=NOW + DAY)], at)
    assert was is not None
    assert was.status is expected


@table("until", [NOW, NOW + SECOND])
def test_at_present_what_was_superseded_is_over_whatever_the_clock_says(until: datetime) -> None:
    replaced = a_memory(status=Status.SUPERSEDED, valid_until=until)
    assert find_barrier(replaced, NOW, present=True) is Barrier.NO_LONGER_VALID
    assert find_barrier(replaced, NOW, present=True, past=True) is None
