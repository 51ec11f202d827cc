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

from recollect.admission.classify import rate_salience
from recollect.admission.decision import effective_from, injection_reason
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import screen
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_own, get_visible, known_since, memory_not_owned
from recollect.engine.supersession import (
    filter_overlapping,
    find_quarantine_refusal,
    find_rivals,
    is_exclusive,
    read_subject,
)
from recollect.engine.topics import load_active_memories
from recollect.errors import Conflict, FieldError, show
from recollect.lifecycle.consolidation import Consolidation, ConsolidationGroup, find_consolidation, raise_importance
from recollect.model import validation
from recollect.model.draft import Created, Receipt, Refused
from recollect.model.enums import Kind, Status, Trust
from recollect.model.format import format_count, shorten
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.plan import Act, Job, Plan, RetentionOverrides, Step
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction

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
    user, or if an operator quarantined the same text. It raises Conflict if another memory is valid for its subject.
    """
    names = _check_ids("ids", ids)
    found = screen(wording, deps.policy.secrets)
    if isinstance(found, Refused):
        return Receipt(None, found, None)
    wording, redacted = found.value, found.redacted
    id = MemoryId(deps.new_id(deps.now()))
    receipt = None
    while receipt is None:
        receipt = _try_merge(deps, scope, names, wording, id)
    return replace(receipt, redacted=redacted)


def _try_merge(deps: Dependencies, scope: Scope, ids: Sequence[str], wording: Wording, id: MemoryId) -> Receipt | None:
    """Merge the memories; return None if one of them changed during the embedding."""
    policy = deps.policy
    seen = [_check_merge_source(_require_own(scope, get_visible(deps, scope, one))) for one in ids]
    expected = build_merged(seen, wording, id, policy)
    known = any(expected.reads_like(one) for one in seen)
    vector = None if known else deps.embed([expected.embedded_text], "memory")[0]

    def change(writing: WriteTransaction) -> Receipt | None:
        writing.adopt(deps.encoder)
        sources = [_check_merge_source(get_own(writing, scope, one)) for one in ids]
        state = build_merged(sources, wording, id, policy)
        same = next((one for one in sources if state.reads_like(one)), None)
        if same is None and (vector is None or not state.reads_like(expected)):
            return None
        refused = None if same is not None else _find_objection(writing, state, deps.policy)
        if refused is not None:
            return Receipt(None, refused, None)
        _refuse_rival(writing, state, deps.policy)
        direction = vector if same is None else writing.direction(same)
        for one in sources:
            writing.put(one.changed(status=Status.CONSOLIDATED, superseded_by=id), None)
        kept = writing.put(state, direction)
        return Receipt(kept.id, Created(), kept)

    return deps.store.write(change)


def _find_objection(writing: WriteTransaction, state: Memory, policy: AdmissionPolicy) -> Refused | None:
    """Return why a text that no source has is refused, or None."""
    doubted = state.trust.less_than(Trust.STATED) and policy.quarantine.enabled
    orders = find_injection(state.searched_text) if doubted else None
    if orders is not None:
        return Refused(injection_reason(orders))
    return find_quarantine_refusal(writing, state)


def _refuse_rival(writing: WriteTransaction, state: Memory, policy: AdmissionPolicy) -> None:
    """Raise Conflict if a memory outside the merge is valid for the same subject."""
    other = next((one for one in find_rivals(writing, state, policy) if one.id not in state.derived_from), None)
    if other is not None:
        holds = f"the memory {show(other.id)} holds of the subject {show(state.subject)}, beside what these would say"
        raise Conflict(f"{holds}; merge it too, or forget it first")


def build_merged(
    sources: Sequence[Memory],
    wording: Wording,
    id: MemoryId,
    policy: AdmissionPolicy,
    *,
    led_by: MemoryId | None = None,
) -> Memory:
    """Return the merged memory: the highest importance, the lowest confidence and trust.

    It is valid whenever a source is. Where sources differ, the lead decides: `led_by`, or else the most important one,
    then the newest. The subject of a new text is read from it, unless all sources were given the same one. The result
    is shared only if all sources are, so that no scope sees more than before.
    """
    ranked = sorted(sources, key=lambda one: (one.id == led_by, _lead_priority(one)), reverse=True)
    lead, least_trusted = ranked[0], min(ranked, key=lambda one: one.trust.level)
    text, kind = wording.text or lead.text, wording.kind or lead.kind
    pinned = any(one.pinned for one in sources)
    speaker = lead.speaker if wording.text is None else _common_value(one.speaker for one in sources)
    topic_key = _first_known(one.topic_key for one in ranked)
    since = known_since(lead) if wording.text is None else max(known_since(one) for one in sources)
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
    return memory if wording.text is None else memory.changed(subject=_merged_subject(sources, memory, policy))


def _merged_subject(sources: Sequence[Memory], memory: Memory, policy: AdmissionPolicy) -> str | None:
    """Return the subject of a new text: the one all sources were given, or the one it says."""
    common = _common_value(one.subject for one in sources)
    given = common is not None and common not in [read_subject(one, policy) for one in sources]
    return common if given or not policy.truth.derive_subject else read_subject(memory, policy)


def _check_ids(field: str, ids: Iterable[str]) -> tuple[str, ...]:
    names = tuple(validation.require_text(field, one) for one in validation.require_several(field, ids))
    if len(names) < MIN_MERGED_MEMORIES:
        named = f"{show(names[0])} alone is" if names else "none is"
        raise FieldError(f"{named} too few to become one; name at least {MIN_MERGED_MEMORIES} memories", field=field)
    if len(names) > MAX_LIST_ITEMS:
        raise FieldError(f"{len(names)} of them; at most {MAX_LIST_ITEMS} become one at a time", field=field)
    twice = next((one for place, one in enumerate(names) if one in names[:place]), None)
    if twice is not None:
        raise FieldError(f"{show(twice)} is there twice; name each memory once", field=field)
    return names


def _require_own(scope: Scope, memory: Memory) -> Memory:
    if memory.scope != scope:
        raise memory_not_owned(scope, memory)
    return memory


def _check_merge_source(memory: Memory) -> Memory:
    if memory.status is not Status.ACTIVE:
        raise Conflict(f"the memory {show(memory.id)} is {memory.status.value}; only active ones are merged")
    return memory


def _lead_priority(memory: Memory) -> tuple[float, datetime, str]:
    """The sort key of the lead: importance, then newness, then id."""
    importance = -1.0 if memory.importance is None else memory.importance
    return importance, known_since(memory), memory.id


def _latest_end(sources: Sequence[Memory]) -> datetime | None:
    """Return the latest end of validity; None if a source has none."""
    ends = [one.valid_until for one in sources if one.valid_until is not None]
    return max(ends) if len(ends) == len(sources) else None


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the distinct values of all lists, at most as many as a memory may have."""
    return tuple(dict.fromkeys(chain.from_iterable(lists)))[:MAX_LIST_ITEMS]


def _fit_quotes(quotes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first quotes that fit together."""
    lengths = accumulate(len(one.encode()) for one in quotes)
    return tuple(quote for quote, length in zip(quotes, lengths, strict=True) if length <= validation.MAX_TEXT_BYTES)


def _common_value(values: Iterable[T]) -> T | None:
    """Return the value if all are equal, else None."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _first_known(values: Iterable[T | None]) -> T | None:
    return next((one for one in values if one is not None), None)


def _choose_known(choose: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return choose(known) if known else None


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

_STORE_FIELDS = ("recorded_at", "commit")
"""Fields of a version that the store sets."""


@dataclass(frozen=True, slots=True)
class _NearMemories:
    """The memories that are similar to another one, by id, each with its neighbors.

    Neighbors come nearest first. Also the number of active memories and of compared pairs.
    """

    active_count: int
    memories: Sequence[Memory] = ()
    neighbors: Sequence[Sequence[int]] = ()
    compared_pairs: int = 0


def plan_consolidation(deps: Dependencies, scope: Scope, _: RetentionOverrides) -> Plan:
    """Plan how to consolidate the scope's own valid plain memories; nothing is written."""
    now, rules = deps.now(), deps.consolidation
    look = _find_near_memories(deps, scope, now)
    made = _find_merge_results(deps.store, scope, look.memories)

    rivals = _make_rival_check(deps.policy)
    found = find_consolidation(look.memories, look.neighbors, least=rules.least, made=made, rivals=rivals)
    steps = tuple(_build_steps(found, made, deps.policy))
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
        counts={"active": look.active_count, "near": len(look.memories), "compared": look.compared_pairs, **acts},
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
    """Apply the plan to unchanged memories; the merged memory must come out as planned.

    The sources are archived first, because two active memories may not say the same. It is one transaction, so readers
    never see a moment without either.
    """
    writing.adopt(deps.encoder)
    sources: dict[MemoryId | None, list[Memory]] = defaultdict(list)
    for step in plan.of(Act.CONSOLIDATE):
        sources[step.by].append(_check_consolidation_source(present[step.memory]))
    made = _find_merge_results_in_transaction(writing, plan.scope, [one for some in sources.values() for one in some])
    written = list[Memory]()
    for step in plan.of(Act.CREATE):
        members = sources.pop(step.memory, [])
        lead = next((one for one in members if one.id == step.by), None)
        if lead is None:
            raise FieldError(f"{show(step.memory)} is made of none that has its words; plan again", field="steps")
        state = _build_successor(members, lead, step.memory, made, deps.policy)
        if digest_memory(state) != step.state:
            raise Conflict(f"the memory {show(step.memory)} would be made otherwise by now; plan again")
        direction = writing.direction(lead)
        retired = [one.changed(status=Status.CONSOLIDATED, superseded_by=step.memory) for one in members]
        written += [writing.put(one, None) for one in retired]
        written.append(writing.put(state, direction))
    if sources:
        raise FieldError(f"{show(next(iter(sources)))} is not made, and others go for it; plan again", field="steps")
    return written


def _find_near_memories(deps: Dependencies, scope: Scope, now: datetime) -> _NearMemories:
    """Return all similar memories; none if the scope has too few memories."""
    import numpy as np

    from recollect.lifecycle.clustering import find_near_pairs

    here = load_active_memories(deps, scope, now)
    vectors = here.vectors
    if here.active_count <= deps.consolidation.more_than or not vectors.size:
        return _NearMemories(here.active_count)

    pairs = find_near_pairs(vectors, deps.consolidation.threshold)
    places = np.union1d(pairs.first, pairs.second)
    memories = here.evidence.memories(here.rows[places].tolist())
    there = np.array([one is not None for one in memories], dtype=np.bool_)  # None: erased since
    near = pairs.neighbors_among(places[there])
    return _NearMemories(here.active_count, [one for one in memories if one is not None], near, pairs.compared)


def _find_merge_results(store: Store, scope: Scope, memories: Sequence[Memory]) -> set[MemoryId]:
    """Return the ids of memories that came from an earlier consolidation or merge."""
    origins = list(dict.fromkeys(MemoryId(id) for one in memories for id in one.derived_from))
    return _successor_ids(store.get(scope, origins) if origins else [])


def _find_merge_results_in_transaction(
    writing: WriteTransaction, scope: Scope, memories: Sequence[Memory]
) -> set[MemoryId]:
    """Return the same within a transaction."""
    found = [writing.get(scope, MemoryId(id)) for one in memories for id in one.derived_from]
    return _successor_ids([one for one in found if one is not None])


def _successor_ids(origins: Sequence[Memory]) -> set[MemoryId]:
    put_away = (one for one in origins if one.status is Status.CONSOLIDATED)
    return {one.superseded_by for one in put_away if one.superseded_by is not None}


def _make_rival_check(policy: AdmissionPolicy) -> Callable[[Memory, Memory], bool]:
    """Return a function that tells whether two memories contradict each other about a subject."""

    def rivals(one: Memory, other: Memory) -> bool:
        alike = one.subject is not None and one.subject == other.subject
        return (
            alike
            and is_exclusive(one, policy)
            and is_exclusive(other, policy)
            and bool(filter_overlapping(one, [other]))
        )

    return rivals


def _build_steps(found: Consolidation, made: Collection[MemoryId], policy: AdmissionPolicy) -> Iterator[Step]:
    """Yield what happens to each memory: first group by group, then the ones that stay."""
    for group in found.groups:
        yield from _build_group_steps(group, made, policy)
    for one in found.unmerged:
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
    group: ConsolidationGroup, made: Collection[MemoryId], policy: AdmissionPolicy
) -> Iterator[Step]:
    id = _make_successor_id(group)
    state = _build_successor(group.members, group.lead, id, made, policy)
    of = format_count(len(group.members), "memory", "memories")
    judged = f"importance {state.importance:g}, trust {state.trust.value}"
    yield Step(
        memory=id,
        act=Act.CREATE,
        by=group.lead.id,
        reason=f"one for {of}, in the words of the one that says all of it; {judged}",
        text=shorten(state.text),
        state=digest_memory(state),
    )
    for one in group.members:
        itself = "it is the one whose words are kept" if one is group.lead else "all that it says is said by that one"
        yield Step(memory=one.id, commit=one.commit, act=Act.CONSOLIDATE, by=id, reason=itself, text=shorten(one.text))


def _build_successor(
    members: Sequence[Memory], lead: Memory, id: MemoryId, made: Collection[MemoryId], policy: AdmissionPolicy
) -> Memory:
    """Return the memory that replaces a group: their merge, in the words of the lead."""
    one = build_merged(members, Wording(), id, policy, led_by=lead.id)
    return one.changed(importance=raise_importance(members, made))


def _make_successor_id(group: ConsolidationGroup) -> MemoryId:
    """Return an id that sorts by the latest commit time, the same for the same versions only."""
    named = [[one.id, one.commit] for one in group.members]
    digest = hashlib.sha256(json.dumps([str(group.lead.scope), named]).encode()).hexdigest()
    last = max(one.recorded_at or one.created_at for one in group.members)
    time = f"{max((last - EPOCH) // MILLISECOND, 0):012x}"
    return MemoryId(f"{time[:8]}-{time[8:]}-8{digest[:3]}-8{digest[3:6]}-{digest[6:18]}")


def digest_memory(memory: Memory) -> str:
    """Return a digest of the memory without the fields that the store sets."""
    told = {one.name: getattr(memory, one.name) for one in fields(Memory) if one.name not in _STORE_FIELDS}
    said = json.dumps({**told, "metadata": dict(memory.metadata)}, sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def _check_consolidation_source(memory: Memory) -> Memory:
    """Return the memory, or raise Conflict if it is protected from consolidation.

    A plan edited by hand could name such a memory.
    """
    if memory.status is not Status.ACTIVE or memory.pinned or memory.level is not None or not memory.indexed:
        raise Conflict(f"the memory {show(memory.id)} is not active, or is pinned; only others are consolidated")
    return memory
