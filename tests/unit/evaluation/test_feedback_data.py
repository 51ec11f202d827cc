"""Contexts as material: what helped gains by its place, what misled loses, and what nobody saw says nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evaluation.feedback_data import (
    FeedbackTrainingSet,
    PositionBias,
    build_feedback_training_set,
    weigh_votes,
)
from recollect.evaluation.training_set import TunableNumbers
from recollect.model.context import ShownMemory, TrainingExample, Use, Vote
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile
from tests.tables import table

from .users import ANA, BEGAN, a_vote, an_experience

TWO = """
about = "Two signals, and a minimum."
version = "1"
question = "needed"
min_score = 0.2

[terms]
lexical = { weight = 0.5, missing = 0.0 }
importance = { weight = 0.5, missing = 0.5 }
"""
FIRST, SECOND = TunableNumbers((1.0, 0.0), ()), TunableNumbers((0.0, 1.0), ())
"""By the first signal candidates come in their order, by the second the other way round."""

BOTH_WAYS = ((0.9, 0.7, 0.5, 0.3), (0.3, 0.5, 0.7, 0.9))


LEVEL = ((0.9, 0.5), (0.9, 0.5))


def two() -> Profile:
    return parse_profile(TWO, name="two")


def material(*experiences: TrainingExample, steepness: float = 0.0, seed: int = 0) -> FeedbackTrainingSet:
    return build_feedback_training_set(experiences, weigh_votes(experiences), PositionBias(steepness), two(), seed=seed)


def worth(found: FeedbackTrainingSet, numbers: TunableNumbers) -> list[float]:
    (values,) = found.measure(numbers).values()
    return [float(one) for one in values]


def at(place: int) -> float:
    return 1.0 / math.log2(place + 1)


def test_what_helped_gains_by_its_place_among_all_candidates_also_those_that_nobody_saw() -> None:
    found = material(an_experience(opinions=BOTH_WAYS, shown=[0, 1], votes=[a_vote("c", "m1")]))
    assert worth(found, FIRST) == pytest.approx([at(2)])
    assert worth(found, SECOND) == pytest.approx([at(3)])


def test_what_misled_loses_by_its_place_among_those_down_to_the_last_that_somebody_spoke_of() -> None:
    def said(*votes: Vote) -> FeedbackTrainingSet:
        return material(an_experience(opinions=BOTH_WAYS, shown=[0, 1, 2], votes=votes))

    first, second = (a_vote("c", memory, Use.MISLED) for memory in ("m0", "m1"))
    alone = said(first)
    assert worth(alone, FIRST) == worth(alone, SECOND) == [-at(1)]  # to come behind what nobody noticed gains nothing
    assert worth(said(second), FIRST) == pytest.approx([-at(2)])
    assert worth(said(second), SECOND) == [-at(1)]
    both = said(first, second)
    assert worth(both, FIRST) == worth(both, SECOND) == pytest.approx([-(at(1) + at(2)) / 2])
    among = said(first, a_vote("c", "m2"))
    assert worth(among, FIRST) == pytest.approx([(at(3) - at(1)) / 2])
    assert worth(among, SECOND) == pytest.approx([(at(2) - at(3)) / 2])  # behind m1 and m2; m3, unseen, is before all


def test_where_places_are_not_known_what_misled_loses_among_those_that_somebody_spoke_of() -> None:
    votes = [a_vote("c", "m0", Use.MISLED), a_vote("c", "m2")]
    one = an_experience(opinions=BOTH_WAYS, shown=[0, 1, 2], votes=votes)
    unplaced = replace(one, shown=tuple(replace(showing, place=None) for showing in one.shown))
    assert worth(material(unplaced), SECOND) == pytest.approx([(at(2) - at(2)) / 2])


def test_showing_what_is_unknown_in_place_of_what_misled_gains_nothing() -> None:
    opinions = ((0.9, 0.8, 0.5, 0.5), (0.6, 0.5, 0.9, 0.9))
    found = material(an_experience(opinions=opinions, votes=[a_vote("c", "m0", Use.MISLED)]))
    assert worth(found, SECOND) == worth(found, FIRST)


def test_a_word_further_down_counts_for_more_the_steeper_it_is() -> None:
    votes = [a_vote("a", "m0"), a_vote("b", "m1")]
    said = [
        an_experience("a", BOTH_WAYS, votes=votes[:1], question=("seats?",)),
        an_experience("b", BOTH_WAYS, votes=votes[1:], question=("meals?",)),
    ]
    assert worth(material(*said), FIRST) == pytest.approx([at(1), at(2)])
    assert worth(material(*said, steepness=1.0), FIRST) == pytest.approx([at(1) * 2 / 3, 2 * at(2) * 2 / 3])


def test_a_word_on_what_stood_nobody_knows_where_counts_once() -> None:
    one = an_experience(opinions=BOTH_WAYS, votes=[a_vote("c", "m0"), a_vote("c", "m1")])
    unplaced = replace(one, shown=tuple(replace(showing, place=None) for showing in one.shown))
    assert material(one, steepness=1.0).counts.tolist() == [1.0, 2.0]
    assert material(unplaced, steepness=1.0).counts.tolist() == [1.0, 1.0]
    assert (one.has_all_places, unplaced.has_all_places) == (True, False)


def test_who_is_below_the_minimum_gains_and_loses_nothing() -> None:
    opinions = ((0.9, 0.1), (0.1, 0.9))
    votes = [a_vote("c", "m0"), a_vote("c", "m1", Use.MISLED)]
    found = material(an_experience(opinions=opinions, votes=votes))
    assert worth(found, FIRST) == pytest.approx([0.5 * at(1)])
    assert worth(found, SECOND) == pytest.approx([-0.5 * at(1)])


def test_the_same_question_is_one_whoever_asks_it_and_when_and_a_brief_is_of_its_day() -> None:
    def said(context: str, *question: str, days: int = 0, scope: str = "acme/ana") -> TrainingExample:
        return an_experience(
            context,
            LEVEL,
            votes=[a_vote(context, "m0", by=context)],
            question=question,
            days=days,
            scope=Scope.parse(scope),
        )

    questions = [
        said("a", "Which seats does Ana like?"),
        said("b", "which SEAT does ana like", days=9, scope="acme/ben"),
        said("c", "and then?", "which seats?"),
        said("d", days=1),
        said("e", days=1),
        said("f", days=2),
        said("g", "what is it?", days=2),  # which has no term
    ]
    found = material(*questions)
    assert len(found.groups) == 4
    assert found.source.queries == 4
    assert found.source.scopes == 2
    assert (found.source.memories, found.source.judgments) == (1, 7)


def test_no_word_of_a_question_is_in_a_key_and_the_seed_makes_others() -> None:
    one = an_experience(opinions=LEVEL, votes=[a_vote("c", "m0")], question=("secret seats?",))
    (key,), (other,) = material(one).groups, material(one, seed=1).groups
    assert key != other
    assert "seat" not in key
    assert material(one).groups == (key,)


def test_questions_with_characters_that_no_text_has_are_questions_too() -> None:
    one = an_experience(opinions=LEVEL, votes=[a_vote("c", "m0")], question=("\ud800 \x00",))
    assert len(material(one).groups) == 1


def test_contexts_of_which_nothing_was_said_or_that_show_nothing_are_no_material() -> None:
    nothing = [
        an_experience("a"),
        an_experience("b", [[], []], shown=[]),
        an_experience("c", votes=[a_vote("c", "m9")]),
    ]
    found = material(*nothing)
    assert found.groups == ()
    assert found.find_varied_signals() == [False, False]
    assert found.source.judgments == 0
    one = an_experience("d", [[0.4], [0.4]], shown=[0], votes=[a_vote("d", "m0")])
    assert worth(material(*nothing, one), FIRST) == worth(material(one), FIRST) == [1.0]


def test_a_signal_that_says_the_same_of_all_candidates_tells_nothing() -> None:
    one = an_experience(opinions=((0.5, 0.5), (0.1, 0.2)), votes=[a_vote("c", "m0")])
    assert material(one).find_varied_signals() == [False, True]


def test_votes_that_cancel_each_other_out_say_nothing() -> None:
    votes = [a_vote("c", "m0", by="ben"), a_vote("c", "m0", Use.MISLED, by="cleo")]
    assert material(an_experience(votes=votes)).groups == ()


@table("bad", [math.nan, math.inf, -0.1, 1.1])
def test_opinions_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(InvalidInput, match=r"the signal values of context 'c' are not all within 0\.\.1"):
        an_experience(opinions=((0.5, bad),))


@table(
    ("showings", "complaint"),
    [
        ([(1, 2)], "is not a candidate or has an invalid position"),
        ([(0, 0)], "is not a candidate or has an invalid position"),
        ([(1, 0), (1, 1)], "shows a candidate or a position twice"),
        ([(1, 0), (2, 0)], "shows a candidate or a position twice"),
    ],
)
def test_who_is_shown_is_a_candidate_with_a_place_of_its_own(showings: list[tuple[int, int]], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        TrainingExample(
            context="c",
            scope=ANA,
            question=(),
            made_at=BEGAN,
            opinions=np.array([[0.5, 0.5]]),
            shown=tuple(ShownMemory(MemoryId(f"m{n}"), place, column) for n, (place, column) in enumerate(showings)),
            votes=(),
            signs=(),
        )


opinions = st.integers(1, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=size, max_size=size), min_size=2, max_size=2
    )
)
said = st.lists(st.tuples(opinions, st.lists(st.sampled_from([None, *Use][:4]), max_size=6)), min_size=1, max_size=6)


@given(said, st.floats(0.0, 1.0), st.floats(0.0, 2.0))
def test_whatever_was_said_worth_is_at_most_one_and_ties_go_to_the_first(
    said: list[tuple[list[list[float]], list[Use | None]]], weight: float, steepness: float
) -> None:
    experiences = []
    for number, (rows, uses) in enumerate(said):
        there = list(range(min(len(rows[0]), len(uses))))
        cast = [a_vote(f"c{number}", f"m{one}", use) for one in there if (use := uses[one]) in (Use.HELPED, Use.MISLED)]
        experiences.append(an_experience(f"c{number}", rows, shown=there, votes=cast, question=(f"question {number}",)))
    found = material(*experiences, steepness=steepness)
    if not found.groups:
        return
    numbers = TunableNumbers((weight, 1.0 - weight), ())
    values = worth(found, numbers)
    assert len(values) == len(found.groups)
    assert -1.0 - 1e-9 <= float(np.mean(values)) <= 1.0 + 1e-9
    alike = [[0.5] * len(rows[0]) for rows, _ in said]
    tied = [
        an_experience(
            one.context, [row, row], shown=[s.candidate for s in one.shown], votes=one.votes, question=one.question
        )
        for one, row in zip(experiences, alike, strict=True)
    ]
    assert worth(material(*tied), FIRST) == worth(material(*tied), SECOND)
