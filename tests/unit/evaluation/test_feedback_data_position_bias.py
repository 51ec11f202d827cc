"""Places: how much less what stands further down is looked at is found from what was said, within bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.feedback_data import (
    MAX_INVERSE_PROPENSITY,
    MAX_STEEPNESS,
    ConditionalLogit,
    PositionBias,
    estimate_position_bias,
    fit_coefficients,
    fit_position_bias,
    weigh_votes,
)
from recollect.model.context import Sign, TrainingExample, Use
from recollect.model.memory import MemoryId
from tests.tables import table

from .users import Users, a_vote, an_experience


def test_the_further_down_the_less_it_is_seen_and_the_more_a_word_counts_up_to_a_bound() -> None:
    places = np.arange(1, 200)
    plain, steep = PositionBias(), PositionBias(1.0)
    assert plain.propensities(places).tolist() == plain.inverse_propensities(places).tolist() == [1.0] * 199
    assert steep.propensities(places) == pytest.approx(1.0 / places)
    assert steep.inverse_propensities(places) == pytest.approx(np.minimum(places, MAX_INVERSE_PROPENSITY))
    assert PositionBias(MAX_STEEPNESS).inverse_propensities(places).max() == MAX_INVERSE_PROPENSITY


@table("steepness", [0.0, 0.5, 1.0, 1.5])
def test_how_steep_it_is_is_found_although_what_stands_first_is_better(steepness: float) -> None:
    found = [_steepness(Users(steepness=steepness).asked(seed, 300)) for seed in range(4)]
    assert np.mean(found) == pytest.approx(steepness, abs=0.15)


def test_where_votes_are_chance_it_is_found_too() -> None:
    assert _steepness(Users(steepness=1.0, wanted=None).asked(5, 300)) == pytest.approx(1.0, abs=0.25)


def test_who_judges_everything_shows_that_places_do_not_matter() -> None:
    said = [an_experience(f"c{n}", votes=[a_vote(f"c{n}", "m0"), a_vote(f"c{n}", "m1")]) for n in range(200)]
    assert _steepness(said) == pytest.approx(0.0, abs=1e-9)


def test_with_few_words_what_was_said_is_taken_nearly_as_it_is() -> None:
    alike = [[0.5] * 10]
    said = [an_experience(f"c{n}", alike, shown=range(10), votes=[a_vote(f"c{n}", "m0")]) for n in range(200)]
    assert _steepness(said[:2]) < 1.0 < _steepness(said) <= MAX_STEEPNESS


def test_what_is_seen_less_the_further_up_it_stands_is_not_believed() -> None:
    said = [an_experience(f"c{n}", [[0.5] * 9], shown=range(9), votes=[a_vote(f"c{n}", "m8")]) for n in range(99)]
    assert _steepness(said) == 0.0


def test_a_success_that_followed_tells_nothing_of_places() -> None:
    said = [an_experience(f"c{n}", signs=[Sign(f"c{n}", MemoryId("m0"), Use.FOLLOWED)]) for n in range(99)]
    assert _steepness(said) == 0.0
    assert _steepness([]) == 0.0


@table(("steepness", "shown"), [(1.0, 40), (1.5, 40), (1.0, 100), (0.5, 300), (2.0, 300)])
def test_with_many_shown_it_ends_at_the_top_too(steepness: float, shown: int) -> None:
    """Where whole steps lead astray: they overshoot, and then go further and further."""
    users = Users(steepness=steepness, shown=shown, candidates=shown + 20)
    choices = _choices(users.asked(0, 100))
    slopes = fit_coefficients(choices)
    assert choices.gradient(slopes) == pytest.approx(np.zeros(5), abs=1e-6 * choices.weights.sum())
    assert slopes[0] == pytest.approx(steepness, abs=0.35)


def test_no_other_slopes_explain_it_better() -> None:
    choices = _choices(Users(shown=60, candidates=80).asked(3, 60))
    slopes, dice = fit_coefficients(choices), np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0, 10.0):
        others = [slopes + size * dice.standard_normal(5) for _ in range(20)]
        assert all(choices.log_likelihood(other) < choices.log_likelihood(slopes) for other in others)


def test_contexts_whose_places_nobody_knows_say_nothing_of_them() -> None:
    said = Users(steepness=1.5).asked(1, 100)
    erased = [replace(one, shown=tuple(replace(two, place=None) for two in one.shown)) for one in said[:50]]
    assert _steepness([*erased, *said[50:]]) == _steepness(said[50:])
    assert _steepness(erased) == 0.0


rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 500), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.0, 0.5, 1.0, 7.0])),
    max_size=40,
)


@given(rows)
def test_whatever_was_said_it_stays_within_bounds_and_is_the_same_again(
    said: list[tuple[int, int, float, float]],
) -> None:
    columns = [np.array(column) for column in zip(*said, strict=True)] or [np.zeros(0)] * 4
    contexts, places = columns[0].astype(np.intp), columns[1].astype(np.intp)
    found, again = (fit_position_bias(contexts, places, columns[2][None, :], columns[3]) for _ in range(2))
    assert 0.0 <= found.steepness <= MAX_STEEPNESS
    assert found == again


def _steepness(experiences: list[TrainingExample]) -> float:
    return estimate_position_bias(experiences, weigh_votes(experiences)).steepness


def _choices(experiences: list[TrainingExample]) -> ConditionalLogit:
    """What is known of those that were shown, each context with as many."""
    heard = weigh_votes(experiences)
    rows = [(number, one, showing) for number, one in enumerate(experiences) for showing in one.shown]
    words = [heard.worth_by_memory.get((one.context, showing.memory)) for _, one, showing in rows]
    return ConditionalLogit.of(
        np.array([number for number, *_ in rows]),
        np.array([showing.place for *_, showing in rows]),
        np.array([one.opinions[:, showing.candidate] for _, one, showing in rows]).T,
        np.array([abs(worth) if worth else 0.0 for worth in words]),
    )
