"""What an operator did to memories, told: as JSON, and to people."""

from collections.abc import Iterable
from typing import Any

from recollect.model.curation import Purge, UndoReport
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.render import json_values, text


def purge_fields(purge: Purge) -> dict[str, Any]:
    """The JSON of what came from a source; without a run nothing was done to it."""
    return {"source": purge.source, **_run_reference(purge.scope, purge.run), "memories": _memory_list(purge.memories)}


def undo_fields(undone: UndoReport) -> dict[str, Any]:
    """The JSON of what stands again as it did."""
    return {
        "undone": undone.undone,
        **_run_reference(undone.scope, undone.run),
        "memories": _memory_list(undone.memories),
    }


def describe_purge_preview(purge: Purge) -> str:
    """How much came from a source."""
    return f"{_count_memories(purge.memories)} of {purge.scope} came from {make_printable(purge.source)}"


def describe_purge(purge: Purge) -> str:
    """What became of what came from a source."""
    return f"{describe_purge_preview(purge)} and {'is' if len(purge.memories) == 1 else 'are'} forgotten now"


def describe_merge(sources: Iterable[Memory]) -> str:
    """What a memory was made of, and where that stands now."""
    return f"made of {', '.join(text.quote_memory(one) for one in sources)}; they are recalled through it alone"


def describe_undo(undone: UndoReport) -> str:
    """What was undone."""
    stand = "stands" if len(undone.memories) == 1 else "stand"
    return f"{_count_memories(undone.memories)} {stand} as before run {undone.undone}"


def _run_reference(scope: Scope, run: int | None) -> dict[str, Any]:
    return {"scope": str(scope), "run": run}


def _count_memories(memories: tuple[Memory, ...]) -> str:
    return format_count(len(memories), "memory", "memories")


def _memory_list(memories: Iterable[Memory]) -> list[dict[str, Any]]:
    return [json_values.memory_fields(one) for one in memories]
