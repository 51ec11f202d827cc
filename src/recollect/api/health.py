"""Health: whether a server can do its work, told to whoever asks; nothing of memories is in it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the store can be reached, whether anybody can be let in, which model embeds, and what is degraded."""

    store: bool
    accepts_callers: bool = True
    embedder: str | None
    degraded: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.store and self.accepts_callers

    def fields(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "ready": self.ready,
            "store": "reachable" if self.store else "unreachable",
            "embedder": self.embedder,
            "degraded": list(self.degraded),
        }


HealthCheck = Callable[[], Awaitable[Health]]
"""How it is now."""
