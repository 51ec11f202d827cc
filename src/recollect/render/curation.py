"""What an operator did to memories, told: as JSON, and to people."""

from collections.abc import Iterable
from typing import Any

from recollect.model.curation import Purge, Undone
from recollect.model.format import counted, printable
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.render import json_values, text


def purge_fields(purge: Purge) -> dict[str, Any]:
    """The JSON of what came from a source; without a run nothing was done to it."""
    return {"source": purge.source, **_run(purge.scope, purge.run), "memories": _memories(purge.memories)}


def undone_fields(undone: Undone) -> dict[str, Any]:
    """The JSON of what stands again as it did."""
    return {"undone": undone.undone, **_run(undone.scope, undone.run), "memories": _memories(undone.memories)}


def previewed(purge: Purge) -> str:
    """How much came from a source."""
    return f"{_count(purge.memories)} of {purge.scope} came from {printable(purge.source)}"


def purged(purge: Purge) -> str:
    """What became of what came from a source."""
    return f"{previewed(purge)} and {'is' if len(purge.memories) == 1 else 'are'} forgotten now"


def merged(sources: Iterable[Memory]) -> str:
    """What a memory was made of, and where that stands now."""
    return f"made of {', '.join(text.quoted(one) for one in sources)}; they are recalled through it alone"


def undone(undone: Undone) -> str:
    """What was undone."""
    stand = "stands" if len(undone.memories) == 1 else "stand"
    return f"{_count(undone.memories)} {stand} as before run {undone.undone}"


def _run(scope: Scope, run: int | None) -> dict[str, Any]:
    return {"scope": str(scope), "run": run}


def _count(memories: tuple[Memory, ...]) -> str:
    return counted(len(memories), "memory", "memories")


def _memories(memories: Iterable[Memory]) -> list[dict[str, Any]]:
    return [json_values.memory(one) for one in memories]
