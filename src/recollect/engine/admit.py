"""Admit: compare one draft with the memories of its scope, decide, and write the result, in one transaction.

Also finds events so similar to known memories that they are stored without being indexed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, assert_never

from recollect.admission.decision import (
    Admit,
    Decision,
    Echo,
    InsertBefore,
    KeepInactive,
    Neighborhood,
    Quarantine,
    Reactivate,
    ReviseMemory,
    SubjectPosition,
    Supersede,
    decide,
    decide_verbatim,
    effective_from,
    is_older_observation,
    is_said_firsthand,
    merge_validity,
    observed_at,
)
from recollect.admission.policy import AdmissionPolicy, SaliencePolicy
from recollect.admission.prompt_injection import find_injection
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import derive_trust_fields, known_since, next_version
from recollect.engine.supersession import place_in_subject, superseded_verdict, with_prior_quarantine, without_quotes
from recollect.errors import Conflict, show
from recollect.model.context import Use
from recollect.model.draft import (
    IDEMPOTENCY_KEY_LIFETIME,
    Created,
    Draft,
    IdempotencyRecord,
    Outdated,
    Quarantined,
    Reactivated,
    Receipt,
    Refused,
    Reinforced,
    Unchanged,
    Unindexed,
    Updated,
)
from recollect.model.enums import RECALL_LEVELS, TRUST_BY_PROVENANCE, Kind, Status, Trust, lowest_trust
from recollect.model.episode import FAILURE_TAG, LESSON_TAG
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.validation import copy_with
from recollect.protocols import WriteTransaction
from recollect.retrieval.eligibility import View
from recollect.retrieval.query import QueryAnalysis

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector


@dataclass(slots=True)
class Proposal:
    """A draft, the memory it would become, and the vector of the text to embed.

    `text` is None if the draft has its own vector. `missing_text` is the text that should have been embedded instead.
    `similar_event` is the memory that an event is too similar to, with the similarity; with `similar_in_batch`, that
    memory is from the same call and counts only if it is stored. `redacted` names what was removed from the draft.
    `estimated_importance` is estimated from the text. `shared_trusts` has the trust of origins that parent scopes
    share. With `is_verbatim`, the proposal is the next version of its topic, even if another memory says the same.
    """

    draft: Draft
    memory: Memory
    redacted: tuple[str, ...] = ()
    text: str | None = None
    vector: "Vector | None" = None
    missing_text: str | None = None
    similar_event: tuple[MemoryId, float] | None = None
    similar_in_batch: bool = False
    estimated_importance: float | None = None
    shared_trusts: Mapping[str, Trust] = field(default_factory=dict[str, Trust])
    is_verbatim: bool = False

    def resolve_vector(self, state: Memory, former: Memory | None) -> "Vector | None":
        """Return the vector of a memory's next version, or None if its present vector stays.

        Sets `missing_text` if this version's text is not the one that was embedded.
        """
        if former is not None and state.reads_like(former) and (self.text is not None or state.text != self.draft.text):
            return None
        if self.text not in (None, state.embedded_text):
            self.missing_text = state.embedded_text
        return self.vector


def admit(
    writing: WriteTransaction, proposal: Proposal, policy: AdmissionPolicy, threshold: float, now: datetime
) -> Receipt:
    """Decide about one draft by the memories that this transaction sees, and write the result."""
    draft = proposal.draft
    record = None if draft.key is None else check_retry_key(writing.kept(draft.scope, draft.key), draft, now)
    earlier = None if record is None else writing.get(draft.scope, record.memory)
    if record is not None and earlier is not None and not raises_trust(draft, earlier):
        # another call wrote it while this one was embedding
        return Receipt(earlier.id, record.verdict, earlier, proposal.redacted)
    if draft.id is not None and writing.get(draft.scope, draft.id) is not None:
        raise Conflict(f"memory {show(draft.id)} already exists; revise it, or omit the id")
    memory, neighborhood = _gather_known(writing, proposal, policy, threshold)
    decision = (decide_verbatim if proposal.is_verbatim else decide)(memory, neighborhood, policy)
    if proposal.estimated_importance is not None and isinstance(
        decision, Admit | Supersede | InsertBefore | Quarantine
    ):
        memory = memory.changed(importance=proposal.estimated_importance)
    commit_time = max(now, observed_at(memory))  # another writer may have committed since `now` was read
    receipt = _apply_decision(writing, decision, proposal, memory, policy, commit_time)
    if draft.key is not None and receipt.kept:
        verdict, body = without_quotes(receipt.verdict, receipt.memory), draft.body
        new_record = IdempotencyRecord(
            scope=draft.scope, key=draft.key, body=body, memory=receipt.id, verdict=verdict, at=now
        )
        writing.keep(new_record)
    return replace(receipt, redacted=proposal.redacted)


def raises_trust(draft: Draft, stored: Memory) -> bool:
    """Return whether the caller outranks the memory stored under this key.

    True if the user or an operator repeats what was stored with lower trust.
    """
    return stored.trust.less_than(Trust.STATED) and not TRUST_BY_PROVENANCE[draft.provenance].less_than(Trust.STATED)


class HasIdempotencyKey(Protocol):
    """A request with an optional idempotency key; `body` is the hash of its content."""

    @property
    def key(self) -> str | None: ...

    @property
    def body(self) -> str: ...


def check_retry_key(
    record: IdempotencyRecord | None, call: HasIdempotencyKey, now: datetime
) -> IdempotencyRecord | None:
    """Return the record of the same call, or None if there is none or it has expired.

    Raises Conflict if the key was used for another call.
    """
    if record is None or now - record.at > IDEMPOTENCY_KEY_LIFETIME:
        return None
    if record.body != call.body:
        raise Conflict(f"retry key {show(call.key)} was used for a different call; use a new key for each call")
    return record


def _gather_known(
    writing: WriteTransaction, proposal: Proposal, policy: AdmissionPolicy, threshold: float
) -> tuple[Memory, Neighborhood]:
    """Return the proposed memory with its final trust, and the memories to compare it with.

    Its trust is at most that of each memory it was derived from.
    """
    draft, memory = proposal.draft, proposal.memory
    topic = None if draft.topic_key is None else writing.topic(draft.scope, draft.topic_key)
    if draft.at is None and topic is not None:  # an undated draft is the latest statement
        memory = _dated_no_earlier(memory, known_since(topic))
    if memory.derived_from:
        memory = memory.changed(trust=_derive_trust(writing, memory, proposal.shared_trusts))
    same_text, paraphrases = _find_duplicates(writing, memory, proposal, policy, threshold)
    memory = _combine_lessons(memory, [*same_text, *paraphrases])
    consolidated = [one for one in (*same_text, *paraphrases) if one.status is Status.CONSOLIDATED]
    if memory.trust.less_than(Trust.STATED):  # it may repeat a shared memory
        shared = _find_shared_duplicates(writing, memory, proposal, policy, threshold)
        trust = lowest_trust([memory.trust, *(one.trust for one in (*shared, *consolidated))])
        memory = memory if trust is memory.trust else memory.changed(trust=trust)
    if draft.subject is None and memory.kind is not Kind.EVENT and not proposal.is_verbatim:
        # duplicates have the same subject
        candidates = [topic] if topic is not None else [*same_text, *paraphrases]
        subjects = (one.subject for one in candidates if one.subject and not one.trust.less_than(memory.trust))
        subject = next(subjects, None)
        memory = memory if subject in (None, memory.subject) else memory.changed(subject=subject)
    same_subject = _load_same_subject(writing, memory)
    if draft.at is None and draft.valid_from is None:
        dates = (known_since(one) for one in same_subject if one.status is Status.ACTIVE)
        memory = _dated_no_earlier(memory, max(dates, default=memory.created_at))
    same_text += _find_merge_results(writing, consolidated)
    inactive = [one for one in (*same_text, *paraphrases) if one.status is not Status.ACTIVE]
    forgotten = [with_prior_quarantine(writing, one) for one in inactive if one.status is Status.FORGOTTEN]
    injection = None
    if memory.trust.less_than(Trust.STATED):
        injection = find_injection(memory.searched_text) or find_injection(memory.speaker or "")
    neighborhood = Neighborhood(
        topic=topic,
        same_text=same_text,
        paraphrases=paraphrases,
        same_subject=same_subject,
        inactive_since={one.id: _inactive_since(writing, one) for one in inactive},
        forgotten_in_quarantine={one.id: one for one in forgotten if one.status is Status.QUARANTINED},
        injection=injection,
        is_undated=draft.at is None,
    )
    return memory, neighborhood


def _dated_no_earlier(memory: Memory, since: datetime) -> Memory:
    """Return the memory; if it is dated before `since`, it gets that date."""
    if memory.created_at >= since:
        return memory
    return memory.changed(created_at=since, observed_at=since, updated_at=since)


def _find_duplicates(
    writing: WriteTransaction, memory: Memory, proposal: Proposal, policy: AdmissionPolicy, threshold: float
) -> tuple[list[Memory], list[Memory]]:
    """Return the scope's exact duplicates of a memory, and its paraphrases."""
    candidates = writing.sayings(memory)
    same_text = [one for one in candidates if one.hash == memory.hash]
    if not policy.duplicates.enabled or memory.kind is Kind.EVENT or proposal.vector is None:
        return same_text, []
    others = [one for one in candidates if one.hash != memory.hash and one.kind is not Kind.EVENT]
    return same_text, [
        other
        for other in others
        if (memory.subject is not None and other.subject == memory.subject)
        or _similarity(writing.direction(other), proposal.vector) > threshold
    ]


def _combine_lessons(memory: Memory, duplicates: Sequence[Memory]) -> Memory:
    """Merge a lesson with the same lesson of an earlier task.

    It then derives from both tasks, and has the higher confidence of the two.
    """
    earlier = next((one for one in duplicates if one.status is Status.ACTIVE), None)
    if earlier is None or not (_is_lesson(earlier) and _is_lesson(memory)):
        return memory
    if memory.trust.less_than(earlier.trust) or is_said_firsthand(memory, earlier):
        return memory
    return memory.changed(
        trust=earlier.trust,
        tags=tuple(dict.fromkeys([*earlier.tags, *memory.tags]))[:MAX_LIST_ITEMS],
        confidence=max(earlier.confidence or 0.0, memory.confidence or 0.0),
        derived_from=tuple(dict.fromkeys([*earlier.derived_from, *memory.derived_from]))[-MAX_LIST_ITEMS:],
    )


def _is_lesson(memory: Memory) -> bool:
    """Return whether the memory is a lesson or failure mode of a task."""
    return (
        bool(memory.derived_from)
        and memory.kind is Kind.LEARNING
        and not {LESSON_TAG, FAILURE_TAG}.isdisjoint(memory.tags)
    )


def _find_shared_duplicates(
    writing: WriteTransaction, memory: Memory, proposal: Proposal, policy: AdmissionPolicy, threshold: float
) -> list[Memory]:
    """Return duplicates that parent scopes share."""
    duplicates: list[Memory] = []
    for scope in memory.scope.ancestors:
        same_text, paraphrases = _find_duplicates(writing, copy_with(memory, scope=scope), proposal, policy, threshold)
        duplicates += [one for one in (*same_text, *paraphrases) if one.shared and one.status is Status.ACTIVE]
    return duplicates


def _find_merge_results(writing: WriteTransaction, consolidated: Sequence[Memory]) -> list[Memory]:
    """Return the final memories that these were merged into, if they are quarantined.

    Includes final memories that were quarantined when they were forgotten.
    """
    results: dict[MemoryId, Memory] = {}
    waiting = list(consolidated)
    while waiting:
        memory = waiting.pop()
        result = None if memory.superseded_by is None else writing.get(memory.scope, memory.superseded_by)
        if result is not None and result.id not in results:
            results[result.id] = result
            waiting += [result] if result.status is Status.CONSOLIDATED else []
    return [
        memory for memory in results.values() if with_prior_quarantine(writing, memory).status is Status.QUARANTINED
    ]


def _load_same_subject(writing: WriteTransaction, memory: Memory) -> list[Memory]:
    """Return memories of the same subject that are valid after this one begins."""
    return [] if memory.subject is None else writing.about(memory.scope, memory.subject, effective_from(memory))


def _derive_trust(writing: WriteTransaction, memory: Memory, shared: Mapping[str, Trust]) -> Trust:
    """Return the lowest trust of a memory's provenance and origins; an unknown origin is external."""
    own = {id: writing.get(memory.scope, MemoryId(id)) for id in memory.derived_from}
    trusts = [shared.get(id, Trust.EXTERNAL) if one is None else one.trust for id, one in own.items()]
    return lowest_trust([memory.trust, *trusts])


def _similarity(vector: "Vector | None", other: "Vector | None") -> float:
    from recollect.retrieval.vectors import nearest_cosines

    return -1.0 if vector is None or other is None else float(nearest_cosines(vector[None, :], other[None, :])[0])


def _inactive_since(writing: WriteTransaction, memory: Memory) -> datetime:
    """Return when a memory became inactive: for a superseded one, when its validity ended."""
    if memory.status is Status.SUPERSEDED and memory.valid_until is not None:
        return memory.valid_until
    return writing.standing_since(memory) or observed_at(memory)


def _apply_decision(
    writing: WriteTransaction,
    decision: Decision,
    proposal: Proposal,
    memory: Memory,
    policy: AdmissionPolicy,
    now: datetime,
) -> Receipt:
    match decision:
        case Admit():
            return _put_new(writing, proposal, memory)
        case ReviseMemory(former, restated, position):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=restated)
            state = place_in_subject(writing, state, position, now)
            stored = writing.put(state, proposal.resolve_vector(state, former))
            replaced_id = position.ends[-1].id if position.ends else None
            return Receipt(stored.id, Updated(stored.revisions, replaced_id), stored)
        case Echo(duplicate, reason):
            return _reinforce(writing, duplicate, proposal.draft, memory, reason)
        case Supersede(old):
            state = place_in_subject(writing, memory, SubjectPosition(old), now)
            stored = writing.put(state, proposal.resolve_vector(memory, None))
            return Receipt(stored.id, superseded_verdict(old, memory), stored)
        case InsertBefore(newer, old):
            state = place_in_subject(writing, memory, SubjectPosition(old, newer), now)
            stored = writing.put(state, proposal.resolve_vector(memory, None))
            if stored.status is not Status.ACTIVE:
                return Receipt(stored.id, _outdated_verdict(newer, memory), stored)
            return Receipt(stored.id, superseded_verdict(old, memory) if old else Created(), stored)
        case Reactivate(former, position):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=True)
            revived = state.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
            if revived.topic_key is not None and writing.topic(revived.scope, revived.topic_key) is not None:
                revived = revived.changed(topic_key=None)  # another memory has this topic key by now
            revived = place_in_subject(writing, revived, position, now)
            stored = writing.put(revived, proposal.resolve_vector(revived, former))
            if position.ended_by is not None and stored.status is not Status.ACTIVE:
                return Receipt(stored.id, _outdated_verdict(position.ended_by, memory), stored)
            replaced_id = position.ends[-1].id if position.ends else None
            return Receipt(stored.id, Reactivated(former.status.value, replaced_id), stored)
        case KeepInactive(former, since):
            when = since.isoformat(timespec="seconds")
            reason = f"it was {former.status.value} on {when}, after this was stated"
            return Receipt(former.id, Refused(reason, former.id), former)
        case Quarantine(reason, other) if other is not None and other.status is Status.QUARANTINED:
            return Receipt(other.id, Quarantined(reason, other.id), other)
        case Quarantine(reason, other):
            state = memory.changed(status=Status.QUARANTINED, remark=reason)
            stored = writing.put(state, proposal.resolve_vector(memory, None))
            return Receipt(stored.id, Quarantined(reason, None if other is None else other.id), stored)
        case _ as unknown:
            assert_never(unknown)


def _outdated_verdict(newer: Memory, memory: Memory) -> Outdated:
    return Outdated(newer.id, f"a later memory has the subject {memory.subject!r}")


def _put_new(writing: WriteTransaction, proposal: Proposal, memory: Memory) -> Receipt:
    if proposal.similar_event is None or (
        proposal.similar_in_batch and writing.get(memory.scope, proposal.similar_event[0]) is None
    ):
        stored = writing.put(memory, proposal.resolve_vector(memory, None))
        return Receipt(stored.id, Created(), stored)
    stored = writing.put(memory.changed(indexed=False), proposal.resolve_vector(memory, None))
    return Receipt(stored.id, unindexed_verdict(*proposal.similar_event), stored)


def unindexed_verdict(similar: MemoryId, similarity: float) -> Unindexed:
    """Return the verdict for an event that is too similar to a known memory."""
    return Unindexed(similar, f"a similar event is already stored (similarity {similarity:.3f})")


def _reinforce(writing: WriteTransaction, duplicate: Memory, draft: Draft, memory: Memory, reason: str) -> Receipt:
    """Count an echo of a duplicate, once for each moment at which it was stated."""
    at = memory.created_at
    if draft.at is not None and (at in (duplicate.created_at, duplicate.observed_at) or writing.echoed(duplicate, at)):
        return Receipt(duplicate.id, Unchanged(), duplicate)
    writing.record(memory.scope, [duplicate.id], Use.ECHOED, at, None)
    return Receipt(duplicate.id, Reinforced(duplicate.id, reason), duplicate)


def _next_state(
    former: Memory, proposed: Memory, kind: Kind | None, policy: SaliencePolicy, *, restated: bool
) -> Memory:
    """Return the next version of a memory; the proposal changes only the fields it sets.

    Trust, evidence and validity come from the new text alone. A text that is only restated keeps its validity unless
    the draft sets another, and gains no trust unless the user or an operator restates it.
    """
    since, until = merge_validity(former, proposed, restated=restated)
    firsthand = is_said_firsthand(proposed, former)
    max_trust = former.trust if restated and not firsthand else None
    still_valid = restated and former.status is Status.ACTIVE and not former.ended_by(effective_from(proposed))
    # in a new period, the proposed subject counts
    begins_new_period = restated and not still_valid and former.kind is not Kind.EVENT
    is_older = restated and is_older_observation(proposed, former)
    preferred, fallback = (former, proposed) if is_older else (proposed, former)
    if firsthand or (not restated and former.trust.less_than(proposed.trust)):
        preferred = fallback = proposed  # the former description has lower trust
    return next_version(
        former,
        former.text if restated else proposed.text,
        proposed.created_at,
        kind=kind,
        importance=proposed.importance,
        policy=policy,
        title=preferred.title or fallback.title,
        topic_key=preferred.topic_key or fallback.topic_key,
        subject=proposed.subject if begins_new_period else preferred.subject or fallback.subject,
        tags=preferred.tags or fallback.tags,
        session=preferred.session or fallback.session,
        speaker=preferred.speaker or fallback.speaker,
        shared=fallback.shared or preferred.shared,
        pinned=fallback.pinned or preferred.pinned,
        confidence=fallback.confidence if preferred.confidence is None else preferred.confidence,
        valid_from=since,
        valid_until=until,
        superseded_by=former.superseded_by if still_valid else None,
        evidence=proposed.evidence,
        derived_from=proposed.derived_from,
        metadata=preferred.metadata or fallback.metadata,
        source=proposed.source,
        **derive_trust_fields(former, proposed.provenance, proposed.trust, max_trust=max_trust),
    )


SimilarMemory = tuple[MemoryId, float]
"""The id of a memory, and its similarity."""


def find_known_events(deps: Dependencies, proposals: Sequence[Proposal], now: datetime) -> None:
    """Set `similar_event` on each event that is too similar to a stored memory or an earlier event of the batch.

    If a lookup fails, the event counts as new, so that nothing is lost.
    """
    new_events: list[tuple[Memory, Vector]] = []
    for proposal in proposals:
        if proposal.memory.kind is not Kind.EVENT or proposal.vector is None:
            continue
        try:
            in_store = _find_nearest_stored(deps, proposal.memory.scope, proposal.vector, now)
        except Exception:  # on any error, keep the event
            in_store = None
        in_batch = [(memory.id, vector) for memory, vector in new_events if memory.scope == proposal.memory.scope]
        matches = [match for match in (in_store, _find_nearest(in_batch, proposal.vector)) if match is not None]
        nearest = max(matches, key=lambda match: match[1], default=None)
        if nearest is not None and nearest[1] > deps.policy.novelty.threshold:
            proposal.similar_event, proposal.similar_in_batch = nearest, nearest is not in_store
        else:
            new_events.append((proposal.memory, proposal.vector))


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
