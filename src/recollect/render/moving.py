"""A move, told: as JSON, and to people."""

from typing import Any

from recollect.model.format import counted
from recollect.model.move_report import Moved


def fields(moved: Moved) -> dict[str, Any]:
    """Its JSON."""
    return {
        "memories": moved.memories,
        "contexts": moved.contexts,
        "resumed": moved.resumed,
        "checksum": moved.checksum,
    }


def sentence(moved: Moved) -> str:
    """What was moved, in a sentence."""
    what = f"{counted(moved.memories, 'memory', 'memories')} and {counted(moved.contexts, 'context')}"
    earlier = f", {moved.resumed} of them by an earlier run" if moved.resumed else ""
    return f"moved {what}{earlier}; both stores have the sum {moved.checksum[:16]}"
