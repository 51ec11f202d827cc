"""Replay: a recorded context, made again from what was known when it was made."""

from dataclasses import dataclass

from recollect.model.format import counted
from recollect.model.replay_diff import Difference
from recollect.packing.pack import Context


@dataclass(frozen=True, slots=True)
class Replay:
    """A context that was made again, and how it differs from what was recorded; it is identical if nothing does."""

    context: Context
    differences: tuple[Difference, ...]

    def __repr__(self) -> str:
        told = "identical" if self.identical else counted(len(self.differences), "difference")
        return f"<Replay of {self.context.id}: {told}>"

    @property
    def identical(self) -> bool:
        """Whether ids, scores, order, costs, counts and the rendered text are what they were, to the last bit."""
        return not self.differences
