"""Admit: judge one draft by what its scope knows in this transaction, and write the result.

Also finds events so similar to known memories that they are stored without being indexed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from recollect.admission.decision import (
    Admit,
    Decision,
    Echo,
    LeaveInactive,
    Neighborhood,
    Precede,
    Quarantine,
    Reactivate,
    ReviseMemory,
    SubjectPosition,
    Supersede,
    decide,
    decide_exact,
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
    HasIdempotencyKey,
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

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector


@dataclass(slots=True)
class Proposal:
    """A draft, the memory it would become, and the vector of the text to embed.

    `text` is None if the draft brought its own vector. `missing_text` is the text that should have been embedded
    instead. `similar_event` is the memory that an event is too similar to, with the similarity; with `similar_in_batch`
    it is from the same call and counts only if it is stored. `redacted` names what was removed from the draft.
    `estimated_importance` is estimated from the text. `shared_trusts` has the trust of origins shared by parent scopes.
    With `is_exact`, the proposal is the next state of its topic, whatever else says the same.
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
    is_exact: bool = False

    def vector_for(self, state: Memory, former: Memory | None) -> "Vector | None":
        """Return the vector of a memory's next state, or None if it keeps its present one."""
        if former is not None and state.reads_like(former) and (self.text is not None or state.text != self.draft.text):
            return None
        if self.text not in (None, state.embedded_text):
            self.missing_text = state.embedded_text
        return self.vector


def admit(
    writing: WriteTransaction, proposal: Proposal, policy: AdmissionPolicy, threshold: float, now: datetime
) -> Receipt:
    """Decide about one draft by what the scope knows in this transaction, and write the result."""
    draft = proposal.draft
    before = None if draft.key is None else check_retry_key(writing.kept(draft.scope, draft.key), draft, now)
    known = None if before is None else writing.get(draft.scope, before.memory)
    if before is not None and known is not None and not raises_trust(draft, known):
        # another call wrote it while this one was embedding
        return Receipt(known.id, before.verdict, known, proposal.redacted)
    if draft.id is not None and writing.get(draft.scope, draft.id) is not None:
        raise Conflict(f"there is a memory {show(draft.id)} already; revise it, or leave the id out")
    memory, found = _load_known(writing, proposal, policy, threshold)
    judgement = (decide_exact if proposal.is_exact else decide)(memory, found, policy)
    if proposal.estimated_importance is not None and isinstance(judgement, Admit | Supersede | Precede | Quarantine):
        memory = memory.changed(importance=proposal.estimated_importance)
    moment = max(now, observed_at(memory))  # another writer may have committed since `now` was read
    receipt = _apply_decision(writing, judgement, proposal, memory, policy, moment)
    if draft.key is not None and receipt.kept:
        verdict, body = without_quotes(receipt.verdict, receipt.memory), draft.body
        kept = IdempotencyRecord(
            scope=draft.scope, key=draft.key, body=body, memory=receipt.id, verdict=verdict, at=now
        )
        writing.keep(kept)
    return replace(receipt, redacted=proposal.redacted)


def raises_trust(draft: Draft, known: Memory) -> bool:
    """Return whether the caller outranks the memory stored under this key.

    True if the user or an operator repeats what was stored with lower trust.
    """
    return known.trust.less_than(Trust.STATED) and not TRUST_BY_PROVENANCE[draft.provenance].less_than(Trust.STATED)


def check_retry_key(kept: IdempotencyRecord | None, said: HasIdempotencyKey, now: datetime) -> IdempotencyRecord | None:
    """Return the record of the same call, or None if there is none or it is expired.

    Raises Conflict if the key was used for another call.
    """
    if kept is None or now - kept.at > IDEMPOTENCY_KEY_LIFETIME:
        return None
    if kept.body != said.body:
        raise Conflict(f"the retry key {show(said.key)} was used for something else; give each call one of its own")
    return kept


def _load_known(
    writing: WriteTransaction, proposal: Proposal, policy: AdmissionPolicy, threshold: float
) -> tuple[Memory, Neighborhood]:
    """Return the proposed memory with its final trust, and what the scope knows about it.

    Its trust is at most that of everything it was made of.
    """
    draft, memory = proposal.draft, proposal.memory
    topic = None if draft.topic_key is None else writing.topic(draft.scope, draft.topic_key)
    if draft.at is None and topic is not None and memory.created_at < (since := known_since(topic)):
        memory = memory.changed(
            created_at=since, observed_at=since, updated_at=since
        )  # an undated draft is the latest statement
    if memory.derived_from:
        memory = memory.changed(trust=_derive_trust(writing, memory, proposal.shared_trusts))
    twins, alike = _find_duplicates(writing, memory, proposal, policy, threshold)
    memory = _combine_lessons(memory, [*twins, *alike])
    merged = [one for one in (*twins, *alike) if one.status is Status.CONSOLIDATED]
    if memory.trust.less_than(Trust.STATED):  # it may repeat a shared memory
        above = _find_shared_duplicates(writing, memory, proposal, policy, threshold)
        trust = lowest_trust([memory.trust, *(one.trust for one in (*above, *merged))])
        memory = memory if trust is memory.trust else memory.changed(trust=trust)
    if draft.subject is None and memory.kind is not Kind.EVENT and not proposal.is_exact:
        # duplicates have the same subject
        same = [topic] if topic is not None else [*twins, *alike]
        subject = next((one.subject for one in same if one.subject and not one.trust.less_than(memory.trust)), None)
        memory = memory if subject in (None, memory.subject) else memory.changed(subject=subject)
    about = _load_same_subject(writing, memory)
    if draft.at is None and draft.valid_from is None:
        since = max((known_since(one) for one in about if one.status is Status.ACTIVE), default=memory.created_at)
        if memory.created_at < since:
            memory = memory.changed(created_at=since, observed_at=since, updated_at=since)
    twins += _find_merge_results(writing, merged)
    put_away = [one for one in (*twins, *alike) if one.status is not Status.ACTIVE]
    away = {one.id: _inactive_since(writing, one) for one in put_away}
    stood = [with_prior_quarantine(writing, one) for one in put_away if one.status is Status.FORGOTTEN]
    apart = {one.id: one for one in stood if one.status is Status.QUARANTINED}
    doubted = memory.trust.less_than(Trust.STATED)
    orders = (find_injection(memory.searched_text) or find_injection(memory.speaker or "")) if doubted else None
    return memory, Neighborhood(
        topic=topic,
        same_text=twins,
        paraphrases=alike,
        same_subject=about,
        inactive_since=away,
        forgotten_in_quarantine=apart,
        injection=orders,
        is_undated=draft.at is None,
    )


def _find_duplicates(
    writing: WriteTransaction, memory: Memory, proposal: Proposal, policy: AdmissionPolicy, threshold: float
) -> tuple[list[Memory], list[Memory]]:
    """Return the scope's exact duplicates of a memory, and its paraphrases."""
    sayings = writing.sayings(memory)
    twins = [one for one in sayings if one.hash == memory.hash]
    if not policy.duplicates.enabled or memory.kind is Kind.EVENT or proposal.vector is None:
        return twins, []
    others = [one for one in sayings if one.hash != memory.hash and one.kind is not Kind.EVENT]
    return twins, [
        one
        for one in others
        if (memory.subject is not None and one.subject == memory.subject)
        or _similarity(writing.direction(one), proposal.vector) > threshold
    ]


def _combine_lessons(memory: Memory, sayings: Sequence[Memory]) -> Memory:
    """Merge a lesson with the same lesson of an earlier task.

    It then derives from both tasks, and has the higher confidence of the two.
    """
    known = next((one for one in sayings if one.status is Status.ACTIVE), None)
    if known is None or not (_is_lesson(known) and _is_lesson(memory)):
        return memory
    if memory.trust.less_than(known.trust) or is_said_firsthand(memory, known):
        return memory
    return memory.changed(
        trust=known.trust,
        tags=tuple(dict.fromkeys([*known.tags, *memory.tags]))[:MAX_LIST_ITEMS],
        confidence=max(known.confidence or 0.0, memory.confidence or 0.0),
        derived_from=tuple(dict.fromkeys([*known.derived_from, *memory.derived_from]))[-MAX_LIST_ITEMS:],
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
    found: list[Memory] = []
    for scope in memory.scope.ancestors:
        twins, alike = _find_duplicates(writing, copy_with(memory, scope=scope), proposal, policy, threshold)
        found += [one for one in (*twins, *alike) if one.shared and one.status is Status.ACTIVE]
    return found


def _find_merge_results(writing: WriteTransaction, merged: Sequence[Memory]) -> list[Memory]:
    """Return what merged memories became in the end, if it is quarantined.

    Includes results that were quarantined when they were forgotten.
    """
    found: dict[MemoryId, Memory] = {}
    waiting = list(merged)
    while waiting:
        one = waiting.pop()
        made = None if one.superseded_by is None else writing.get(one.scope, one.superseded_by)
        if made is not None and made.id not in found:
            found[made.id] = made
            waiting += [made] if made.status is Status.CONSOLIDATED else []
    return [one for one in found.values() if with_prior_quarantine(writing, one).status is Status.QUARANTINED]


def _load_same_subject(writing: WriteTransaction, memory: Memory) -> list[Memory]:
    """Return memories of the same subject that are valid after this one begins."""
    return [] if memory.subject is None else writing.about(memory.scope, memory.subject, effective_from(memory))


def _derive_trust(writing: WriteTransaction, memory: Memory, shared: Mapping[str, Trust]) -> Trust:
    """Return the lowest trust of a memory's provenance and origins; unseen origins have none."""
    own = {id: writing.get(memory.scope, MemoryId(id)) for id in memory.derived_from}
    trusts = [shared.get(id, Trust.EXTERNAL) if one is None else one.trust for id, one in own.items()]
    return lowest_trust([memory.trust, *trusts])


def _similarity(one: "Vector | None", other: "Vector | None") -> float:
    from recollect.retrieval.vectors import nearest_cosines

    return -1.0 if one is None or other is None else float(nearest_cosines(one[None, :], other[None, :])[0])


def _inactive_since(writing: WriteTransaction, memory: Memory) -> datetime:
    """Return when a memory became inactive: for a superseded one, when its validity ended."""
    if memory.status is Status.SUPERSEDED and memory.valid_until is not None:
        return memory.valid_until
    return writing.standing_since(memory) or observed_at(memory)


def _apply_decision(
    writing: WriteTransaction,
    judgement: Decision,
    proposal: Proposal,
    memory: Memory,
    policy: AdmissionPolicy,
    now: datetime,
) -> Receipt:
    match judgement:
        case Admit():
            return _put_new(writing, proposal, memory)
        case ReviseMemory(former, restated, place):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=restated)
            state = place_in_subject(writing, state, place, now)
            kept = writing.put(state, proposal.vector_for(state, former))
            return Receipt(kept.id, Updated(kept.revisions, place.ends[-1].id if place.ends else None), kept)
        case Echo(twin, reason):
            return _reinforce(writing, twin, proposal.draft, memory, reason)
        case Supersede(old):
            kept = writing.put(
                place_in_subject(writing, memory, SubjectPosition(old), now), proposal.vector_for(memory, None)
            )
            return Receipt(kept.id, superseded_verdict(old, memory), kept)
        case Precede(newer, old):
            kept = writing.put(
                place_in_subject(writing, memory, SubjectPosition(old, newer), now), proposal.vector_for(memory, None)
            )
            if kept.status is not Status.ACTIVE:
                return Receipt(kept.id, _outdated_verdict(newer, memory), kept)
            return Receipt(kept.id, superseded_verdict(old, memory) if old else Created(), kept)
        case Reactivate(former, place):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=True)
            back = state.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
            if back.topic_key is not None and writing.topic(back.scope, back.topic_key) is not None:
                back = back.changed(topic_key=None)  # another memory has this topic key by now
            back = place_in_subject(writing, back, place, now)
            kept = writing.put(back, proposal.vector_for(back, former))
            if place.ended_by is not None and kept.status is not Status.ACTIVE:
                return Receipt(kept.id, _outdated_verdict(place.ended_by, memory), kept)
            instead_of = place.ends[-1].id if place.ends else None
            return Receipt(kept.id, Reactivated(former.status.value, instead_of), kept)
        case LeaveInactive(former, since):
            when = since.isoformat(timespec="seconds")
            reason = f"it was {former.status.value} on {when}, after this was said"
            return Receipt(former.id, Refused(reason, former.id), former)
        case Quarantine(reason, other) if other is not None and other.status is Status.QUARANTINED:
            return Receipt(other.id, Quarantined(reason, other.id), other)
        case Quarantine(reason, other):
            state = memory.changed(status=Status.QUARANTINED, remark=reason)
            kept = writing.put(state, proposal.vector_for(memory, None))
            return Receipt(kept.id, Quarantined(reason, None if other is None else other.id), kept)
        case _ as unknown:
            assert_never(unknown)


def _outdated_verdict(newer: Memory, memory: Memory) -> Outdated:
    return Outdated(newer.id, f"a later one is of the subject {memory.subject!r}")


def _put_new(writing: WriteTransaction, proposal: Proposal, memory: Memory) -> Receipt:
    if proposal.similar_event is None or (
        proposal.similar_in_batch and writing.get(memory.scope, proposal.similar_event[0]) is None
    ):
        kept = writing.put(memory, proposal.vector_for(memory, None))
        return Receipt(kept.id, Created(), kept)
    kept = writing.put(memory.changed(indexed=False), proposal.vector_for(memory, None))
    return Receipt(kept.id, unindexed_verdict(*proposal.similar_event), kept)


def unindexed_verdict(twin: MemoryId, similarity: float) -> Unindexed:
    """Return the verdict for an event that is too similar to a known memory."""
    return Unindexed(twin, f"an event that is like it is known (similarity {similarity:.3f})")


def _reinforce(writing: WriteTransaction, twin: Memory, draft: Draft, memory: Memory, reason: str) -> Receipt:
    """Count an echo of a duplicate, once for each moment at which it was said."""
    at = memory.created_at
    if draft.at is not None and (at in (twin.created_at, twin.observed_at) or writing.echoed(twin, at)):
        return Receipt(twin.id, Unchanged(), twin)
    writing.record(memory.scope, [twin.id], Use.ECHOED, at, None)
    return Receipt(twin.id, Reinforced(twin.id, reason), twin)


def _next_state(
    former: Memory, proposed: Memory, kind: Kind | None, policy: SaliencePolicy, *, restated: bool
) -> Memory:
    """Return the next version of a memory; the proposal changes only the fields it sets.

    Trust, evidence and validity come from the new text alone. A text that is only restated keeps its validity unless
    another is given, and gains no trust unless the user or an operator restates it.
    """
    since, until = merge_validity(former, proposed, restated=restated)
    own = is_said_firsthand(proposed, former)
    upto = former.trust if restated and not own else None
    holds = restated and former.status is Status.ACTIVE and not former.ended_by(effective_from(proposed))
    anew = restated and not holds and former.kind is not Kind.EVENT  # then the judged subject counts
    first, second = (former, proposed) if restated and is_older_observation(proposed, former) else (proposed, former)
    if own or (not restated and former.trust.less_than(proposed.trust)):
        first = second = proposed  # the former description has lower trust
    return next_version(
        former,
        former.text if restated else proposed.text,
        proposed.created_at,
        kind=kind,
        importance=proposed.importance,
        policy=policy,
        title=first.title or second.title,
        topic_key=first.topic_key or second.topic_key,
        subject=proposed.subject if anew else first.subject or second.subject,
        tags=first.tags or second.tags,
        session=first.session or second.session,
        speaker=first.speaker or second.speaker,
        shared=second.shared or first.shared,
        pinned=second.pinned or first.pinned,
        confidence=second.confidence if first.confidence is None else first.confidence,
        valid_from=since,
        valid_until=until,
        superseded_by=former.superseded_by if holds else None,
        evidence=proposed.evidence,
        derived_from=proposed.derived_from,
        metadata=first.metadata or second.metadata,
        source=proposed.source,
        **derive_trust_fields(former, proposed.provenance, proposed.trust, upto=upto),
    )


SimilarMemory = tuple[MemoryId, float]
"""The id of a memory, and its similarity."""


def find_known_events(deps: Dependencies, proposals: Sequence[Proposal], now: datetime) -> None:
    """Note on each event the memory it is too similar to, in the store or earlier in the batch.

    If a lookup fails, the event counts as new: a failed check loses nothing.
    """
    before: list[tuple[Memory, Vector]] = []
    for one in proposals:
        if one.memory.kind is not Kind.EVENT or one.vector is None:
            continue
        try:
            stored = _find_nearest_stored(deps, one.memory.scope, one.vector, now)
        except Exception:  # on any error, keep the event
            stored = None
        here = [(memory.id, vector) for memory, vector in before if memory.scope == one.memory.scope]
        found = [near for near in (stored, _find_nearest(here, one.vector)) if near is not None]
        nearest = max(found, key=lambda near: near[1], default=None)
        if nearest is not None and nearest[1] > deps.policy.novelty.threshold:
            one.similar_event, one.similar_in_batch = nearest, nearest is not stored
        else:
            before.append((one.memory, one.vector))


def _find_nearest_stored(deps: Dependencies, scope: Scope, vector: "Vector", now: datetime) -> SimilarMemory | None:
    """Return the scope's memory with the most similar vector."""
    import numpy as np

    from recollect.retrieval.evidence import EvidenceRequest

    probe = EvidenceRequest(
        scope=scope, at=now, present=True, levels=RECALL_LEVELS, vectors=vector[None, :], encoder=deps.encoder
    )
    found = deps.store.gather(probe)
    similarities = found.table.numbers.get("similarity")  # None if there is nothing to compare with
    near = np.empty(0) if similarities is None else similarities[found.rows]
    if np.isnan(near).all():
        return None
    row = int(found.rows[int(np.nanargmax(near))])
    (candidate,) = found.candidates([row])
    return None if candidate.similarity is None else (MemoryId(candidate.id), candidate.similarity)


def _find_nearest(others: "Sequence[tuple[MemoryId, Vector]]", vector: "Vector") -> SimilarMemory | None:
    """Return the pair with the most similar vector."""
    from recollect.retrieval.vectors import nearest_cosines

    found = [(id, float(nearest_cosines(other[None, :], vector[None, :])[0])) for id, other in others]
    return max(found, key=lambda near: near[1], default=None)
