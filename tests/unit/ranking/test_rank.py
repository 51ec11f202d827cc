"""rank() as a caller types it."""

from dataclasses import replace
from typing import Any

import pytest

from recollect.errors import FieldError, NotFound, ProfileError
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.rank import MIN_COLUMN_CANDIDATES, rank, why_in_ranking
from recollect.ranking.scorer import rank_candidates as oracle
from recollect.ranking.why import why_ranked
from recollect.testing import NOW, a_candidate, a_memory
from tests.tables import table


def test_candidates_may_be_values_or_mappings_and_a_profile_its_name() -> None:
    ranking = rank([a_candidate("a", similarity=0.5), {"id": "b", "similarity": 0.9}], "salience", NOW)
    assert [one.id for one in ranking] == ["b", "a"]
    assert ranking == rank(
        [{"id": "b", "similarity": 0.9}, {"id": "a", "similarity": 0.5}], builtin_profile("salience"), NOW
    )


def test_a_profile_can_be_overridden_for_one_call() -> None:
    pool = [a_candidate("a", similarity=0.5, salience=0.0), a_candidate("b", similarity=0.4, salience=1.0)]
    assert [one.id for one in rank(pool, "salience", NOW)] == ["b", "a"]
    ranking = rank(pool, "salience", NOW, overrides={"factors": {"salience": {"floor": 1.0}}})
    assert [one.id for one in ranking] == ["a", "b"]
    assert ranking.version.startswith("1+")


def test_an_override_is_validated_a_name_looked_up_and_a_mapping_read() -> None:
    with pytest.raises(ProfileError, match="the weights add up to"):
        rank([], "salience", NOW, overrides={"terms": {"similarity": {"weight": 0.5}}})
    with pytest.raises(NotFound, match="unknown profile 'x'"):
        rank([], "x", NOW)
    with pytest.raises(FieldError, match="field 'similarity'"):
        rank([{"id": "a", "similarity": "high"}], "salience", NOW)


def test_a_question_that_found_nothing_is_passed_on() -> None:
    assert len(rank([{"id": "a"}], "search", NOW, asked=True)) == 1


@table("count", [MIN_COLUMN_CANDIDATES - 1, MIN_COLUMN_CANDIDATES])
def test_few_or_many_the_ranking_is_the_same_and_keeps_the_memories(count: int) -> None:
    pool = [
        a_candidate(memory=a_memory(f"m{n}"), similarity=(n * 37 % 1000) / 1000, importance=n % 7 / 7)
        for n in range(count)
    ]
    ranking = rank(pool, "three-signal", NOW, limit=5, asked=True)
    assert ranking == oracle(pool, builtin_profile("three-signal"), NOW, limit=5)
    assert all(one.memory.id == one.id for one in ranking)
    bare = [replace(one, similarity=None) for one in pool]
    assert len(rank(bare, "search", NOW, limit=5, asked=True)) == 5


@table("count", [MIN_COLUMN_CANDIDATES - 1, MIN_COLUMN_CANDIDATES])
def test_few_or_many_the_reasons_are_the_same_and_keep_the_memories(count: int) -> None:
    pool = [a_candidate(memory=a_memory(f"m{n}"), similarity=(n * 37 % 1000) / 1000) for n in range(count)]
    profile = builtin_profile("three-signal")
    reason = why_in_ranking("m7", pool, profile, NOW, limit=5, asked=True)
    assert reason == why_ranked("m7", pool, profile, NOW, limit=5)
    assert reason.candidate is pool[7]
    assert why_in_ranking("m7", pool, profile, NOW) == why_ranked("m7", pool, profile, NOW)


@table("profile", [None, 0, {"name": "default"}])
def test_what_is_no_profile_and_no_name_is_refused(profile: Any) -> None:
    with pytest.raises(FieldError, match="is neither a profile nor the name of one"):
        rank([a_candidate("a")], profile, NOW)
