"""A re-embedding, told: as JSON, and to people."""

from typing import Any

from recollect.model.encoder import Encoder
from recollect.model.format import format_count
from recollect.model.reembedding import ReembeddingReport


def re_embed_fields(done: ReembeddingReport) -> dict[str, Any]:
    """Its JSON."""
    return {
        "embedder": _encoder_fields(done.encoder),
        "former": None if done.former is None else _encoder_fields(done.former),
        "changed": done.changed,
        "embedded": done.embedded,
        "removed": done.removed,
    }


def describe_re_embed(done: ReembeddingReport) -> str:
    """What became of the store, in a sentence."""
    embedded, removed = f"{done.embedded} embedded", f"{format_count(done.removed, 'former vector')} removed"
    if done.changed:
        return f"the vectors are of {done.encoder} now: {embedded}, {removed}"
    late = [f"{embedded} that lacked one"] * bool(done.embedded) + [removed] * bool(done.removed)
    already = f"the vectors are of {done.encoder} already"
    return f"{already}: {', '.join(late)}" if late else already


def _encoder_fields(encoder: Encoder) -> dict[str, Any]:
    return {"name": encoder.name, "dimensions": encoder.dimensions}
