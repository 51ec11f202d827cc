"""Rankings of one scheme merge by score, of different schemes by rank."""

from datetime import timedelta

import pytest

from recollect.errors import InvalidInput, SchemesDiffer
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import fuse, merge
from recollect.ranking.scorer import rank_candidates
from recollect.testing import NOW, a_candidate
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE

SALIENCE = builtin_profile("salience")
FACTS = [a_candidate("fact-1", similarity=0.9), a_candidate("fact-2", similarity=0.3)]
PEOPLE = [a_candidate("ana", similarity=0.5), a_candidate("ben", similarity=0.3)]


def test_rankings_of_one_scheme_merge_into_what_ranking_all_at_once_gives() -> None:
    merged = merge(rank_candidates(FACTS, SALIENCE, NOW), rank_candidates(PEOPLE, SALIENCE, NOW))
    assert merged == rank_candidates([*FACTS, *PEOPLE], SALIENCE, NOW)


def test_a_memory_in_both_is_there_once() -> None:
    merged = merge(rank_candidates(FACTS, SALIENCE, NOW), rank_candidates([*PEOPLE, FACTS[0]], SALIENCE, NOW))
    assert [one.id for one in merged] == ["fact-1", "ana", "ben", "fact-2"]


def test_a_memory_with_two_scores_is_refused() -> None:
    other = [a_candidate("fact-1", similarity=0.8)]
    with pytest.raises(InvalidInput, match="'fact-1' has two scores"):
        merge(rank_candidates(FACTS, SALIENCE, NOW), rank_candidates(other, SALIENCE, NOW))


@table(("name", "later"), [("three-signal", 0), ("salience", 1)])
def test_rankings_of_two_schemes_refuse_to_merge_and_name_the_remedy(name: str, later: int) -> None:
    other = rank_candidates(PEOPLE, builtin_profile(name), NOW + timedelta(days=later))
    with pytest.raises(SchemesDiffer, match=r"salience 1 at 2026.*different scales.*recollect\.fuse"):
        merge(rank_candidates(FACTS, SALIENCE, NOW), other)


def test_merging_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no rankings to merge"):
        merge()


def test_what_was_excluded_is_added_up() -> None:
    one, two = (
        [a_candidate(id, similarity=s) for id, s in pairs] for pairs in ([("a", 0.9), ("b", 0.1)], [("c", 0.0)])
    )
    assert merge(rank_candidates(one, SAMPLE, NOW), rank_candidates(two, SAMPLE, NOW)).excluded == {"gate:relevance": 2}


def test_a_merge_is_exact_unless_something_was_cut_or_looks_at_the_whole_set() -> None:
    whole, cut = rank_candidates(FACTS, SALIENCE, NOW), rank_candidates(PEOPLE, SALIENCE, NOW, limit=1)
    sets = [rank_candidates(pool, SAMPLE, NOW) for pool in (FACTS, PEOPLE)]
    assert merge(whole, rank_candidates(PEOPLE, SALIENCE, NOW)).exact
    assert merge(cut).exact
    assert merge(sets[0]).exact
    assert not merge(whole, cut).exact
    assert not merge(*sets).exact
    assert not merge(merge(whole, cut)).exact


def test_rank_fusion_adds_the_reciprocal_places() -> None:
    words = rank_candidates(
        [a_candidate("a", lexical=0.9), a_candidate("b", lexical=0.5)], builtin_profile("search"), NOW
    )
    meaning = rank_candidates([a_candidate("b", similarity=0.9), a_candidate("c", similarity=0.5)], SALIENCE, NOW)
    fused = fuse(words, meaning)
    assert [(one.id, one.places, one.score) for one in fused] == [
        ("b", (2, 1), pytest.approx(1 / 62 + 1 / 61)),
        ("a", (1, None), 1 / 61),
        ("c", (None, 2), 1 / 62),
    ]
    assert fused[0].scored is words[1]


def test_equal_places_go_to_the_id() -> None:
    one, two = (rank_candidates([a_candidate(id, similarity=0.5)], SALIENCE, NOW) for id in ("b", "a"))
    assert [fused.id for fused in fuse(one, two)] == ["a", "b"]


def test_the_rank_constant_can_be_chosen_but_not_below_1() -> None:
    ranking = rank_candidates(FACTS, SALIENCE, NOW)
    assert [one.score for one in fuse(ranking, constant=1)] == [1 / 2, 1 / 3]
    assert fuse() == ()
    with pytest.raises(InvalidInput, match="rank constant is 0"):
        fuse(ranking, constant=0)
