"""The token budget of a context."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from recollect.errors import BudgetError, show
from recollect.model.enums import Kind
from recollect.model.validation import MAX_LIMIT

PINNED_SHARE = 0.3
"""The share of the tokens that pinned memories may take before the ranking is packed."""

RESPONSE_PERCENT = 15
"""The percentage of a model's window that is kept for its answer."""

MIN_RESPONSE_TOKENS = 500
MAX_RESPONSE_TOKENS = 4096
SAFETY_PERCENT = 10
"""The percentage of a model's window that is kept because token counts differ by tokenizer."""

NO_RESERVES: Mapping[Kind, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens for the whole rendered context, some of them reserved.

    `reserves` keeps room for a kind; the unused part is free for all memories. `items` limits how many memories are
    packed. `pinned_share` is the share of the tokens that pinned memories may take before the ranking is packed.
    """

    tokens: int = field(kw_only=False)
    reserves: Mapping[Kind, int] = field(default_factory=dict[Kind, int], hash=False)
    items: int | None = None
    pinned_share: float = PINNED_SHARE

    def __post_init__(self) -> None:
        _require_integer("tokens", self.tokens, least=1)
        if self.items is not None:
            _require_integer("items", self.items, least=1)
        _require_share("pinned_share", self.pinned_share)
        object.__setattr__(self, "reserves", self._checked_reserves())

    @classmethod
    def for_window(
        cls,
        window: int,
        *,
        messages: int = 0,
        tools: int = 0,
        reserves: Mapping[Kind, int] = NO_RESERVES,
        items: int | None = None,
        pinned_share: float = PINNED_SHARE,
    ) -> "Budget":
        """Return the tokens a window leaves after the answer, a margin, the messages and the tools."""
        _require_integer("window", window, least=1)
        _require_integer("messages", messages, least=0)
        _require_integer("tools", tools, least=0)
        response = min(max(_percent_of(RESPONSE_PERCENT, window), MIN_RESPONSE_TOKENS), MAX_RESPONSE_TOKENS)
        safety = _percent_of(SAFETY_PERCENT, window)
        tokens = window - response - safety - messages - tools
        if tokens < 1:
            raise BudgetError(
                f"a window of {window} tokens leaves {tokens} for memories: {response} are kept for the "
                f"response, {safety} for safety, {messages} are taken by messages and {tools} by tools; "
                "give a larger window, or send less beside the memories"
            )
        return cls(tokens, reserves=reserves, items=items, pinned_share=pinned_share)

    def tokens_for_pinned(self, cost: int) -> float:
        """Return the smallest budget whose pinned share holds `cost` tokens; infinite if none does."""
        if cost <= 0:
            return 0
        share = Fraction(str(self.pinned_share))  # exact decimal: 0.3 of 10 is 3, not slightly less
        return math.ceil(cost / share) if share else math.inf

    def _checked_reserves(self) -> Mapping[Kind, int]:
        if not isinstance(self.reserves, Mapping):
            raise BudgetError(f"reserves is {show(self.reserves)}; give a mapping of kinds to tokens")
        for kind, room in self.reserves.items():
            if kind not in set(Kind):
                raise BudgetError(f"reserves names the kind {kind!r}; give one of {', '.join(Kind)}")
            _require_integer(f"the reserve for {kind}", room, least=0)
        total = sum(self.reserves.values())
        if total > self.tokens:
            raise BudgetError(
                f"the reserves add up to {total} tokens, but the budget has {self.tokens}; "
                "reserve less, or give more tokens"
            )
        return {Kind(kind): room for kind, room in self.reserves.items()}


def _require_integer(what: str, value: int, *, least: int) -> None:
    if type(value) is not int or value < least:
        raise BudgetError(f"{what} is {show(value)}; give a whole number of at least {least}")
    if value > MAX_LIMIT:
        raise BudgetError(f"{what} is {show(value)}, which is too large; give a whole number below 2**63")


def _require_share(what: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise BudgetError(f"{what} is {show(value)}; give a number within 0..1")


def _percent_of(percent: int, of: int) -> int:
    """Return the percentage, rounded up."""
    return -(-percent * of // 100)
