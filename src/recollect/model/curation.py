"""Curation: what an operator did to several memories at once, or is about to do."""

from dataclasses import dataclass

from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """All that came to a scope from a source, directly or by what was made of it, and is not forgotten yet.

    Without a `run` it is a preview. With one they were forgotten in that run, and `undo` brings them back.
    """

    scope: Scope
    source: str
    memories: tuple[Memory, ...]
    run: int | None = None

    def __repr__(self) -> str:
        memories = format_count(len(self.memories), "memory", "memories")
        state = "preview" if self.run is None else f"run {self.run}"
        return f"<Purge of {memories} of {self.scope} from {make_printable(self.source)}, {state}>"

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        """Which memories they are."""
        return tuple(one.id for one in self.memories)

    @property
    def versions(self) -> dict[MemoryId, int | None]:
        """Which memories they are, each with the commit of the version that was looked at."""
        return {one.id: one.commit for one in self.memories}


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """The memories that stand again as they did before a run was made; `run` is that of the undoing itself."""

    scope: Scope
    undone: int
    memories: tuple[Memory, ...]
    run: int

    def __repr__(self) -> str:
        memories = format_count(len(self.memories), "memory", "memories")
        return f"<Undone run {self.undone} of {self.scope}, {memories}, run {self.run}>"

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        """Which memories they are."""
        return tuple(one.id for one in self.memories)
