"""Recall: find, rank and pack the memories that best answer a query, and record what was packed.

Also explains why a memory was recalled or left out, and counts memories that a caller serves without packing.
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

    `present` means that it asks about now: neither `as_of` nor `known_at` was given. `past` also returns memories that
    were valid before `at`. In a replay, `commit` is the last commit that the store had, and `recorded_vectors` are
    those of the query.
    """

    made_at: datetime
    scope: Scope
    query: Query | None
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
    query: Query | None,
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
    if query is not None:  # it is embedded and recorded, so without private parts and secrets
        query = Query(tuple(redact_text(turn, deps.policy.secrets) for turn in query.turns))
    chosen_kinds = Kind if kinds is None else _parse_kinds(kinds)
    chosen_levels = BRIEF_LEVELS if query is None else RECALL_LEVELS
    if levels is not None:
        chosen_levels = frozenset(parse_level("levels", one) for one in validation.require_several("levels", levels))
    known_until = None if known_at is None else require_not_future("known_at", known_at, now)
    return RecallRequest(
        made_at=now,
        scope=as_scope(scope),
        query=query,
        profile=deps.resolve_profile(profile, overrides),
        at=require_not_future("as_of", as_of, known_until or now),
        present=as_of is None and known_until is None,
        past=validation.require_flag("past", past),
        known_at=known_until,
        kinds=frozenset(chosen_kinds),
        levels=chosen_levels,
        exact=parse_choice("exact", exact, Exact),
    )


def _parse_kinds(kinds: Iterable[Kind | str]) -> list[Kind]:
    parsed = [parse_choice("kinds", kind, Kind) for kind in validation.require_several("kinds", kinds)]
    if not parsed:
        raise FieldError("is empty; name at least one kind, or omit it for all kinds", field="kinds")
    return parsed


def make_evidence_request(request: RecallRequest) -> "EvidenceRequest":
    """Return what to ask the store for, without the query."""
    from recollect.retrieval.evidence import EvidenceRequest

    return EvidenceRequest(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )


def find_evidence(deps: Dependencies, request: RecallRequest, *, bounded: bool = False) -> "RecallEvidence":
    """Collect the store's evidence for a request.

    With `bounded`, the store may leave out similarities, to be read later, and terms. Terms are left out if the profile
    does not use them: with 100,000 memories they take one seventh of the search time.
    """
    from recollect.ranking.bound_pruning import can_prune

    probe = make_evidence_request(request)
    if request.query is None:
        return deps.store.gather(probe)
    text = request.query.text
    in_turns, fields = request.profile.hearing is Hearing.TURNS, request.profile.fields
    names = find_candidate_names(text) if "linked" in fields else ()
    bounded = bounded and can_prune(request.profile)
    probe = replace(
        probe,
        terms=() if bounded and "lexical" not in fields else tuple(dict.fromkeys(tokenize(text))),
        names=names,
        encoder=deps.encoder,
        bounded=bounded and request.present,
        indexed=request.exact is Exact.PREFERRED,
    )
    needs_speakers = in_turns or "addressed" in fields
    analysis = QueryAnalysis.of(text, deps.store.speakers(probe) if needs_speakers else ())
    evidence = _gather(deps, request, probe, analysis)
    while needs_speakers and evidence.speakers != analysis.speakers:  # the speakers changed since they were read
        analysis = QueryAnalysis.of(text, evidence.speakers)
        evidence = _gather(deps, request, probe, analysis)
    return analysis.add_evidence(evidence, request.at, fields)


def _gather(
    deps: Dependencies, request: RecallRequest, probe: "EvidenceRequest", analysis: QueryAnalysis
) -> "RecallEvidence":
    """Read the store's evidence for a query; embed memories whose vectors were pruned."""
    in_turns = request.profile.hearing is Hearing.TURNS
    phrasings = analysis.phrasings if in_turns else [analysis.text]
    vectors = request.recorded_vectors
    if vectors is None or len(vectors) != len(phrasings):
        vectors = deps.embed(phrasings, "query")
    probe = replace(probe, vectors=vectors, in_turns=in_turns)
    evidence = deps.store.gather(probe)
    if evidence.dropped_vectors:
        pruned = [memory for memory in evidence.memories(evidence.dropped_vectors) if memory is not None]
        embedded = deps.embed([memory.embedded_text for memory in pruned], "memory")
        vector_by_id = {memory.id: vector for memory, vector in zip(pruned, embedded, strict=True)}
        complete = deps.store.gather(replace(probe, directions=vector_by_id))
        evidence = replace(complete, dropped_vectors=evidence.dropped_vectors)
    return replace(evidence, vectors=vectors)


def select_rows(evidence: "RecallEvidence", request: RecallRequest) -> "Rows":
    """Return the eligible rows of the requested kinds."""
    import numpy as np

    from recollect.model.table import KINDS

    if len(request.kinds) == len(KINDS) or evidence.table.kinds is None:
        return evidence.rows
    codes = [KINDS.index(kind) for kind in request.kinds]
    return evidence.rows[np.isin(evidence.table.kinds[evidence.rows], codes)]


def rank_evidence(evidence: "RecallEvidence", request: RecallRequest, limit: int) -> Ranking:
    """Return the best memories of the evidence."""
    rows = select_rows(evidence, request)
    left_out = _count_left_out(evidence, rows)
    if evidence.nearby is None:
        return _rank_rows(evidence, rows, request, limit, left_out)
    from recollect.ranking.bound_pruning import prune_rows

    pruned = prune_rows(
        evidence.table,
        request.profile,
        request.at,
        limit=limit,
        rows=rows,
        nearby=evidence.nearby,
        trusting=request.exact is Exact.PREFERRED,
    )
    unscanned = pruned.proof.eligible - pruned.proof.scanned
    ranking = _rank_rows(replace(evidence, table=pruned.table), pruned.rows, request, limit, left_out)
    return replace(
        ranking, proof=pruned.proof, excluded={**ranking.excluded, PRUNED: unscanned} if unscanned else ranking.excluded
    )


def _rank_rows(
    evidence: "RecallEvidence", rows: "Rows", request: RecallRequest, limit: int, left_out: Mapping[str, int]
) -> Ranking:
    """Return the best of these rows, with their memories."""
    from recollect.ranking.selection import rank_table

    row_by_id: dict[MemoryId, int] = {}

    def fetch(requested: Sequence[int]) -> list[Candidate]:
        candidates = evidence.candidates(requested)
        row_by_id.update(zip((candidate.id for candidate in candidates), requested, strict=True))
        return candidates

    ranking = rank_table(
        evidence.table,
        request.profile,
        request.at,
        limit=limit,
        asked=request.query is not None,
        fetch=fetch,
        rows=rows,
    )
    ranking = replace(ranking, excluded={**left_out, **ranking.excluded})
    return _with_memories(ranking, evidence.memories([row_by_id[scored.id] for scored in ranking]))


def _count_left_out(evidence: "RecallEvidence", rows: "Rows") -> dict[str, int]:
    """Count the visible memories that were not ranked, by reason."""
    barred = {reason.value: evidence.barred[reason] for reason in Barrier if evidence.barred.get(reason)}
    others = len(evidence.rows) - len(rows)
    return {**barred, "kind": others} if others else barred


def search(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` eligible memories, each with its explanation, and the proof."""
    validation.require_limit("limit", limit)
    return rank_evidence(find_evidence(deps, request, bounded=True), request, limit)


def search_below(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` memories that belong to the scope or to a scope below it."""
    validation.require_limit("limit", limit)
    scopes = deps.store.scopes(request.scope) or [request.scope]
    merged = merge(*(_search_own(deps, replace(request, scope=one), limit) for one in scopes))
    excluded = Counter(merged.excluded) + Counter({"limit": max(len(merged) - limit, 0)})
    return replace(merged, scored=merged[:limit], excluded=order_exclusions(request.profile, excluded))


def _search_own(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best of the scope's own memories.

    Memories that other scopes share may rank before them, so the search goes deeper until there are enough.
    """
    depth = limit
    while True:
        ranking = search(deps, request, depth)
        own = tuple(one for one in ranking if one.memory.scope == request.scope)
        if len(own) >= limit or len(ranking) < depth:
            return replace(ranking, scored=own[:limit])
        depth = min(depth * _DEEPENING_FACTOR, validation.MAX_LIMIT)


_DEEPENING_FACTOR = 4
"""How much deeper to search if too few results belong to the scope itself."""


def recall(deps: Dependencies, request: RecallRequest, budget: Budget, depth: int) -> Context:
    """Find, rank and pack memories; record the context, and count its memories as served.

    A recall with `known_at` counts nothing as served. A read-only store records nothing, so its contexts have no id and
    take no feedback.
    """
    validation.require_limit("depth", depth)
    evidence = find_evidence(deps, request)

    context = make_context(deps, request, evidence, budget, depth, deps.new_marker())
    if deps.store.read_only:
        return context

    context = replace(context, id=deps.new_id(request.made_at))
    record = make_context_record(deps, context, request, evidence, depth)
    deps.store.later(lambda writing: _write_record(writing, record))
    return context


def make_context(
    deps: Dependencies, request: RecallRequest, evidence: "RecallEvidence", budget: Budget, depth: int, marker: str
) -> Context:
    """Rank the evidence, and pack the best memories."""
    ranking = with_pinned(rank_evidence(evidence, request, depth), evidence, request)
    return pack(ranking, budget, Prompt(marker, deps.count_tokens))


def _write_record(writing: WriteTransaction, record: ContextRecord) -> None:
    writing.trace(record)
    if record.known_at is None:
        ids = [entry.id for entry in record.packed]
        writing.record(record.scope, ids, Use.SERVED, record.made_at, record.id)


def _with_memories(ranking: Ranking, memories: Sequence[Memory | None]) -> Ranking:
    """Return the ranking with its memories loaded, without memories that were erased meanwhile."""
    loaded = [
        replace(scored, candidate=scored.candidate.with_memory(memory))
        for scored, memory in zip(ranking, memories, strict=True)
        if memory is not None
    ]
    return replace(ranking, scored=tuple(loaded))


def with_pinned(ranking: Ranking, evidence: "RecallEvidence", request: RecallRequest) -> Ranking:
    """Return the ranking with every eligible pinned memory, even if a gate or the depth cut it off."""
    import numpy as np

    from recollect.ranking.selection import explain_rows

    ranked_ids = {scored.id for scored in ranking}
    eligible = select_rows(evidence, request)
    pinned = np.intersect1d(evidence.pinned, eligible, assume_unique=True)
    rows = [row for row in pinned.tolist() if evidence.table.ids[row] not in ranked_ids]
    if not rows:
        return ranking
    has_query = request.query is not None
    explained = explain_rows(
        rows, evidence.table, request.profile, request.at, asked=has_query, fetch=evidence.candidates, rows=eligible
    )
    added = [
        Scored.of(candidate.with_memory(memory), explanation, ranking.scheme)
        for (candidate, explanation), memory in zip(explained, evidence.memories(rows), strict=True)
        if memory is not None
    ]
    combined = sorted([*ranking, *added], key=lambda one: (-one.score, one.id))
    added_reasons = Counter(_exclusion_reason(one, request) for one in added)
    left_out = {reason: count - added_reasons[reason] for reason, count in ranking.excluded.items()}
    excluded = {reason: count for reason, count in left_out.items() if count > 0}
    return replace(ranking, scored=tuple(combined), excluded=excluded)


def _exclusion_reason(scored: Scored, request: RecallRequest) -> str:
    """Return what would have excluded a memory if it were not pinned."""
    gate = scorer.closed_gate(scored.candidate, request.profile, request.at)
    if gate is not None:
        return f"gate:{gate.signal.name}"
    return "min_score" if float(scored.score) < request.profile.min_score else "limit"


def explain_why(deps: Dependencies, request: RecallRequest, id: str, budget: Budget, depth: int) -> Why:
    """Explain at which step a memory is recalled or left out, and what would change the result."""
    validation.require_limit("depth", depth)
    memory_id = require_memory_id(request.scope, id)
    evidence = find_evidence(deps, request)
    visible = deps.store.get(request.scope, [memory_id], known_at=request.known_at)
    if not visible:
        return _explain_barred(get_visible(deps, request.scope, id), request, Barrier.NOT_YET_KNOWN)

    memory = visible[0]
    if not request.present:
        versions = deps.store.history(request.scope, memory.id)
        known = [one for one in versions if one.commit is None or one.commit <= (memory.commit or 0)]
        memory = version_at(known, request.at) or memory
    barrier = find_barrier(memory, request.at, present=request.present, past=request.past)
    barrier = barrier or _find_filter_barrier(memory, request)
    if barrier is not None:
        return _explain_barred(memory, request, barrier)
    ranking = with_pinned(rank_evidence(evidence, request, depth), evidence, request)
    reason = _explain_ranking(evidence, request, visible[0], depth)
    position = next((position for position, scored in enumerate(ranking, start=1) if scored.id == id), None)
    if position is not None:
        reason = replace(reason, fate=Ranked(position), changes=())
    return why_packed(reason, ranking, budget, Prompt(deps.new_marker(), deps.count_tokens))


def _find_filter_barrier(memory: Memory, request: RecallRequest) -> Barrier | None:
    if not memory.answers(request.levels):
        return Barrier.LEVEL
    return None if memory.kind in request.kinds else Barrier.KIND


def _explain_ranking(evidence: "RecallEvidence", request: RecallRequest, memory: Memory, depth: int) -> Why:
    from recollect.ranking.selection import why_in_table

    return why_in_table(
        memory.id,
        evidence.table,
        request.profile,
        request.at,
        limit=depth,
        asked=request.query is not None,
        fetch=evidence.candidates,
        rows=select_rows(evidence, request),
    )


def _explain_barred(memory: Memory, request: RecallRequest, barrier: Barrier) -> Why:
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
    return Why(candidate, explanation, Barred(barrier, memory.status))


def count_served(deps: Dependencies, scope: Scope, served: Iterable[Scored | str]) -> None:
    """Queue a count of each of these memories as served now.

    Memories that the scope may not see are skipped. A read-only store counts nothing.
    """
    now = deps.now()
    ids = tuple(dict.fromkeys(_id_of(one) for one in validation.require_several("handed", served)))

    storable = [id for id in ids if validation.is_storable(id)]
    if storable and not deps.store.read_only:
        deps.store.later(lambda writing: writing.record(scope, storable, Use.SERVED, now, None))


def _id_of(one: Scored | str) -> MemoryId:
    return one.id if isinstance(one, Scored) else MemoryId(validation.require_text("handed", one))


def make_context_record(
    deps: Dependencies, context: Context, request: "RecallRequest", evidence: "RecallEvidence", depth: int
) -> ContextRecord:
    """Return the record of a context made from this evidence."""
    ranking = context.ranking
    has_every_kind = len(request.kinds) == len(Kind)
    return ContextRecord(
        id=context.id or "",
        scope=request.scope,
        made_at=request.made_at,
        at=request.at,
        commit=evidence.commit,
        known_at=request.known_at,
        question=() if request.query is None else request.query.turns,
        profile=ranking.profile,
        version=ranking.version,
        formula=json.dumps(profile_to_document(request.profile)),
        tokens=context.tokens,
        budget=context.budget.tokens,
        depth=depth,
        past=request.past,
        kinds=() if has_every_kind else tuple(sorted(kind.value for kind in request.kinds)),
        levels=tuple(sorted(PLAIN_LEVEL_NAME if one is None else one.value for one in request.levels)),
        marker=context.marker,
        packed=tuple(PackedEntry(scored.id, float(scored.score)) for scored in context.packed),
        omitted=tuple(
            OmittedEntry(one.scored.id, float(one.scored.score), one.reason.value, one.cost) for one in context.omitted
        ),
        excluded=dict(ranking.excluded),
        making=_make_recipe(deps, context, request, evidence),
    )


def read_formula(text: str) -> ProfileDocument:
    """Read the profile document in a context record; raise ProfileError if it is not one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(str(error)) from error
    if not isinstance(document, dict):
        raise ProfileError(f"{show(document)} is not a profile")
    return document


def _make_recipe(
    deps: Dependencies, context: Context, request: "RecallRequest", evidence: "RecallEvidence"
) -> ContextRecipe:
    budget, vectors = context.budget, evidence.vectors
    return ContextRecipe(
        present=request.present,
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=deps.count_tokens.name,
        analyser=tokenizer.VERSION,
        naming=entities.VERSION,
        encoder=None if request.query is None else deps.encoder,
        directions=None if vectors is None else base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii"),
        directed=evidence.similarity_count,
        packed=len(context.packed),
        omitted=len(context.omitted),
        text=hashlib.sha256(context.text.encode()).hexdigest(),
    )
