"""Turns: what is lent by what was said before, and columns that say the same to the last bit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.model.table import NO_LABEL, Floats, Labels, to_microseconds
from recollect.retrieval import bm25
from recollect.retrieval.turn_context import (
    EARLIER_TURN_WEIGHT,
    MAX_LENT_WORDS,
    PREVIOUS_TURN_SHARE,
    QUESTION_WEIGHT,
    STATEMENT_WEIGHT,
    TurnColumns,
    count_with_context,
    find_previous_turns,
    lend_similarity,
    order_by_session,
    score_sessions,
    score_turns,
)
from recollect.testing import NOW
from tests.tables import table

MINUTE = timedelta(minutes=1)
WORDS = "abcdefgh"


@dataclass(frozen=True)
class Turn:
    """One memory, as the plain way sees it."""

    id: str
    session: str | None
    minute: int
    counts: dict[str, int]
    asks: bool
    near: float | None
    eligible: bool

    @property
    def moment(self) -> datetime:
        return NOW + self.minute * MINUTE

    @property
    def length(self) -> int:
        return sum(self.counts.values())


@st.composite
def talks(draw: st.DrawFn) -> list[Turn]:
    """Memories of few sessions and few moments, so that many were said at once; some short, some very long."""
    ids = draw(st.lists(st.text("xyz", min_size=1, max_size=3), unique=True, max_size=14))
    times = st.integers(1, 4) | st.sampled_from([39, 40, 41, 500])
    return [
        Turn(
            id=id,
            session=draw(st.sampled_from(["s", "t", "u", None])),
            minute=draw(st.integers(0, 3)),
            counts=draw(st.dictionaries(st.sampled_from(WORDS), times, max_size=4)),
            asks=draw(st.booleans()),
            near=draw(st.none() | st.floats(-1.0, 1.0)),
            eligible=draw(st.integers(0, 3)) > 0,
        )
        for id in ids
    ]


questions = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=12)


@dataclass(frozen=True)
class Talk:
    """The same memories as columns."""

    said: list[Turn]

    @property
    def sessions(self) -> Labels:
        return Labels.of([one.session for one in self.said])

    @property
    def eligible(self) -> NDArray[np.bool_]:
        return np.array([one.eligible for one in self.said], dtype=np.bool_)

    @property
    def lengths(self) -> Floats:
        return np.array([one.length for one in self.said], dtype=np.float64)

    @property
    def near(self) -> Floats:
        return np.array([one.near for one in self.said], dtype=np.float64)

    @property
    def turns(self) -> TurnColumns:
        """The turns among the eligible, of an order made of all."""
        created = np.array([to_microseconds(one.moment) for one in self.said], dtype=np.float64)
        order = order_by_session(
            self.sessions, created, [one.id for one in self.said], np.ones(len(self.said), dtype=np.bool_)
        )
        return TurnColumns.of(
            order, self.sessions, np.array([one.asks for one in self.said], dtype=np.bool_), self.eligible
        )

    def having(self, terms: Sequence[str]) -> dict[str, tuple[NDArray[np.intp], Floats]]:
        found = {}
        for term in dict.fromkeys(terms):
            rows = [row for row, one in enumerate(self.said) if one.eligible and term in one.counts]
            if rows:
                times = np.array([self.said[row].counts[term] for row in rows], dtype=np.float64)
                found[term] = (np.array(rows, dtype=np.intp), times)
        return found


def known(column: NDArray[np.floating]) -> list[float | None]:
    """A column as the plain way has it: NaN is `None`."""
    return [None if np.isnan(value) else value for value in column.tolist()]


def preceding(said: list[Turn]) -> dict[str, list[Turn]]:
    """For each eligible one, those before it in its session, the last one first, as one would look for them."""
    found: dict[str, list[Turn]] = {}
    for one in said:
        if one.eligible:
            others = [
                other
                for other in said
                if other.eligible
                and other.session == one.session is not None
                and (other.moment, other.id) < (one.moment, one.id)
            ]
            found[one.id] = sorted(others, key=lambda other: (other.moment, other.id), reverse=True)
    return found


@given(talks())
def test_the_turn_before_is_the_last_one_of_the_same_session_and_of_those_at_once_the_greatest_id(
    said: list[Turn],
) -> None:
    open = [one for one in said if one.eligible]
    places = find_previous_turns([(one.session, one.moment, one.id) for one in open])
    found = {one.id: None if place is None else open[place] for one, place in zip(open, places, strict=True)}
    assert found == {id: next(iter(others), None) for id, others in preceding(said).items()}


@given(talks())
def test_columns_know_what_was_said_before_and_before_that_among_the_eligible(said: list[Turn]) -> None:
    turns = Talk(said).turns
    for row, one in enumerate(said):
        others = preceding(said).get(one.id, [])
        places = [turns.previous[row], turns.second_previous[row]]
        assert [None if place == NO_LABEL else said[place] for place in places] == [
            others[n] if n < len(others) else None for n in (0, 1)
        ]


@given(talks())
def test_without_a_mask_all_rows_are_eligible(said: list[Turn]) -> None:
    everyone = [Turn(**{**vars(one), "eligible": True}) for one in said]
    talk = Talk(everyone)
    created = np.array([to_microseconds(one.moment) for one in said], dtype=np.float64)
    order = order_by_session(talk.sessions, created, [one.id for one in said], talk.eligible)
    turns = TurnColumns.of(order, talk.sessions, np.zeros(len(said), dtype=np.bool_), None)
    assert turns.previous.tolist() == talk.turns.previous.tolist()
    assert turns.second_previous.tolist() == talk.turns.second_previous.tolist()


@given(talks())
def test_the_order_is_by_session_moment_and_id_of_those_that_are_alive_and_in_a_session(said: list[Turn]) -> None:
    talk = Talk(said)
    created = np.array([to_microseconds(one.moment) for one in said], dtype=np.float64)
    rows = order_by_session(talk.sessions, created, [one.id for one in said], talk.eligible).tolist()
    inside = [row for row, one in enumerate(said) if one.eligible and one.session is not None]
    codes = talk.sessions.codes.tolist()
    assert rows == sorted(inside, key=lambda row: (codes[row], said[row].moment, said[row].id))


@given(talks())
def test_lengths_and_nearness_in_columns_equal_the_plain_ones_to_the_last_bit(said: list[Turn]) -> None:
    talk = Talk(said)
    turns = talk.turns
    lengths, near = turns.lengths(talk.lengths).tolist(), known(turns.similarities(talk.near))
    for row, one in enumerate(said):
        others = preceding(said).get(one.id, [])
        assert lengths[row] == count_with_context(one.counts, [(other.counts, other.asks) for other in others])[1]
        assert near[row] == lend_similarity(one.near, others[0].near if others else None)


@given(talks(), questions)
@example([], ["a"])
def test_shares_in_columns_equal_the_plain_ones_to_the_last_bit(said: list[Turn], terms: list[str]) -> None:
    talk = Talk(said)
    spoken = {
        id: count_with_context(one.counts, [(other.counts, other.asks) for other in others])
        for id, others in preceding(said).items()
        for one in said
        if one.id == id
    }
    counts = [one.counts for one in said if one.eligible]
    statistics = bm25.count_terms(terms, counts, sum(length for _, length in spoken.values()))
    column = known(score_turns(talk.having(terms), terms, talk.turns, talk.lengths, statistics))
    for one, found in zip(said, column, strict=True):
        if one.eligible:
            times, length = spoken[one.id]
            assert found == bm25.score_terms(terms, times, statistics, length)


@given(talks(), questions)
@example([], ["a"])
@example([Turn("x", None, 0, {"a": 1}, asks=False, near=None, eligible=True)], ["a"])
def test_settings_in_columns_equal_the_share_of_the_whole_session_to_the_last_bit(
    said: list[Turn], terms: list[str]
) -> None:
    texts: dict[tuple[str, str], Counter[str]] = {}

    def session(one: Turn) -> tuple[str, str]:
        return ("alone", one.id) if one.session is None else ("in", one.session)

    for one in said:
        if one.eligible:
            texts.setdefault(session(one), Counter()).update(one.counts)
    statistics = bm25.count_terms(terms, texts.values())
    talk = Talk(said)
    column = known(score_sessions(talk.having(terms), terms, talk.sessions, talk.lengths, talk.eligible))
    assert column == [
        bm25.score_terms(terms, texts[session(one)], statistics) if one.eligible else None for one in said
    ]


def test_of_turns_said_at_once_the_ids_say_which_was_before_which() -> None:
    at_once = [Turn(id, "s", 0, {"a": n}, asks=False, near=0.5, eligible=True) for n, id in enumerate("zyx", 1)]
    assert Talk(at_once).turns.previous.tolist() == [1, 2, NO_LABEL]
    assert Talk(at_once).turns.second_previous.tolist() == [2, NO_LABEL, NO_LABEL]


@table(("asks", "lent"), [(True, QUESTION_WEIGHT), (False, STATEMENT_WEIGHT)])
def test_a_turn_has_its_own_words_and_those_of_the_two_before_it_by_their_share(asks: bool, lent: float) -> None:
    earlier = [({"a": 2, "b": 1}, asks), ({"b": 4, "c": 1}, True), ({"d": 9}, True)]
    times, length = count_with_context({"a": 1}, earlier)
    assert times == {"a": 1 + lent * 2, "b": lent * 1 + EARLIER_TURN_WEIGHT * 4, "c": EARLIER_TURN_WEIGHT * 1}
    assert length == 1 + lent * 3 + EARLIER_TURN_WEIGHT * 5
    assert count_with_context({"a": 3}, []) == ({"a": 3.0}, 3.0)
    assert count_with_context({}, []) == ({}, 0.0)


@given(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 10**6), min_size=1), st.booleans())
def test_a_long_turn_lends_no_more_than_forty_words_worth(counts: dict[str, int], asks: bool) -> None:
    (next_one, length), (one_after, length_after) = (
        count_with_context({}, [({}, False)] * place + [(counts, asks)]) for place in (0, 1)
    )
    words = min(sum(counts.values()), MAX_LENT_WORDS)
    lent = QUESTION_WEIGHT if asks else STATEMENT_WEIGHT
    assert (length, length_after) == (lent * words, EARLIER_TURN_WEIGHT * words)
    assert sum(next_one.values()) == pytest.approx(lent * words)
    assert sum(one_after.values()) == pytest.approx(EARLIER_TURN_WEIGHT * words)
    assert next_one == {
        term: pytest.approx(lent * words * count / sum(counts.values())) for term, count in counts.items()
    }


@table(
    ("own", "earlier", "expected"),
    [
        (0.5, None, 0.5),
        (None, 0.5, None),
        (None, None, None),
        (0.6, 0.0, 0.6 / 1.2),
        (0.5, 0.5, 0.5),
        (0.0, -1.0, -1 / 6),
    ],
)
def test_nearness_is_a_mean_in_which_the_turn_before_counts_a_fifth(
    own: float | None, earlier: float | None, expected: float | None
) -> None:
    assert PREVIOUS_TURN_SHARE == 0.2
    found = lend_similarity(own, earlier)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-15))
