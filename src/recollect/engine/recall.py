"""Recall: find, rank and pack the memories that best answer a query, and record what was packed.

Also explains why a memory was recalled or not, and counts memories that a caller serves without packing.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.edit import get_visible, require_memory_id
from recollect.errors import FieldError, ProfileError, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry, Use
from recollect.model.enums import BRIEF_LEVELS, PLAIN_LEVEL_NAME, RECALL_LEVELS, Kind, Level, parse_choice, parse_level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, pack, why_packed
from recollect.packing.prompt import Prompt
from recollect.protocols import WriteTransaction
from recollect.ranking import scorer
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.profile_toml import ProfileDocument, profile_to_document
from recollect.ranking.result import PRUNED, Exact, Ranking, Scored, merge, order_exclusions
from recollect.ranking.why import Barred, Ranked, Why
from recollect.retrieval.eligibility import Barrier, find_barrier, version_at
from recollect.retrieval.query import Query, QueryAnalysis
from recollect.text import entities, tokenizer
from recollect.text.entities import find_candidate_names
from recollect.text.tokenizer import tokenize

if TYPE_CHECKING:
    from recollect.model.table import Rows
    from recollect.retrieval.evidence import EvidenceRequest, RecallEvidence, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A checked request: scope, query, profile, and the moments it asks about.

    For a replay, `commit` is the last commit known then, and `recorded_vectors` are those of the query.
    """

    made_at: datetime
    scope: Scope
    question: Query | None
    profile: Profile
    at: datetime
    present: bool
    past: bool
    known_at: datetime | None
    kinds: frozenset[Kind]
    levels: frozenset[Level | None]
    exact: Exact = Exact.REQUIRED
    commit: int | None = None
    recorded_vectors: "Vectors | None" = field(default=None, compare=False)


def read_request(
    deps: Dependencies,
    question: Query | None,
    *,
    scope: str | Scope,
    profile: Profile | str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    past: bool = False,
    kinds: Iterable[Kind | str] | None = None,
    levels: Iterable[Level | str] | None = None,
    overrides: ProfileDocument | None = None,
    exact: Exact | str = Exact.REQUIRED,
) -> RecallRequest:
    """Check the arguments of a search, with or without a query, and return the request."""
    now = deps.now()
    wanted = Kind if kinds is None else _parse_kinds(kinds)
    asked = (
        None
        if levels is None
        else frozenset(parse_level("levels", one) for one in validation.require_several("levels", levels))
    )
    usual = BRIEF_LEVELS if question is None else RECALL_LEVELS
    known = None if known_at is None else require_not_future("known_at", known_at, now)
    return RecallRequest(
        made_at=now,
        scope=as_scope(scope),
        question=None if question is None else _screen_question(question, deps),
        profile=deps.resolve_profile(profile, overrides),
        at=require_not_future("as_of", as_of, known or now),
        present=as_of is None and known is None,
        past=validation.require_flag("past", past),
        known_at=known,
        kinds=frozenset(wanted),
        levels=usual if asked is None else asked,
        exact=parse_choice("exact", exact, Exact),
    )


def _parse_kinds(given: Iterable[Kind | str]) -> list[Kind]:
    kinds = [parse_choice("kinds", kind, Kind) for kind in validation.require_several("kinds", given)]
    if not kinds:
        raise FieldError(
            "is empty, and nothing is of no kind; name one at least, or leave it out for all", field="kinds"
        )
    return kinds


def _screen_question(question: Query, deps: Dependencies) -> Query:
    """Return the query without private parts and secrets: it is embedded and recorded."""
    return Query(tuple(redact_text(turn, deps.policy.secrets) for turn in question.turns))


def find_evidence(deps: Dependencies, request: RecallRequest, *, bounded: bool = False) -> "RecallEvidence":
    """Collect the store's evidence for a request.

    With `bounded`, it may lack similarities, to be asked for later, and terms. Terms are left out if the profile does
    not read them: among a hundred thousand memories they take a seventh of a search.
    """
    from recollect.ranking.bound_pruning import can_prune
    from recollect.retrieval.evidence import EvidenceRequest

    probe = EvidenceRequest(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )
    if request.question is None:
        return deps.store.gather(probe)
    text = request.question.text
    in_turns, read = request.profile.hearing is Hearing.TURNS, request.profile.fields
    names = find_candidate_names(text) if "linked" in read else ()
    bounded = bounded and can_prune(request.profile)
    probe = replace(
        probe,
        terms=() if bounded and "lexical" not in read else tuple(dict.fromkeys(tokenize(text))),
        names=names,
        encoder=deps.encoder,
        bounded=bounded and request.present,
        indexed=request.exact is Exact.PREFERRED,
    )
    who = in_turns or "addressed" in read
    asked = QueryAnalysis.of(text, deps.store.speakers(probe) if who else ())
    found = _gather(deps, request, probe, asked)
    while who and found.speakers != asked.speakers:  # the speakers changed since they were read
        asked = QueryAnalysis.of(text, found.speakers)
        found = _gather(deps, request, probe, asked)
    return asked.add_evidence(found, request.at, read)


def _gather(
    deps: Dependencies, request: RecallRequest, probe: "EvidenceRequest", asked: QueryAnalysis
) -> "RecallEvidence":
    """Read the store's evidence for a query; memories whose vectors were pruned are embedded."""
    in_turns = request.profile.hearing is Hearing.TURNS
    ways = asked.phrasings if in_turns else [asked.text]
    vectors = request.recorded_vectors
    if vectors is None or len(vectors) != len(ways):
        vectors = deps.embed(ways, "query")
    probe = replace(probe, vectors=vectors, in_turns=in_turns)
    found = deps.store.gather(probe)
    if found.dropped_vectors:
        departed = [one for one in found.memories(found.dropped_vectors) if one is not None]
        directions = deps.embed([one.embedded_text for one in departed], "memory")
        anew = {one.id: direction for one, direction in zip(departed, directions, strict=True)}
        found = replace(deps.store.gather(replace(probe, directions=anew)), dropped_vectors=found.dropped_vectors)
    return replace(found, vectors=vectors)


def select_rows(found: "RecallEvidence", request: RecallRequest) -> "Rows":
    """Return the eligible rows of the requested kinds."""
    import numpy as np

    from recollect.model.table import KINDS

    if len(request.kinds) == len(KINDS) or found.table.kinds is None:
        return found.rows
    codes = [KINDS.index(kind) for kind in request.kinds]
    return found.rows[np.isin(found.table.kinds[found.rows], codes)]


def rank_evidence(found: "RecallEvidence", request: RecallRequest, limit: int) -> Ranking:
    """Return the best memories of the evidence."""
    wanted = select_rows(found, request)
    left_out = _count_left_out(found, wanted)
    if found.nearby is None:
        return _rank_rows(found, wanted, request, limit, left_out)
    from recollect.ranking.bound_pruning import prune_rows

    seen = prune_rows(
        found.table,
        request.profile,
        request.at,
        limit=limit,
        rows=wanted,
        nearby=found.nearby,
        trusting=request.exact is Exact.PREFERRED,
    )
    unseen = seen.proof.eligible - seen.proof.scanned
    ranking = _rank_rows(replace(found, table=seen.table), seen.rows, request, limit, left_out)
    return replace(
        ranking, proof=seen.proof, excluded={**ranking.excluded, PRUNED: unseen} if unseen else ranking.excluded
    )


def _rank_rows(
    found: "RecallEvidence", wanted: "Rows", request: RecallRequest, limit: int, left_out: Mapping[str, int]
) -> Ranking:
    """Return the best of these rows, with their memories."""
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


def _count_left_out(found: "RecallEvidence", wanted: "Rows") -> dict[str, int]:
    """Count the visible memories that were not ranked, by reason."""
    barred = {reason.value: found.barred[reason] for reason in Barrier if found.barred.get(reason)}
    others = len(found.rows) - len(wanted)
    return {**barred, "kind": others} if others else barred


def search(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` eligible memories, each with its explanation, and the proof."""
    validation.require_limit("limit", limit)
    return rank_evidence(find_evidence(deps, request, bounded=True), request, limit)


def search_below(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` of the memories that belong to the scope or a scope below it."""
    validation.require_limit("limit", limit)
    scopes = deps.store.scopes(request.scope) or [request.scope]
    merged = merge(*(_search_own(deps, replace(request, scope=one), limit) for one in scopes))
    cut = Counter(merged.excluded) + Counter({"limit": max(len(merged) - limit, 0)})
    return replace(merged, scored=merged[:limit], excluded=order_exclusions(request.profile, cut))


def _search_own(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best of the scope's own memories.

    Memories shared by other scopes may rank before them, so the search deepens until there are enough.
    """
    asked = limit
    while True:
        ranking = search(deps, request, asked)
        own = tuple(one for one in ranking if one.memory.scope == request.scope)
        if len(own) >= limit or len(ranking) < asked:
            return replace(ranking, scored=own[:limit])
        asked = min(asked * _DEEPENING_FACTOR, validation.MAX_LIMIT)


_DEEPENING_FACTOR = 4
"""How many times deeper to search if too few results belong to the scope itself."""


def recall(deps: Dependencies, request: RecallRequest, budget: Budget, depth: int) -> Context:
    """Find, rank and pack; record the context, and count its memories as served.

    A recall of what was known at an earlier moment counts nothing as served. A read-only store records nothing, so its
    contexts have no id and take no feedback.
    """
    validation.require_limit("depth", depth)
    found = find_evidence(deps, request)

    context = make_context(deps, request, found, budget, depth, deps.new_marker())
    if deps.store.read_only:
        return context

    context = replace(context, id=deps.new_id(request.made_at))
    trace = make_context_record(deps, context, request, found, depth)
    deps.store.later(lambda writing: _write_record(writing, trace))
    return context


def make_context(
    deps: Dependencies, request: RecallRequest, found: "RecallEvidence", budget: Budget, depth: int, marker: str
) -> Context:
    """Rank the evidence, and pack the best memories."""
    ranking = with_pinned(rank_evidence(found, request, depth), found, request)
    return pack(ranking, budget, Prompt(marker, deps.count_tokens))


def _write_record(writing: WriteTransaction, trace: ContextRecord) -> None:
    writing.trace(trace)
    if trace.known_at is None:
        served = [placed.id for placed in trace.packed]
        writing.record(trace.scope, served, Use.SERVED, trace.made_at, trace.id)


def _with_memories(ranking: Ranking, memories: Sequence[Memory | None]) -> Ranking:
    """Return the ranking with its memories loaded; those erased meanwhile are dropped."""
    shown = [
        replace(scored, candidate=scored.candidate.showing(memory))
        for scored, memory in zip(ranking, memories, strict=True)
        if memory is not None
    ]
    return replace(ranking, scored=tuple(shown))


def with_pinned(ranking: Ranking, found: "RecallEvidence", request: RecallRequest) -> Ranking:
    """Return the ranking with every eligible pinned memory, even one that a gate or the depth cut."""
    import numpy as np

    from recollect.ranking.selection import explain_rows

    there = {scored.id for scored in ranking}
    wanted = select_rows(found, request)
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
    taken_in = Counter(_exclusion_reason(one, request) for one in added)
    left_out = {reason: count - taken_in[reason] for reason, count in ranking.excluded.items()}
    excluded = {reason: count for reason, count in left_out.items() if count > 0}
    return replace(ranking, scored=tuple(together), excluded=excluded)


def _exclusion_reason(scored: Scored, request: RecallRequest) -> str:
    """Return what would have excluded a memory if it were not pinned."""
    gate = scorer.closed_gate(scored.candidate, request.profile, request.at)
    if gate is not None:
        return f"gate:{gate.signal.name}"
    return "min_score" if float(scored.score) < request.profile.min_score else "limit"


def explain_why(deps: Dependencies, request: RecallRequest, id: str, budget: Budget, depth: int) -> Why:
    """Explain at which step a memory is recalled or left out, and what would change that."""
    validation.require_limit("depth", depth)
    asked = require_memory_id(request.scope, id)
    found = find_evidence(deps, request)
    seen = deps.store.get(request.scope, [asked], known_at=request.known_at)
    if not seen:
        return _explain_barred(get_visible(deps, request.scope, id), request, Barrier.NOT_YET_KNOWN)

    then = (
        seen[0] if request.present else version_at(_load_known_versions(deps, request, seen[0]), request.at) or seen[0]
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
    return why_packed(reason, ranking, budget, Prompt(deps.new_marker(), deps.count_tokens))


def _load_known_versions(deps: Dependencies, request: RecallRequest, memory: Memory) -> list[Memory]:
    """Return the versions of the memory known at the request's moment, the oldest first."""
    versions = deps.store.history(request.scope, memory.id)
    return [one for one in versions if one.commit is None or one.commit <= (memory.commit or 0)]


def _find_filter_barrier(memory: Memory, request: RecallRequest) -> Barrier | None:
    if not memory.answers(request.levels):
        return Barrier.LEVEL
    return None if memory.kind in request.kinds else Barrier.KIND


def _explain_ranking(found: "RecallEvidence", request: RecallRequest, memory: Memory, depth: int) -> Why:
    from recollect.ranking.selection import why_in_table

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
    """Explain a memory that was not ranked, from its own fields only."""
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


def count_served(deps: Dependencies, scope: Scope, handed: Iterable[Scored | str]) -> None:
    """Queue a count of each of these memories as served now.

    Memories that the scope may not see are skipped. A read-only store counts nothing.
    """
    now = deps.now()
    ids = tuple(dict.fromkeys(_id_of(one) for one in validation.require_several("handed", handed)))

    known = [id for id in ids if validation.is_storable(id)]
    if known and not deps.store.read_only:
        deps.store.later(lambda writing: writing.record(scope, known, Use.SERVED, now, None))


def _id_of(one: Scored | str) -> MemoryId:
    return one.id if isinstance(one, Scored) else MemoryId(validation.require_text("handed", one))


def make_context_record(
    deps: Dependencies, context: Context, request: "RecallRequest", found: "RecallEvidence", depth: int
) -> ContextRecord:
    """Return the record of a context made from this evidence."""
    ranking = context.ranking
    every_kind = len(request.kinds) == len(Kind)
    return ContextRecord(
        id=context.id or "",
        scope=request.scope,
        made_at=request.made_at,
        at=request.at,
        commit=found.commit,
        known_at=request.known_at,
        question=() if request.question is None else request.question.turns,
        profile=ranking.profile,
        version=ranking.version,
        formula=json.dumps(profile_to_document(request.profile)),
        tokens=context.tokens,
        budget=context.budget.tokens,
        depth=depth,
        past=request.past,
        kinds=() if every_kind else tuple(sorted(kind.value for kind in request.kinds)),
        levels=tuple(sorted(PLAIN_LEVEL_NAME if one is None else one.value for one in request.levels)),
        marker=context.marker,
        packed=tuple(PackedEntry(scored.id, float(scored.score)) for scored in context.packed),
        omitted=tuple(
            OmittedEntry(one.scored.id, float(one.scored.score), one.reason.value, one.cost) for one in context.omitted
        ),
        excluded=dict(ranking.excluded),
        making=_make_recipe(deps, context, request, found),
    )


def read_formula(text: str) -> ProfileDocument:
    """Read the profile document in a context record; raise ProfileError if it is not one."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(str(error)) from error
    if not isinstance(written, dict):
        raise ProfileError(f"{show(written)} is no profile")
    return written


def _make_recipe(
    deps: Dependencies, context: Context, request: "RecallRequest", found: "RecallEvidence"
) -> ContextRecipe:
    budget, vectors = context.budget, found.vectors
    return ContextRecipe(
        present=request.present,
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=deps.count_tokens.name,
        analyser=tokenizer.VERSION,
        naming=entities.VERSION,
        encoder=None if request.question is None else deps.encoder,
        directions=None if vectors is None else base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii"),
        directed=found.similarity_count,
        packed=len(context.packed),
        omitted=len(context.omitted),
        text=hashlib.sha256(context.text.encode()).hexdigest(),
    )
