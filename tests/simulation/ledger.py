"""Ledger: what was told, pinned, put away and erased, as those remember it who did it."""

from dataclasses import dataclass, field
from datetime import date, datetime


@dataclass(slots=True)
class Ledger:
    """What a store must know, and what it must not."""

    events: dict[str, str] = field(default_factory=dict[str, str])
    """Every event that was told and not erased, with whose it is."""
    erased: set[str] = field(default_factory=set[str])
    """Words that are nowhere any more."""
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    """The events that have words which are to be erased, by the word."""
    pinned: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """What is pinned, and which indexes it had left before; a rebuild brings it back."""
    put_away: set[str] = field(default_factory=set[str])
    """What somebody forgot and did not restore."""
    missed: set[str] = field(default_factory=set[str])
    """What of that somebody forgot since the indexes were last rebuilt, which brings back what it stood for."""
    canaries: dict[str, date] = field(default_factory=dict[str, date])
    """The words that must be found, and on which day each was told."""
    ran: dict[tuple[str, datetime], int] = field(default_factory=dict[tuple[str, datetime], int])
    """How often each job was done for each moment at which it fell due, as schedulers say."""
    night: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What was heard of the jobs of the last night, in order: which one is running, or is done."""
    failures: list[str] = field(default_factory=list[str])
    """What went wrong with jobs."""
    reaches: date | None = None
    """The last day that was over when all was summed up."""

    @property
    def was_rebuilt(self) -> bool:
        """Whether the indexes were rebuilt that night after all was summed up: if that was killed, or another scheduler
        was at it, it may have been before.
        """
        rebuilt, began, summed = ("rebuild-index", "done"), ("rebuild-index", "running"), ("rollup", "done")
        if rebuilt not in self.night:
            return False
        return summed not in self.night or self.night.index(summed) < self.night.index(began)

    def rebuild(self) -> None:
        """The indexes have what they should."""
        self.pinned = dict.fromkeys(self.pinned, frozenset())
        self.missed = set()
