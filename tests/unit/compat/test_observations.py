"""Seed 003: two scores of two kinds, the helpers they share, and that they are never compared."""

import math
import operator
import pickle
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from recollect.compat.observations import ContextScore, SearchScore, recency_score, revision_score, type_priority
from recollect.errors import InvalidInput, SchemesDiffer
from recollect.model.enums import Kind
from recollect.ranking.profiles import builtin_profile
from recollect.testing import NOW
from tests.tables import table

DAY = timedelta(days=1)
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
SHARES = st.floats(0, 1)


# What the seed claims.


def test_one_hundred_and_forty_days_are_worth_a_twentyfifth_and_not_the_0_39_of_the_example() -> None:
    april = datetime(2026, 4, 20, tzinfo=UTC)
    worth = recency_score("2025-12-01T00:00:00+00:00", april)
    assert worth == 2 ** (-140 / 30)
    assert round(worth, 3) == 0.039


@table(("n", "worth"), [(0, 0.0), (1, 1 / 10), (5, 0.5), (10, 1.0), (50, 1.0)])
def test_revisions_count_in_a_line_up_to_ten(n: int, worth: float) -> None:
    assert revision_score(n) == worth


@table(
    ("type", "worth"),
    [
        ("profile", 1.0),
        ("preference", 0.9),
        ("decision", 0.7),
        ("pattern", 0.6),
        ("discovery", 0.5),
        ("summary", 0.3),
        ("fact", 0.5),
        ("horoscope", 0.5),
        ("Profile", 0.5),
        ("", 0.5),
    ],
)
def test_each_type_has_its_priority_and_an_unknown_one_half(type: str, worth: float) -> None:
    assert type_priority(type) == worth


def test_an_old_observation_that_nails_the_question_beats_a_new_one_that_does_not() -> None:
    match = SearchScore.of(fts5_rank=1.0, updated_at=NOW - 182 * DAY, revision_count=1, now=NOW)
    other = SearchScore.of(fts5_rank=0.0, updated_at=NOW, revision_count=1, now=NOW)
    assert match > other
    assert match.value == pytest.approx(0.60 + 0.25 * 2 ** (-182 / 30) + 0.15 / 10)
    assert other.value == pytest.approx(0.25 + 0.15 / 10)


def test_the_signals_both_schemes_share_are_one_definition() -> None:
    search, session = builtin_profile("search"), builtin_profile("session")
    assert {t.signal.name for t in search.terms} == {t.signal.name for t in session.terms}
    assert [(t.signal, t.missing) for t in search.terms] == [(t.signal, t.missing) for t in session.terms]


def test_a_signal_absent_from_a_scheme_is_declared_worthless_there() -> None:
    assert builtin_profile("search").weight("kind") == 0.0
    assert builtin_profile("session").weight("lexical") == 0.0


def test_the_helpers_say_what_both_scores_are_made_of() -> None:
    updated_at = "2025-11-30T12:00:00+02:00"
    search = SearchScore.of(fts5_rank=0.7, updated_at=updated_at, revision_count=4, now=NOW)
    context = ContextScore.of(updated_at=updated_at, revision_count=4, type="pattern", now=NOW)
    assert search.recency == context.recency == recency_score(updated_at, NOW)
    assert search.revision == context.revision == revision_score(4)
    assert context.type_priority == type_priority("pattern")
    assert search.fts5_rank == 0.7


@given(rank=SHARES, age=st.floats(-30, 3650), revisions=st.integers(0, 100), kind=st.sampled_from(Kind))
def test_every_score_is_what_the_document_says(rank: float, age: float, revisions: int, kind: Kind) -> None:
    updated_at = NOW - timedelta(days=age)
    recency = 0.5 ** (max((NOW - updated_at) / DAY, 0.0) / 30)
    revision = min(revisions / 10, 1.0)
    priority = {"profile": 1.0, "preference": 0.9, "decision": 0.7, "pattern": 0.6, "summary": 0.3}.get(kind, 0.5)
    search = SearchScore.of(fts5_rank=rank, updated_at=updated_at, revision_count=revisions, now=NOW)
    context = ContextScore.of(updated_at=updated_at, revision_count=revisions, type=kind, now=NOW)
    assert search.value == pytest.approx(0.60 * rank + 0.25 * recency + 0.15 * revision, abs=1e-9)
    assert context.value == pytest.approx(0.50 * recency + 0.30 * revision + 0.20 * priority, abs=1e-9)


# What is unknown, and what is refused.


def test_what_is_unknown_is_worth_what_the_profile_says() -> None:
    assert recency_score(None) == 0.5
    search = SearchScore.of(fts5_rank=None, updated_at=None, revision_count=None)
    assert search == SearchScore(value=math.fsum([0.0, 0.25 * 0.5, 0.15 * 0.1]))
    context = ContextScore.of(updated_at=None, revision_count=None, type="horoscope")
    assert context == ContextScore(value=math.fsum([0.5 * 0.5, 0.3 * 0.1, 0.2 * 0.5]))


def test_the_future_counts_as_new_and_a_date_without_a_zone_is_taken_as_utc() -> None:
    assert recency_score(NOW + 90 * DAY, NOW) == 1.0
    assert recency_score("2025-12-02T00:00:00", NOW) == recency_score("2025-12-02T00:00:00Z", NOW) == 0.5


def test_without_a_now_the_present_is_meant() -> None:
    before = datetime.now(UTC)
    updated = before - 30 * DAY
    present, last = recency_score(updated), recency_score(updated, datetime.now(UTC))
    assert last <= present <= recency_score(updated, before) == pytest.approx(0.5)


@table("iso", ["", "yesterday", "9999-12-31", 7])
def test_an_unreadable_date_is_refused(iso: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^updated_at is "):
        recency_score(iso)


@table("n", [-1, 1.5, math.nan, None, "5", True])
def test_a_revision_count_that_counts_nothing_is_refused(n: Any) -> None:
    with pytest.raises(InvalidInput, match="revision_count"):
        revision_score(n)


@table("rank", [-3.2, 1.5, math.nan, "0.5"])
def test_a_rank_that_was_not_brought_within_0_to_1_is_refused(rank: Any) -> None:
    with pytest.raises(InvalidInput, match="fts5_rank"):
        SearchScore.of(fts5_rank=rank, updated_at=NOW, revision_count=1)


@table("type", [7, b"profile", ["profile"]])
def test_a_type_that_is_no_text_is_refused(type: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^type is .*; give a text"):
        type_priority(type)


@table("kind", [SearchScore, ContextScore])
@table("value", [-0.1, 1.1, math.nan, math.inf, None, "0.5", True])
def test_no_score_exists_outside_0_to_1(kind: Any, value: object) -> None:
    with pytest.raises(ValidationError):
        kind(value=value)
    with pytest.raises(ValidationError):
        kind(value=0.5, unheard_of=0.5)


def test_no_signal_exists_outside_0_to_1() -> None:
    for signal in ("fts5_rank", "recency", "revision"):
        with pytest.raises(ValidationError):
            SearchScore.model_validate({"value": 0.5, signal: 1.5})
    for signal in ("recency", "revision", "type_priority"):
        with pytest.raises(ValidationError):
            ContextScore.model_validate({"value": 0.5, signal: math.nan})


@table("score", [SearchScore(value=0.5), ContextScore(value=0.5)])
def test_a_score_cannot_be_changed(score: Any) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        score.value = 0.6


# Never compare the two.


@given(one=SHARES, other=SHARES)
def test_the_two_kinds_refuse_every_comparison_in_either_direction(one: float, other: float) -> None:
    search, context = SearchScore(value=one), ContextScore(value=other)
    for compare, pair in product(COMPARISONS, ((search, context), (context, search))):
        with pytest.raises(TypeError):
            compare(*pair)
        with pytest.raises(SchemesDiffer, match=r"'search'.*'session'|'session'.*'search'"):
            compare(*pair)


def test_the_sort_that_the_document_warns_of_raises_a_type_error() -> None:
    hits, memories = [SearchScore(value=0.9)], [ContextScore(value=0.1)]
    mixed: list[Any] = [*hits, *memories]
    with pytest.raises(TypeError):
        sorted(mixed, reverse=True)
    with pytest.raises(TypeError):
        sorted(mixed, key=lambda score: score)
    with pytest.raises(TypeError):
        max(mixed)
    with pytest.raises(TypeError):
        _ = memories[0] in hits


@given(one=SHARES, other=SHARES)
def test_within_one_kind_scores_order_by_value(one: float, other: float) -> None:
    kinds: tuple[type[SearchScore] | type[ContextScore], ...] = (SearchScore, ContextScore)
    for kind, compare in product(kinds, COMPARISONS):
        assert compare(kind(value=one), kind(value=other)) == compare(one, other)
        assert compare(kind(value=one), kind(value=one, recency=0.5)) == compare(one, one)


@table("score", [SearchScore(value=0.5), ContextScore(value=0.5)])
@table("other", [0.5, "0.5", None, ()])
def test_with_anything_else_a_score_is_unequal_and_has_no_order(score: Any, other: Any) -> None:
    assert score != other
    assert not score == other  # noqa: SIM201
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(score, other)


@table("kind", [SearchScore, ContextScore])
def test_a_score_is_a_number_a_key_and_a_document(kind: type[SearchScore] | type[ContextScore]) -> None:
    score = kind(value=0.25, recency=0.5)
    assert float(score) == 0.25
    assert {score: "kept"}[kind(value=0.25)] == "kept"
    assert kind.model_validate_json(score.model_dump_json()).model_dump() == score.model_dump()
    assert pickle.loads(pickle.dumps(score)) == score  # noqa: S301


def test_the_two_kinds_can_be_keys_of_one_table() -> None:
    table: dict[Any, str] = {SearchScore(value=0.5): "search", ContextScore(value=0.5): "context"}
    assert len(table) == 2
