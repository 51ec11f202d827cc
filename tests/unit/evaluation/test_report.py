"""Figures of a profile: means, categories, the curve, tokens, and the queries that found least."""

from datetime import UTC, datetime, timedelta

import pytest

from recollect.evaluation.judgments import JudgedQuery
from recollect.evaluation.report import QueryAnswer, TokensNeeded, compare_profiles, evaluate_answers
from recollect.model.scope import Scope
from tests.tables import table

AT = datetime(2026, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def an_answer(
    id: str, found: str, judged: str, *, category: str = "c", tokens: int | None = 10, took: int = 1
) -> QueryAnswer:
    query = JudgedQuery(
        id=id,
        scope=Scope.parse("acme"),
        text="which seat?",
        asked_at=AT,
        category=category,
        grades=dict.fromkeys(judged, 1.0),
    )
    complete = set(judged) <= set(found)
    return QueryAnswer(
        query=query, found_ids=tuple(found), tokens=tokens, complete=complete, duration=took * MILLISECOND
    )


ANSWERS = [
    an_answer("q1", "abcdef", "a", tokens=10, took=1),
    an_answer("q2", "abcdef", "bf", tokens=40, took=2),
    an_answer("q3", "abcdef", "z", category="d", tokens=None, took=30),
    an_answer("q4", "abcdef", "cz", category="d", tokens=20, took=4),
]


def test_a_mean_is_over_all_queries_and_over_those_of_each_category() -> None:
    found = evaluate_answers("p", "1", 200, ANSWERS, [2, 6])
    assert found.overall.queries == 4
    assert found.overall.means["recall@2"] == (1 + 1 / 2 + 0 + 0) / 4
    assert found.overall.means["recall@6"] == (1 + 1 + 0 + 1 / 2) / 4
    assert found.overall.means["any@6"] == 3 / 4
    assert found.overall.means["mrr"] == pytest.approx((1 + 1 / 2 + 0 + 1 / 3) / 4)
    assert {name: one.queries for name, one in found.categories.items()} == {"c": 2, "d": 2}
    assert found.categories["d"].means["recall@6"] == 1 / 4


def test_every_category_counts_the_same_in_the_means_over_categories() -> None:
    found = evaluate_answers("p", "1", 200, [*ANSWERS[:3], an_answer("q5", "abcdef", "a")], [2])
    assert {name: one.queries for name, one in found.categories.items()} == {"c": 3, "d": 1}
    assert found.category_means["recall@2"] == ((1 + 1 / 2 + 1) / 3 + 0) / 2
    assert found.category_means.keys() == found.overall.means.keys()


def test_the_curve_is_recall_at_every_k_up_to_the_depth() -> None:
    found = evaluate_answers("p", "1", 3, ANSWERS, [2])
    assert found.curve == (1 / 4, (1 + 1 / 2) / 4, (1 + 1 / 2 + 0 + 1 / 2) / 4)


def test_tokens_are_of_the_queries_that_have_anything_within_reach() -> None:
    assert evaluate_answers("p", "1", 200, ANSWERS, [2]).overall.tokens == TokensNeeded(
        median=20, p95=40, reached=3, complete=2
    )
    nothing = [an_answer("q", "a", "z", tokens=None)]
    assert evaluate_answers("p", "1", 200, nothing, [2]).overall.tokens == TokensNeeded(
        median=None, p95=None, reached=0, complete=0
    )


def test_latencies_are_those_of_real_queries() -> None:
    whole = evaluate_answers("p", "1", 200, ANSWERS, [2]).overall
    assert (whole.p50, whole.p95) == (2 * MILLISECOND, 30 * MILLISECOND)


def test_the_queries_that_found_least_come_first_and_those_that_found_all_never() -> None:
    found = evaluate_answers("p", "1", 200, ANSWERS, [6])
    assert [answer.query.id for answer in found.worst_answers(9)] == ["q3", "q4"]
    assert [answer.query.id for answer in found.worst_answers(1)] == ["q3"]


@table(("ks", "k"), [([5, 10, 20], 10), ([1, 3], 3), ([20], 20)])
def test_where_there_is_room_for_one_k_it_is_10_or_the_largest(ks: list[int], k: int) -> None:
    assert evaluate_answers("p", "1", 200, ANSWERS, ks).k == k


def test_one_ranking_that_is_not_exact_makes_the_whole_inexact() -> None:
    answer = an_answer("q5", "a", "a")
    inexact = QueryAnswer(
        query=answer.query, found_ids=(), tokens=None, complete=False, duration=MILLISECOND, exact=False
    )
    assert evaluate_answers("p", "1", 200, ANSWERS, [1]).exact
    assert not evaluate_answers("p", "1", 200, [*ANSWERS, inexact], [1]).exact


def test_a_comparison_goes_query_by_query() -> None:
    better = [an_answer(one.query.id, "zabcdef", "".join(one.query.grades)) for one in ANSWERS]
    one, other = evaluate_answers("one", "1", 200, ANSWERS, [1]), evaluate_answers("other", "1", 200, better, [1])
    found = compare_profiles(one, other)
    assert (found.one, found.other) == ("one", "other")
    assert list(found.differences) == ["recall@1", "ndcg@1", "mrr"]
    recall = found.differences["recall@1"]
    assert recall.mean == pytest.approx((-1 + 0 + 1 + 1 / 2) / 4)
    assert (recall.wins, recall.losses, recall.ties) == (2, 1, 1)
