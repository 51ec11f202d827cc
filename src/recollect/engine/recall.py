"""Recall: find, rank and pack the memories that best answer a query, and record what was packed.

In reading order: the request; `recall`, from one snapshot of the store to the record of the context; `search`, which
packs nothing and can leave vectors in the database; why a memory was recalled or left out; and the count of memories
that a caller serves without packing.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.edit import get_visible, require_memory_id
from recollect.errors import FieldError, ProfileError, show
from recollect.model import changeset, validation
from recollect.model.candidate import Candidate
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry, Use
from recollect.model.enums import BRIEF_LEVELS, PLAIN_LEVEL_NAME, RECALL_LEVELS, Kind, Level, parse_choice, parse_level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope, as_scope
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, pack, why_packed
from recollect.packing.prompt import Prompt
from recollect.protocols import VectorSearch
from recollect.ranking import scorer
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.profile_toml import ProfileDocument, profile_to_document
from recollect.ranking.result import Exact, Ranking, Scored, merge, order_exclusions
from recollect.ranking.why import Barred, Ranked, Why, why_in_evidence
from recollect.retrieval.eligibility import Barrier, View, find_barrier, version_at
from recollect.retrieval.query import Query, analyze
from recollect.text import entities, tokenizer

if TYPE_CHECKING:
    from recollect.ranking.bound_pruning import PrunedEvidence
    from recollect.retrieval.evidence import Evidence
    from recollect.retrieval.snapshot import Snapshot
    from recollect.retrieval.vectors import Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A checked request: a query, what it may see, and how to rank. Nothing below it reads a clock or a default.

    In a replay, `recorded_vectors` are those of the query in its first run.
    """

    made_at: datetime
    query: Query | None
    view: View
    profile: Profile
    kinds: frozenset[Kind]
    exact: Exact = Exact.REQUIRED
    recorded_vectors: "Vectors | None" = field(default=None, compare=False)

    @property
    def scope(self) -> Scope:
        return self.view.scope

    @property
    def at(self) -> datetime:
        """The moment that the request asks about."""
        return self.view.at


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
        query=query,
        view=View(
            scope=as_scope(scope),
            at=require_not_future("as_of", as_of, known_until or now),
            present=as_of is None and known_until is None,
            past=validation.require_flag("past", past),
            known_at=known_until,
            levels=chosen_levels,
            encoder=None if query is None else deps.encoder,
        ),
        profile=deps.resolve_profile(profile, overrides),
        kinds=frozenset(chosen_kinds),
        exact=parse_choice("exact", exact, Exact),
    )


def _parse_kinds(kinds: Iterable[Kind | str]) -> list[Kind]:
    parsed = [parse_choice("kinds", kind, Kind) for kind in validation.require_several("kinds", kinds)]
    if not parsed:
        raise FieldError("is empty; name at least one kind, or omit it for all kinds", field="kinds")
    return parsed


def recall(deps: Dependencies, request: RecallRequest, budget: Budget, depth: int) -> Context:
    """Find, rank and pack memories; record the context, and count its memories as served.

    A recall with `known_at` counts nothing as served. A read-only store records nothing, so its contexts have no id and
    take no feedback.
    """
    validation.require_limit("depth", depth)
    evidence = gather(deps, request)
    ranking = rank_for_context(deps, request, evidence, depth)
    context = pack(ranking, budget, Prompt(deps.new_marker(), deps.count_tokens))

    if deps.store.read_only:
        return context
    context = replace(context, id=deps.new_id(request.made_at))
    record = make_context_record(deps, context, request, evidence, depth)
    deps.store.defer(_record_changes(record))
    return context


def gather(deps: Dependencies, request: RecallRequest, fields: frozenset[str] | None = None) -> "Evidence":
    """Collect evidence for every memory that the request may see: one store read, one embedding call.

    `fields` are those of candidates that need a query. By default they are what the profile reads, and how many words
    match, which a context shows in any case.
    """
    from recollect.retrieval.evidence import retrieve

    if fields is None:
        fields = request.profile.fields | {"lexical"}
    snapshot = deps.store.snapshot(request.view)
    if snapshot.dropped_vectors:
        snapshot = _restore_vectors(deps, snapshot)
    if request.query is None:
        return retrieve(snapshot)
    in_turns = request.profile.hearing is Hearing.TURNS
    analysis = analyze(request.query, snapshot, fields, in_turns=in_turns)
    vectors = request.recorded_vectors
    if vectors is None or len(vectors) != len(analysis.phrasings):
        vectors = deps.embed(analysis.phrasings, "query")
    return retrieve(snapshot, analysis, vectors)


def _restore_vectors(deps: Dependencies, snapshot: "Snapshot") -> "Snapshot":
    """Embed again the memories whose vectors were pruned after the snapshot's commit (replay only)."""
    pruned = [memory for memory in deps.store.load(snapshot, snapshot.dropped_vectors) if memory is not None]
    vectors = deps.embed([memory.embedded_text for memory in pruned], "memory")
    return snapshot.with_vectors({memory.id: vector for memory, vector in zip(pruned, vectors, strict=True)})


def rank_for_context(deps: Dependencies, request: RecallRequest, evidence: "Evidence", depth: int) -> Ranking:
    """Return the best `depth` memories and all that are pinned, with what they say."""
    from recollect.ranking.selection import rank_evidence

    ranked = evidence.of_kinds(request.kinds)
    ranking = rank_evidence(ranked, request.profile, request.at, limit=depth, always=ranked.pinned)
    return ranking.with_memories(deps.store.load(evidence.snapshot, ranking.rows))


def _record_changes(record: ContextRecord) -> changeset.Changeset:
    """Return the changes that record a context and count its memories as served."""
    ids = tuple(entry.id for entry in record.packed)
    served = changeset.MemoryUses(record.scope, ids, Use.SERVED, record.made_at, record.id)
    return changeset.Changeset(contexts=(record,), uses=(served,) if record.known_at is None else ())


def make_context_record(
    deps: Dependencies, context: Context, request: "RecallRequest", evidence: "Evidence", depth: int
) -> ContextRecord:
    """Return the record of a context made from this evidence."""
    ranking = context.ranking
    has_every_kind = len(request.kinds) == len(Kind)
    return ContextRecord(
        id=context.id or "",
        scope=request.scope,
        made_at=request.made_at,
        at=request.at,
        commit=evidence.snapshot.commit,
        known_at=request.view.known_at,
        question=() if request.query is None else request.query.turns,
        profile=ranking.profile,
        version=ranking.version,
        formula=json.dumps(profile_to_document(request.profile)),
        tokens=context.tokens,
        budget=context.budget.tokens,
        depth=depth,
        past=request.view.past,
        kinds=() if has_every_kind else tuple(sorted(kind.value for kind in request.kinds)),
        levels=tuple(sorted(PLAIN_LEVEL_NAME if one is None else one.value for one in request.view.levels or ())),
        marker=context.marker,
        packed=tuple(PackedEntry(scored.id, float(scored.score)) for scored in context.packed),
        omitted=tuple(
            OmittedEntry(one.scored.id, float(one.scored.score), one.reason.value, one.cost) for one in context.omitted
        ),
        excluded=dict(ranking.excluded),
        making=_make_recipe(deps, context, request, evidence),
    )


def _make_recipe(deps: Dependencies, context: Context, request: "RecallRequest", evidence: "Evidence") -> ContextRecipe:
    budget, vectors = context.budget, evidence.query_vectors
    return ContextRecipe(
        present=request.view.present,
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


def read_formula(text: str) -> ProfileDocument:
    """Read the profile document in a context record; raise ProfileError if it is not one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(str(error)) from error
    if not isinstance(document, dict):
        raise ProfileError(f"{show(document)} is not a profile")
    return document


def search(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` eligible memories, each with its explanation, and the proof."""
    validation.require_limit("limit", limit)
    return _rank_and_load(deps, request, _gather_for_search(deps, request), limit)


def _gather_for_search(deps: Dependencies, request: RecallRequest) -> "Evidence":
    """Collect evidence for a search, which shows only the best few.

    So similarities may stay in the database until they are needed, and terms are left out if the profile does not use
    them: with 100,000 memories they take one seventh of the search time.
    """
    from recollect.ranking.bound_pruning import can_prune

    if request.query is None or not can_prune(request.profile):
        return gather(deps, request)
    view = replace(
        request.view,
        remote_vectors=request.view.present,
        use_index=request.exact is Exact.PREFERRED,
    )
    return gather(deps, replace(request, view=view), request.profile.fields)


def _rank_and_load(deps: Dependencies, request: RecallRequest, evidence: "Evidence", limit: int) -> Ranking:
    """Return the best `limit` memories of the evidence; fetch similarities that stayed in the database."""
    from recollect.ranking.selection import rank_evidence

    evidence, proof = evidence.of_kinds(request.kinds), None
    if evidence.snapshot.columns.has_remote_vectors:
        pruned = _fetch_similarities(deps, request, evidence, limit)
        evidence, proof = pruned.evidence, pruned.proof
    ranking = rank_evidence(evidence, request.profile, request.at, limit=limit, proof=proof)
    return ranking.with_memories(deps.store.load(evidence.snapshot, ranking.rows))


def _fetch_similarities(
    deps: Dependencies, request: RecallRequest, evidence: "Evidence", limit: int
) -> "PrunedEvidence":
    """Fetch the similarities that can still change the best `limit`.

    For scopes whose vectors do not fit in memory. `prune` decides which rows matter; this loop asks the database.
    """
    from recollect.ranking.bound_pruning import prune

    store, snapshot = deps.store, evidence.snapshot
    if not isinstance(store, VectorSearch) or evidence.query_vectors is None:
        raise TypeError("vectors stayed in a database that cannot compare them")
    (vector,) = evidence.query_vectors
    pruning = prune(
        evidence,
        request.profile,
        request.at,
        limit=limit,
        nearest=store.nearest(snapshot, vector),
        trusting=request.exact is Exact.PREFERRED,
    )
    try:
        wanted = next(pruning)
        while True:
            fetch = store.exact_similarities if wanted.exact else store.similarities
            wanted = pruning.send(fetch(snapshot, vector, wanted.rows))
    except StopIteration as finished:
        pruned: PrunedEvidence = finished.value
        return pruned


def search_below(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best `limit` memories that belong to the scope or to a scope below it."""
    validation.require_limit("limit", limit)
    scopes = deps.store.scopes(request.scope) or [request.scope]
    requests = (replace(request, view=replace(request.view, scope=scope)) for scope in scopes)
    merged = merge(*(_search_own(deps, one, limit) for one in requests))
    excluded = Counter(merged.excluded) + Counter({"limit": max(len(merged) - limit, 0)})
    return replace(merged, scored=merged[:limit], excluded=order_exclusions(request.profile, excluded))


def _search_own(deps: Dependencies, request: RecallRequest, limit: int) -> Ranking:
    """Return the best of the scope's own memories.

    Memories that other scopes share may rank before them, so it ranks deeper until there are enough.
    """
    evidence = _gather_for_search(deps, request)
    depth = limit
    while True:
        ranking = _rank_and_load(deps, request, evidence, depth)
        own = tuple(one for one in ranking if one.memory.scope == request.scope)
        if len(own) >= limit or len(ranking) < depth:
            return replace(ranking, scored=own[:limit])
        depth = min(depth * _DEEPENING_FACTOR, validation.MAX_LIMIT)


_DEEPENING_FACTOR = 4
"""How much deeper to rank if too few results belong to the scope itself."""


def explain_why(deps: Dependencies, request: RecallRequest, id: str, budget: Budget, depth: int) -> Why:
    """Explain at which step a memory is recalled or left out, and what would change the result."""
    validation.require_limit("depth", depth)
    memory_id = require_memory_id(request.scope, id)
    evidence = gather(deps, request)
    visible = deps.store.get(request.scope, [memory_id], known_at=request.view.known_at)
    if not visible:
        return _explain_barred(get_visible(deps, request.scope, id), request, Barrier.NOT_YET_KNOWN)

    memory = visible[0]
    if not request.view.present:
        versions = deps.store.history(request.scope, memory.id)
        known = [one for one in versions if one.commit is None or one.commit <= (memory.commit or 0)]
        memory = version_at(known, request.at) or memory
    barrier = find_barrier(memory, request.at, present=request.view.present, past=request.view.past)
    barrier = barrier or _find_filter_barrier(memory, request)
    if barrier is not None:
        return _explain_barred(memory, request, barrier)
    ranking = rank_for_context(deps, request, evidence, depth)
    reason = why_in_evidence(memory_id, evidence.of_kinds(request.kinds), request.profile, request.at, limit=depth)
    position = next((position for position, scored in enumerate(ranking, start=1) if scored.id == id), None)
    if position is not None:
        reason = replace(reason, fate=Ranked(position), changes=())
    return why_packed(reason, ranking, budget, Prompt(deps.new_marker(), deps.count_tokens))


def _find_filter_barrier(memory: Memory, request: RecallRequest) -> Barrier | None:
    if request.view.levels is not None and not memory.answers(request.view.levels):
        return Barrier.LEVEL
    return None if memory.kind in request.kinds else Barrier.KIND


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
        uses = changeset.MemoryUses(scope, tuple(storable), Use.SERVED, now)
        deps.store.defer(changeset.Changeset(uses=(uses,)))


def _id_of(one: Scored | str) -> MemoryId:
    return one.id if isinstance(one, Scored) else MemoryId(validation.require_text("handed", one))
