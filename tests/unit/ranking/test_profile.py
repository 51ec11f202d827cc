"""A profile that makes no sense cannot exist."""

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import ProfileError
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain
from recollect.ranking.signals import (
    Confidence,
    Frequency,
    Importance,
    Lexical,
    Newest,
    Rarity,
    Recency,
    Relevance,
    Similarity,
)
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE


def a_profile(**given: Any) -> Profile:
    terms = (Term(Importance(), 1.0, 0.5),)
    return Profile(**{"name": "mine", "version": "1", "about": "A test.", "terms": terms, **given})


@table(
    ("given", "complaint"),
    [
        ({"name": "Mine"}, "lowercase letters"),
        ({"name": ""}, "lowercase letters"),
        ({"name": "a--b"}, "lowercase letters"),
        ({"version": " "}, "its version is ' '; give up to 55"),
        ({"about": ""}, "it has no `about`"),
        ({"terms": ()}, "the weights add up to 0, not 1"),
        ({"terms": (Term(Importance(), 0.95),)}, r"the weights add up to 0\.95, not 1"),
        ({"terms": (Term(Importance(), 0.5), Term(Confidence(), 0.5 + 2e-9))}, "not 1"),
        ({"terms": (Term(Importance(), 0.5), Term(Importance(), 0.5))}, "importance is used twice"),
        ({"factors": (Factor(Importance()),)}, "importance is used twice"),
        (
            {"terms": (Term(Frequency(), 1.0),), "factors": (Factor(Rarity()),)},
            "frequency rewards a high count and rarity a low one",
        ),
        ({"question": QuestionPolicy.NEEDED}, "none of its signals reads one"),
        (
            {"question": QuestionPolicy.REFUSED, "terms": (Term(Similarity(), 1.0),)},
            "takes no question, but similarity",
        ),
        ({"question": QuestionPolicy.REFUSED, "gates": (Gate(Lexical(), 0.1),)}, "takes no question, but lexical"),
        (
            {"question": QuestionPolicy.REFUSED, "gates": (Gate(Importance(), 0.1, (Gate(Lexical(), 0.1),)),)},
            "takes no question, but lexical",
        ),
        (
            {"gates": (Gate(Importance(), 0.1, (Gate(Relevance(1), 0.1),)),)},
            "the gate relevance has options; set them on a term",
        ),
        (
            {"question": QuestionPolicy.REFUSED, "factors": (Factor(Relevance()),)},
            "takes no question, but relevance",
        ),
        ({"version": "1\n2"}, "its version is"),
        ({"version": "+1"}, "its version is"),
        ({"version": "1" * 56}, "its version is"),
        ({"gates": (Gate(Importance(), 0.5), Gate(Importance(), 0.2))}, "two gates use the same signal"),
        ({"gates": (Gate(Relevance(1), 0.1),)}, "the gate relevance has options; set them on a term"),
        (
            {"gates": (Gate(Recency(half_life=timedelta(days=1)), 0.1),)},
            "the gate recency has options; set them on a term",
        ),
        (
            {"terms": (Term(Relevance(2), 1.0),), "gates": (Gate(Relevance(), 0.1),)},
            "the gate relevance and the term relevance have different options",
        ),
        ({"min_score": 1.5}, r"min_score is 1.5; give a number within"),
        ({"min_score": math.nan}, "min_score is nan"),
        ({"max_items": 0}, "max_items is 0"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused_by_name(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ProfileError, match=rf"^profile '{given.get('name', 'mine')}': .*{complaint}"):
        a_profile(**given)


@table(
    ("make", "complaint"),
    [
        (lambda: Term(Importance(), -0.1), r"the weight of importance is -0\.1"),
        (lambda: Term(Importance(), math.nan), "the weight of importance is nan"),
        (lambda: Term(Importance(), 0.5, 2.0), r"importance: missing is 2\.0"),
        (lambda: Factor(Importance(), 1.1), r"the floor of importance is 1\.1"),
        (lambda: Factor(Importance(), 0.5, -1.0), r"importance: missing is -1\.0"),
        (lambda: Gate(Importance(), 1.1), r"the gate importance is 1\.1"),
        (
            lambda: Gate(Importance(), 0.5, (Gate(Importance(), 0.9),)),
            "importance is opened by importance twice; give each",
        ),
        (
            lambda: Gate(Importance(), 0.5, (Gate(Lexical(), 0.5, (Gate(Confidence(), 0.5),)),)),
            "the gate importance has nested alternatives; give signals",
        ),
    ],
)
def test_a_part_of_a_profile_is_refused_where_it_is_made(make: Any, complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint):
        make()


def test_weights_may_miss_1_by_a_billionth_and_the_score_is_still_at_most_1() -> None:
    profile = a_profile(terms=(Term(Importance(), 0.5), Term(Confidence(), 0.5 + 5e-10)))
    assert explain(a_candidate(importance=1.0, confidence=1.0), profile, NOW).score == 1.0


def test_a_weightless_evidence_term_does_not_make_a_profile_about_a_question() -> None:
    terms = (Term(Importance(), 1.0, 0.5), Term(Lexical(), 0.0, 0.0))
    assert a_profile(terms=terms, question=QuestionPolicy.REFUSED).weight("lexical") == 0.0


def test_a_profile_knows_its_weights_its_relevance_and_what_it_reads() -> None:
    five = builtin_profile("five-signal")
    assert (five.weight("relevance"), five.weight("magic")) == (0.40, 0.0)
    assert five.relevance == Relevance(lexical_strength=0)
    assert builtin_profile("three-signal").relevance == Relevance()
    assert SAMPLE.set_signals == (Newest(),)
    assert five.set_signals == ()
    assert builtin_profile("three-signal").fields == {"similarity", "importance", "last_accessed_at", "created_at"}
    assert a_profile(gates=(Gate(Confidence(), 0.1),)).fields == {"importance", "confidence"}
    instead = Gate(Confidence(), 0.1, (Gate(Lexical(), 0.1),))
    assert a_profile(gates=(instead,)).fields == {"importance", "confidence", "lexical"}


def test_a_profile_is_a_value() -> None:
    assert replace(SAMPLE) == SAMPLE
    assert replace(SAMPLE, min_score=0.1) != SAMPLE
