"""Novelty: find events so similar to known memories that they are stored without being indexed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.proposal import Proposal
from recollect.engine.dependencies import Dependencies
from recollect.model.enums import RECALL_LEVELS, Kind
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.eligibility import View
from recollect.retrieval.query import QueryAnalysis

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector


SimilarMemory = tuple[MemoryId, float]
"""The id of a memory, and its similarity."""


def find_known_events(deps: Dependencies, proposals: Sequence[Proposal], now: datetime) -> list[Proposal]:
    """Return the proposals; `similar_event` names the memory that an event is too similar to.

    That is a stored memory or an earlier event of the batch. If a lookup fails, the event counts as new, so that
    nothing is lost.
    """
    new_events: list[tuple[Memory, Vector]] = []
    compared = list[Proposal]()
    for proposal in proposals:
        if not deps.policy.novelty.enabled or proposal.memory.kind is not Kind.EVENT or proposal.vector is None:
            compared.append(proposal)
            continue
        try:
            in_store = _find_nearest_stored(deps, proposal.memory.scope, proposal.vector, now)
        except Exception:  # on any error, keep the event
            in_store = None
        in_batch = [(memory.id, vector) for memory, vector in new_events if memory.scope == proposal.memory.scope]
        matches = [match for match in (in_store, _find_nearest(in_batch, proposal.vector)) if match is not None]
        nearest = max(matches, key=lambda match: match[1], default=None)
        if nearest is not None and nearest[1] > deps.policy.novelty.threshold:
            compared.append(replace(proposal, similar_event=nearest, similar_in_batch=nearest is not in_store))
        else:
            new_events.append((proposal.memory, proposal.vector))
            compared.append(proposal)
    return compared


def _find_nearest_stored(deps: Dependencies, scope: Scope, vector: "Vector", now: datetime) -> SimilarMemory | None:
    """Return the scope's memory with the most similar vector."""
    import numpy as np

    from recollect.retrieval.evidence import retrieve

    view = View(scope=scope, at=now, present=True, levels=RECALL_LEVELS, encoder=deps.encoder)
    evidence = retrieve(deps.store.snapshot(view), QueryAnalysis(), vector[None, :])
    similarities = evidence.table.numbers.get("similarity")  # None if there is nothing to compare with
    eligible = np.empty(0) if similarities is None else similarities[evidence.rows]
    if np.isnan(eligible).all():
        return None
    row = int(evidence.rows[int(np.nanargmax(eligible))])
    (candidate,) = evidence.candidates([row])
    return None if candidate.similarity is None else (MemoryId(candidate.id), candidate.similarity)


def _find_nearest(others: "Sequence[tuple[MemoryId, Vector]]", vector: "Vector") -> SimilarMemory | None:
    """Return the pair with the most similar vector."""
    from recollect.retrieval.vectors import nearest_cosines

    pairs = [(id, float(nearest_cosines(other[None, :], vector[None, :])[0])) for id, other in others]
    return max(pairs, key=lambda pair: pair[1], default=None)
