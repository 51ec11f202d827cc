"""Extraction: what it may say of itself."""

import math
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.conversation import TOKENS_PER_PRICE, Extraction, ModelPrices, RejectedExtract, RejectionReason
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
