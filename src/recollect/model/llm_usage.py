"""Tally: what was asked of a model, in requests and tokens, and what that costs."""

from dataclasses import dataclass

from recollect.model.extraction import ModelPrices


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUsage:
    """How many requests were answered, and the tokens of those whose answers told them believably."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0

    def __add__(self, other: "LlmUsage") -> "LlmUsage":
        return LlmUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            uncounted=self.uncounted + other.uncounted,
        )

    def __sub__(self, earlier: "LlmUsage") -> "LlmUsage":
        """What came since an earlier one."""
        return LlmUsage(
            calls=self.calls - earlier.calls,
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            uncounted=self.uncounted - earlier.uncounted,
        )

    def cost(self, prices: ModelPrices | None) -> float | None:
        """What the tokens cost; not told without prices, or if some of the tokens are not known."""
        return None if prices is None or self.uncounted else prices.cost_of(self.prompt_tokens, self.completion_tokens)
