"""Tuning: what is found, what is left alone, and that nothing is judged by what it was fitted to."""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evaluation.measures import compare_paired
from recollect.evaluation.training_set import (
    JudgmentTrainingSet,
    MeasuredValues,
    TunableNumbers,
    equalize,
    mean_of_means,
)
from recollect.evaluation.tuning import (
    GAIN_TOLERANCE,
    MIN_FLOOR_PRODUCT,
    MIN_GAIN,
    MIN_WEIGHT,
    NumberSearch,
    TunablePlaces,
    Tuning,
    deal_folds,
    find_tunable,
    fit_numbers,
    folds_agree,
    round_numbers,
    tune,
)
from recollect.model.scope import Scope
from tests.tables import table

from .fresh import PEOPLE, fresh_folder, wrong
from .test_training_set import gathered, untold


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> JudgmentTrainingSet:
    return gathered(fresh_folder(tmp_path_factory.mktemp("fresh")), wrong())


@pytest.fixture(scope="module")
def tuned(features: JudgmentTrainingSet) -> Tuning:
    return tune([features], wrong(), folds=4, report_progress=untold)


def test_a_wrong_profile_becomes_a_better_one_also_where_it_was_not_fitted(tuned: Tuning) -> None:
    assert tuned.changed
    assert tuned.carries_over
    before, held_out, after = (
        mean_of_means(one.measures["recall@3"]) for one in (tuned.before, tuned.held_out, tuned.after)
    )
    assert before < 0.5 < held_out <= after == 1.0
    assert tuned.gain.mean == pytest.approx(mean_of_means(tuned.held_out.worth) - mean_of_means(tuned.before.worth))
    assert tuned.gain.interval.low > 0.0


def test_the_rounding_of_sums_is_no_gain(tuned: Tuning) -> None:
    worth = equalize(tuned.before.worth)
    dust = replace(tuned, gain=compare_paired(worth.tolist(), (worth + GAIN_TOLERANCE / 2).tolist()))
    assert dust.gain.interval.low > 0.0
    assert not dust.carries_over


def test_what_is_tuned_for_is_the_mean_of_all_measures() -> None:
    one, other = np.array([0.0, 0.5]), np.array([1.0])
    values = MeasuredValues({"recall@3": (one, other), "ndcg@3": (one + 0.5, other - 1.0)})
    assert [each.tolist() for each in values.worth] == [[0.25, 0.75], [0.5]]
    assert equalize(values.worth).tolist() == [0.25 * 3 / 4, 0.75 * 3 / 4, 0.5 * 3 / 2]
    assert float(equalize(values.worth).mean()) == pytest.approx(mean_of_means(values.worth))


def test_what_was_found_is_a_profile(tuned: Tuning) -> None:
    better = tuned.numbers.apply_to(wrong())
    assert better.weight("lexical") > wrong().weight("lexical")
    assert better.weight("recency") < wrong().weight("recency")


def test_the_same_folders_give_the_same_numbers(features: JudgmentTrainingSet, tuned: Tuning) -> None:
    again = tune([features], wrong(), folds=4, report_progress=untold)
    assert again.numbers == tuned.numbers
    assert [fold.numbers for fold in again.folds] == [fold.numbers for fold in tuned.folds]


def test_what_no_folder_tells_anything_of_is_left_alone(tuned: Tuning) -> None:
    assert tuned.untuned_signals == ("importance", "confidence", "rarity")
    better = tuned.numbers.apply_to(wrong())
    assert (better.weight("importance"), better.weight("confidence")) == (0.12, 0.0)
    assert [factor.floor for factor in better.factors] == [0.6]


def test_every_query_is_judged_by_numbers_that_were_fitted_without_its_scope(
    features: JudgmentTrainingSet, tuned: Tuning
) -> None:
    search = NumberSearch([features], TunableNumbers.of(wrong()))
    for fold in tuned.folds:
        values = search.values(fold.numbers)
        for place, query in enumerate(features.judgments.queries):
            if (0, query.scope) in fold.held_out_groups:
                for measure, measured in values.measures.items():
                    assert tuned.held_out.measures[measure][0][place] == measured[0][place]
    assert sum(fold.queries for fold in tuned.folds) == len(features.judgments.queries)


def test_a_fold_is_fitted_as_if_its_scopes_were_not_there(tmp_path: Path, tuned: Tuning) -> None:
    held = tuned.folds[0]
    others = tuple(who for who in PEOPLE if (0, Scope.parse(f"acme/{who}")) not in held.held_out_groups)
    alone = gathered(fresh_folder(tmp_path, others), wrong())
    search = NumberSearch([alone], TunableNumbers.of(wrong()))
    found = fit_numbers(
        lambda at: search.worth(at, search.all_queries), TunableNumbers.of(wrong()), find_tunable([alone], wrong())
    )
    assert found == held.numbers


def test_a_profile_that_is_good_already_stays_as_it_is(features: JudgmentTrainingSet, tuned: Tuning) -> None:
    again = tune([features], tuned.numbers.apply_to(wrong()), folds=4, report_progress=untold)
    assert not again.changed
    assert not again.carries_over
    assert again.gain.mean == 0.0


def test_restraint_keeps_numbers_where_they_are_unless_others_are_better_by_more(
    features: JudgmentTrainingSet, tuned: Tuning
) -> None:
    start = TunableNumbers.of(wrong())
    search = NumberSearch([features], start, restraint=0.5)
    everyone, far = search.all_queries, tuned.numbers
    assert search.penalized_worth(start, everyone) == search.worth(start, everyone)
    assert search.penalized_worth(far, everyone) == search.worth(far, everyone) - 0.5 * far.distance_to(start)
    held_back = tune([features], wrong(), folds=4, report_progress=untold, restraint=0.5)
    assert 0.0 < held_back.numbers.distance_to(start) < far.distance_to(start)
    assert not tune([features], wrong(), folds=4, report_progress=untold, restraint=50.0).changed


def test_numbers_that_have_nothing_in_common_are_one_apart() -> None:
    assert TunableNumbers((1.0, 0.0), ()).distance_to(TunableNumbers((0.0, 1.0), ())) == 1.0
    assert TunableNumbers((0.5, 0.5), (0.5, 1.0)).distance_to(TunableNumbers((0.25, 0.75), (0.75, 0.5))) == 0.25 + 0.75


def test_how_far_it_is_is_told_to_the_end(features: JudgmentTrainingSet) -> None:
    told: list[tuple[int, int]] = []
    tune([features], wrong(), folds=2, report_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_each_folder_counts_alike() -> None:
    assert mean_of_means([np.array([1.0]), np.array([0.0, 0.0, 0.0, 0.5]), np.array([])]) == (1.0 + 0.125) / 2


scopes = st.lists(
    st.lists(st.sampled_from("abcdefg").map(lambda name: Scope.parse(f"acme/{name}")), min_size=1), min_size=1
)


@given(scopes, st.integers(2, 9))
def test_scopes_are_dealt_whole_and_each_once(asked: list[list[Scope]], folds: int) -> None:
    there = {(place, scope) for place, some in enumerate(asked) for scope in some}
    if len(there) < 2:
        with pytest.raises(InvalidInput, match="the queries have only 1 scope, and whole scopes are held out"):
            deal_folds(asked, folds)
        return
    dealt = deal_folds(asked, folds)
    assert Counter(one for fold in dealt for one in fold) == Counter(there)
    assert len(dealt) == min(folds, len(there))
    assert all(dealt)


def test_every_fold_has_something_of_every_folder_if_that_can_be() -> None:
    asked = [[Scope.parse(f"acme/{number}")] * (number + 1) for number in range(6)]
    folders = [[scope for scopes in asked for scope in scopes], [Scope.parse(f"other/{number}") for number in range(6)]]
    dealt = deal_folds(folders, 3)
    assert [{place for place, _ in fold} for fold in dealt] == [{0, 1}] * 3
    sizes = [sum(1 for scope in folders[0] if (0, scope) in fold) for fold in dealt]
    assert max(sizes) - min(sizes) <= 1


@table(
    ("folds", "settled"),
    [
        ([0.3, 0.3, 0.3], True),
        ([0.39, 0.55], True),
        ([0.2, 0.4], False),
        ([0.2, 0.39], True),
        ([0.001, 0.04], True),
        ([0.001, 0.06], False),
        ([0.0, 0.0], True),
        ([0.0, 0.6], False),
    ],
)
def test_a_number_is_settled_if_it_is_neither_twice_as_high_in_a_fold_nor_by_much(
    folds: list[float], settled: bool
) -> None:
    assert folds_agree(folds) == settled
    assert folds_agree(folds[::-1]) == settled


def worth_of(target: TunableNumbers) -> float:
    return -math.dist((*target.weights, *target.floors), (0.7, 0.2, 0.1, 0.9))


def test_fitting_comes_near_the_best_there_is() -> None:
    start = TunableNumbers((0.2, 0.2, 0.6), (0.5,))
    found = fit_numbers(worth_of, start, TunablePlaces((0, 1, 2), (0,)))
    assert worth_of(found) > -0.05
    assert math.fsum(found.weights) == pytest.approx(1.0)


def test_what_is_not_free_keeps_its_number_to_the_last_bit() -> None:
    start = TunableNumbers((0.2, 0.2, 0.6), (0.5,))
    found = fit_numbers(worth_of, start, TunablePlaces((0, 2), ()))
    assert found != start
    assert (found.weights[1], found.floors) == (0.2, (0.5,))
    assert found.weights[0] + found.weights[2] == pytest.approx(0.8)


def test_a_gain_too_small_to_mean_anything_is_not_taken() -> None:
    start = TunableNumbers((0.5, 0.5), ())
    assert fit_numbers(lambda at: at.weights[0] * MIN_GAIN, start, TunablePlaces((0, 1), ())) == start


def test_one_free_weight_alone_cannot_change() -> None:
    start = TunableNumbers((0.5, 0.5), ())
    assert fit_numbers(lambda at: at.weights[0], start, TunablePlaces((0,), ())) == start


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.lists(st.floats(0.75, 1.0), max_size=2))
def test_no_weight_is_tuned_away_and_floors_together_keep_half(weights: list[float], floors: list[float]) -> None:
    total = math.fsum(weights)
    start = TunableNumbers(tuple(weight / total for weight in weights), tuple(floors))
    free = TunablePlaces(tuple(range(len(weights))), tuple(range(len(floors))))
    found = fit_numbers(lambda at: at.weights[0] - sum(at.floors), start, free)
    assert all(weight >= min(MIN_WEIGHT, *start.weights) for weight in found.weights)
    assert math.prod(found.floors) >= MIN_FLOOR_PRODUCT
    assert all(0.0 <= floor <= 1.0 for floor in found.floors)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9).filter(lambda weights: sum(weights) > 0.01))
def test_rounded_weights_have_four_digits_and_add_up_to_exactly_one(weights: list[float]) -> None:
    total = math.fsum(weights)
    exact = TunableNumbers(tuple(weight / total for weight in weights), (1 / 3,))
    found = round_numbers(exact)
    assert sum(Decimal(str(weight)) for weight in found.weights) == 1
    assert all(abs(one - other) < 0.0001 for one, other in zip(found.weights, exact.weights, strict=True))
    assert found.floors == (0.3333,)


@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=5))
def test_numbers_that_have_four_digits_keep_them(parts: list[int]) -> None:
    weights = (*(part / 10_000 for part in parts), (10_000 - sum(parts)) / 10_000)
    assert round_numbers(TunableNumbers(weights, (0.8, 1.0))) == TunableNumbers(weights, (0.8, 1.0))
