"""Replay: a recorded context is asked for again, as its store knew things when it was made."""

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.engine.context_records import make_context_record, read_formula
from recollect.engine.dependencies import Dependencies
from recollect.engine.feedback import require_context
from recollect.engine.recall import RecallRequest, find_evidence, make_context
from recollect.errors import Conflict, ProfileError, show
from recollect.model import validation
from recollect.model.context_record import ContextRecord
from recollect.model.level import BRIEF_LEVELS, RECALL_LEVELS, Level, parse_level
from recollect.model.memory import Kind
from recollect.model.replay_diff import compare_records
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.replay import Replay
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument, build_profile
from recollect.retrieval.query import Query
from recollect.retrieval.query_analysis import QueryAnalysis

if TYPE_CHECKING:
    from recollect.retrieval.evidence import RecallEvidence, Vectors


def replay_context(world: Dependencies, scope: Scope, context: str) -> Replay:
    """The context of the scope made once more, and how it differs from what was recorded. Nothing is written."""
    world.store.settle()
    trace = require_context(
        world.store.context(scope, context) if validation.is_storable(context) else None, scope, context
    )
    request, found = repeat_request(world, trace)

    made = make_context(world, request, found, _recorded_budget(trace), trace.depth, trace.marker)
    made = replace(made, id=trace.id)
    again = make_context_record(world, made, request, found, trace.depth)
    differing = compare_records(trace, again, there=set(found.table.ids), departed=len(found.dropped_vectors))
    return Replay(made, differing)


def repeat_request(
    world: Dependencies, trace: ContextRecord, profile: Profile | None = None
) -> "tuple[RecallRequest, RecallEvidence]":
    """What the trace asked, by its own profile or another, and what the store had for it after the trace's commit.

    A context that came from elsewhere is asked for by what is known here and now.
    """
    written = _read_profile_document(trace)
    chosen = _build_profile(trace, written) if profile is None else profile
    request = RecallRequest(
        made_at=trace.made_at,
        scope=trace.scope,
        question=Query(trace.question) if trace.question else None,
        profile=chosen,
        at=trace.at,
        present=trace.at == trace.made_at if trace.making is None else trace.making.present,
        past=trace.past,
        known_at=trace.known_at,
        kinds=frozenset(map(Kind, trace.kinds or Kind)),
        levels=_recorded_levels(trace),
        commit=None if trace.elsewhere else trace.commit,
        recorded_vectors=_recorded_vectors(world, trace),
    )
    if chosen.hearing.value != written.get("hearing") and not _is_asked_verbatim(world, request):
        request = replace(request, recorded_vectors=None)
    return request, find_evidence(world, request)


def _is_asked_verbatim(world: Dependencies, request: RecallRequest) -> bool:
    """Whether the question is put in its own words, however it is heard: it names nobody who said anything."""
    from recollect.retrieval.evidence import EvidenceRequest

    if request.question is None:
        return True
    probe = EvidenceRequest(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )
    text = request.question.text
    return QueryAnalysis.of(text, world.store.speakers(probe)).phrasings == [text]


def _read_profile_document(trace: ContextRecord) -> ProfileDocument:
    """The profile of the trace as it is written there."""
    try:
        return read_formula(trace.formula)
    except ProfileError as error:
        raise _unreadable_profile(trace, str(error)) from error


def _build_profile(trace: ContextRecord, written: ProfileDocument) -> Profile:
    try:
        return build_profile(written, name=trace.profile)
    except ProfileError as error:
        raise _unreadable_profile(trace, str(error)) from error


def _unreadable_profile(trace: ContextRecord, why: str) -> Conflict:
    told = f"the context {show(trace.id)} was ranked by a formula that this version cannot read"
    return Conflict(f"{told}: {why}; replay it with the version that made it")


def _recorded_levels(trace: ContextRecord) -> frozenset[Level | None]:
    """The levels that were asked for; before it was noted which, nobody could ask for others than the usual ones."""
    if trace.making is None and not trace.levels:
        return RECALL_LEVELS if trace.question else BRIEF_LEVELS
    return frozenset(parse_level("levels", one) for one in trace.levels)


def _recorded_vectors(world: Dependencies, trace: ContextRecord) -> "Vectors | None":
    """The directions that the question was asked in, if they are of the model that there is now."""
    import numpy as np

    making = trace.making
    if making is None or making.directions is None or making.encoder != world.encoder:
        return None
    return np.frombuffer(base64.b64decode(making.directions), dtype="<f4").reshape(-1, world.encoder.dimensions)


def _recorded_budget(trace: ContextRecord) -> Budget:
    making = trace.making
    if making is None:
        return Budget(trace.budget)
    reserves = {Kind(kind): room for kind, room in making.reserves.items()}
    return Budget(trace.budget, reserves=reserves, items=making.items, pinned_share=making.pinned_share)
