"""Duplicates: which stored memories a draft repeats, continues or may contradict, and whether a call is a retry."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from recollect.admission.changes import known_since
from recollect.admission.decision import Neighborhood, effective_from, is_said_firsthand, observed_at
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.proposal import Proposal
from recollect.errors import Conflict, show
from recollect.model import changeset
from recollect.model.draft import IDEMPOTENCY_KEY_LIFETIME, Draft, IdempotencyRecord
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Status, Trust, lowest_trust
from recollect.model.episode import FAILURE_TAG, LESSON_TAG
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId

if TYPE_CHECKING:
    from recollect.retrieval.vectors import Vector


def match_neighbors(
    proposal: Proposal, neighbors: changeset.Neighbors, policy: AdmissionPolicy, threshold: float
) -> tuple[Memory, Neighborhood]:
    """Return the proposed memory with its final trust, date and subject, and the memories to compare it with.

    Its trust is at most that of each memory it was derived from, and that of a shared memory that it repeats.
    `threshold` is the lowest similarity of the vectors of two paraphrases.
    """
    draft, memory, topic = proposal.draft, proposal.memory, neighbors.topic
    if draft.at is None and topic is not None:  # an undated draft is the latest statement
        memory = _dated_no_earlier(memory, known_since(topic))
    if memory.derived_from:
        memory = memory.with_changes(trust=_derive_trust(memory, neighbors))
    same_text, paraphrases = _split_duplicates(neighbors.duplicates, proposal, neighbors, policy, threshold)
    memory = _combine_lessons(memory, [*same_text, *paraphrases])
    consolidated = [one for one in (*same_text, *paraphrases) if one.status is Status.CONSOLIDATED]
    if memory.trust.less_than(Trust.STATED):  # it may repeat a shared memory
        shared, reworded = _split_duplicates(neighbors.shared_duplicates, proposal, neighbors, policy, threshold)
        trust = lowest_trust([memory.trust, *(one.trust for one in (*shared, *reworded, *consolidated))])
        memory = memory if trust is memory.trust else memory.with_changes(trust=trust)
    if draft.subject is None and memory.kind is not Kind.EVENT and not proposal.is_verbatim:
        # duplicates have the same subject
        candidates = [topic] if topic is not None else [*same_text, *paraphrases]
        subjects = (one.subject for one in candidates if one.subject and not one.trust.less_than(memory.trust))
        subject = next(subjects, None)
        memory = memory if subject in (None, memory.subject) else memory.with_changes(subject=subject)
    begin = effective_from(memory)
    same_subject = [one for one in neighbors.same_subject.get(memory.subject or "", ()) if not one.ended_by(begin)]
    if draft.at is None and draft.valid_from is None:
        dates = (known_since(one) for one in same_subject if one.status is Status.ACTIVE)
        memory = _dated_no_earlier(memory, max(dates, default=memory.created_at))
    same_text += _find_merge_results(neighbors, consolidated)
    inactive = [one for one in (*same_text, *paraphrases) if one.status is not Status.ACTIVE]
    forgotten = [as_before_forgotten(one, neighbors) for one in inactive if one.status is Status.FORGOTTEN]
    return memory, Neighborhood(
        topic=topic,
        same_text=same_text,
        paraphrases=paraphrases,
        same_subject=same_subject,
        inactive_since={one.id: _inactive_since(one, neighbors) for one in inactive},
        forgotten_in_quarantine={one.id: one for one in forgotten if one.status is Status.QUARANTINED},
        injection=proposal.injection if memory.trust.less_than(Trust.STATED) else None,
        is_undated=draft.at is None,
        parsed=proposal.parsed,
    )


def as_before_forgotten(memory: Memory, neighbors: changeset.Neighbors) -> Memory:
    """Return the memory, as quarantined if it was in quarantine when it was forgotten."""
    before = neighbors.before_forgotten.get(memory.id)
    if before is None or before.status is not Status.QUARANTINED:
        return memory
    return memory.with_changes(status=before.status, remark=before.remark)


def _dated_no_earlier(memory: Memory, since: datetime) -> Memory:
    """Return the memory; if it is dated before `since`, it gets that date."""
    if memory.created_at >= since:
        return memory
    return memory.with_changes(created_at=since, observed_at=since, updated_at=since)


def _split_duplicates(
    candidates: Iterable[Memory],
    proposal: Proposal,
    neighbors: changeset.Neighbors,
    policy: AdmissionPolicy,
    threshold: float,
) -> tuple[list[Memory], list[Memory]]:
    """Return the exact duplicates among the candidates, and the paraphrases."""
    memory, candidates = proposal.memory, list(candidates)
    same_text = [one for one in candidates if one.hash == proposal.index.hash]
    if not policy.duplicates.enabled or memory.kind is Kind.EVENT or proposal.vector is None:
        return same_text, []
    others = [one for one in candidates if one.hash != proposal.index.hash and one.kind is not Kind.EVENT]
    return same_text, [
        other
        for other in others
        if (memory.subject is not None and other.subject == memory.subject)
        or _similarity(neighbors.vectors.get(other.id), proposal.vector) > threshold
    ]


def _similarity(vector: "Vector | None", other: "Vector") -> float:
    from recollect.retrieval.vectors import nearest_cosines

    return -1.0 if vector is None else float(nearest_cosines(vector[None, :], other[None, :])[0])


def _combine_lessons(memory: Memory, duplicates: Sequence[Memory]) -> Memory:
    """Merge a lesson with the same lesson of an earlier task.

    It then derives from both tasks, and has the higher confidence of the two.
    """
    earlier = next((one for one in duplicates if one.status is Status.ACTIVE), None)
    if earlier is None or not (_is_lesson(earlier) and _is_lesson(memory)):
        return memory
    if memory.trust.less_than(earlier.trust) or is_said_firsthand(memory, earlier):
        return memory
    return memory.with_changes(
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


def _find_merge_results(neighbors: changeset.Neighbors, consolidated: Sequence[Memory]) -> list[Memory]:
    """Return the final memories that these were merged into, if they are quarantined.

    Includes final memories that were quarantined when they were forgotten.
    """
    results: dict[MemoryId, Memory] = {}
    waiting = list(consolidated)
    while waiting:
        result = neighbors.merged_into.get(waiting.pop().id)
        if result is not None and result.id not in results:
            results[result.id] = result
            waiting.append(result)
    return [one for one in results.values() if as_before_forgotten(one, neighbors).status is Status.QUARANTINED]


def _derive_trust(memory: Memory, neighbors: changeset.Neighbors) -> Trust:
    """Return the lowest trust of a memory's provenance and origins; an unknown origin is external."""
    origins = [neighbors.origins.get(id) for id in memory.derived_from]
    return lowest_trust([memory.trust, *(Trust.EXTERNAL if one is None else one.trust for one in origins)])


def _inactive_since(memory: Memory, neighbors: changeset.Neighbors) -> datetime:
    """Return when a memory became inactive: for a superseded one, when its validity ended."""
    if memory.status is Status.SUPERSEDED and memory.valid_until is not None:
        return memory.valid_until
    return neighbors.status_since.get(memory.id) or observed_at(memory)


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


def raises_trust(draft: Draft, stored: Memory) -> bool:
    """Return whether the caller outranks the memory stored under this key.

    True if the user or an operator repeats what was stored with lower trust.
    """
    return stored.trust.less_than(Trust.STATED) and not TRUST_BY_PROVENANCE[draft.provenance].less_than(Trust.STATED)
