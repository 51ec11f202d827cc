"""Segments: events in stretches of what was said in one go, the same whatever order they come in."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.lifecycle.rollups import (
    DEFAULT_SEGMENT_GAP,
    DEFAULT_SEGMENT_TOKENS,
    MAX_SEGMENT_EVENTS,
    group_by_session,
    is_segment_closed,
    split_into_segments,
)
from recollect.model.enums import Level
from recollect.model.memory import Memory
from recollect.testing.builders import NOW, a_memory

MINUTE = timedelta(minutes=1)
INSTANT = timedelta(microseconds=1)
FEW = 12
"""How many tokens the stretches of some tests may have."""


def an_event(id: str, after: timedelta = timedelta(0), *, text: str = "word", session: str | None = None) -> Memory:
    return a_memory(id, text=text, created_at=NOW + after, level=Level.EVENT, session=session)


def count(text: str) -> int:
    return len(text.split())


def ids(stretches: Sequence[Sequence[Memory]]) -> list[list[str]]:
    return [[event.id for event in stretch] for stretch in stretches]


def place(event: Memory) -> tuple[datetime, str]:
    return event.created_at, event.id


EVENTS = st.lists(
    st.builds(
        lambda id, minutes, words: an_event(f"e{id}", minutes * MINUTE, text="word " * words),
        st.integers(0, 200),
        st.integers(0, 400),
        st.integers(1, 9),
    ),
    max_size=25,
    unique_by=lambda event: event.id,
)


def test_the_numbers_are_those_of_the_document() -> None:
    assert timedelta(minutes=30) == DEFAULT_SEGMENT_GAP
    assert DEFAULT_SEGMENT_TOKENS == 4_000


def test_a_stretch_ends_where_more_than_the_gap_passes() -> None:
    events = [
        an_event("a"),
        an_event("b", DEFAULT_SEGMENT_GAP),
        an_event("c", 2 * DEFAULT_SEGMENT_GAP + INSTANT),
        an_event("d", 2 * DEFAULT_SEGMENT_GAP + INSTANT),
    ]
    assert ids(split_into_segments(events, count=count)) == [["a", "b"], ["c", "d"]]
    assert ids(split_into_segments(events, gap=DEFAULT_SEGMENT_GAP - INSTANT, count=count)) == [
        ["a"],
        ["b"],
        ["c", "d"],
    ]


def test_a_stretch_ends_before_it_has_more_tokens_than_it_may() -> None:
    events = [an_event(id, text="one two three") for id in "abcde"]
    assert ids(split_into_segments(events, most_tokens=6, count=count)) == [["a", "b"], ["c", "d"], ["e"]]
    assert ids(split_into_segments(events, most_tokens=8, count=count)) == [["a", "b"], ["c", "d"], ["e"]]
    assert ids(split_into_segments(events, most_tokens=9, count=count)) == [["a", "b", "c"], ["d", "e"]]


def test_an_event_that_is_too_long_is_a_stretch_of_its_own() -> None:
    long = an_event("b", text="word " * (DEFAULT_SEGMENT_TOKENS + 1))
    assert ids(split_into_segments([an_event("a"), long, an_event("c"), an_event("d")], count=count)) == [
        ["a"],
        ["b"],
        ["c", "d"],
    ]


def test_a_stretch_has_no_more_events_than_it_may_however_short_they_are() -> None:
    events = [an_event(f"{number:04}") for number in range(MAX_SEGMENT_EVENTS + 1)]
    assert [len(stretch) for stretch in split_into_segments(events, count=lambda _: 0)] == [MAX_SEGMENT_EVENTS, 1]


def test_nothing_has_no_stretches() -> None:
    assert split_into_segments([], count=count) == []
    assert group_by_session([]) == []


@given(EVENTS, st.randoms(use_true_random=False))
def test_the_order_in_which_events_come_makes_no_difference(events: list[Memory], dice: random.Random) -> None:
    shuffled = dice.sample(events, len(events))
    assert split_into_segments(shuffled, most_tokens=FEW, count=count) == split_into_segments(
        events, most_tokens=FEW, count=count
    )
    assert group_by_session(shuffled) == group_by_session(events)


@given(EVENTS)
def test_every_event_is_in_one_stretch_in_the_order_of_time_and_id(events: list[Memory]) -> None:
    stretches = split_into_segments(events, most_tokens=FEW, count=count)
    assert [event for stretch in stretches for event in stretch] == sorted(events, key=place)
    assert all(stretches)


@given(EVENTS)
def test_a_stretch_keeps_every_limit_and_ends_only_where_one_is_reached(events: list[Memory]) -> None:
    stretches = split_into_segments(events, most_tokens=FEW, count=count)
    for stretch in stretches:
        assert all(after.created_at - before.created_at <= DEFAULT_SEGMENT_GAP for before, after in pairwise(stretch))
        assert len(stretch) == 1 or sum(count(event.text) for event in stretch) <= FEW
    for before, after in pairwise(stretches):
        silence = after[0].created_at - before[-1].created_at
        assert silence > DEFAULT_SEGMENT_GAP or sum(count(event.text) for event in (*before, after[0])) > FEW


@given(EVENTS, st.integers(0, 400))
def test_an_event_that_comes_late_changes_only_the_stretches_that_it_is_near(events: list[Memory], at: int) -> None:
    late = an_event("late", at * MINUTE)
    before, after = split_into_segments(events, count=count), split_into_segments([*events, late], count=count)
    near = [
        one
        for one in before
        if one[0].created_at - DEFAULT_SEGMENT_GAP <= late.created_at <= one[-1].created_at + DEFAULT_SEGMENT_GAP
    ]
    assert [one for one in before if one not in near] == [one for one in after if late not in one]


@given(EVENTS, st.integers(0, 400))
def test_where_it_makes_one_too_long_nothing_changes_before_it_or_behind_a_gap(events: list[Memory], at: int) -> None:
    late = an_event("late", at * MINUTE, text="word " * 5)
    before = split_into_segments(events, most_tokens=FEW, count=count)
    after = split_into_segments([*events, late], most_tokens=FEW, count=count)
    earlier = [one for one in before if one[-1].created_at + DEFAULT_SEGMENT_GAP < late.created_at]
    behind = behind_a_gap([*sorted(events, key=place)], late)
    assert after[: len(earlier)] == earlier
    assert [one for one in after if one[0] in behind] == [one for one in before if one[0] in behind]


def behind_a_gap(events: Sequence[Memory], late: Memory) -> list[Memory]:
    """The events that come after more than a gap in which nothing is said, after the late one."""
    rest = [late, *(event for event in events if place(event) > place(late))]
    for number, (one, other) in enumerate(pairwise(rest), start=1):
        if other.created_at - one.created_at > DEFAULT_SEGMENT_GAP:
            return rest[number:]
    return []


def test_sessions_come_in_the_order_in_which_they_began_and_those_of_none_are_one() -> None:
    events = [
        an_event("d", 3 * MINUTE, session="x"),
        an_event("c", 2 * MINUTE),
        an_event("b", MINUTE, session="y"),
        an_event("a", session="x"),
        an_event("e", 3 * MINUTE),
    ]
    assert ids(group_by_session(events)) == [["a", "d"], ["b"], ["c", "e"]]


@table(
    ("later", "since", "ended"),
    [
        (False, DEFAULT_SEGMENT_GAP, False),
        (False, DEFAULT_SEGMENT_GAP + INSTANT, True),
        (True, timedelta(0), True),
        (False, -DEFAULT_SEGMENT_GAP, False),
    ],
)
def test_a_stretch_has_ended_when_a_later_one_began_or_the_gap_passed(
    later: bool, since: timedelta, ended: bool
) -> None:
    stretch = (an_event("a"), an_event("b", 10 * MINUTE))
    assert is_segment_closed(stretch, later, NOW + 10 * MINUTE + since) is ended
    assert is_segment_closed(stretch, later, NOW + 10 * MINUTE + since, 2 * DEFAULT_SEGMENT_GAP) is later
