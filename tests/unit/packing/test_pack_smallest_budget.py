"""The smallest budget that packs a memory, held against trying every budget there is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import NotFound
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.pack import pack, smallest_budget
from recollect.packing.prompt import Prompt
from recollect.packing.tokens import TokenCounter
from recollect.ranking.result import Ranking
from recollect.testing import a_memory, a_ranking
from tests.unit.packing.counters import Erratic, Letters, Shrinking, Swelling, Tally

MARKER = "0123456789abcdef"
PROMPT = Prompt(MARKER, Letters())
FRAME = len(PROMPT.frame)
COUNTERS = st.one_of(st.sampled_from([Letters(), Swelling(), Shrinking()]), st.builds(Erratic, st.integers(0, 99)))
KINDS = [Kind.PROCEDURE, Kind.FACT]
ENOUGH = 2_600
"""More than twice what all memories of any ranking here cost, for the pinned share of a half."""


def fewest(ranking: Ranking, budget: Budget, prompt: Prompt, id: MemoryId) -> int | None:
    """The smallest budget, which must be known to be the smallest."""
    found = smallest_budget(ranking, budget, prompt, id)
    assert found is None or found.smallest
    return None if found is None else found.tokens


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    sizes = draw(st.lists(st.integers(1, 100), min_size=1, max_size=5))
    return a_ranking(
        [
            a_memory(f"m{n}", text="x" * size, kind=draw(st.sampled_from(KINDS)), pinned=draw(st.booleans()))
            for n, size in enumerate(sizes)
        ]
    )


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    tokens = draw(st.integers(1, 800))
    return Budget(
        tokens,
        reserves=draw(st.dictionaries(st.sampled_from(KINDS), st.integers(0, tokens // len(KINDS)))),
        items=draw(st.none() | st.integers(1, 3)),
        pinned_share=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )


def packs(ranking: Ranking, budget: Budget, prompt: Prompt, id: MemoryId) -> bool:
    return id in [scored.id for scored in pack(ranking, budget, prompt).packed]


def test_what_is_packed_needs_no_more_than_the_given() -> None:
    ranking, budget = a_ranking([a_memory("a")]), Budget(10_000)
    assert fewest(ranking, budget, PROMPT, MemoryId("a")) == 10_000


def test_the_smallest_budget_is_exact_to_the_token() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b"), a_memory("c")])
    needed = len(PROMPT.render(ranking))
    assert fewest(ranking, Budget(1), PROMPT, MemoryId("c")) == needed
    assert packs(ranking, Budget(needed), PROMPT, MemoryId("c"))
    assert not packs(ranking, Budget(needed - 1), PROMPT, MemoryId("c"))


def test_more_room_may_let_a_larger_one_in_that_keeps_this_one_out() -> None:
    large, small = a_memory("a", text="x" * 300), a_memory("b")
    ranking = a_ranking([large, small])
    alone, first = len(PROMPT.render(ranking[1:])), len(PROMPT.render(ranking[:1]))
    assert fewest(ranking, Budget(1), PROMPT, MemoryId("b")) == alone
    assert fewest(ranking, Budget(first), PROMPT, MemoryId("b")) == len(PROMPT.render(ranking))


def test_no_budget_helps_against_a_limit_of_items() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b")])
    assert fewest(ranking, Budget(1_000, items=1), PROMPT, MemoryId("b")) is None


def test_a_limit_of_items_may_be_met_by_a_larger_pinned_share() -> None:
    pinned = a_memory("b", pinned=True)
    ranking = a_ranking([a_memory("a"), pinned])
    block = len(PROMPT.block(ranking[1]))
    budget = Budget(len(PROMPT.render(ranking)), items=1, pinned_share=0.1)
    assert fewest(ranking, budget, PROMPT, MemoryId("b")) == 10 * block


def test_a_pinned_memory_may_come_in_before_those_that_rank_above_it() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b"), a_memory("c", pinned=True)])
    budget = Budget(len(PROMPT.render(ranking[:1])), pinned_share=0.5)
    assert fewest(ranking, budget, PROMPT, MemoryId("c")) == 2 * len(PROMPT.block(ranking[2]))


def test_a_memory_with_a_reserve_may_come_in_before_those_that_rank_above_it() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b"), a_memory("c", kind=Kind.FACT)])
    budget = Budget(len(PROMPT.render(ranking[:1])), reserves={Kind.FACT: 200})
    assert fewest(ranking, budget, PROMPT, MemoryId("c")) == budget.tokens


def test_a_pinned_memory_that_is_in_already_leaves_a_larger_one_to_be_passed_over() -> None:
    large, pinned, small = a_memory("a", text="x" * 100), a_memory("b", pinned=True), a_memory("c")
    ranking = a_ranking([large, pinned, small])
    first, both = len(PROMPT.render(ranking[:1])), len(PROMPT.render(ranking[1:]))
    assert first < both
    budget = Budget(first, pinned_share=0.5)
    assert fewest(ranking, budget, PROMPT, MemoryId("c")) == both


def test_what_fits_only_as_a_whole_needs_what_it_counts_alone() -> None:
    prompt = Prompt(MARKER, Shrinking())
    ranking = a_ranking([a_memory("a", text="x" * 300), a_memory("b")])
    alone = prompt.count(prompt.render(ranking[1:]))
    assert prompt.count(prompt.frame) + prompt.count(prompt.block(ranking[1])) > alone
    assert fewest(ranking, Budget(1), prompt, MemoryId("b")) == alone
    assert fewest(ranking, Budget(alone), prompt, MemoryId("b")) == alone
    only = a_ranking([a_memory("b")])
    assert fewest(only, Budget(alone), prompt, MemoryId("b")) == alone


def test_what_counts_more_than_its_parts_needs_what_it_counts() -> None:
    prompt = Prompt(MARKER, Swelling())
    ranking = a_ranking([a_memory("a"), a_memory("b"), a_memory("c")])
    added = prompt.count(prompt.frame) + sum(prompt.count(prompt.block(scored)) for scored in ranking)
    counted = prompt.count(prompt.render(ranking))
    assert added < counted
    assert fewest(ranking, Budget(added), prompt, MemoryId("c")) == counted


def test_budgets_that_cannot_hold_what_must_be_in_before_are_not_tried() -> None:
    prompt = Prompt(MARKER, tally := Tally())
    sizes = [30] * 50 + [20, 20]
    ranking = a_ranking([a_memory(f"m{n:02}", text="x" * size) for n, size in enumerate(sizes)])
    budget = Budget(len(PROMPT.render(ranking[:1])))
    assert fewest(ranking, budget, prompt, ranking[-1].id) == len(PROMPT.render(ranking))
    the_frame, the_first_alone, the_whole = 1, 1, 1
    assert tally.calls == the_frame + len(ranking) + the_first_alone + the_whole


def test_what_comes_after_it_in_the_ranking_does_not_slow_the_search() -> None:
    prompt = Prompt(MARKER, tally := Tally())
    sizes = [200, 20, *range(19, 0, -1)]
    ranking = a_ranking([a_memory(f"m{n:02}", text="x" * size) for n, size in enumerate(sizes)])
    budget = Budget(len(PROMPT.render(ranking[:1])))
    assert fewest(ranking, budget, prompt, ranking[1].id) == len(PROMPT.render(ranking[:2]))
    the_frame, the_first_alone_twice, the_whole = 1, 2, 1
    assert tally.calls == the_frame + len(ranking) + the_first_alone_twice + the_whole


def test_a_memory_that_was_not_considered_is_not_found() -> None:
    with pytest.raises(NotFound) as refused:
        fewest(a_ranking([a_memory("a")]), Budget(100), PROMPT, MemoryId("z"))
    assert str(refused.value) == "memory 'z' is not in the ranking; give one that was ranked"


@given(rankings(), budgets(), COUNTERS, st.data())
def test_the_smallest_budget_is_what_trying_them_all_finds(
    ranking: Ranking, budget: Budget, counter: TokenCounter, data: st.DataObject
) -> None:
    prompt = Prompt(MARKER, counter)
    wanted = data.draw(st.sampled_from([scored.id for scored in ranking]))
    found = fewest(ranking, budget, prompt, wanted)
    tried = next(
        (
            tokens
            for tokens in range(budget.tokens, ENOUGH)
            if packs(ranking, replace(budget, tokens=tokens), prompt, wanted)
        ),
        None,
    )
    assert found == tried


def test_where_the_smallest_would_take_too_long_a_budget_that_is_enough_is_told_as_such() -> None:
    texts = ["x" * 20_000, *("y" * (1 + n * 7 % 300) for n in range(400))]
    ranking = a_ranking([a_memory(f"m{n}", text=text) for n, text in enumerate(texts)])
    last = ranking[len(ranking) - 1].id
    found = smallest_budget(ranking, Budget(2_000), PROMPT, last)
    assert found is not None
    assert not found.smallest
    assert last in [one.id for one in pack(ranking, Budget(found.tokens), PROMPT).packed]
    limited = Budget(2_000, items=1, reserves={Kind.FACT: 1})
    assert smallest_budget(ranking, limited, PROMPT, last) is None


def test_a_pinned_memory_that_waits_for_its_share_is_told_a_budget_however_large() -> None:
    memories = [a_memory(f"m{n}", text="x" * (1_000 - n)) for n in range(400)]
    ranking = a_ranking([*memories, a_memory("pin", text="y" * 6_000, pinned=True)])
    found = smallest_budget(ranking, Budget(3_000, items=5, pinned_share=0.005), PROMPT, MemoryId("pin"))
    assert found is not None
    enough = Budget(found.tokens, items=5, pinned_share=0.005)
    assert "pin" in [one.id for one in pack(ranking, enough, PROMPT).packed]


def test_a_share_of_nothing_is_no_share_to_wait_for() -> None:
    memories = [a_memory(f"m{n}", text="x" * (1_000 - n)) for n in range(400)]
    ranking = a_ranking([*memories, a_memory("pin", text="y" * 6_000, pinned=True)])
    found = smallest_budget(ranking, Budget(3_000, pinned_share=0.0), PROMPT, MemoryId("pin"))
    assert found is not None
