"""Re-embed: replace a store's vectors with those of another model, while readers and writers continue."""

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
"""How many contents are embedded and stored in one transaction; an interruption loses at most that many."""

MAX_PATIENT_ATTEMPTS = 5
"""How often to try to finish without making other writers wait."""

FIRST_LIMITED_CONTENTS = 32
"""How many contents are embedded at first while writers wait.

The number doubles with each attempt, up to a batch.
"""

MAX_WAIT_SECONDS = 2.0
"""How many seconds other writers wait before they get their turn again."""

LIMITED_THREAD_NAME = "recollect-time-limited"
"""The name of the thread that embeds while other writers wait."""

REMOVE_BATCH_VECTORS = 512
"""How many vectors of the former model one transaction removes."""

ReportProgress = Callable[[ReembeddingProgress], object]


def re_embed(store: Reembedding, embedder: Embedder, report: ReportProgress) -> ReembeddingReport:
    """Embed all contents, switch the store to this embedder's model, and remove the old vectors.

    It may be stopped at any moment: stored vectors stay, and the next run continues. If the store already has this
    model, only contents without a vector are embedded.
    """
    encoder = Encoder(embedder.name, embedder.dimensions)
    embed(embedder, [encoder.name], "memory")  # a broken embedder should fail before anything starts

    former = store.begin(encoder)
    embedded = _embed_missing(store, embedder, report)
    removed = _remove_old_vectors(store, report)
    return ReembeddingReport(encoder=encoder, former=former, embedded=embedded, removed=removed)


def _embed_missing(store: Reembedding, embedder: Embedder, report: ReportProgress) -> int:
    """Embed contents without a vector until there are none, then finish; return how many.

    It ends even under constant writes, if the contents written during one embedder call can be embedded within the
    limits for embedding while writers wait.
    """

    def embed_contents(contents: Sequence[ContentRow]) -> "NDArray[np.float32]":
        return embed(embedder, [content.embedded_text for content in contents], "memory")

    time_limited = _TimeLimitedEmbedder(embed_contents)
    embedded, attempts = 0, 0
    last: int | None = None
    while last is None:
        batch = store.lacking(BATCH_CONTENTS)
        if batch.contents:
            embedded += store.fill(batch.contents, embed_contents(batch.contents))
            report(ReembeddingProgress(ReembeddingStage.EMBEDDING, batch.contents[-1].number, batch.last))
        if len(batch.contents) < BATCH_CONTENTS:
            last = store.finish(time_limited, _limit_contents(attempts))
            embedded += sum(store.fill(*late) for late in time_limited.wait_for_late())
            attempts += 1
    return embedded + last


def _limit_contents(attempts: int) -> int:
    """Return how many contents may be embedded while writers wait, given the number of attempts so far."""
    return (
        0
        if attempts < MAX_PATIENT_ATTEMPTS
        else min(FIRST_LIMITED_CONTENTS << (attempts - MAX_PATIENT_ATTEMPTS), BATCH_CONTENTS)
    )


class _TimeLimitedEmbedder:
    """Embeds with a timeout while writers wait; late results are kept, since they may have cost money."""

    def __init__(self, embed: "Callable[[Sequence[ContentRow]], NDArray[np.float32]]") -> None:
        self._embed = embed
        self._late: list[tuple[Sequence[ContentRow], Future[NDArray[np.float32]]]] = []

    def __call__(self, contents: Sequence[ContentRow]) -> "NDArray[np.float32] | None":
        promise: Future[NDArray[np.float32]] = Future()
        threading.Thread(
            target=self._embed_in_thread, args=(promise, contents), name=LIMITED_THREAD_NAME, daemon=True
        ).start()
        wait([promise], timeout=MAX_WAIT_SECONDS)
        if promise.done():
            return promise.result()
        self._late.append((contents, promise))
        return None

    def wait_for_late(self) -> "Iterator[tuple[Sequence[ContentRow], NDArray[np.float32]]]":
        """Wait for late results and yield them; the embedder never gets two calls at once."""
        while self._late:
            contents, promise = self._late.pop()
            yield contents, promise.result()

    def _embed_in_thread(self, promise: "Future[NDArray[np.float32]]", contents: Sequence[ContentRow]) -> None:
        try:
            promise.set_result(self._embed(contents))
        except BaseException as error:  # any error is raised in the calling thread
            promise.set_exception(error)


def _remove_old_vectors(store: Reembedding, report: ReportProgress) -> int:
    """Remove the vectors of former models; return how many there were."""
    removed = 0
    done = False
    while not done:
        step = store.remove(REMOVE_BATCH_VECTORS)
        removed, done = removed + step.count, step.done
        report(ReembeddingProgress(ReembeddingStage.REMOVING, step.reached, step.last))
    return removed
