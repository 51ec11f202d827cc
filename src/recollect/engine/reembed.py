"""Re-embed: another model's vectors take the place of the present one's, while others go on reading and writing."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recollect.engine.world import embed
from recollect.model.encoder import Encoder
from recollect.model.reembedding import Content, Progress, Reembedded, Stage
from recollect.ports import Embedder, Reembedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 128
"""How many contents are embedded at a time, and kept in one transaction: as much as is lost by a kill."""

PATIENT = 5
"""How often it is tried to finish between the writes of others; then they wait while a last batch is embedded."""

STEP = 512
"""How many vectors of the former model are removed in one transaction."""

Report = Callable[[Progress], object]


def re_embed(store: Reembedding, embedder: Embedder, report: Report) -> Reembedded:
    """Give all that memories say or said a vector of this embedder, make its model the store's, remove the former's.

    It may be stopped at any moment: what is embedded stays, and the next run goes on from there. With the model that is
    the store's already, only what lacks a vector is embedded.
    """
    encoder = Encoder(embedder.name, embedder.dimensions)
    embed(embedder, [encoder.name], "memory")  # one that fails is to fail before anything is begun

    former = store.begin(encoder)
    embedded = _fill(store, embedder, report)
    removed = _remove(store, report)
    return Reembedded(encoder=encoder, former=former, embedded=embedded, removed=removed)


def _fill(store: Reembedding, embedder: Embedder, report: Report) -> int:
    """Embed what lacks a vector, and what is written meanwhile, until nothing does; says how much that was."""

    def vectors(contents: Sequence[Content]) -> "NDArray[np.float32]":
        return embed(embedder, [content.searched_text for content in contents], "memory")

    embedded, attempts = 0, 0
    last: int | None = None
    while last is None:
        batch = store.lacking(BATCH)
        if batch.contents:
            embedded += store.fill(batch.contents, vectors(batch.contents))
            report(Progress(Stage.EMBEDDING, batch.contents[-1].number, batch.last))
        if len(batch.contents) < BATCH:
            last = store.finish(vectors, BATCH if attempts >= PATIENT else 0)
            attempts += 1
    return embedded + last


def _remove(store: Reembedding, report: Report) -> int:
    """Remove the vectors of former models; says how many there were."""
    removed = 0
    done = False
    while not done:
        step = store.remove(STEP)
        removed, done = removed + step.count, step.done
        report(Progress(Stage.REMOVING, step.reached, step.last))
    return removed
