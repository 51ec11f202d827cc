"""Set signals: a newer twin wins, said in words, and equal to a plain, slow statement of it."""

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from recollect.errors import FieldError, ProfileError
from recollect.model.candidate import Candidate
from recollect.model.table import Table
from recollect.ranking.columns import Columns
from recollect.ranking.gathering import every_row, evidence, gather_sets
from recollect.ranking.parse import override
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import built_in
from recollect.ranking.quantities import Clock, date
from recollect.ranking.scorer import gather, rank
from recollect.ranking.set_signals import Given, Newest
from recollect.ranking.signals import Relevance, read
from recollect.testing import NOW, a_candidate
from tests.unit.ranking.strategies import candidates

DAY = timedelta(days=1)
DEFAULT = built_in("default")


def found(pool: list[Candidate], profile: Profile = DEFAULT) -> dict[str, Given]:
    return {id: given["newest"] for id, given in gather(pool, profile, NOW).items()}


def a_note(id: str, days: int, vector: tuple[float, ...] | None = (1.0, 0.0), **given: Any) -> Candidate:
    return a_candidate(id, age=days * DAY, vector=vector, **{"relevance": 0.5, **given})


def test_of_two_twins_the_newer_one_keeps_its_score_and_the_older_one_is_told_why() -> None:
    assert found([a_note("old", 9), a_note("new", 2), a_note("other", 1, (0.0, 1.0))]) == {
        "old": Given(0.0, "newer and nearly the same (cosine 1.00): new"),
        "new": Given(1.0),
        "other": Given(1.0),
    }


def test_the_nearest_newer_twin_is_named_and_the_others_are_counted() -> None:
    pool = [a_note("old", 9), a_note("near", 3, (1.0, 0.1)), a_note("nearer", 5, (1.0, 0.01))]
    assert found(pool)["old"].note == "newer and nearly the same (cosine 1.00): nearer and 1 more"


def test_twins_of_the_same_age_leave_each_other_alone() -> None:
    assert found([a_note("a", 2), a_note("b", 2)]) == {"a": Given(1.0), "b": Given(1.0)}


def test_a_cosine_at_the_threshold_is_no_twin() -> None:
    profile = override(DEFAULT, {"factors": {"newest": {"above": 0.8}}})
    assert found([a_note("old", 9), a_note("new", 2, (4.0, 3.0))], profile)["old"].value == 1.0
    assert found([a_note("old", 9), a_note("new", 2, (4.1, 3.0))], profile)["old"].value == 0.0


@pytest.mark.parametrize(
    "mute",
    [{"vector": None}, {"vector": (0.0, 0.0)}, {"created_at": None}],
    ids=["no vector", "no direction", "no date"],
)
def test_without_a_vector_or_a_date_there_is_no_telling(mute: dict[str, Any]) -> None:
    mute = {"days": 9, **mute}
    pool = [
        a_candidate(
            "mute",
            relevance=0.5,
            **{"created_at": NOW, "vector": (1.0, 0.0), **{k: v for k, v in mute.items() if k != "days"}},
        )
    ]
    assert found([*pool, a_note("new", 2)])["mute"] == Given(None)


def test_without_any_vector_or_any_relevance_nobody_is_compared() -> None:
    assert found([a_note("a", 9, None), a_note("b", 2, None)]) == {"a": Given(None), "b": Given(None)}
    assert found([a_note("a", 9, relevance=None), a_note("b", 2, relevance=None)]) == {
        "a": Given(1.0),
        "b": Given(1.0),
    }


def test_only_the_most_relevant_are_compared_and_ties_go_to_the_id() -> None:
    profile = override(DEFAULT, {"factors": {"newest": {"among": 2}}})
    pool = [a_note(id, days) for id, days in (("c", 1), ("b", 2), ("a", 9))]
    assert {id: given.value for id, given in found(pool, profile).items()} == {"a": 0.0, "b": 1.0, "c": 1.0}
    pool = [
        a_note("x", 9, relevance=0.9),
        a_note("a", 2, relevance=0.1),
        a_note("b", 2, (0.0, 1.0), relevance=0.8),
    ]
    assert found(pool, profile)["x"].value == 1.0


def test_a_clock_decides_who_is_newer() -> None:
    pool = [a_note("a", 9, valid_from=NOW), a_note("b", 2)]
    assert {id: given.value for id, given in found(pool).items()} == {"a": 1.0, "b": 0.0}
    created = override(DEFAULT, {"factors": {"newest": {"clock": "created"}}})
    assert {id: given.value for id, given in found(pool, created).items()} == {"a": 0.0, "b": 1.0}


def test_a_newer_twin_wins_the_ranking_and_the_explanation_says_so() -> None:
    ranking = rank([a_note("old", 9, importance=0.9), a_note("new", 2)], DEFAULT, NOW)
    assert [scored.id for scored in ranking] == ["new", "old"]
    scale = ranking[1].explanation.scales[0]
    assert (scale.factor, scale.value, scale.times) == ("newest", 0.0, 0.9)
    assert scale.note == "newer and nearly the same (cosine 1.00): new"


def test_a_memory_behind_a_gate_is_nobodys_twin() -> None:
    ranking = rank([a_note("old", 9), a_note("new", 2, relevance=0.1)], DEFAULT, NOW)
    assert [(scored.id, scored.explanation.scales[0].value) for scored in ranking] == [("old", 1.0)]


def test_vectors_of_different_lengths_are_refused() -> None:
    with pytest.raises(FieldError, match="'b' has 3 dimensions, others 2"):
        found([a_note("a", 1), a_note("b", 2, (1.0, 0.0, 0.0))])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"above": 0.0}, "above is 0.0"), ({"above": 1.1}, "above is 1.1"), ({"among": 1}, "among is 1")],
)
def test_options_that_find_no_twins_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint):
        Newest(**options)


def plain_newest(pool: list[Candidate], signal: Newest, at: datetime) -> dict[str, float | None]:
    """The signal as one would say it, slowly: pairs among the most relevant, one cosine at a time."""
    asked = [(read(Relevance(), one, at), one) for one in pool]
    heard = sorted(((-value, one.id), one) for value, one in asked if value is not None)
    rivals = [one for _, one in heard[: signal.among]]
    values: dict[str, float | None] = {one.id: 1.0 for one in pool}
    vectors_known = any(one.vector is not None for one in rivals)
    for one in rivals:
        when, unit = date(one, signal.clock), _unit(one)
        if when is None or unit is None or not vectors_known:
            values[one.id] = None
            continue
        for other in rivals:
            later, direction = date(other, signal.clock), _unit(other)
            if later is not None and direction is not None and later > when:
                cosine = math.fsum(a * b for a, b in zip(unit, direction, strict=True))
                if abs(cosine - signal.above) < 1e-9:
                    raise _TooClose
                if cosine > signal.above:
                    values[one.id] = 0.0
    return values


class _TooClose(Exception):
    """A cosine so near the threshold that two ways of adding may differ about it."""


def _unit(candidate: Candidate) -> list[float] | None:
    if candidate.vector is None or not any(candidate.vector):
        return None
    peak = max(map(abs, candidate.vector))
    scaled = [part / peak for part in candidate.vector]
    return [part / math.hypot(*scaled) for part in scaled]


@given(candidates())
def test_the_column_form_equals_the_plain_one(pool: list[Candidate]) -> None:
    signal = Newest(0.7, 5, Clock.CURRENT)
    profile = override(DEFAULT, {"factors": {"newest": {"above": 0.7, "among": 5}}})
    try:
        expected = plain_newest(pool, signal, NOW)
    except _TooClose:
        return
    assert {id: given.value for id, given in found(pool, profile).items()} == expected


def test_rows_that_are_not_looked_at_are_not_looked_at() -> None:
    table = Table.of([a_note("old", 9), a_note("new", 2)])
    sets = gather_sets(Columns(table, NOW), DEFAULT, every_row(table)[:1])
    assert evidence(sets, 0) == {"newest": Given(1.0)}
    assert np.array_equal(every_row(table), [0, 1])


def test_a_profile_without_set_signals_gathers_nothing() -> None:
    assert gather([a_note("old", 9)], built_in("five-signal"), NOW) == {}
