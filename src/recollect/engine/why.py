"""Inspect: why this one, why not that one."""

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_visible, require_memory_id
from recollect.engine.recall import RecallRequest, find_evidence, rank_evidence, select_rows, with_pinned
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.memory import Memory
from recollect.packing.budget import Budget
from recollect.packing.prompt import Prompt
from recollect.packing.why import why_packed
from recollect.ranking import scorer
from recollect.ranking.why import Barred, Ranked, Why
from recollect.retrieval.eligibility import Barrier, find_barrier, version_at

if TYPE_CHECKING:
    from recollect.retrieval.evidence import RecallEvidence


def explain_why(world: Dependencies, request: RecallRequest, id: str, budget: Budget, depth: int) -> Why:
    """At which step the memory stands or falls when the request is recalled, and what would change it."""
    validation.require_limit("depth", depth)
    asked = require_memory_id(request.scope, id)
    found = find_evidence(world, request)
    seen = world.store.get(request.scope, [asked], known_at=request.known_at)
    if not seen:
        return _explain_barred(get_visible(world, request.scope, id), request, Barrier.NOT_YET_KNOWN)

    then = (
        seen[0] if request.present else version_at(_load_known_versions(world, request, seen[0]), request.at) or seen[0]
    )
    in_the_way = find_barrier(then, request.at, present=request.present, past=request.past) or _find_filter_barrier(
        then, request
    )
    if in_the_way is not None:
        return _explain_barred(then, request, in_the_way)
    ranking = with_pinned(rank_evidence(found, request, depth), found, request)
    reason = _explain_ranking(found, request, seen[0], depth)
    place = next((place for place, scored in enumerate(ranking, start=1) if scored.id == id), None)
    if place is not None:
        reason = replace(reason, fate=Ranked(place), changes=())
    return why_packed(reason, ranking, budget, Prompt(world.new_marker(), world.count_tokens))


def _load_known_versions(world: Dependencies, request: RecallRequest, memory: Memory) -> list[Memory]:
    """The versions of the memory that were known when the request says, the oldest first."""
    versions = world.store.history(request.scope, memory.id)
    return [one for one in versions if one.commit is None or one.commit <= (memory.commit or 0)]


def _find_filter_barrier(memory: Memory, request: RecallRequest) -> Barrier | None:
    if not memory.answers(request.levels):
        return Barrier.LEVEL
    return None if memory.kind in request.kinds else Barrier.KIND


def _explain_ranking(found: "RecallEvidence", request: RecallRequest, memory: Memory, depth: int) -> Why:
    from recollect.ranking.row_explanation import why_in_table

    return why_in_table(
        memory.id,
        found.table,
        request.profile,
        request.at,
        limit=depth,
        asked=request.question is not None,
        fetch=found.candidates,
        rows=select_rows(found, request),
    )


def _explain_barred(memory: Memory, request: RecallRequest, in_the_way: Barrier) -> Why:
    """What there is to say of a memory that nobody was asked about: what it says for itself."""
    candidate = Candidate(
        id=memory.id,
        kind=memory.kind,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        valid_from=memory.valid_from,
        importance=memory.importance,
        confidence=memory.confidence,
        salience=memory.salience,
        revisions=memory.revisions,
        memory=memory,
    )
    explanation = scorer.explain(candidate, request.profile.lenient, request.at)
    return Why(candidate, explanation, Barred(in_the_way, memory.status))
