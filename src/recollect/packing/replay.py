"""Replay: a recorded context, made again from what was known when it was made."""

from dataclasses import dataclass

from recollect.model.format import format_count
from recollect.model.replay_diff import ReplayDifference
from recollect.packing.pack import Context


@dataclass(frozen=True, slots=True)
class Replay:
    """A context that was made again, and how it differs from what was recorded; it is identical if nothing does."""

    context: Context
    differences: tuple[ReplayDifference, ...]

    def __repr__(self) -> str:
        told = "identical" if self.identical else format_count(len(self.differences), "difference")
        return f"<Replay of {self.context.id}: {told}>"

    @property
    def identical(self) -> bool:
        """Whether ids, scores, order, costs, counts and the rendered text are what they were, to the last bit."""
        return not self.differences
