"""Replay: a recorded context is asked for again, as its store knew things when it was made."""

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.engine.context_records import read_formula, trace_of
from recollect.engine.dependencies import World
from recollect.engine.feedback import found_context
from recollect.engine.recall import Request, find, make
from recollect.errors import Conflict, ProfileError, show
from recollect.model import validation
from recollect.model.context_record import Trace
from recollect.model.level import BRIEFED, RECALLED, Level, a_level
from recollect.model.memory import Kind
from recollect.model.replay_diff import differences
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.replay import Replay
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import Document, build
from recollect.retrieval.query import Question
from recollect.retrieval.query_analysis import Asked

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Found, Vectors


def replay(world: World, scope: Scope, context: str) -> Replay:
    """The context of the scope made once more, and how it differs from what was recorded. Nothing is written."""
    world.store.settle()
    trace = found_context(
        world.store.context(scope, context) if validation.can_be_kept(context) else None, scope, context
    )
    request, found = ask_again(world, trace)

    made = make(world, request, found, _budget(trace), trace.depth, trace.marker)
    made = replace(made, id=trace.id)
    again = trace_of(world, made, request, found, trace.depth)
    differing = differences(trace, again, there=set(found.table.ids), departed=len(found.departed))
    return Replay(made, differing)


def ask_again(world: World, trace: Trace, profile: Profile | None = None) -> "tuple[Request, Found]":
    """What the trace asked, by its own profile or another, and what the store had for it after the trace's commit.

    A context that came from elsewhere is asked for by what is known here and now.
    """
    written = _written(trace)
    chosen = _profile(trace, written) if profile is None else profile
    request = Request(
        made_at=trace.made_at,
        scope=trace.scope,
        question=Question(trace.question) if trace.question else None,
        profile=chosen,
        at=trace.at,
        present=trace.at == trace.made_at if trace.making is None else trace.making.present,
        past=trace.past,
        known_at=trace.known_at,
        kinds=frozenset(map(Kind, trace.kinds or Kind)),
        levels=_levels(trace),
        commit=None if trace.elsewhere else trace.commit,
        directions=_directions(world, trace),
    )
    if chosen.hearing.value != written.get("hearing") and not _put_as_it_is(world, request):
        request = replace(request, directions=None)
    return request, find(world, request)


def _put_as_it_is(world: World, request: Request) -> bool:
    """Whether the question is put in its own words, however it is heard: it names nobody who said anything."""
    from recollect.retrieval.evidence import Probe

    if request.question is None:
        return True
    probe = Probe(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )
    text = request.question.text
    return Asked.of(text, world.store.speakers(probe)).ways == [text]


def _written(trace: Trace) -> Document:
    """The profile of the trace as it is written there."""
    try:
        return read_formula(trace.formula)
    except ProfileError as error:
        raise _unreadable(trace, str(error)) from error


def _profile(trace: Trace, written: Document) -> Profile:
    try:
        return build(written, name=trace.profile)
    except ProfileError as error:
        raise _unreadable(trace, str(error)) from error


def _unreadable(trace: Trace, why: str) -> Conflict:
    told = f"the context {show(trace.id)} was ranked by a formula that this version cannot read"
    return Conflict(f"{told}: {why}; replay it with the version that made it")


def _levels(trace: Trace) -> frozenset[Level | None]:
    """The levels that were asked for; before it was noted which, nobody could ask for others than the usual ones."""
    if trace.making is None and not trace.levels:
        return RECALLED if trace.question else BRIEFED
    return frozenset(a_level("levels", one) for one in trace.levels)


def _directions(world: World, trace: Trace) -> "Vectors | None":
    """The directions that the question was asked in, if they are of the model that there is now."""
    import numpy as np

    making = trace.making
    if making is None or making.directions is None or making.encoder != world.encoder:
        return None
    return np.frombuffer(base64.b64decode(making.directions), dtype="<f4").reshape(-1, world.encoder.dimensions)


def _budget(trace: Trace) -> Budget:
    making = trace.making
    if making is None:
        return Budget(trace.budget)
    reserves = {Kind(kind): room for kind, room in making.reserves.items()}
    return Budget(trace.budget, reserves=reserves, items=making.items, pinned_share=making.pinned_share)
