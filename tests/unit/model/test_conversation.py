"""Extractions refuse impossible counts and costs, and usage of a model adds up to its cost."""

import math
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.conversation import (
    TOKENS_PER_PRICE,
    Extraction,
    LlmUsage,
    ModelPrices,
    RejectedExtract,
    RejectionReason,
)
from tests.tables import table


def test_prices_are_for_a_million_tokens() -> None:
    prices = ModelPrices(prompt=0.15, completion=0.6)
    assert prices.cost_of(TOKENS_PER_PRICE, TOKENS_PER_PRICE) == pytest.approx(0.15 + 0.6)
    assert prices.cost_of(0, 0) == 0.0


@table("price", [-0.01, math.nan, math.inf, "1", True, None])
def test_a_price_that_is_none_is_refused(price: Any) -> None:
    with pytest.raises(FieldError, match="field 'completion'"):
        ModelPrices(prompt=1.0, completion=price)


@table("field", ["calls", "prompt_tokens", "completion_tokens", "uncounted"])
def test_a_count_below_zero_is_refused(field: str) -> None:
    counts: dict[str, Any] = {field: -1}
    with pytest.raises(FieldError, match=f"field '{field}'"):
        Extraction(**counts)


@table("cost", [-1.0, math.nan, math.inf])
def test_a_cost_that_is_none_is_refused(cost: float) -> None:
    with pytest.raises(FieldError, match="field 'cost'"):
        Extraction(cost=cost)


def test_a_reason_is_one_of_the_list() -> None:
    wrong: Any = "I did not like it"
    with pytest.raises(FieldError, match="field 'reason'"):
        RejectedExtract("Anna prefers tea.", wrong)
    assert len({objection.value for objection in RejectionReason}) == len(RejectionReason)


ONE = LlmUsage(calls=1, prompt_tokens=1000, completion_tokens=200, uncounted=3)
OTHER = LlmUsage(calls=10, prompt_tokens=5, completion_tokens=7, uncounted=1)


def test_tallies_are_added_up_and_what_came_since_is_the_difference() -> None:
    both = ONE + OTHER
    assert both == LlmUsage(calls=11, prompt_tokens=1005, completion_tokens=207, uncounted=4)
    assert both - ONE == OTHER
    assert ONE + LlmUsage() == ONE == ONE - LlmUsage()


def test_a_cost_is_told_only_if_prices_and_all_tokens_are_known() -> None:
    prices = ModelPrices(prompt=2.0, completion=10.0)
    counted = LlmUsage(calls=2, prompt_tokens=1000, completion_tokens=200)
    assert counted.cost(prices) == (1000 * 2.0 + 200 * 10.0) / 1_000_000
    assert LlmUsage().cost(prices) == 0.0
    assert counted.cost(None) is None
    assert ONE.cost(prices) is None
