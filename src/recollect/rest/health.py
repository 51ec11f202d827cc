"""Health: whether a server can do its work, told to whoever asks; nothing of memories is in it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the store can be reached, which model embeds, and all that does not work as it should, by name."""

    store: bool
    embedder: str | None
    degraded: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.store

    def fields(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "ready": self.ready,
            "store": "reachable" if self.store else "unreachable",
            "embedder": self.embedder,
            "degraded": list(self.degraded),
        }


LookAfter = Callable[[], Awaitable[Health]]
"""How it is now."""
