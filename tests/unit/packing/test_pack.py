"""A budget is a budget, everybody gets a fair turn, and nothing vanishes unnamed."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.context import DifferenceKind, ReplayDifference
from recollect.model.enums import Kind
from recollect.model.memory import Memory
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, OmissionReason, Omitted, Replay, pack
from recollect.packing.prompt import Prompt
from recollect.packing.tokens import Estimate, TokenCounter
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import Ranking
from recollect.testing import a_memory, a_ranking
from tests.tables import table
from tests.unit.packing.counters import Erratic, Letters, Shrinking, Swelling, Tally
from tests.unit.packing.reading import read

MARKER = "0123456789abcdef"
PROMPT = Prompt(MARKER, Letters())
FRAME = len(PROMPT.frame)

COUNTERS = st.one_of(
    st.sampled_from([Letters(), Estimate(), Swelling(), Shrinking()]), st.builds(Erratic, st.integers(0, 99))
)
PROMPTS = st.builds(Prompt, st.just(MARKER), COUNTERS)
KINDS = [Kind.PROCEDURE, Kind.FACT, Kind.EVENT]


@st.composite
def rankings(draw: st.DrawFn, most: int = 8) -> Ranking:
    sizes = draw(st.lists(st.integers(1, 200), max_size=most))
    return a_ranking(
        [
            a_memory(
                f"m{n}",
                text="x" * size,
                kind=draw(st.sampled_from(KINDS)),
                pinned=draw(st.booleans()),
                speaker=draw(st.sampled_from([None, "x", 'Ana "<&>" B'])),
            )
            for n, size in enumerate(sizes)
        ],
        profile=draw(st.sampled_from(["default", "assistant"])),
    )


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    tokens = draw(st.integers(1, 2500))
    reserves = draw(st.dictionaries(st.sampled_from(KINDS), st.integers(0, tokens // len(KINDS))))
    return Budget(
        tokens,
        reserves=reserves,
        items=draw(st.none() | st.integers(1, 5)),
        pinned_share=draw(st.sampled_from([0.0, 0.1, 0.3, 0.55, 1.0])),
    )


def cost(memory: Memory, prompt: Prompt = PROMPT) -> int:
    (scored,) = a_ranking([memory])
    return prompt.count(prompt.block(scored))


def costs(memories: Sequence[Memory]) -> int:
    return FRAME + sum(map(cost, memories))


def packed(context: Context) -> list[str]:
    return [scored.id for scored in context.packed]


SMALL, LARGE = "x" * 10, "x" * 300


def test_an_empty_ranking_is_an_empty_context() -> None:
    ranking, budget = a_ranking([]), Budget(100)
    assert pack(ranking, budget, PROMPT) == Context(
        text="",
        packed=(),
        omitted=(),
        tokens=0,
        estimated=False,
        budget=budget,
        ranking=ranking,
        marker=MARKER,
    )


def test_what_fits_to_the_last_token_is_packed() -> None:
    memories = [a_memory("a"), a_memory("b")]
    context = pack(a_ranking(memories), Budget(costs(memories)), PROMPT)
    assert packed(context) == ["a", "b"]
    assert context.tokens == costs(memories)
    assert context.omitted == ()


def test_what_misses_by_one_token_is_omitted_with_its_cost_and_the_room_it_met() -> None:
    memories = [a_memory("a"), a_memory("b")]
    ranking = a_ranking(memories)
    context = pack(ranking, Budget(costs(memories) - 1), PROMPT)
    assert packed(context) == ["a"]
    assert context.omitted == (
        Omitted(scored=ranking[1], reason=OmissionReason.BUDGET, cost=cost(memories[1]), room=cost(memories[1]) - 1),
    )
    assert context.omitted[0].short == 1


def test_a_smaller_one_further_down_gets_its_chance() -> None:
    first, large, small = a_memory("a"), a_memory("b", text=LARGE), a_memory("c", text=SMALL)
    context = pack(a_ranking([first, large, small]), Budget(costs([first, small])), PROMPT)
    assert packed(context) == ["a", "c"]
    (omitted,) = context.omitted
    assert (omitted.scored.id, omitted.short) == ("b", cost(large) - cost(small))


def test_the_tokens_are_those_of_the_rendered_text_escapes_and_fences_included() -> None:
    memory = a_memory("a", text="<&>" * 9)
    context = pack(a_ranking([memory]), Budget(10_000), PROMPT)
    assert context.tokens == len(context.text) == costs([memory])
    assert context.text == PROMPT.render(context.packed)


def test_each_memory_is_counted_once_and_then_the_whole() -> None:
    tally = Tally()
    ranking = a_ranking([a_memory(f"m{n}") for n in range(9)])
    pack(ranking, Budget(500), Prompt(MARKER, tally))
    the_frame, the_whole = 1, 1
    assert tally.calls == the_frame + len(ranking) + the_whole


def test_packed_memories_are_in_rank_order_and_the_text_in_reading_order() -> None:
    memories = [a_memory("a", kind=Kind.EVENT), a_memory("b", kind=Kind.PROCEDURE)]
    context = pack(a_ranking(memories), Budget(10_000), PROMPT)
    assert packed(context) == ["a", "b"]
    assert [block.id for block in read(context.text, MARKER)] == ["b", "a"]


def test_pinned_memories_come_first_within_their_share() -> None:
    memories = [a_memory("a", text=LARGE), a_memory("b", text=SMALL, pinned=True)]
    budget = Budget(costs(memories[:1]) + 1, pinned_share=1.0)
    assert packed(pack(a_ranking(memories), budget, PROMPT)) == ["b"]
    assert packed(pack(a_ranking(memories), Budget(budget.tokens, pinned_share=0.0), PROMPT)) == ["a"]


def test_the_pinned_share_is_exact_to_the_token() -> None:
    pinned = a_memory("b", pinned=True)
    tokens = 10 * cost(pinned)
    rival = a_memory("a", text="x" * (tokens - costs([a_memory("a", text="x")])))
    assert costs([rival]) == tokens - 1
    ranking = a_ranking([rival, pinned])
    assert packed(pack(ranking, Budget(tokens, pinned_share=0.1), PROMPT)) == ["b"]
    assert packed(pack(ranking, Budget(tokens - 1, pinned_share=0.1), PROMPT)) == ["a"]


def test_a_pinned_memory_beyond_its_share_competes_like_everyone() -> None:
    memories = [a_memory("a"), a_memory("b", pinned=True), a_memory("c", pinned=True)]
    share = cost(memories[1]) / costs(memories)
    context = pack(a_ranking(memories), Budget(costs(memories[:2]), pinned_share=share), PROMPT)
    assert packed(context) == ["a", "b"]
    assert packed(pack(a_ranking(memories), Budget(costs(memories), pinned_share=0.0), PROMPT)) == [
        "a",
        "b",
        "c",
    ]


def test_a_pinned_memory_that_exceeds_the_share_leaves_it_to_a_smaller_pinned_one() -> None:
    rival = a_memory("a", text="x" * 2000)
    large, small = a_memory("b", text=LARGE, pinned=True), a_memory("c", text=SMALL, pinned=True)
    budget = Budget(costs([rival]), pinned_share=cost(small) / costs([rival]) + 0.001)
    assert packed(pack(a_ranking([rival, large, small]), budget, PROMPT))[-1] == "c"


def test_pinned_memories_share_one_share() -> None:
    pinned = [a_memory("a", pinned=True), a_memory("b", pinned=True)]
    rival = a_memory("r", text="x" * 2000)
    ranking = a_ranking([rival, *pinned])
    tokens = costs([rival, *pinned]) - 1
    one = cost(pinned[0]) / tokens + 0.001
    assert packed(pack(ranking, Budget(tokens, pinned_share=one), PROMPT)) == ["r", "a"]
    assert packed(pack(ranking, Budget(tokens, pinned_share=2 * one), PROMPT)) == ["a", "b"]


def test_a_reserve_keeps_room_for_a_kind_that_ranks_low() -> None:
    facts = [a_memory(f"f{n}", kind=Kind.FACT) for n in range(4)]
    rule = a_memory("r", kind=Kind.PROCEDURE)
    ranking, tokens = a_ranking([*facts, rule]), costs(facts)
    assert packed(pack(ranking, Budget(tokens), PROMPT)) == ["f0", "f1", "f2", "f3"]
    reserved = Budget(tokens, reserves={Kind.PROCEDURE: cost(rule)})
    assert packed(pack(ranking, reserved, PROMPT)) == ["f0", "f1", "r"]
    too_little = Budget(tokens, reserves={Kind.PROCEDURE: cost(rule) - 1})
    assert packed(pack(ranking, too_little, PROMPT)) == ["f0", "f1", "f2", "f3"]


def test_a_reserve_is_filled_best_first_and_passes_over_what_does_not_fit() -> None:
    facts = [a_memory(f"f{n}", kind=Kind.FACT) for n in range(9)]
    rules = [
        a_memory("r0", kind=Kind.PROCEDURE, text=LARGE),
        a_memory("r1", kind=Kind.PROCEDURE),
        a_memory("r2", kind=Kind.PROCEDURE),
        a_memory("r3", kind=Kind.PROCEDURE),
    ]
    reserve = cost(rules[1]) + cost(rules[2])
    assert cost(rules[0]) > reserve
    context = pack(a_ranking([*facts, *rules]), Budget(costs(facts), reserves={Kind.PROCEDURE: reserve}), PROMPT)
    assert packed(context)[-2:] == ["r1", "r2"]
    assert [one.scored.id for one in context.omitted][-2:] == ["r0", "r3"]


def test_room_that_a_reserve_does_not_use_returns_to_everyone() -> None:
    facts = [a_memory(f"f{n}", kind=Kind.FACT) for n in range(4)]
    budget = Budget(costs(facts), reserves={Kind.PROCEDURE: costs(facts) // 2, Kind.FACT: cost(facts[0])})
    assert packed(pack(a_ranking(facts), budget, PROMPT)) == ["f0", "f1", "f2", "f3"]


def test_a_reserve_does_not_pack_a_pinned_memory_twice() -> None:
    rule = a_memory("r", kind=Kind.PROCEDURE, pinned=True)
    budget = Budget(10_000, reserves={Kind.PROCEDURE: 5_000})
    assert packed(pack(a_ranking([rule]), budget, PROMPT)) == ["r"]


def test_a_limit_of_items_is_the_reason_for_what_comes_after() -> None:
    memories = [a_memory(name) for name in "abc"]
    ranking, budget = a_ranking(memories), Budget(costs(memories), items=2)
    context = pack(ranking, budget, PROMPT)
    assert packed(context) == ["a", "b"]
    assert context.omitted == (
        Omitted(scored=ranking[2], reason=OmissionReason.ITEMS, cost=cost(memories[2]), room=cost(memories[2])),
    )
    assert context.omitted[0].short == 0


def test_what_came_too_large_before_the_limit_was_reached_is_omitted_for_the_budget() -> None:
    memories = [a_memory("a", text=LARGE * 9), a_memory("b"), a_memory("c")]
    context = pack(a_ranking(memories), Budget(costs(memories[1:]), items=1), PROMPT)
    assert [(one.scored.id, one.reason) for one in context.omitted] == [
        ("a", OmissionReason.BUDGET),
        ("c", OmissionReason.ITEMS),
    ]


def test_pinned_memories_and_reserves_count_as_items() -> None:
    memories = [a_memory("a"), a_memory("b", kind=Kind.FACT), a_memory("c", pinned=True)]
    budget = Budget(100_000, items=2, reserves={Kind.FACT: 1_000})
    assert packed(pack(a_ranking(memories), budget, PROMPT)) == ["b", "c"]


@table(("items", "expected"), [(None, 20), (19, 19), (21, 20)])
def test_the_smaller_limit_of_budget_and_profile_holds(items: int | None, expected: int) -> None:
    assert builtin_profile("assistant").max_items == 20
    ranking = a_ranking([a_memory(f"m{n:02}") for n in range(30)], profile="assistant")
    assert len(pack(ranking, Budget(100_000, items=items), PROMPT).packed) == expected


@table(("counter", "estimated"), [(Letters(), False), (Estimate(), True)])
def test_a_context_says_whether_its_tokens_are_estimated(counter: TokenCounter, *, estimated: bool) -> None:
    context = pack(a_ranking([a_memory()]), Budget(1_000), Prompt(MARKER, counter))
    assert context.estimated is estimated
    assert context.tokens == counter(context.text)


def test_a_text_that_counts_more_than_its_parts_loses_the_last_taken() -> None:
    prompt = Prompt(MARKER, Swelling())
    memories = [a_memory("a", pinned=True), a_memory("b"), a_memory("c", pinned=True)]
    ranking = a_ranking(memories)
    added = prompt.count(prompt.frame) + sum(cost(memory, prompt) for memory in memories)
    counted = prompt.count(prompt.render(ranking))
    assert counted > added
    context = pack(ranking, Budget(counted - 1, pinned_share=1.0), prompt)
    assert packed(context) == ["a", "c"]
    (omitted,) = context.omitted
    assert omitted == Omitted(
        scored=ranking[1],
        reason=OmissionReason.BUDGET,
        cost=cost(memories[1], prompt),
        room=cost(memories[1], prompt) - 1,
    )
    assert omitted.short == 1


def test_a_text_that_counts_less_than_its_parts_is_packed_if_it_fits_alone() -> None:
    prompt = Prompt(MARKER, Shrinking())
    ranking = a_ranking([a_memory("a", text=LARGE), a_memory("b"), a_memory("c")])
    alone = prompt.count(prompt.render(ranking[1:2]))
    assert prompt.count(prompt.frame) + prompt.count(prompt.block(ranking[1])) > alone
    assert packed(pack(ranking, Budget(alone), prompt)) == ["b"]
    nothing = pack(ranking, Budget(alone - 1), prompt)
    assert (nothing.text, nothing.tokens, nothing.packed) == ("", 0, ())
    assert [one.reason for one in nothing.omitted] == [OmissionReason.BUDGET] * 3


@given(rankings(), budgets(), PROMPTS)
def test_a_context_never_exceeds_its_budget(ranking: Ranking, budget: Budget, prompt: Prompt) -> None:
    context = pack(ranking, budget, prompt)
    assert context.tokens <= budget.tokens
    assert context.tokens == (prompt.count(context.text) if context.packed else 0)
    assert context.text == prompt.render(context.packed)


@given(rankings(), budgets(), PROMPTS)
def test_a_context_is_not_empty_if_anything_fits(ranking: Ranking, budget: Budget, prompt: Prompt) -> None:
    fits = [scored for scored in ranking if prompt.count(prompt.render([scored])) <= budget.tokens]
    assert bool(pack(ranking, budget, prompt).packed) == bool(fits)


@given(rankings(), budgets(), PROMPTS)
def test_packed_and_omitted_together_are_the_ranking(ranking: Ranking, budget: Budget, prompt: Prompt) -> None:
    context = pack(ranking, budget, prompt)
    omitted = [one.scored for one in context.omitted]
    in_order = {scored.id: place for place, scored in enumerate(ranking)}
    for part in (context.packed, omitted):
        assert [in_order[scored.id] for scored in part] == sorted(in_order[scored.id] for scored in part)
    assert sorted([*packed(context), *(scored.id for scored in omitted)]) == sorted(in_order)


@given(rankings(), budgets(), PROMPTS)
def test_tokens_are_missing_exactly_where_the_budget_is_the_reason(
    ranking: Ranking, budget: Budget, prompt: Prompt
) -> None:
    for omitted in pack(ranking, budget, prompt).omitted:
        assert (omitted.short > 0) == (omitted.reason is OmissionReason.BUDGET)
        assert omitted.cost == prompt.count(prompt.block(omitted.scored))


@given(rankings(), budgets(), PROMPTS)
def test_no_more_items_are_packed_than_both_limits_allow(ranking: Ranking, budget: Budget, prompt: Prompt) -> None:
    limits = [limit for limit in (budget.items, ranking.scheme.profile.max_items) if limit is not None]
    assert all(len(pack(ranking, budget, prompt).packed) <= limit for limit in limits)


@given(rankings(), budgets(), PROMPTS)
def test_packing_twice_gives_the_same(ranking: Ranking, budget: Budget, prompt: Prompt) -> None:
    assert pack(ranking, budget, prompt) == pack(ranking, budget, prompt)


@given(rankings(), st.integers(1, 2500))
def test_without_pins_and_reserves_packing_is_the_ranking_in_order_skipping_what_does_not_fit(
    ranking: Ranking, tokens: int
) -> None:
    plain = a_ranking([a_memory(scored.id, text=scored.memory.text) for scored in ranking])
    room, expected = tokens - FRAME, []
    for scored in plain:
        if cost(scored.memory) <= room:
            room -= cost(scored.memory)
            expected.append(scored.id)
    assert packed(pack(plain, Budget(tokens), PROMPT)) == expected


def test_a_context_at_a_prompt_says_what_it_came_to_and_has_a_line_a_memory() -> None:
    ranking = replace(a_ranking([a_memory("a"), a_memory("b", text="word " * 200)]), excluded={"gate:relevance": 3})
    context = pack(ranking, Budget(FRAME + 200), PROMPT)
    reasons = "left out: 1 by budget, 3 by gate:relevance"
    size = f"1 memory, {context.tokens} of {FRAME + 200} tokens, {reasons}"
    assert repr(context) == str(context) == f"<Context: {size}>\n  1. 1.000  a  deploys run on Fridays"
    kept = replace(context, id="c1", packed=(), omitted=(), estimated=True)
    assert repr(kept).startswith(f"<Context c1: 0 memories, {context.tokens} of {FRAME + 200} tokens (estimated), left")


def test_what_was_left_out_says_at_a_prompt_why_and_how_much_it_lacked() -> None:
    ranking = a_ranking([a_memory("a"), a_memory("b", text="word " * 200)])
    (long,) = pack(ranking, Budget(FRAME + 200), PROMPT).omitted
    assert repr(long) == f"<Omitted by budget, {long.short} tokens short: 0.500  b  {('word ' * 12).rstrip()}…>"
    (last,) = pack(ranking, Budget(FRAME + 2000, items=1), PROMPT).omitted
    assert repr(last).startswith("<Omitted by items: 0.500  b  word ")
    assert repr(replace(long, cost=2, room=1)).startswith("<Omitted by budget, 1 token short: ")


def test_it_is_identical_if_nothing_differs() -> None:
    context = pack(a_ranking([a_memory("a")]), Budget(2_000), Prompt("0123456789abcdef", Letters()))
    same, other = (
        Replay(context, ()),
        Replay(context, (ReplayDifference(DifferenceKind.ERASED), ReplayDifference(DifferenceKind.TEXT))),
    )
    assert (same.identical, repr(same)) == (True, "<Replay of None: identical>")
    assert (other.identical, repr(other)) == (False, "<Replay of None: 2 differences>")
