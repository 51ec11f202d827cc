"""How good what a peer found is, beside the judgements."""

from datetime import UTC, datetime
from math import log2

from peers.quality import DEPTH, Quality, quality

from recollect.evaluation.judgments import JudgedQuery
from recollect.model.scope import Scope

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_query(id: str, **grades: float) -> JudgedQuery:
    """A question that these memories answer."""
    return JudgedQuery(id=id, scope=Scope.parse("acme"), text="which", asked_at=AT, grades=grades)


def test_both_measures_are_means_over_the_questions() -> None:
    found = {"one": ["x", "a"], "other": ["b"]}
    queries = [a_query("one", a=1.0), a_query("other", b=1.0, c=1.0)]
    ideal = 1 / log2(2) + 1 / log2(3)
    assert quality(found, queries) == Quality((1 + 1 / 2) / 2, (1 / log2(3) + 1 / ideal) / 2, 2)


def test_what_stands_below_the_last_place_that_counts_is_not_found() -> None:
    found = [*(f"other {place}" for place in range(DEPTH)), "a"]
    assert quality({"q": found}, [a_query("q", a=1.0)]) == Quality(0.0, 0.0, 1)


def test_a_question_without_an_answer_counts_as_nothing_found() -> None:
    assert quality({"q": ["a"]}, [a_query("q", a=1.0), a_query("unanswered", b=1.0)]) == Quality(1 / 2, 1 / 2, 2)
