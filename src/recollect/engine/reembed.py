"""Re-embed: another model's vectors take the place of the present one's, while others go on reading and writing."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from recollect.engine.dependencies import embed
from recollect.model.encoder import ContentRow, Encoder, ReembeddingProgress, ReembeddingReport, ReembeddingStage
from recollect.protocols import Embedder, Reembedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_CONTENTS = 128
"""How many contents are embedded at a time, and kept in one transaction: as much as is lost by a kill."""

MAX_PATIENT_ATTEMPTS = 5
"""How often it is tried to finish between the writes of others; then they wait while the last few are embedded."""

FIRST_HURRIED_CONTENTS = 32
"""How many are embedded while others wait; each time that is not enough it is twice as many, up to a batch."""

HURRY_SECONDS = 2.0
"""For how many seconds others wait; then they have their turn, and it is tried again."""

HURRIED_THREAD_NAME = "recollect-hurried"
"""What a thread is called that embeds while others wait."""

REMOVE_BATCH_VECTORS = 512
"""How many vectors of the former model are removed in one transaction."""

ReportProgress = Callable[[ReembeddingProgress], object]


def re_embed(store: Reembedding, embedder: Embedder, report: ReportProgress) -> ReembeddingReport:
    """Give all that memories say or said a vector of this embedder, make its model the store's, remove the former's.

    It may be stopped at any moment: what is embedded stays, and the next run goes on from there. With the model that is
    the store's already, only what lacks a vector is embedded.
    """
    encoder = Encoder(embedder.name, embedder.dimensions)
    embed(embedder, [encoder.name], "memory")  # one that fails is to fail before anything is begun

    former = store.begin(encoder)
    embedded = _embed_missing(store, embedder, report)
    removed = _remove_old_vectors(store, report)
    return ReembeddingReport(encoder=encoder, former=former, embedded=embedded, removed=removed)


def _embed_missing(store: Reembedding, embedder: Embedder, report: ReportProgress) -> int:
    """Embed what lacks a vector, and what is written meanwhile, until nothing does; says how much that was.

    It ends, however much is written, if what is written while the embedder is asked once can be embedded in a hurry.
    """

    def vectors(contents: Sequence[ContentRow]) -> "NDArray[np.float32]":
        return embed(embedder, [content.embedded_text for content in contents], "memory")

    hurried = _HurriedEmbedder(vectors)
    embedded, attempts = 0, 0
    last: int | None = None
    while last is None:
        batch = store.lacking(BATCH_CONTENTS)
        if batch.contents:
            embedded += store.fill(batch.contents, vectors(batch.contents))
            report(ReembeddingProgress(ReembeddingStage.EMBEDDING, batch.contents[-1].number, batch.last))
        if len(batch.contents) < BATCH_CONTENTS:
            last = store.finish(hurried, _hurried_limit(attempts))
            embedded += sum(store.fill(*late) for late in hurried.wait_for_late())
            attempts += 1
    return embedded + last


def _hurried_limit(attempts: int) -> int:
    """How many may be embedded while others wait, after so many attempts in vain."""
    return (
        0
        if attempts < MAX_PATIENT_ATTEMPTS
        else min(FIRST_HURRIED_CONTENTS << (attempts - MAX_PATIENT_ATTEMPTS), BATCH_CONTENTS)
    )


class _HurriedEmbedder:
    """Embeds while others wait, and gives up in time; what comes too late is kept, since it was paid for."""

    def __init__(self, embed: "Callable[[Sequence[ContentRow]], NDArray[np.float32]]") -> None:
        self._embed = embed
        self._late: list[tuple[Sequence[ContentRow], Future[NDArray[np.float32]]]] = []

    def __call__(self, contents: Sequence[ContentRow]) -> "NDArray[np.float32] | None":
        promise: Future[NDArray[np.float32]] = Future()
        threading.Thread(
            target=self._embed_in_thread, args=(promise, contents), name=HURRIED_THREAD_NAME, daemon=True
        ).start()
        wait([promise], timeout=HURRY_SECONDS)
        if promise.done():
            return promise.result()
        self._late.append((contents, promise))
        return None

    def wait_for_late(self) -> "Iterator[tuple[Sequence[ContentRow], NDArray[np.float32]]]":
        """What was not embedded in time, waited for; the embedder is never asked twice at once."""
        while self._late:
            contents, promise = self._late.pop()
            yield contents, promise.result()

    def _embed_in_thread(self, promise: "Future[NDArray[np.float32]]", contents: Sequence[ContentRow]) -> None:
        try:
            promise.set_result(self._embed(contents))
        except BaseException as error:  # whatever it is, it belongs to who asked
            promise.set_exception(error)


def _remove_old_vectors(store: Reembedding, report: ReportProgress) -> int:
    """Remove the vectors of former models; says how many there were."""
    removed = 0
    done = False
    while not done:
        step = store.remove(REMOVE_BATCH_VECTORS)
        removed, done = removed + step.count, step.done
        report(ReembeddingProgress(ReembeddingStage.REMOVING, step.reached, step.last))
    return removed
