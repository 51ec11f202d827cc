"""Novelty: which events are so much like what is known that they are kept without being indexed."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.engine.admit import Proposal
from recollect.engine.dependencies import Dependencies
from recollect.model.level import RECALL_LEVELS
from recollect.model.memory import Kind, Memory, MemoryId
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector

SimilarMemory = tuple[MemoryId, float]
"""A memory, and how much something is like it."""


def find_known_events(world: Dependencies, proposals: Sequence[Proposal], now: datetime) -> None:
    """Note for each event the memory that it is too much like, be it in the store or before it among these.

    Whatever goes wrong, an event is news: nothing is lost by a check that fails.
    """
    before: list[tuple[Memory, Vector]] = []
    for one in proposals:
        if one.memory.kind is not Kind.EVENT or one.vector is None:
            continue
        try:
            stored = _find_nearest_stored(world, one.memory.scope, one.vector, now)
        except Exception:  # whatever it is, the event is kept
            stored = None
        here = [(memory.id, vector) for memory, vector in before if memory.scope == one.memory.scope]
        found = [near for near in (stored, _find_nearest(here, one.vector)) if near is not None]
        nearest = max(found, key=lambda near: near[1], default=None)
        if nearest is not None and nearest[1] > world.policy.novelty.threshold:
            one.similar_event, one.similar_in_batch = nearest, nearest is not stored
        else:
            before.append((one.memory, one.vector))


def _find_nearest_stored(world: Dependencies, scope: Scope, vector: "Vector", now: datetime) -> SimilarMemory | None:
    """The memory of the scope that is most like it."""
    import numpy as np

    from recollect.retrieval.evidence import EvidenceRequest

    probe = EvidenceRequest(
        scope=scope, at=now, present=True, levels=RECALL_LEVELS, vectors=vector[None, :], encoder=world.encoder
    )
    found = world.store.gather(probe)
    similarities = found.table.numbers.get("similarity")  # where there is nothing to compare with, there are none
    near = np.empty(0) if similarities is None else similarities[found.rows]
    if np.isnan(near).all():
        return None
    row = int(found.rows[int(np.nanargmax(near))])
    (candidate,) = found.candidates([row])
    return None if candidate.similarity is None else (MemoryId(candidate.id), candidate.similarity)


def _find_nearest(others: "Sequence[tuple[MemoryId, Vector]]", vector: "Vector") -> SimilarMemory | None:
    """The one of them that is most like it."""
    from recollect.retrieval.vectors import nearest_cosines

    found = [(id, float(nearest_cosines(other[None, :], vector[None, :])[0])) for id, other in others]
    return max(found, key=lambda near: near[1], default=None)
