"""A move, told: as JSON, and to people."""

from typing import Any

from recollect.model.format import format_count
from recollect.model.move_report import MoveReport


def move_fields(moved: MoveReport) -> dict[str, Any]:
    """Its JSON."""
    return {
        "memories": moved.memories,
        "contexts": moved.contexts,
        "resumed": moved.resumed,
        "checksum": moved.checksum,
    }


def describe_move(moved: MoveReport) -> str:
    """What was moved, in a sentence."""
    what = f"{format_count(moved.memories, 'memory', 'memories')} and {format_count(moved.contexts, 'context')}"
    earlier = f", {moved.resumed} of them by an earlier run" if moved.resumed else ""
    return f"moved {what}{earlier}; both stores have the sum {moved.checksum[:16]}"
