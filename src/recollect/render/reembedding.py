"""A re-embedding, told: as JSON, and to people."""

from typing import Any

from recollect.model.encoder import Encoder
from recollect.model.format import counted
from recollect.model.reembedding import Reembedded


def fields(done: Reembedded) -> dict[str, Any]:
    """Its JSON."""
    return {
        "embedder": _encoder(done.encoder),
        "former": None if done.former is None else _encoder(done.former),
        "changed": done.changed,
        "embedded": done.embedded,
        "removed": done.removed,
    }


def sentence(done: Reembedded) -> str:
    """What became of the store, in a sentence."""
    embedded, removed = f"{done.embedded} embedded", f"{counted(done.removed, 'former vector')} removed"
    if done.changed:
        return f"the vectors are of {done.encoder} now: {embedded}, {removed}"
    late = [f"{embedded} that lacked one"] * bool(done.embedded) + [removed] * bool(done.removed)
    already = f"the vectors are of {done.encoder} already"
    return f"{already}: {', '.join(late)}" if late else already


def _encoder(encoder: Encoder) -> dict[str, Any]:
    return {"name": encoder.name, "dimensions": encoder.dimensions}
