"""Learning: what simulated users want is found again, position or not, and where they want nothing nothing is."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from recollect.errors import InvalidInput
from recollect.evaluation.feedback_data import (
    LEFT_OUT_DESCRIPTIONS,
    MIN_QUESTIONS,
    FeedbackOrigin,
    PositionBias,
    describe_left_out,
    tune_on_feedback,
)
from recollect.evaluation.training_set import TunableNumbers
from recollect.model.context import Sign, SkipReason, TrainingExample, TrainingSet, Use
from recollect.model.scope import Scope
from tests.tables import table

from .test_training_set import untold
from .users import WANTED, Users, a_vote, an_experience, profile, told

PLAIN = TunableNumbers.of(profile()).weights


def learned(
    experiences: Sequence[TrainingExample], *, seed: int = 0, places: PositionBias | None = None
) -> FeedbackOrigin:
    return tune_on_feedback(told(experiences), profile(), folds=5, seed=seed, report_progress=untold, places=places)


@pytest.fixture(scope="module")
def steep() -> list[TrainingExample]:
    """What users say who hardly look beyond the first few."""
    return Users(steepness=1.5).asked(seed=2, contexts=500)


@pytest.fixture(scope="module")
def found(steep: list[TrainingExample]) -> FeedbackOrigin:
    return learned(steep)


def test_what_users_want_is_found_again_and_serves_them_better_on_fresh_questions(found: FeedbackOrigin) -> None:
    tuning, users = found.tuning, Users()
    assert tuning.carries_over
    lexical, recency, importance, _ = tuning.numbers.weights
    assert importance > 0.25 > PLAIN[2]
    assert lexical < PLAIN[0]
    assert recency < PLAIN[1]
    before, after, best = (
        float(users.content(one, seed=99, questions=100).mean()) for one in (PLAIN, tuning.numbers.weights, WANTED)
    )
    assert before < 0.7 < 0.8 < after <= best == pytest.approx(1.0)


def test_it_says_what_it_heard(found: FeedbackOrigin, steep: list[TrainingExample]) -> None:
    votes = [vote for one in steep for vote in one.votes]
    assert found.contexts == sum(bool(one.votes) for one in steep) == len(found.training_set.groups)
    assert found.votes.count_by_use[Use.HELPED] <= sum(vote.use is Use.HELPED for vote in votes)
    assert found.votes.principals == 1
    assert found.position_bias.steepness == pytest.approx(1.5, abs=0.3)
    assert found.seed == 0


def test_without_making_up_for_places_less_is_found(steep: list[TrainingExample], found: FeedbackOrigin) -> None:
    """Which shows that the correction is wired: what is seen first looks better than it is."""
    naive = learned(steep, places=PositionBias())
    kept, moved = (abs(one.tuning.numbers.weights[2] - WANTED[2]) for one in (naive, found))
    assert moved < kept
    content = [Users().content(one.tuning.numbers.weights, seed=99, questions=100).mean() for one in (naive, found)]
    assert content[0] + 0.02 < content[1]


def test_the_more_of_the_candidates_was_shown_the_nearer_it_comes_to_what_users_want() -> None:
    """With all of them nobody is a stranger."""
    some, all_of_them = (
        [learned(Users(shown=shown).asked(seed, 150)).tuning for seed in range(3)] for shown in (10, 60)
    )
    assert all(one.carries_over for one in all_of_them)
    apart = [
        np.mean([one.numbers.distance_to(TunableNumbers(WANTED, ())) for one in found]) for found in (some, all_of_them)
    ]
    assert apart[1] < 0.2 < 0.23 < apart[0]


@table("seed", range(2))
def test_where_signs_are_chance_nothing_carries_over(seed: int) -> None:
    dice, noise = np.random.default_rng(seed), []
    for one in Users(wanted=None).asked(seed, 150):
        quoted = [showing for showing in one.shown if dice.random() < 0.3 / (showing.place or 1)]
        signs = [Sign(one.context, showing.memory, Use.QUOTED) for showing in quoted]
        noise.append(replace(one, votes=(), signs=tuple(signs)))
    found = learned(noise)
    assert not found.tuning.carries_over
    assert found.votes.principals == 0


@table("seed", range(4))
def test_where_votes_are_chance_nothing_carries_over(seed: int) -> None:
    noise = learned(Users(steepness=1.0, wanted=None).asked(seed, 150)).tuning
    assert not noise.carries_over
    assert noise.numbers.distance_to(TunableNumbers.of(profile())) < 0.35


@table("seed", [100, 103, 104])
@table(
    "attention",
    [lambda place: place**-2.0, lambda place: float(place == 1), lambda place: (place / 10) ** 0.5],
    ids=["steep", "the first", "rising"],
)
def test_where_chance_says_mostly_that_it_misled_nothing_carries_over(
    seed: int, attention: Callable[[int], float]
) -> None:
    """Else what is looked at would only have to give way to what is not."""
    dice = np.random.default_rng(seed)
    noise = [
        replace(
            one,
            votes=tuple(
                a_vote(one.context, showing.memory, Use.HELPED if dice.random() < 0.3 else Use.MISLED)
                for showing in one.shown
                if dice.random() < attention(showing.place or 1) / 2
            ),
        )
        for one in Users(wanted=None).asked(seed, 150)
    ]
    assert not learned(noise).tuning.carries_over


def test_a_profile_that_is_what_users_want_stays_as_it_is() -> None:
    right = TunableNumbers(WANTED, ()).apply_to(profile())
    experiences = Users(by=WANTED).asked(3, 150)
    tuning = tune_on_feedback(told(experiences), right, folds=5, seed=0, report_progress=untold).tuning
    assert not tuning.carries_over


def test_the_same_seed_gives_the_same_and_the_order_of_contexts_does_not_matter(
    steep: list[TrainingExample], found: FeedbackOrigin
) -> None:
    again = learned(steep[::-1])
    assert again.position_bias == found.position_bias  # to the last bit
    assert again.tuning.numbers == found.tuning.numbers
    assert again.tuning.gain == found.tuning.gain
    assert [fold.held_out_groups for fold in again.tuning.folds] == [
        fold.held_out_groups for fold in found.tuning.folds
    ]
    assert again.training_set.source == found.training_set.source
    other = learned(steep, seed=1)
    assert {len(fold.held_out_groups) for fold in other.tuning.folds} == {
        len(fold.held_out_groups) for fold in found.tuning.folds
    }
    assert [fold.numbers for fold in other.tuning.folds] != [fold.numbers for fold in found.tuning.folds]


def test_the_same_question_is_never_on_both_sides() -> None:
    experiences = Users().asked(4, 90)
    asked = [replace(one, question=(f"question {number % 31}",)) for number, one in enumerate(experiences)]
    found = learned(asked)
    held = [group for fold in found.tuning.folds for group in fold.held_out_groups]
    assert len(held) == len(set(held)) == len(found.training_set.groups) <= 31
    assert sum(fold.queries for fold in found.tuning.folds) == len(found.training_set.groups)


def test_too_few_questions_are_refused_in_words() -> None:
    few = Users(steepness=0.0).asked(1, MIN_QUESTIONS - 1)
    refusal = f"{MIN_QUESTIONS - 1} questions in acme/ana, but tuning needs at least {MIN_QUESTIONS}"
    with pytest.raises(InvalidInput, match=f"there is feedback on {refusal}; give more, or name more"):
        learned(few)
    with pytest.raises(InvalidInput, match="on 0 questions in acme/ana,"):
        learned([])
    with pytest.raises(InvalidInput, match="on 1 question in acme/ana,"):
        learned([replace(one, question=("the same",)) for one in Users().asked(1, 100)])


def test_a_refusal_says_where_it_looked_and_what_it_left_out() -> None:
    scopes = tuple(Scope.parse(f"acme/{who}") for who in ("ana", "ben", "cleo", "dan", "eve"))
    left_out = {SkipReason.UNRECORDED: 2, SkipReason.OTHER_STORE: 1}
    nothing = TrainingSet(scopes=scopes, told=(), left_out=left_out)
    with pytest.raises(InvalidInput) as refused:
        tune_on_feedback(nothing, profile(), folds=5, seed=0, report_progress=untold)
    said = "1 context made in another store, 2 contexts that cannot be replayed without a language model"
    assert str(refused.value).startswith(
        "there is feedback on 0 questions in acme/ana, acme/ben, acme/cleo and 2 more "
        f"(left out: {said}), but tuning needs at least 30;"
    )


def test_where_another_profile_ranked_contexts_the_refusal_says_what_to_do() -> None:
    others = replace(told(Users().asked(1, 5)), left_out={SkipReason.OTHER_PROFILE: 40, SkipReason.ONLY_FOLLOWED: 1})
    with pytest.raises(InvalidInput) as refused:
        tune_on_feedback(others, profile(), folds=5, seed=0, report_progress=untold)
    outcome = "1 context with only an outcome, which does not say which memories led to it"
    said = f"{outcome}, 40 contexts ranked by another profile"
    assert f"(left out: {said}), but tuning needs at least 30;" in str(refused.value)
    assert str(refused.value).endswith(
        "; contexts of another profile say nothing about this one: give feedback on contexts of this profile, or tune "
        "the other one, or name more scopes"
    )


def test_every_reason_to_leave_a_context_out_has_words() -> None:
    assert set(LEFT_OUT_DESCRIPTIONS) == set(SkipReason)
    assert [*describe_left_out(dict.fromkeys(SkipReason, 1))] == [
        f"1 context {LEFT_OUT_DESCRIPTIONS[why]}" for why in SkipReason
    ]
    assert [*describe_left_out({})] == []


def test_what_stood_nobody_knows_where_is_not_made_up_for_and_counted() -> None:
    asked = Users(steepness=1.5).asked(7, 120)
    unplaced = [
        replace(one, shown=tuple(replace(showing, place=None) for showing in one.shown)) if number % 3 == 0 else one
        for number, one in enumerate(asked)
    ]
    found = learned(unplaced)
    assert found.unplaced_contexts == sum(bool(one.votes) for one in asked[::3])
    placed = [one for one in asked if one not in asked[::3]]
    assert found.position_bias.steepness == pytest.approx(learned(placed).position_bias.steepness)
    assert learned(asked).unplaced_contexts == 0


@table("use", [Use.HELPED, Use.MISLED])
def test_where_everything_helped_or_everything_misled_nothing_is_better(use: Use) -> None:
    dice = np.random.default_rng(1)
    experiences = []
    for number in range(60):
        opinions = Users(candidates=12).opinions(dice)
        best = np.argsort(-(np.array(PLAIN) @ opinions), kind="stable")[:6].tolist()
        votes = [a_vote(f"c{number}", f"m{one}", use, by=f"user {number}") for one in best]
        experiences.append(
            an_experience(f"c{number}", opinions.tolist(), shown=best, votes=votes, question=(f"question {number}",))
        )
    assert not learned(experiences).tuning.carries_over


def test_one_candidate_alone_or_signals_that_say_nothing_teach_nothing() -> None:
    alone = [
        an_experience(
            f"c{n}", [[0.5]] * 4, shown=[0], votes=[a_vote(f"c{n}", "m0", by=f"user {n}")], question=(f"question {n}",)
        )
        for n in range(40)
    ]
    tuning = learned(alone).tuning
    assert not tuning.changed
    assert tuning.untuned_signals == ("lexical", "recency", "importance", "confidence")


def test_one_loud_voice_does_not_decide_against_many() -> None:
    """Somebody who always wants what is recent, in thrice as many contexts as all others together."""
    many = [
        replace(one, votes=tuple(replace(vote, by=f"user {n % 40}") for vote in one.votes))
        for n, one in enumerate(Users(steepness=0.0).asked(5, 200))
    ]
    recent = Users(steepness=0.0, wanted=(0.0, 1.0, 0.0, 0.0)).asked(6, 600)
    loud = [
        replace(
            one,
            context=f"loud {one.context}",
            question=(f"loud {one.question[0]}",),
            votes=tuple(replace(vote, by="loud", context=f"loud {one.context}") for vote in one.votes),
        )
        for one in recent
    ]
    assert learned(loud).tuning.numbers.weights[1] > 0.5
    numbers = learned([*many, *loud]).tuning.numbers.weights
    assert numbers[2] > numbers[1]


def test_one_who_speaks_of_everything_does_not_decide_against_a_hundred_who_say_one_word_each() -> None:
    dice, experiences = np.random.default_rng(0), []
    for number in range(200):
        opinions = Users().opinions(dice)
        best = np.argsort(-(np.array(PLAIN) @ opinions), kind="stable")[:10].tolist()
        loud = number >= 100
        wished = np.array((0.05, 0.9, 0.02, 0.03) if loud else WANTED) @ opinions
        order = sorted(best, key=lambda one: -wished[one])
        words = [(one, Use.HELPED if place < 5 else Use.MISLED) for place, one in enumerate(order)]
        by = "mallory" if loud else f"person {number}"
        votes = [a_vote(f"c{number}", f"m{number}-{one}", use, by=by) for one, use in (words if loud else words[:1])]
        experiences.append(
            an_experience(
                f"c{number}",
                opinions.tolist(),
                shown=best,
                votes=votes,
                question=(f"question {number}",),
                name=f"m{number}-",
            )
        )
    _, recency, importance, _ = learned(experiences).tuning.numbers.weights
    assert recency < PLAIN[1] < 0.5 < importance
