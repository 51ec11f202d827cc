"""Recall: find, rank and pack the memories that best answer a question."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.screening import clean
from recollect.engine.context_records import trace_of
from recollect.engine.dependencies import World, not_later
from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.context_record import Trace
from recollect.model.level import BRIEFED, RECALLED, Level, a_level
from recollect.model.memory import Kind, Memory, MemoryId, named
from recollect.model.scope import Scope, a_scope
from recollect.model.usage import Use
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, pack
from recollect.packing.prompt import Prompt
from recollect.protocols import Writing
from recollect.ranking import scorer
from recollect.ranking.merge import merge
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.profile_toml import Document
from recollect.ranking.proof import Exact
from recollect.ranking.result import UNSEEN, Ranking, Scored, tally
from recollect.retrieval.eligibility import Barrier
from recollect.retrieval.query import Question
from recollect.retrieval.query_analysis import Asked
from recollect.text.entities import sought
from recollect.text.tokenizer import terms

if TYPE_CHECKING:
    from recollect.model.table import Rows
    from recollect.retrieval.evidence import Found, Probe, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of the engine: when, whose memory, about what, ranked how, for which moment and as known when.

    For what was asked before, `commit` is the last one that was known, and `directions` are those of the question.
    """

    made_at: datetime
    scope: Scope
    question: Question | None
    profile: Profile
    at: datetime
    present: bool
    past: bool
    known_at: datetime | None
    kinds: frozenset[Kind]
    levels: frozenset[Level | None]
    exact: Exact = Exact.REQUIRED
    commit: int | None = None
    directions: "Vectors | None" = field(default=None, compare=False)


def read_request(
    world: World,
    question: Question | None,
    *,
    scope: str | Scope,
    profile: Profile | str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    past: bool = False,
    kinds: Iterable[Kind | str] | None = None,
    levels: Iterable[Level | str] | None = None,
    overrides: Document | None = None,
    exact: Exact | str = Exact.REQUIRED,
) -> Request:
    """The request that is made now, about a question or about nothing; refused where it cannot be."""
    now = world.now()
    wanted = Kind if kinds is None else _kinds(kinds)
    asked = (
        None if levels is None else frozenset(a_level("levels", one) for one in validation.several("levels", levels))
    )
    usual = BRIEFED if question is None else RECALLED
    known = None if known_at is None else not_later("known_at", known_at, now)
    return Request(
        made_at=now,
        scope=a_scope(scope),
        question=None if question is None else _screened(question, world),
        profile=world.profile(profile, overrides),
        at=not_later("as_of", as_of, known or now),
        present=as_of is None and known is None,
        past=validation.a_flag("past", past),
        known_at=known,
        kinds=frozenset(wanted),
        levels=usual if asked is None else asked,
        exact=named("exact", exact, Exact),
    )


def _kinds(given: Iterable[Kind | str]) -> list[Kind]:
    kinds = [named("kinds", kind, Kind) for kind in validation.several("kinds", given)]
    if not kinds:
        raise FieldError(
            "is empty, and nothing is of no kind; name one at least, or leave it out for all", field="kinds"
        )
    return kinds


def _screened(question: Question, world: World) -> Question:
    """The question without what is private or secret: it is embedded, and traces keep it."""
    return Question(tuple(clean(turn, world.policy.secrets) for turn in question.turns))


def find(world: World, request: Request, *, bounded: bool = False) -> "Found":
    """What the store has for the request; what is `bounded` may lack similarities that must be asked for, and words.

    Words are left out where nothing reads them: among a hundred thousand memories they take a seventh of a search.
    """
    from recollect.ranking.bound_pruning import boundable
    from recollect.retrieval.evidence import Probe

    probe = Probe(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )
    if request.question is None:
        return world.store.gather(probe)
    text = request.question.text
    in_turns, read = request.profile.hearing is Hearing.TURNS, request.profile.fields
    names = sought(text) if "linked" in read else ()
    bounded = bounded and boundable(request.profile)
    probe = replace(
        probe,
        terms=() if bounded and "lexical" not in read else tuple(dict.fromkeys(terms(text))),
        names=names,
        encoder=world.encoder,
        bounded=bounded and request.present,
        indexed=request.exact is Exact.PREFERRED,
    )
    who = in_turns or "addressed" in read
    asked = Asked.of(text, world.store.speakers(probe) if who else ())
    found = _gathered(world, request, probe, asked)
    while (
        who and found.speakers != asked.everyone
    ):  # somebody spoke for the first time, or is gone, since they were read
        asked = Asked.of(text, found.speakers)
        found = _gathered(world, request, probe, asked)
    return asked.heard_by(found, request.at, read)


def _gathered(world: World, request: Request, probe: "Probe", asked: Asked) -> "Found":
    """What the store has for the question; memories that lost their direction after what is known get it anew."""
    in_turns = request.profile.hearing is Hearing.TURNS
    ways = asked.ways if in_turns else [asked.text]
    vectors = request.directions
    if vectors is None or len(vectors) != len(ways):
        vectors = world.embed(ways, "query")
    probe = replace(probe, vectors=vectors, in_turns=in_turns)
    found = world.store.gather(probe)
    if found.departed:
        departed = [one for one in found.memories(found.departed) if one is not None]
        directions = world.embed([one.embedded_text for one in departed], "memory")
        anew = {one.id: direction for one, direction in zip(departed, directions, strict=True)}
        found = replace(world.store.gather(replace(probe, directions=anew)), departed=found.departed)
    return replace(found, vectors=vectors)


def wanted_rows(found: "Found", request: Request) -> "Rows":
    """The eligible rows of the kinds asked for."""
    import numpy as np

    from recollect.model.table import KINDS

    if len(request.kinds) == len(KINDS) or found.table.kinds is None:
        return found.rows
    codes = [KINDS.index(kind) for kind in request.kinds]
    return found.rows[np.isin(found.table.kinds[found.rows], codes)]


def rank_found(found: "Found", request: Request, limit: int) -> Ranking:
    """The best of what was found, with their memories."""
    wanted = wanted_rows(found, request)
    left_out = _left_out(found, wanted)
    if found.nearby is None:
        return _ranked(found, wanted, request, limit, left_out)
    from recollect.ranking.bound_pruning import narrow

    seen = narrow(
        found.table,
        request.profile,
        request.at,
        limit=limit,
        rows=wanted,
        nearby=found.nearby,
        trusting=request.exact is Exact.PREFERRED,
    )
    unseen = seen.proof.eligible - seen.proof.scanned
    ranking = _ranked(replace(found, table=seen.table), seen.rows, request, limit, left_out)
    return replace(
        ranking, proof=seen.proof, excluded={**ranking.excluded, UNSEEN: unseen} if unseen else ranking.excluded
    )


def _ranked(found: "Found", wanted: "Rows", request: Request, limit: int, left_out: Mapping[str, int]) -> Ranking:
    """The best of these rows, with their memories."""
    from recollect.ranking.selection import rank_table

    rows: dict[MemoryId, int] = {}

    def fetch(asked: Sequence[int]) -> list[Candidate]:
        candidates = found.candidates(asked)
        rows.update(zip((candidate.id for candidate in candidates), asked, strict=True))
        return candidates

    ranking = rank_table(
        found.table,
        request.profile,
        request.at,
        limit=limit,
        asked=request.question is not None,
        fetch=fetch,
        rows=wanted,
    )
    ranking = replace(ranking, excluded={**left_out, **ranking.excluded})
    return _with_memories(ranking, found.memories([rows[scored.id] for scored in ranking]))


def _left_out(found: "Found", wanted: "Rows") -> dict[str, int]:
    """How many memories that the scope may see were not ranked, by reason."""
    barred = {reason.value: found.barred[reason] for reason in Barrier if found.barred.get(reason)}
    others = len(found.rows) - len(wanted)
    return {**barred, "kind": others} if others else barred


def search(world: World, request: Request, limit: int) -> Ranking:
    """The best `limit` of all eligible memories, each with its explanation, and how that is known."""
    validation.a_limit("limit", limit)
    return rank_found(find(world, request, bounded=True), request, limit)


def search_below(world: World, request: Request, limit: int) -> Ranking:
    """The best `limit` of all that the scope and those below it have of their own."""
    validation.a_limit("limit", limit)
    scopes = world.store.scopes(request.scope) or [request.scope]
    merged = merge(*(_own(world, replace(request, scope=one), limit) for one in scopes))
    cut = Counter(merged.excluded) + Counter({"limit": max(len(merged) - limit, 0)})
    return replace(merged, scored=merged[:limit], excluded=tally(request.profile, cut))


def _own(world: World, request: Request, limit: int) -> Ranking:
    """The best of the scope's own; what others share with it may come before them."""
    asked = limit
    while True:
        ranking = search(world, request, asked)
        own = tuple(one for one in ranking if one.memory.scope == request.scope)
        if len(own) >= limit or len(ranking) < asked:
            return replace(ranking, scored=own[:limit])
        asked = min(asked * _DEEPER, validation.LARGEST_LIMIT)


_DEEPER = 4
"""How many times as many are looked at where too few of them are the scope's own."""


def recall(world: World, request: Request, budget: Budget, depth: int) -> Context:
    """Find, rank and pack; the trace is kept, and what was handed over counts as served.

    Where nothing can be written the context has no id, for there is nothing to give feedback on.
    """
    validation.a_limit("depth", depth)
    found = find(world, request)

    context = make(world, request, found, budget, depth, world.new_marker())
    if world.store.read_only:
        return context

    context = replace(context, id=world.new_id(request.made_at))
    trace = trace_of(world, context, request, found, depth)
    world.store.later(lambda writing: _keep(writing, trace))
    return context


def make(world: World, request: Request, found: "Found", budget: Budget, depth: int, marker: str) -> Context:
    """Rank what was found, and pack the best."""
    ranking = with_pinned(rank_found(found, request, depth), found, request)
    return pack(ranking, budget, Prompt(marker, world.count))


def _keep(writing: Writing, trace: Trace) -> None:
    writing.trace(trace)
    if trace.known_at is None:
        served = [placed.id for placed in trace.packed]
        writing.record(trace.scope, served, Use.SERVED, trace.made_at, trace.id)


def _with_memories(ranking: Ranking, memories: Sequence[Memory | None]) -> Ranking:
    """The ranking with the memories that a reader is shown; one that was erased meanwhile is gone."""
    shown = [
        replace(scored, candidate=scored.candidate.showing(memory))
        for scored, memory in zip(ranking, memories, strict=True)
        if memory is not None
    ]
    return replace(ranking, scored=tuple(shown))


def with_pinned(ranking: Ranking, found: "Found", request: Request) -> Ranking:
    """The ranking with every pinned memory in its place, also those that a gate or the depth kept out."""
    import numpy as np

    from recollect.ranking.row_explanation import explain_rows

    there = {scored.id for scored in ranking}
    wanted = wanted_rows(found, request)
    pinned = np.intersect1d(found.pinned, wanted, assume_unique=True)
    rows = [row for row in pinned.tolist() if found.table.ids[row] not in there]
    if not rows:
        return ranking
    asked = request.question is not None
    explained = explain_rows(
        rows, found.table, request.profile, request.at, asked=asked, fetch=found.candidates, rows=wanted
    )
    added = [
        Scored.of(candidate.showing(memory), explanation, ranking.scheme)
        for (candidate, explanation), memory in zip(explained, found.memories(rows), strict=True)
        if memory is not None
    ]
    together = sorted([*ranking, *added], key=lambda one: (-one.score, one.id))
    taken_in = Counter(_kept_out_by(one, request) for one in added)
    left_out = {reason: count - taken_in[reason] for reason, count in ranking.excluded.items()}
    excluded = {reason: count for reason, count in left_out.items() if count > 0}
    return replace(ranking, scored=tuple(together), excluded=excluded)


def _kept_out_by(scored: Scored, request: Request) -> str:
    """What would have kept a memory out of the ranking had it not been pinned."""
    gate = scorer.closed_gate(scored.candidate, request.profile, request.at)
    if gate is not None:
        return f"gate:{gate.signal.name}"
    return "min_score" if float(scored.score) < request.profile.min_score else "limit"
