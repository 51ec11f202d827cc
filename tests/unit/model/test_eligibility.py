"""Eligibility: which moments a memory may be recalled for."""

from datetime import timedelta
from typing import Any

import pytest

from recollect.model.eligibility import Barrier, barrier
from recollect.model.memory import Status
from recollect.testing import NOW, a_memory

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
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
    assert barrier(a_memory(**given), NOW) is expected
