"""Merge memories by hand, and consolidate memories that say the same.

A merged memory has the lowest trust of its sources. Consolidation is planned first and applied exactly as planned.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import TypeVar

from recollect.admission import changes, supersession
from recollect.admission.classify import rate_salience
from recollect.admission.decision import effective_from, injection_reason
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import (
    find_quarantine_refusal,
    find_rivals,
    get_own,
    get_vector,
    get_visible,
    memory_not_owned,
)
from recollect.engine.topics import load_active_memories
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.consolidation import Consolidation, ConsolidationGroup, find_consolidation, raise_importance
from recollect.model import changeset, validation
from recollect.model.draft import Created, Receipt, Refused
from recollect.model.enums import Kind, Status, Trust
from recollect.model.format import format_count, shorten
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.plan import Act, Job, Plan, RetentionOverrides, Step
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.text.index_entry import index_memory

T = TypeVar("T")

MIN_MERGED_MEMORIES = 2
"""The minimum number of memories in a merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The text of the merged memory; `None` takes it from the most important source."""

    text: str | None = None
    title: str | None = None
    kind: Kind | None = None

    def __post_init__(self) -> None:
        if self.text is not None:
            validation.require_content("text", self.text)
        if self.title is not None:
            validation.require_text("title", self.title)


def merge_memories(deps: Dependencies, scope: Scope, ids: Iterable[str], wording: Wording) -> Receipt:
    """Merge several memories into one; the sources stay in the store as its origins.

    The merge is refused, and changes nothing, if a new text or title instructs a model and has lower trust than the
    user, or if an operator quarantined the same text. It raises Conflict if another memory of its subject is valid.
    """
    names = _check_ids("ids", ids)
    screened = screen(wording, deps.policy.secrets)
    if isinstance(screened, Refused):
        return Receipt(None, screened, None)
    wording, redacted = screened.value, screened.redacted
    id = MemoryId(deps.new_id(deps.now()))
    receipt = None
    while receipt is None:
        receipt = _try_merge(deps, scope, names, wording, id)
    return replace(receipt, redacted=redacted)


def _try_merge(deps: Dependencies, scope: Scope, ids: Sequence[str], wording: Wording, id: MemoryId) -> Receipt | None:
    """Merge the memories; return None if one of them changed during the embedding."""
    policy = deps.policy
    present = list[Memory]()
    for one in ids:
        memory = get_visible(deps, scope, one)
        if memory.scope != scope:
            raise memory_not_owned(scope, memory)
        present.append(_check_merge_source(memory))
    expected = build_merged(present, wording, id, policy)
    is_known_text = any(expected.reads_like(one) for one in present)
    vector = None if is_known_text else deps.embed([expected.embedded_text], "memory")[0]
    index = index_memory(expected)

    def change(writing: WriteTransaction) -> Receipt | None:
        writing.apply(changeset.Changeset(encoder=deps.encoder))
        sources = [_check_merge_source(get_own(writing, scope, one)) for one in ids]
        state = build_merged(sources, wording, id, policy)
        same_text = next((one for one in sources if state.reads_like(one)), None)
        if same_text is None and (vector is None or not state.reads_like(expected)):
            return None
        refusal = None if same_text is not None else _find_objection(writing, state, index, deps.policy)
        if refusal is not None:
            return Receipt(None, refusal, None)
        _refuse_rival(writing, state, deps.policy)
        merged_vector = vector if same_text is None else get_vector(writing, same_text)
        for one in sources:
            writing.put(one.with_changes(status=Status.CONSOLIDATED, superseded_by=id), None)
        merged = writing.put(state, merged_vector, index)
        return Receipt(merged.id, Created(), merged)

    return deps.store.write(change)


def _find_objection(
    writing: WriteTransaction, state: Memory, index: changeset.IndexEntry, policy: AdmissionPolicy
) -> Refused | None:
    """Return a refusal of a text that no source has, or None."""
    is_untrusted = state.trust.less_than(Trust.STATED) and policy.quarantine.enabled
    injection = find_injection(state.searched_text) if is_untrusted else None
    if injection is not None:
        return Refused(injection_reason(injection))
    return find_quarantine_refusal(writing, state, index)


def _refuse_rival(writing: WriteTransaction, state: Memory, policy: AdmissionPolicy) -> None:
    """Raise Conflict if a memory outside the merge is valid for the same subject."""
    other = next((one for one in find_rivals(writing, state, policy) if one.id not in state.derived_from), None)
    if other is not None:
        problem = f"memory {show(other.id)} of the same subject {show(state.subject)} is valid too"
        raise Conflict(f"{problem}; merge it too, or forget it first")


def build_merged(
    sources: Sequence[Memory],
    wording: Wording,
    id: MemoryId,
    policy: AdmissionPolicy,
    *,
    led_by: MemoryId | None = None,
) -> Memory:
    """Return the merged memory, with the highest importance and the lowest confidence and trust.

    It is valid whenever a source is. Where sources differ, the lead decides: `led_by`, or else the most important one,
    then the newest. The subject of a new text is read from it, unless all sources were given the same one. The result
    is shared only if all sources are, so that no scope sees more than before.
    """
    ranked = sorted(sources, key=lambda one: (one.id == led_by, _lead_priority(one)), reverse=True)
    lead, least_trusted = ranked[0], min(ranked, key=lambda one: one.trust.level)
    text, kind = wording.text or lead.text, wording.kind or lead.kind
    pinned = any(one.pinned for one in sources)
    speaker = lead.speaker if wording.text is None else _common_value(one.speaker for one in sources)
    topic_key = next((one.topic_key for one in ranked if one.topic_key is not None), None)
    since = changes.known_since(lead) if wording.text is None else max(changes.known_since(one) for one in sources)
    memory = Memory(
        id=id,
        scope=lead.scope,
        text=text,
        title=wording.title or lead.title,
        kind=kind,
        level=_common_value(one.level for one in sources),
        tags=_union(one.tags for one in ranked),
        session=_common_value(one.session for one in sources),
        speaker=speaker,
        topic_key=topic_key,
        subject=lead.subject,
        shared=all(one.shared for one in sources),
        pinned=pinned,
        importance=_choose_known(max, (one.importance for one in sources)),
        confidence=_choose_known(min, (one.confidence for one in sources)),
        salience=rate_salience(text, kind, pinned=pinned, policy=policy.salience),
        created_at=min(one.created_at for one in sources),
        observed_at=since,
        updated_at=since,
        valid_from=min(sources, key=effective_from).valid_from,
        valid_until=_latest_end(sources),
        provenance=least_trusted.provenance,
        trust=least_trusted.trust,
        source=_common_value(one.source for one in sources),
        evidence=_fit_quotes(_union(one.evidence for one in ranked)),
        derived_from=tuple(one.id for one in sources),
        metadata=lead.metadata,
        indexed=any(one.indexed for one in sources),
    )
    return memory if wording.text is None else memory.with_changes(subject=_merged_subject(sources, memory, policy))


def _merged_subject(sources: Sequence[Memory], memory: Memory, policy: AdmissionPolicy) -> str | None:
    """Return the subject of a new text: the one all sources were given, or the one it says."""
    common = _common_value(one.subject for one in sources)
    was_given = common is not None and common not in [supersession.read_subject(one, policy) for one in sources]
    return common if was_given or not policy.truth.derive_subject else supersession.read_subject(memory, policy)


def _check_ids(field: str, ids: Iterable[str]) -> tuple[str, ...]:
    merged_ids = tuple(validation.require_text(field, one) for one in validation.require_several(field, ids))
    if len(merged_ids) < MIN_MERGED_MEMORIES:
        problem = f"has only {show(merged_ids[0])}" if merged_ids else "is empty"
        raise FieldError(f"{problem}; name at least {MIN_MERGED_MEMORIES} memories", field=field)
    if len(merged_ids) > MAX_LIST_ITEMS:
        raise FieldError(f"has {len(merged_ids)} ids; at most {MAX_LIST_ITEMS} are merged at a time", field=field)
    repeated = next((one for position, one in enumerate(merged_ids) if one in merged_ids[:position]), None)
    if repeated is not None:
        raise FieldError(f"{show(repeated)} occurs twice; name each memory once", field=field)
    return merged_ids


def _check_merge_source(memory: Memory) -> Memory:
    if memory.status is not Status.ACTIVE:
        raise Conflict(f"memory {show(memory.id)} is {memory.status.value}; only active memories are merged")
    return memory


def _lead_priority(memory: Memory) -> tuple[float, datetime, str]:
    """The sort key of the lead: importance, then newness, then id."""
    importance = -1.0 if memory.importance is None else memory.importance
    return importance, changes.known_since(memory), memory.id


def _latest_end(sources: Sequence[Memory]) -> datetime | None:
    """Return the latest end of validity; None if a source has no end."""
    ends = [one.valid_until for one in sources if one.valid_until is not None]
    return max(ends) if len(ends) == len(sources) else None


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the distinct values of all lists, at most as many as a memory may have."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))[:MAX_LIST_ITEMS]


def _fit_quotes(quotes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first quotes that together fit the size limit."""
    lengths = accumulate(len(one.encode()) for one in quotes)
    return tuple(quote for quote, length in zip(quotes, lengths, strict=True) if length <= validation.MAX_TEXT_BYTES)


def _common_value(values: Iterable[T]) -> T | None:
    """Return the value if all are equal, else None."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _choose_known(choose: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return choose(known) if known else None


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

_STORE_FIELDS = ("recorded_at", "commit")
"""Fields of a version that the store sets."""


@dataclass(frozen=True, slots=True)
class _NearMemories:
    """The memories that are similar to another one, by id, each with its neighbors, nearest first.

    `active_count` counts all active memories, and `compared_pairs` the compared pairs.
    """

    active_count: int
    memories: Sequence[Memory] = ()
    neighbors: Sequence[Sequence[int]] = ()
    compared_pairs: int = 0


def plan_consolidation(deps: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """Plan how to consolidate the scope's own valid plain memories; nothing is written."""
    now, rules = deps.now(), deps.consolidation
    near = _find_near_memories(deps, scope, now)
    merge_results = _find_merge_results(deps.store, scope, near.memories)

    are_in_conflict = _make_conflict_check(deps.policy)
    consolidation = find_consolidation(
        near.memories, near.neighbors, least=rules.least, made=merge_results, conflicts=are_in_conflict
    )
    steps = tuple(_build_steps(consolidation, merge_results, deps.policy))
    acts = {act.value: sum(one.act is act for one in steps) for act in Act}
    return Plan(
        job=Job.CONSOLIDATE,
        scope=scope,
        made_at=now,
        parameters={
            "embedder": deps.encoder.name,
            "threshold": rules.threshold,
            "least": rules.least,
            "more_than": rules.more_than,
        },
        counts={"active": near.active_count, "near": len(near.memories), "compared": near.compared_pairs, **acts},
        steps=steps,
    )


def prepare_consolidation(
    deps: Dependencies, plan: Plan
) -> Callable[[WriteTransaction, Mapping[MemoryId, Memory]], list[Memory]]:
    """Return the function that applies the plan; there is nothing to prepare."""
    return lambda writing, present: _apply_consolidation(deps, writing, plan, present)


def _apply_consolidation(
    deps: Dependencies, writing: WriteTransaction, plan: Plan, present: Mapping[MemoryId, Memory]
) -> list[Memory]:
    """Apply the plan to unchanged memories; each merged memory must be as planned.

    The sources are archived first, because two active memories may not say the same. Readers always see either the
    sources or the merged memory, since it is one transaction.
    """
    writing.apply(changeset.Changeset(encoder=deps.encoder))
    sources: dict[MemoryId | None, list[Memory]] = defaultdict(list)
    for step in plan.of(Act.CONSOLIDATE):
        sources[step.by].append(_check_consolidation_source(present[step.memory]))
    all_sources = [one for members in sources.values() for one in members]
    origins = [writing.get(plan.scope, MemoryId(id)) for one in all_sources for id in one.derived_from]
    merge_results = _successor_ids([one for one in origins if one is not None])
    written = list[Memory]()
    for step in plan.of(Act.CREATE):
        members = sources.pop(step.memory, [])
        lead = next((one for one in members if one.id == step.by), None)
        if lead is None:
            raise FieldError(f"{show(step.memory)} has no source with its text; plan again", field="steps")
        state = _build_successor(members, lead, step.memory, merge_results, deps.policy)
        if digest_memory(state) != step.state:
            raise Conflict(f"memory {show(step.memory)} would now differ from the plan; plan again")
        direction = get_vector(writing, lead)
        retired = [one.with_changes(status=Status.CONSOLIDATED, superseded_by=step.memory) for one in members]
        written += [writing.put(one, None) for one in retired]
        written.append(writing.put(state, direction))
    if sources:
        raise FieldError(f"{show(next(iter(sources)))} has sources but is not created; plan again", field="steps")
    return written


def _find_near_memories(deps: Dependencies, scope: Scope, now: datetime) -> _NearMemories:
    """Return all similar memories; none if the scope has too few memories."""
    import numpy as np

    from recollect.lifecycle.clustering import find_near_pairs

    active = load_active_memories(deps, scope, now)
    vectors = active.vectors
    if active.active_count <= deps.consolidation.more_than or not vectors.size:
        return _NearMemories(active.active_count)

    pairs = find_near_pairs(vectors, deps.consolidation.threshold)
    indexes = np.union1d(pairs.first, pairs.second)
    memories = deps.store.load(active.snapshot, active.rows[indexes].tolist())
    exists = np.array([one is not None for one in memories], dtype=np.bool_)  # None: erased since
    neighbors = pairs.neighbors_among(indexes[exists])
    return _NearMemories(active.active_count, [one for one in memories if one is not None], neighbors, pairs.compared)


def _find_merge_results(store: Store, scope: Scope, memories: Sequence[Memory]) -> set[MemoryId]:
    """Return the ids of memories that came from an earlier consolidation or merge."""
    origins = list(dict.fromkeys(MemoryId(id) for one in memories for id in one.derived_from))
    return _successor_ids(store.get(scope, origins) if origins else [])


def _successor_ids(origins: Sequence[Memory]) -> set[MemoryId]:
    consolidated = (one for one in origins if one.status is Status.CONSOLIDATED)
    return {one.superseded_by for one in consolidated if one.superseded_by is not None}


def _make_conflict_check(policy: AdmissionPolicy) -> Callable[[Memory, Memory], bool]:
    """Return a function that tells whether two memories contradict each other about a subject."""

    def are_in_conflict(one: Memory, other: Memory) -> bool:
        same_subject = one.subject is not None and one.subject == other.subject
        return (
            same_subject
            and supersession.is_exclusive(one, policy)
            and supersession.is_exclusive(other, policy)
            and bool(supersession.filter_overlapping(one, [other]))
        )

    return are_in_conflict


def _build_steps(
    consolidation: Consolidation, merge_results: Collection[MemoryId], policy: AdmissionPolicy
) -> Iterator[Step]:
    """Yield a step for each memory: first group by group, then the memories that stay."""
    for group in consolidation.groups:
        yield from _build_group_steps(group, merge_results, policy)
    for one in consolidation.unmerged:
        memory = one.memory
        yield Step(
            memory=memory.id,
            commit=memory.commit,
            act=Act.KEEP,
            by=one.other.id,
            reason=one.reason,
            text=shorten(memory.text),
        )


def _build_group_steps(
    group: ConsolidationGroup, merge_results: Collection[MemoryId], policy: AdmissionPolicy
) -> Iterator[Step]:
    id = _make_successor_id(group)
    state = _build_successor(group.members, group.lead, id, merge_results, policy)
    count = format_count(len(group.members), "memory", "memories")
    rating = f"importance {state.importance:g}, trust {state.trust.value}"
    yield Step(
        memory=id,
        act=Act.CREATE,
        by=group.lead.id,
        reason=f"replaces {count}, with the text of the one that covers all of them; {rating}",
        text=shorten(state.text),
        state=digest_memory(state),
    )
    for one in group.members:
        reason = "its text is used for the merged memory" if one is group.lead else "the merged memory covers it"
        yield Step(memory=one.id, commit=one.commit, act=Act.CONSOLIDATE, by=id, reason=reason, text=shorten(one.text))


def _build_successor(
    members: Sequence[Memory], lead: Memory, id: MemoryId, merge_results: Collection[MemoryId], policy: AdmissionPolicy
) -> Memory:
    """Return the memory that replaces a group: their merge, in the words of the lead."""
    merged = build_merged(members, Wording(), id, policy, led_by=lead.id)
    return merged.with_changes(importance=raise_importance(members, merge_results))


def _make_successor_id(group: ConsolidationGroup) -> MemoryId:
    """Return an id that sorts by the latest commit time, and is the same only for the same versions."""
    versions = [[one.id, one.commit] for one in group.members]
    digest = hashlib.sha256(json.dumps([str(group.lead.scope), versions]).encode()).hexdigest()
    last = max(one.recorded_at or one.created_at for one in group.members)
    time = f"{max((last - EPOCH) // MILLISECOND, 0):012x}"
    return MemoryId(f"{time[:8]}-{time[8:]}-8{digest[:3]}-8{digest[3:6]}-{digest[6:18]}")


def digest_memory(memory: Memory) -> str:
    """Return a digest of the memory without the fields that the store sets."""
    values = {one.name: getattr(memory, one.name) for one in fields(Memory) if one.name not in _STORE_FIELDS}
    content = json.dumps({**values, "metadata": dict(memory.metadata)}, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def _check_consolidation_source(memory: Memory) -> Memory:
    """Return the memory, or raise Conflict if it is protected from consolidation.

    A plan edited by hand could name such a memory.
    """
    if memory.status is not Status.ACTIVE or memory.pinned or memory.level is not None or not memory.indexed:
        raise Conflict(f"memory {show(memory.id)} is pinned or not active; only other memories are consolidated")
    return memory
