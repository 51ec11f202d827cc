"""Tally: requests and tokens are added up, and cost what they cost."""

from recollect.model.conversation import LlmUsage, ModelPrices

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
