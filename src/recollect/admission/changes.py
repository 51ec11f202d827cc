"""Changes: what a decision about a draft writes, and the receipt."""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from recollect.admission.classify import rate_salience
from recollect.admission.decision import (
    Admit,
    Decision,
    Echo,
    InsertBefore,
    KeepInactive,
    Quarantine,
    Reactivate,
    ReviseMemory,
    SubjectPosition,
    Supersede,
    effective_from,
    is_older_observation,
    is_said_firsthand,
    merge_validity,
    observed_at,
)
from recollect.admission.policy import AdmissionPolicy, SaliencePolicy
from recollect.admission.proposal import Proposal
from recollect.admission.supersession import place_in_subject, superseded_verdict
from recollect.model import changeset
from recollect.model.context import Use
from recollect.model.draft import (
    Created,
    IdempotencyRecord,
    Outdated,
    Quarantined,
    Reactivated,
    Refused,
    Reinforced,
    Unchanged,
    Unindexed,
    Updated,
    Verdict,
)
from recollect.model.enums import UNINDEXED_LEVELS, Kind, Provenance, Status, Trust
from recollect.model.memory import Memory, MemoryId


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """What a decision writes: the ended memories, then the draft's own; and its verdict.

    `memory` is that of the receipt, and `replaced` the memory that a verdict may quote. With `echo`, the memory stays
    as it is and a repetition is counted.
    """

    verdict: Verdict
    memory: Memory
    puts: tuple[changeset.Put, ...] = ()
    replaced: Memory | None = None
    echo: bool = False


def changes_for(
    decision: Decision,
    proposal: Proposal,
    memory: Memory,
    neighbors: changeset.Neighbors,
    policy: AdmissionPolicy,
    now: datetime,
    batch: Container[MemoryId] = (),
) -> tuple[changeset.Changeset, AdmissionResult]:
    """Return what the decision about a proposed memory writes.

    `batch` are the memories that earlier drafts of the same call have stored.
    """
    draft = proposal.draft
    if proposal.estimated_importance is not None and isinstance(
        decision, Admit | Supersede | InsertBefore | Quarantine
    ):
        memory = memory.with_changes(importance=proposal.estimated_importance)
    commit_time = max(now, observed_at(memory))  # another writer may have committed since `now` was read
    outcome = _carry_out(decision, proposal, memory, neighbors, policy, commit_time, batch)
    uses = changeset.MemoryUses(memory.scope, (outcome.memory.id,), Use.ECHOED, memory.created_at)
    keys = []
    if draft.key is not None:
        record = IdempotencyRecord(
            scope=draft.scope, key=draft.key, body=draft.body, memory=outcome.memory.id, verdict=outcome.verdict, at=now
        )
        keys.append(record)
    return changeset.Changeset(puts=outcome.puts, keys=tuple(keys), uses=(uses,) if outcome.echo else ()), outcome


def _carry_out(
    decision: Decision,
    proposal: Proposal,
    memory: Memory,
    neighbors: changeset.Neighbors,
    policy: AdmissionPolicy,
    now: datetime,
    batch: Container[MemoryId],
) -> AdmissionResult:
    match decision:
        case Admit():
            return _put_new(proposal, memory, batch)
        case ReviseMemory(former, restated, position):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=restated)
            state, puts = _put_in_place(proposal, state, former, position, now)
            return AdmissionResult(Updated(state.revisions, _replaced_id(position)), state, puts)
        case Echo(duplicate, reason):
            return _reinforce(duplicate, proposal, memory, neighbors, reason)
        case Supersede(old):
            state, puts = _put_in_place(proposal, memory, None, SubjectPosition(old), now)
            return AdmissionResult(superseded_verdict(old[-1], memory), state, puts, old[-1])
        case InsertBefore(newer, old):
            state, puts = _put_in_place(proposal, memory, None, SubjectPosition(old, newer), now)
            if state.status is not Status.ACTIVE:
                return AdmissionResult(_outdated_verdict(newer, memory), state, puts)
            if not old:
                return AdmissionResult(Created(), state, puts)
            return AdmissionResult(superseded_verdict(old[-1], memory), state, puts, old[-1])
        case Reactivate(former, position):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=True)
            revived = state.with_changes(status=Status.ACTIVE, superseded_by=None, remark=None)
            if revived.topic_key in neighbors.taken_topics:
                revived = revived.with_changes(topic_key=None)
            revived, puts = _put_in_place(proposal, revived, former, position, now)
            if position.ended_by is not None and revived.status is not Status.ACTIVE:
                return AdmissionResult(_outdated_verdict(position.ended_by, memory), revived, puts)
            return AdmissionResult(Reactivated(former.status.value, _replaced_id(position)), revived, puts)
        case KeepInactive(former, since):
            when = since.isoformat(timespec="seconds")
            reason = f"it was {former.status.value} on {when}, after this was stated"
            return AdmissionResult(Refused(reason, former.id), former)
        case Quarantine(reason, other) if other is not None and other.status is Status.QUARANTINED:
            return AdmissionResult(Quarantined(reason, other.id), other)
        case Quarantine(reason, other):
            state = memory.with_changes(status=Status.QUARANTINED, remark=reason)
            verdict = Quarantined(reason, None if other is None else other.id)
            return AdmissionResult(
                verdict, state, (changeset.Put(state, proposal.resolve_vector(memory, None), proposal.index),)
            )
        case _ as unknown:
            assert_never(unknown)


def _put_in_place(
    proposal: Proposal, state: Memory, former: Memory | None, position: SubjectPosition, now: datetime
) -> tuple[Memory, tuple[changeset.Put, ...]]:
    """Return the memory in its place among those of its subject, and the writes that put it there."""
    vector = proposal.resolve_vector(state, former)
    state, ended = place_in_subject(state, position, now)
    return state, (*map(changeset.Put, ended), changeset.Put(state, vector, proposal.index))


def _replaced_id(position: SubjectPosition) -> MemoryId | None:
    return position.ends[-1].id if position.ends else None


def _outdated_verdict(newer: Memory, memory: Memory) -> Outdated:
    return Outdated(newer.id, f"a later memory has the subject {memory.subject!r}")


def _put_new(proposal: Proposal, memory: Memory, batch: Container[MemoryId]) -> AdmissionResult:
    similar = proposal.similar_event
    if similar is None or (proposal.similar_in_batch and similar[0] not in batch):
        verdict: Verdict = Created()
    else:
        verdict, memory = unindexed_verdict(*similar), memory.with_changes(indexed=False)
    return AdmissionResult(
        verdict, memory, (changeset.Put(memory, proposal.resolve_vector(memory, None), proposal.index),)
    )


def unindexed_verdict(similar: MemoryId, similarity: float) -> Unindexed:
    """Return the verdict for an event that is too similar to a known memory."""
    return Unindexed(similar, f"a similar event is already stored (similarity {similarity:.3f})")


def _reinforce(
    duplicate: Memory, proposal: Proposal, memory: Memory, neighbors: changeset.Neighbors, reason: str
) -> AdmissionResult:
    """Count an echo of a duplicate, once for each moment at which it was stated."""
    is_dated = proposal.draft.at is not None
    known_dates = (duplicate.created_at, duplicate.observed_at)
    if is_dated and (memory.created_at in known_dates or duplicate.id in neighbors.echoed):
        return AdmissionResult(Unchanged(), duplicate)
    return AdmissionResult(Reinforced(duplicate.id, reason), duplicate, echo=True)


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


def next_version(
    former: Memory,
    text: str,
    at: datetime,
    *,
    kind: Kind | None,
    importance: float | None,
    policy: SaliencePolicy,
    **fields: Any,
) -> Memory:
    """Return the memory with a text observed at a moment, and with these fields.

    Without a kind it keeps its own. Its importance never falls; its salience is computed again. An earlier moment does
    not date it back.
    """
    importances = [one for one in (former.importance, importance) if one is not None]
    kind = kind or former.kind
    at = max(at, known_since(former))
    same_text = text == former.text and fields.get("title", former.title) == former.title
    return former.with_changes(
        text=text,
        kind=kind,
        importance=max(importances, default=None),
        salience=rate_salience(text, kind, pinned=fields.get("pinned", former.pinned), policy=policy),
        observed_at=at,
        updated_at=at,
        revisions=former.revisions + 1,
        left=former.left if same_text or former.level in UNINDEXED_LEVELS else (),
        **fields,
    )


def known_since(memory: Memory) -> datetime:
    """Return the time since which the memory has its present text."""
    return max(memory.created_at, memory.observed_at or memory.created_at, memory.updated_at or memory.created_at)


def derive_trust_fields(
    former: Memory, provenance: Provenance, trust: Trust, *, max_trust: Trust | None
) -> dict[str, Any]:
    """Return the provenance and trust of a memory's next state.

    The trust is that of the caller, and at most `max_trust` if the state builds on the former one.
    """
    if max_trust is not None and max_trust.less_than(trust):
        provenance, trust = former.provenance, max_trust
    loses_voucher = trust.less_than(former.trust) and former.trust is Trust.VOUCHED and former.status is Status.ACTIVE
    return {"provenance": provenance, "trust": trust, "remark": None if loses_voucher else former.remark}
