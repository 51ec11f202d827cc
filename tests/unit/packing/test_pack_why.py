"""From the gates to the last token: where a memory fell, and what would have put it in."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.packing.budget import Budget
from recollect.packing.pack import pack, why, why_packed
from recollect.packing.prompt import Prompt
from recollect.packing.tokens import Estimate
from recollect.ranking.rank import parse_candidates, rank
from recollect.ranking.why import Gated, Outranked, Ranked, Unpacked, why_ranked
from recollect.testing import NOW
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE

PROMPT = Prompt("0123456789abcdef", Estimate())
TEXTS = {"a": "deploys run on Fridays " * 10, "b": "the office is in Lisbon " * 10, "c": "x"}
SIMILARITIES = {"a": 0.9, "b": 0.8, "c": 0.05}
POOL: list[dict[str, Any]] = [
    {"id": id, "text": text, "created_at": NOW, "similarity": SIMILARITIES[id]} for id, text in TEXTS.items()
]


def test_what_does_not_fit_learns_the_budget_that_would_have_been_enough() -> None:
    ranking = rank(POOL, SAMPLE, NOW)
    tight = Budget(pack(ranking, Budget(10_000), PROMPT).tokens - 1)
    fate = why("b", POOL, SAMPLE, NOW, budget=tight, prompt=PROMPT).fate
    assert isinstance(fate, Unpacked)
    assert (fate.reason, fate.cost > fate.room) == ("budget", True)
    assert fate.budget is not None
    packed = [one.id for one in pack(ranking, Budget(fate.budget), PROMPT).packed]
    too_few = [one.id for one in pack(ranking, Budget(fate.budget - 1), PROMPT).packed]
    assert ("b" in packed, "b" in too_few) == (True, False)


def test_what_the_item_limit_kept_out_is_told_what_would_have_ranked_it_among_the_first() -> None:
    reason = why("b", POOL, SAMPLE, NOW, budget=Budget(10_000, items=1), prompt=PROMPT)
    assert isinstance(reason.fate, Unpacked)
    assert (reason.fate.reason, reason.fate.budget) == ("items", None)
    relevance = next(change for change in reason.changes if change.signal == "relevance")
    assert relevance.needed == pytest.approx(0.9)


def test_what_is_packed_or_fell_earlier_is_told_as_by_ranking_alone() -> None:
    ample: dict[str, Any] = {"budget": Budget(10_000), "prompt": PROMPT}
    assert why("a", POOL, SAMPLE, NOW, **ample).fate == Ranked(1)
    assert why("b", POOL, SAMPLE, NOW, limit=1, **ample).fate == Outranked(2, 1)
    assert why("c", POOL, SAMPLE, NOW, **ample).fate == Gated("relevance", 0.05, 0.15)
    assert why("c", POOL, SAMPLE, NOW, overrides={"gates": None}, **ample).fate == Ranked(3)
    assert why("b", POOL, SAMPLE, NOW).fate == Ranked(2)


def test_half_of_a_question_about_packing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="give both or neither"):
        why("a", POOL, SAMPLE, NOW, budget=Budget(100))


def test_a_question_that_found_nothing_is_passed_on() -> None:
    bare = [{key: value for key, value in one.items() if key != "similarity"} for one in POOL]
    ample: dict[str, Any] = {"budget": Budget(10_000), "prompt": PROMPT}
    assert why("a", bare, "search", NOW, asked=True, **ample).fate == Ranked(1)


def test_a_ranking_and_a_reason_at_hand_are_told_on_without_ranking_again() -> None:
    ranking = rank(POOL, SAMPLE, NOW)
    pool = parse_candidates(POOL)
    for items in (1, 2):
        budget = Budget(10_000, items=items)
        for id in "abc":
            reason = why_ranked(id, pool, SAMPLE, NOW)
            expected = why(id, POOL, SAMPLE, NOW, budget=budget, prompt=PROMPT)
            assert why_packed(reason, ranking, budget, PROMPT) == expected


def test_a_reason_about_another_ranking_is_refused() -> None:
    reason = why_ranked("b", parse_candidates(POOL), SAMPLE, NOW)
    with pytest.raises(InvalidInput, match="memory 'b' is ranked, but not in this ranking"):
        why_packed(reason, rank(POOL, SAMPLE, NOW, limit=1), Budget(10_000), PROMPT)


def test_a_pinned_memory_that_took_the_only_item_leaves_the_first_with_nothing_to_change() -> None:
    pool = [{**POOL[0]}, {**POOL[1], "pinned": True}]
    reason = why("a", pool, SAMPLE, NOW, budget=Budget(10_000, items=1), prompt=PROMPT)
    assert isinstance(reason.fate, Unpacked)
    assert (reason.fate.reason, reason.changes) == ("items", ())


@given(st.lists(st.tuples(*[st.floats(0.0, 1.0)] * 3), min_size=2, max_size=8), st.integers(1, 4), st.integers(0, 7))
def test_what_would_have_put_it_among_the_items_is_what_would_have_with_so_many_places(
    rows: list[tuple[float, ...]], items: int, chosen: int
) -> None:
    pool = [
        {"id": f"m{n}", "text": "x", "created_at": NOW, "similarity": s, "importance": i, "usefulness": u}
        for n, (s, i, u) in enumerate(rows)
    ]
    id = f"m{chosen % len(rows)}"
    reason = why(id, pool, SAMPLE, NOW, budget=Budget(100_000, items=items), prompt=PROMPT)
    if isinstance(reason.fate, Unpacked):
        outranked = why(id, pool, SAMPLE, NOW, limit=items)
        assert isinstance(outranked.fate, Outranked)
        assert reason.changes == outranked.changes


@table("counted", [0.25, -1, None, "3", float("nan"), True])
def test_a_counter_that_gives_no_whole_number_is_refused(counted: Any) -> None:
    @dataclass(frozen=True)
    class Odd:
        name: str = "odd"
        exact: bool = False

        def __call__(self, text: str) -> int:
            return counted  # type: ignore[no-any-return]

    with pytest.raises(InvalidInput, match=r"token counter 'odd' returned .*; return a whole number"):
        why("b", POOL, SAMPLE, NOW, budget=Budget(70), prompt=Prompt("0" * 16, Odd()))
