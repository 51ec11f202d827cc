"""How a session is kept in a memory, when it is over, and what is told of one that nobody summed up."""

from datetime import timedelta
from typing import Any

import pytest
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.sessions import (
    MAX_SUMMARY_CHARS,
    NO_SUMMARY_TEXT,
    SessionsPolicy,
    compose_summary,
    end_session,
    is_inactive,
    read_session,
    require_inactivity,
    require_summary,
    set_summary,
    start_session,
    touch_session,
)
from recollect.model.conversation import Session
from recollect.model.enums import BRIEF_LEVELS, RECALL_LEVELS, Level, Provenance, Status
from recollect.model.memory import MemoryId
from recollect.testing import NOW
from recollect.testing.builders import SCOPE

HOUR = timedelta(hours=1)
BEGUN = start_session(MemoryId("s"), SCOPE, NOW)


def test_a_session_is_a_record_that_no_index_has_and_no_recall_looks_at() -> None:
    assert (BEGUN.level, BEGUN.findable, BEGUN.text) == (Level.SESSION, False, NO_SUMMARY_TEXT)
    assert Level.SESSION not in RECALL_LEVELS | BRIEF_LEVELS


def test_what_is_kept_of_a_session_is_told_of_it() -> None:
    assert read_session(BEGUN) == Session(id=BEGUN.id, scope=SCOPE, started_at=NOW, last_active_at=NOW)
    over = end_session(
        set_summary(touch_session(BEGUN, NOW + HOUR), "seats were booked", Provenance.DIRECT_USER), NOW + 2 * HOUR
    )
    assert read_session(over) == Session(
        id=BEGUN.id,
        scope=SCOPE,
        started_at=NOW,
        last_active_at=NOW + HOUR,
        ended_at=NOW + 2 * HOUR,
        summary="seats were booked",
        summarised=True,
        status=Status.COMPLETED,
    )
    assert read_session(BEGUN).under_way
    assert not read_session(over).under_way


@table(("silent", "over"), [(24 * HOUR, True), (24 * HOUR - timedelta.resolution, False)])
def test_a_session_is_over_after_so_long_a_silence_and_not_before(silent: timedelta, over: bool) -> None:
    assert is_inactive(touch_session(BEGUN, NOW + HOUR), 24 * HOUR, NOW + HOUR + silent) is over


def test_a_clock_that_went_back_ends_no_session_and_the_next_activity_is_by_that_clock() -> None:
    ahead = touch_session(BEGUN, NOW + 1000 * HOUR)
    assert not is_inactive(ahead, 24 * HOUR, NOW)
    assert read_session(touch_session(ahead, NOW)).last_active_at == NOW
    assert read_session(end_session(BEGUN, NOW - HOUR)).ended_at == NOW


@table("noted", [None, 7, "", "yesterday", "2026-01-01T00:00:00", "9999-01-01T00:00:00+00:00", [1]])
def test_what_somebody_noted_by_hand_that_is_no_moment_counts_as_nothing(noted: Any) -> None:
    odd = BEGUN.with_changes(metadata={"last_active_at": noted, "ended_at": noted, "summarised": noted})
    assert read_session(odd) == read_session(BEGUN)


@table(
    ("titles", "told"),
    [
        ([], "It ended without a summary, and nothing that was saved in it is left."),
        (["Seats"], "It ended without a summary. Saved in it: 1 observation: Seats"),
        (list("abcdefg"), "It ended without a summary. Saved in it: 7 observations: a; b; c; d; e; and 2 more"),
        (["two\nlines\x1b[2J"], "It ended without a summary. Saved in it: 1 observation: two lines\\x1b[2J"),
    ],
)
def test_a_session_that_nobody_summed_up_tells_what_was_saved_in_it(titles: list[str], told: str) -> None:
    assert compose_summary(titles) == told
    assert read_session(end_session(BEGUN, NOW), titles).summary == told
    assert read_session(BEGUN, titles).summary is None


@table("hours", [0.0, -1.0, float("nan"), float("inf"), 87_600.1])
def test_a_silence_of_no_time_and_one_without_end_are_refused(hours: float) -> None:
    with pytest.raises(FieldError, match="inactivity_hours"):
        SessionsPolicy(inactivity_hours=hours)


@table("given", [timedelta(), -HOUR, timedelta.max, 24, "24h", None])
def test_an_inactivity_is_a_length_of_time(given: Any) -> None:
    with pytest.raises(FieldError, match="inactivity"):
        require_inactivity("inactivity", given)
    assert require_inactivity("inactivity", HOUR) == HOUR


@table("given", ["", " \n", "x" * (MAX_SUMMARY_CHARS + 1), "\x00", "\ud800", None, 7])
def test_a_summary_says_something_and_not_too_much(given: Any) -> None:
    with pytest.raises(FieldError, match="summary"):
        require_summary("summary", given)
    assert require_summary("summary", "x" * MAX_SUMMARY_CHARS) == "x" * MAX_SUMMARY_CHARS
