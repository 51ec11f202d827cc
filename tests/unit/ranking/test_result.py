"""Scores compare inside their scheme only, and a proof says whether the ranking is exact."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from operator import eq, ge, gt, le, lt, ne

import pytest

from recollect.errors import InvalidInput, SchemesDiffer
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import MAX_LISTED, STOP_DESCRIPTIONS, Proof, Scheme, Score, StopReason
from recollect.ranking.scorer import rank_candidates
from recollect.testing import NOW, a_candidate, a_memory, a_ranking
from tests.tables import table

SEARCH = Scheme(builtin_profile("search"), NOW)
OTHERS = [
    Scheme(builtin_profile("session"), NOW),
    Scheme(builtin_profile("search"), NOW + timedelta(seconds=1)),
    Scheme(replace(builtin_profile("search"), min_score=0.1), NOW),
]


@table("other", OTHERS, ids=["another profile", "another moment", "another number in it"])
@table("compare", [lt, le, gt, ge, eq, ne])
def test_scores_of_two_schemes_refuse_to_be_compared(other: Scheme, compare: Callable[[object, object], bool]) -> None:
    with pytest.raises(SchemesDiffer, match=r"a score of search 1 at .* recollect\.fuse"):
        compare(Score(0.5, SEARCH), Score(0.5, other))


def test_sorting_scores_of_two_schemes_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        sorted([Score(0.5, SEARCH), Score(0.4, OTHERS[0])])


def test_scores_of_one_scheme_and_plain_numbers_compare_as_numbers() -> None:
    low, high = Score(0.25, SEARCH), Score(0.5, Scheme(builtin_profile("search"), NOW))
    assert [low < high, low <= high, high > low, high >= low, low != high] == [True] * 5
    assert [low > high, low >= high, high < low, high <= low, low == high] == [False] * 5
    assert [low <= low, low >= low, low < low] == [True, True, False]
    assert low == Score(0.25, SEARCH) == 0.25
    assert max(low, high) == 0.5
    assert low != "0.25"
    assert hash(low) == hash(0.25)
    assert {low: "low"}[Score(0.25, SEARCH)] == "low"


def test_a_score_survives_pickling_with_its_scheme() -> None:
    again = pickle.loads(pickle.dumps(Score(0.25, SEARCH)))  # noqa: S301
    assert again == Score(0.25, SEARCH)
    assert again.scheme == SEARCH


def test_a_candidate_ranked_with_its_memory_shows_it_and_one_without_says_so() -> None:
    memory = a_memory("a")
    ranking = rank_candidates(
        [a_candidate(memory=memory, similarity=0.5), a_candidate("b", similarity=0.4)],
        builtin_profile("salience"),
        NOW,
    )
    assert ranking[0].memory is memory
    with pytest.raises(InvalidInput, match="'b' was ranked without its memory"):
        _ = ranking[1].memory


def test_a_ranking_takes_the_memories_of_its_rows_and_drops_those_that_were_erased() -> None:
    pool = [a_candidate("a", similarity=0.5), a_candidate("b", similarity=0.4)]
    ranking = replace(rank_candidates(pool, builtin_profile("salience"), NOW), rows=(0, 1))
    memory = a_memory("b")
    loaded = ranking.with_memories([None, memory])
    assert [one.memory for one in loaded] == [memory]
    assert (loaded.rows, loaded.excluded, loaded.proof) == ((), ranking.excluded, ranking.proof)


def test_a_ranking_at_a_prompt_is_a_line_a_memory() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b", text="\x1b[2J and\nmore " * 20)], profile="search")
    assert repr(ranking) == str(ranking)
    heading, first, second = repr(ranking).split("\n")
    assert heading == "<Ranking of 2 by search 1 at 2026-01-01T00:00:00+00:00>"
    assert first == "  1. 1.000  a  deploys run on Fridays"
    assert second.startswith("  2. 0.500  b  \\x1b[2J and more ")
    assert second.endswith("…")
    assert second.isprintable()


def test_a_ranking_at_a_prompt_says_what_is_not_in_it() -> None:
    part = replace(
        a_ranking([a_memory("a")], profile="search"),
        excluded={"gate:relevance": 3, "limit": 1},
        proof=Proof(StopReason.INDEX, 9, 20),
    )
    heading = "<Ranking of 1 by search 1 at 2026-01-01T00:00:00+00:00, not exact"
    assert repr(part).startswith(f"{heading}, left out: 3 by gate:relevance, 1 by limit>\n")
    assert repr(a_ranking([], profile="search")) == "<Ranking of 0 by search 1 at 2026-01-01T00:00:00+00:00>"


def test_a_long_ranking_at_a_prompt_shows_its_first_and_counts_the_others() -> None:
    shown = repr(a_ranking([a_memory(str(number)) for number in range(MAX_LISTED + 2)])).split("\n")
    assert len(shown) == 1 + MAX_LISTED + 1
    assert shown[-1] == "     … and 2 more"
    assert "more" not in repr(a_ranking([a_memory(str(number)) for number in range(MAX_LISTED)])).split("\n")[-1]


def test_one_of_a_ranking_at_a_prompt_is_a_line_with_or_without_its_text() -> None:
    (told,) = a_ranking([a_memory("a")])
    assert repr(told) == "<Scored 1.000  a  deploys run on Fridays>"
    (bare,) = rank_candidates([a_candidate("b", similarity=0.5)], builtin_profile("three-signal"), NOW)
    assert repr(bare) == f"<Scored {bare.score:.3f}  b>"
    assert repr(bare.score.scheme) == "<Scheme three-signal 1 at 2026-01-01T00:00:00+00:00>"


def test_what_is_over_says_until_when_it_held() -> None:
    over = a_memory("a", valid_until=NOW + timedelta(hours=3))
    assert repr(a_ranking([over])[0]) == "<Scored 1.000  a  [until 2026-01-01] deploys run on Fridays>"
    assert repr(a_ranking([over])).endswith("  a  [until 2026-01-01] deploys run on Fridays")


@table(
    ("stopped", "exact"),
    [(StopReason.EVERY, True), (StopReason.BOUND, True), (StopReason.INDEX, False), (StopReason.CUT, False)],
)
def test_it_is_exact_unless_an_index_or_another_ranking_was_taken_at_its_word(stopped: StopReason, exact: bool) -> None:
    proof = Proof(stopped, 12, 3_400)
    assert proof.exact is exact
    assert str(proof) == f"{'exact' if exact else 'not exact'}, 12 of 3,400 scored: {STOP_DESCRIPTIONS[stopped]}"


def test_every_reason_is_said_in_words() -> None:
    assert STOP_DESCRIPTIONS.keys() == set(StopReason)
