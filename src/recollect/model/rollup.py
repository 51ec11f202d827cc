"""Rolled: what a rollup made of what happened in a scope."""

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.model.level import Level
from recollect.model.llm_usage import LlmUsage
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupReport:
    """How many records of each level were made, made anew, put away because what they told is gone, and found as they
    should be; and how many periods are under way, so that their records come later. `spent` is what was asked of a
    model meanwhile, and `cost` what that cost, if prices were given.
    """

    scope: Scope
    made: Mapping[Level, int]
    revised: Mapping[Level, int]
    archived: Mapping[Level, int]
    unchanged: Mapping[Level, int]
    under_way: int
    spent: LlmUsage = LlmUsage()
    cost: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could be summed up."""
        return not (self.records_written or self.under_way or any(self.unchanged.values()))

    @property
    def records_written(self) -> int:
        """How many records were written."""
        return sum(sum(one.values()) for one in (self.made, self.revised, self.archived))
