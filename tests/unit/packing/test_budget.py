"""A budget holds its own rules, and a window leaves what the numbers say."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import BudgetError
from recollect.model.enums import Kind
from recollect.packing.budget import (
    MAX_RESPONSE_TOKENS,
    MIN_RESPONSE_TOKENS,
    PINNED_SHARE,
    RESPONSE_PERCENT,
    SAFETY_PERCENT,
    Budget,
)
from tests.tables import table


def test_a_budget_keeps_nothing_for_a_kind_and_limits_no_items_unless_told() -> None:
    budget = Budget(1200)
    assert (budget.tokens, budget.reserves, budget.items, budget.pinned_share) == (1200, {}, None, 0.3)


@table("tokens", [0, -1, True, 1.5, math.nan, "1200", None])
def test_tokens_are_a_whole_number_of_at_least_one(tokens: Any) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget(tokens)
    assert str(refused.value) == f"tokens is {tokens!r}; give a whole number of at least 1"


def test_tokens_without_end_are_refused() -> None:
    assert Budget(2**63 - 1).tokens == 2**63 - 1
    with pytest.raises(BudgetError, match=r"tokens is 9223372036854775808, which is too large; .*below 2\*\*63"):
        Budget(2**63)


@table("items", [0, -1, True, 2.0])
def test_a_limit_of_items_lets_at_least_one_in(items: Any) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget(1200, items=items)
    assert str(refused.value) == f"items is {items!r}; give a whole number of at least 1"


@table("share", [-0.01, 1.01, math.nan, math.inf, True, "0.3", None])
def test_the_pinned_share_is_within_0_and_1(share: Any) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget(1200, pinned_share=share)
    assert str(refused.value) == f"pinned_share is {share!r}; give a number within 0..1"


@table("share", [0, 0.0, 0.3, 1.0, 1])
def test_a_pinned_share_may_be_none_or_all(share: float) -> None:
    assert Budget(1200, pinned_share=share).pinned_share == share


@table("room", [-1, True, 0.5])
def test_a_reserve_is_a_whole_number_and_not_negative(room: Any) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget(1200, reserves={Kind.FACT: room})
    assert str(refused.value) == f"the reserve for fact is {room!r}; give a whole number of at least 0"


def test_a_reserve_for_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(BudgetError) as refused:
        Budget(1200, reserves={"rumour": 10})  # type: ignore[dict-item]
    assert str(refused.value) == f"reserves names the kind 'rumour'; give one of {', '.join(Kind)}"


def test_reserves_may_be_named_by_the_kinds_word() -> None:
    (kind,) = Budget(1200, reserves={"fact": 10}).reserves  # type: ignore[dict-item]
    assert kind is Kind.FACT


def test_reserves_may_take_the_whole_budget_but_no_more() -> None:
    reserves = {Kind.FACT: 60, Kind.TASK: 40, Kind.EVENT: 0}
    assert Budget(100, reserves=reserves).reserves == reserves
    with pytest.raises(BudgetError) as refused:
        Budget(99, reserves=reserves)
    assert str(refused.value) == (
        "the reserves add up to 100 tokens, but the budget has 99; reserve less, or give more tokens"
    )


def test_a_budget_does_not_change_with_the_mapping_it_was_made_of() -> None:
    reserves = {Kind.FACT: 10}
    budget = Budget(1200, reserves=reserves)
    reserves[Kind.FACT] = 9999
    assert budget.reserves == {Kind.FACT: 10}


def test_equal_budgets_are_one_key() -> None:
    assert len({Budget(1200, reserves={Kind.FACT: 10}), Budget(1200, reserves={Kind.FACT: 10})}) == 1


@table(
    ("window", "response"),
    [
        (3_333, 500),  # 15 % is 499.95, rounded up
        (3_334, 501),  # and 500.1
        (1_000, 500),
        (27_306, 4096),  # 4095.9
        (27_307, 4096),  # 4096.05 is above the most
        (200_000, 4096),
    ],
)
def test_a_window_keeps_15_percent_for_the_response_from_500_to_4096(window: int, response: int) -> None:
    safety = math.ceil(window / 10)
    assert Budget.for_window(window).tokens == window - response - safety


def test_what_messages_and_tools_use_is_not_there_for_memories() -> None:
    plain = Budget.for_window(8_000)
    assert Budget.for_window(8_000, messages=1_000).tokens == plain.tokens - 1_000
    assert Budget.for_window(8_000, tools=300).tokens == plain.tokens - 300


def test_a_window_passes_on_what_a_budget_takes() -> None:
    budget = Budget.for_window(8_000, reserves={Kind.FACT: 10}, items=7, pinned_share=0.5)
    assert budget == Budget(8_000 - 1_200 - 800, reserves={Kind.FACT: 10}, items=7, pinned_share=0.5)
    assert Budget.for_window(8_000).pinned_share == PINNED_SHARE


def test_a_window_that_leaves_nothing_is_refused_with_all_the_numbers() -> None:
    assert Budget.for_window(8_000, messages=5_000, tools=999).tokens == 1
    with pytest.raises(BudgetError) as refused:
        Budget.for_window(8_000, messages=5_000, tools=1_000)
    assert str(refused.value) == (
        "a window of 8000 tokens leaves 0 for memories: 1200 are kept for the response, 800 for safety, "
        "5000 are taken by messages and 1000 by tools; give a larger window, or send less beside the memories"
    )


@table(
    ("given", "message"),
    [
        ({"window": 0}, "window is 0; give a whole number of at least 1"),
        ({"window": 8e3}, "window is 8000.0; give a whole number of at least 1"),
        ({"window": 8_000, "messages": -1}, "messages is -1; give a whole number of at least 0"),
        ({"window": 8_000, "tools": -1}, "tools is -1; give a whole number of at least 0"),
    ],
)
def test_a_window_is_described_in_whole_numbers(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BudgetError) as refused:
        Budget.for_window(**given)
    assert str(refused.value) == message


@given(st.integers(1, 10_000_000))
def test_a_window_never_gives_away_what_it_must_keep(window: int) -> None:
    try:
        tokens = Budget.for_window(window).tokens
    except BudgetError:
        tokens = 0
    kept = window - tokens
    response = min(max(RESPONSE_PERCENT * window / 100, MIN_RESPONSE_TOKENS), MAX_RESPONSE_TOKENS)
    assert kept >= min(response + SAFETY_PERCENT * window / 100, window)


@given(st.integers(1, 10_000), st.integers(1, 1000).map(lambda permille: permille / 1000))
def test_the_budget_for_a_pinned_cost_is_the_smallest_whose_share_holds_it(cost: int, share: float) -> None:
    permille = round(share * 1000)
    tokens = Budget(1, pinned_share=share).tokens_for_pinned(cost)
    assert permille * tokens // 1000 >= cost > permille * (tokens - 1) // 1000


def test_no_budget_holds_a_pinned_cost_in_a_share_of_nothing() -> None:
    assert Budget(1, pinned_share=0.0).tokens_for_pinned(1) == math.inf
    assert Budget(1, pinned_share=0.0).tokens_for_pinned(0) == 0


@table("reserves", [0, None, [("fact", 10)]])
def test_reserves_that_are_no_mapping_are_refused(reserves: Any) -> None:
    with pytest.raises(BudgetError, match="give a mapping of kinds to tokens"):
        Budget(100, reserves=reserves)
