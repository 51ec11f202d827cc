"""Episodes of similar tasks come in the order of similarity × value, each with the sum and product that it is."""

import math
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.episodes import rank_failure_modes, rank_similar
from recollect.model.episode import Episode, Outcome
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_episode(id: str, value: float | None, *failures: str) -> Episode:
    outcome = None if value is None else Outcome(score=0.5, lessons=(), failure_modes=failures, at=NOON)
    return Episode(
        id=MemoryId(id), scope=Scope.parse("acme"), task="sweep", started_at=NOON, outcome=outcome, value=value
    )


def test_the_score_is_similarity_times_value_and_says_so() -> None:
    (found,) = rank_similar([(an_episode("a", 0.6), 0.5)], min_score=0.0)
    assert found.score == found.explanation.score == 0.5 * 0.6
    assert found.explanation.opinions == (0.5, 0.6)
    assert str(found.explanation).splitlines() == [
        "0.300",
        "+ 0.500  similarity 0.500 × 1",
        "× 0.600  value 0.600 (outcome 0.5)",
    ]


@given(st.lists(st.tuples(st.none() | st.floats(0, 1), st.floats(-1, 1.0001)), max_size=8), st.floats(0, 1))
def test_every_finished_one_that_is_similar_enough_is_there_in_order(
    given: list[tuple[float | None, float]], least: float
) -> None:
    episodes = [(an_episode(f"e{number}", value), near) for number, (value, near) in enumerate(given)]
    found = rank_similar(reversed(episodes), min_score=least)
    wanted = {
        one.id: min(max(near, 0.0), 1.0) * one.value
        for one, near in episodes
        if one.value is not None and min(max(near, 0.0), 1.0) * one.value > 0.0
    }
    wanted = {id: score for id, score in wanted.items() if score >= least}
    assert {one.episode.id: one.score for one in found} == wanted
    assert [one.episode.id for one in found] == sorted(wanted, key=lambda id: (-wanted[id], id))
    assert all(math.isfinite(one.score) for one in found)


def test_what_went_wrong_in_several_is_told_once_with_the_best_of_them_first() -> None:
    episodes = [
        (an_episode("a", 0.0, "the rake broke", "it rained"), 0.5),
        (an_episode("b", 0.9, "The rake  broke", "the gate was shut"), 0.9),
        (an_episode("c", 0.9), 1.0),
        (an_episode("d", None), 1.0),
        (an_episode("e", 1.0, "the moon fell"), -0.5),
    ]
    found = rank_failure_modes(episodes, min_score=0.0)
    assert [(one.text, one.episodes) for one in found] == [
        ("The rake  broke", ("b", "a")),
        ("the gate was shut", ("b",)),
        ("it rained", ("a",)),
    ]
    assert [one.score for one in found] == [0.9, 0.9, 0.5]
    assert str(found[2].explanation).splitlines() == ["0.500", "+ 0.500  similarity 0.500 × 1"]
    assert [one.text for one in rank_failure_modes(reversed(episodes), min_score=0.6)] == [
        one.text for one in found[:2]
    ]


def test_at_a_prompt_a_similar_task_says_what_it_taught_and_a_failure_where_it_was() -> None:
    found = [(an_episode("a", 0.6, "the wood was wet"), 0.5), (an_episode("b", 0.6, "The wood was wet"), 0.4)]
    assert repr(rank_similar(found, min_score=0.0)[0]) == "<Similar 0.300 sweep; failure: the wood was wet>"
    (failure,) = rank_failure_modes(found, min_score=0.0)
    assert repr(failure) == "<FailureMode 0.500 in 2 episodes: the wood was wet>"
