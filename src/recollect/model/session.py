"""Session: a stretch of an agent's work for one scope, from when it began until it was ended or fell silent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.model.format import format_count, shorten
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """When it began, was last active and ended, and what it came to.

    `summary` is what somebody said of it, and then it is `summarised`; of one that ended without a word it is put
    together from what was saved in it and is still there.
    """

    id: MemoryId
    scope: Scope
    started_at: datetime
    last_active_at: datetime
    ended_at: datetime | None = None
    summary: str | None = None
    summarised: bool = False
    status: Status = Status.ACTIVE

    def __repr__(self) -> str:
        state = "under way" if self.under_way else "over"
        said = "" if self.summary is None else f": {shorten(self.summary)}"
        return f"<Session {self.id} of {self.scope}, {state}{said}>"

    @property
    def under_way(self) -> bool:
        """Whether it has not ended yet."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyMemories:
    """A memory with those that came just before and just after it, all in the order of time and id."""

    memory: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeHoldings:
    """How many plain memories of its own a scope has that can be recalled now, by kind, from when to when, and how many
    sessions; `current` is the one that is under way.
    """

    memories: int
    kinds: Mapping[Kind, int] = field(hash=False)
    sessions: int
    first_at: datetime | None
    last_at: datetime | None
    current: MemoryId | None

    def __repr__(self) -> str:
        memories = format_count(self.memories, "memory", "memories")
        return f"<Holdings: {memories}, {format_count(self.sessions, 'session')}>"
