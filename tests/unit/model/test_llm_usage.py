"""Tally: requests and tokens are added up, and cost what they cost."""

from recollect.model.extraction import Prices
from recollect.model.llm_usage import Tally

ONE = Tally(calls=1, prompt_tokens=1000, completion_tokens=200, uncounted=3)
OTHER = Tally(calls=10, prompt_tokens=5, completion_tokens=7, uncounted=1)


def test_tallies_are_added_up_and_what_came_since_is_the_difference() -> None:
    both = ONE + OTHER
    assert both == Tally(calls=11, prompt_tokens=1005, completion_tokens=207, uncounted=4)
    assert both - ONE == OTHER
    assert ONE + Tally() == ONE == ONE - Tally()


def test_a_cost_is_told_only_if_prices_and_all_tokens_are_known() -> None:
    prices = Prices(prompt=2.0, completion=10.0)
    counted = Tally(calls=2, prompt_tokens=1000, completion_tokens=200)
    assert counted.cost(prices) == (1000 * 2.0 + 200 * 10.0) / 1_000_000
    assert Tally().cost(prices) == 0.0
    assert counted.cost(None) is None
    assert ONE.cost(prices) is None
