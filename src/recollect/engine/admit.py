"""Settle: one draft is judged by what its scope knows in this transaction, and that is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from recollect.admission.decision import (
    Admit,
    Echo,
    Isolate,
    Judgement,
    Known,
    Leave,
    Place,
    Precede,
    Reactivate,
    Revise,
    Supersede,
    begins,
    holding,
    judge,
    judge_kept,
    observed,
    says_it_itself,
    told_before,
)
from recollect.admission.policy import Policy
from recollect.admission.prompt_injection import orders_in
from recollect.admission.salience import SaliencePolicy
from recollect.engine.edit import known_since, next_version, vouching
from recollect.engine.prior_status import or_in_quarantine
from recollect.engine.supersession import placed, superseding, unquoted
from recollect.errors import Conflict, show
from recollect.model.draft import Draft
from recollect.model.episode import FAILURE, LESSON
from recollect.model.frozen_copy import amended
from recollect.model.idempotency import KEPT_FOR, Kept, Keyed
from recollect.model.memory import MOST_ITEMS, Kind, Memory, MemoryId, Status
from recollect.model.trust import TRUST, Trust, least
from recollect.model.usage import Use
from recollect.model.verdict import (
    Created,
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
from recollect.protocols import Writing

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector


@dataclass(slots=True)
class Proposal:
    """A draft, the memory that it would become if it were news, and the direction of the text that is to be embedded.

    A draft that brought a vector has no such text. `lacking` is the one that should have been embedded. `like` is the
    memory that an event is too much like to be indexed, and how much; if it is `beside` it in the same call, it counts
    only if it is kept. `redacted` is what was taken out of it, `worth` how important its words say it is, and
    `shared` how far those of its origins are trusted that scopes above share. What is to be kept `exactly` is the next
    state of its topic, whatever else says the same.
    """

    draft: Draft
    memory: Memory
    redacted: tuple[str, ...] = ()
    text: str | None = None
    vector: "Vector | None" = None
    lacking: str | None = None
    like: tuple[MemoryId, float] | None = None
    beside: bool = False
    worth: float | None = None
    shared: Mapping[str, Trust] = field(default_factory=dict[str, Trust])
    exactly: bool = False

    def vector_of(self, state: Memory, former: Memory | None) -> "Vector | None":
        """The direction of a memory's next state; none if it is searched by what it was, and keeps the one it has."""
        if former is not None and state.reads_like(former) and (self.text is not None or state.text != self.draft.text):
            return None
        if self.text not in (None, state.embedded_text):
            self.lacking = state.embedded_text
        return self.vector


def settle(writing: Writing, proposal: Proposal, policy: Policy, threshold: float, now: datetime) -> Receipt:
    """Decide about one draft by what the scope knows in this transaction, and write that."""
    draft = proposal.draft
    before = None if draft.key is None else retried(writing.kept(draft.scope, draft.key), draft, now)
    known = None if before is None else writing.get(draft.scope, before.memory)
    if before is not None and known is not None and not own_word(draft, known):
        # by a call that wrote while this one had its text embedded
        return Receipt(known.id, before.verdict, known, proposal.redacted)
    if draft.id is not None and writing.get(draft.scope, draft.id) is not None:
        raise Conflict(f"there is a memory {show(draft.id)} already; revise it, or leave the id out")
    memory, found = _gathered(writing, proposal, policy, threshold)
    judgement = (judge_kept if proposal.exactly else judge)(memory, found, policy)
    if proposal.worth is not None and isinstance(judgement, Admit | Supersede | Precede | Isolate):
        memory = memory.changed(importance=proposal.worth)
    moment = max(now, observed(memory))  # somebody may have written since this one looked at the clock
    receipt = _carried_out(writing, judgement, proposal, memory, policy, moment)
    if draft.key is not None and receipt.kept:
        verdict, body = unquoted(receipt.verdict, receipt.memory), draft.body
        kept = Kept(scope=draft.scope, key=draft.key, body=body, memory=receipt.id, verdict=verdict, at=now)
        writing.keep(kept)
    return replace(receipt, redacted=proposal.redacted)


def own_word(draft: Draft, known: Memory) -> bool:
    """Whether the user or an operator says what is kept under the key as somebody's who is trusted less."""
    return known.trust.less_than(Trust.STATED) and not TRUST[draft.provenance].less_than(Trust.STATED)


def retried(kept: Kept | None, said: Keyed, now: datetime) -> Kept | None:
    """What is kept of the same call; nothing if that was too long ago, and another call is refused."""
    if kept is None or now - kept.at > KEPT_FOR:
        return None
    if kept.body != said.body:
        raise Conflict(f"the retry key {show(said.key)} was used for something else; give each call one of its own")
    return kept


def _gathered(writing: Writing, proposal: Proposal, policy: Policy, threshold: float) -> tuple[Memory, Known]:
    """The memory that is proposed, as trusted as all that it was made of, and what the scope knows of it."""
    draft, memory = proposal.draft, proposal.memory
    topic = None if draft.topic_key is None else writing.topic(draft.scope, draft.topic_key)
    if draft.at is None and topic is not None and memory.created_at < (since := known_since(topic)):
        memory = memory.changed(created_at=since, observed_at=since, updated_at=since)  # what is said now is the latest
    if memory.derived_from:
        memory = memory.changed(trust=_trust(writing, memory, proposal.shared))
    twins, alike = _saying_the_same(writing, memory, proposal, policy, threshold)
    memory = _taught_again(memory, [*twins, *alike])
    merged = [one for one in (*twins, *alike) if one.status is Status.CONSOLIDATED]
    if memory.trust.less_than(Trust.STATED):  # whoever repeats it has it from there, for all we know
        above = _shared_above(writing, memory, proposal, policy, threshold)
        trust = least([memory.trust, *(one.trust for one in (*above, *merged))])
        memory = memory if trust is memory.trust else memory.changed(trust=trust)
    if draft.subject is None and memory.kind is not Kind.EVENT and not proposal.exactly:
        # what says the same is about the same
        same = [topic] if topic is not None else [*twins, *alike]
        subject = next((one.subject for one in same if one.subject and not one.trust.less_than(memory.trust)), None)
        memory = memory if subject in (None, memory.subject) else memory.changed(subject=subject)
    about = _about(writing, memory)
    if draft.at is None and draft.valid_from is None:
        since = max((known_since(one) for one in about if one.status is Status.ACTIVE), default=memory.created_at)
        if memory.created_at < since:
            memory = memory.changed(created_at=since, observed_at=since, updated_at=since)
    twins += _made_of(writing, merged)
    put_away = [one for one in (*twins, *alike) if one.status is not Status.ACTIVE]
    away = {one.id: _away_since(writing, one) for one in put_away}
    stood = [or_in_quarantine(writing, one) for one in put_away if one.status is Status.FORGOTTEN]
    apart = {one.id: one for one in stood if one.status is Status.QUARANTINED}
    doubted = memory.trust.less_than(Trust.STATED)
    orders = (orders_in(memory.searched_text) or orders_in(memory.speaker or "")) if doubted else None
    return memory, Known(
        topic=topic,
        twins=twins,
        alike=alike,
        about=about,
        away=away,
        apart=apart,
        orders=orders,
        undated=draft.at is None,
    )


def _saying_the_same(
    writing: Writing, memory: Memory, proposal: Proposal, policy: Policy, threshold: float
) -> tuple[list[Memory], list[Memory]]:
    """What its scope knows that says the same, word for word, and in other words."""
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


def _taught_again(memory: Memory, sayings: Sequence[Memory]) -> Memory:
    """What one task taught and another one before it is of both, and as sure as by the surer of them."""
    known = next((one for one in sayings if one.status is Status.ACTIVE), None)
    if known is None or not (_tasks(known) and _tasks(memory)):
        return memory
    if memory.trust.less_than(known.trust) or says_it_itself(memory, known):
        return memory
    return memory.changed(
        trust=known.trust,
        tags=tuple(dict.fromkeys([*known.tags, *memory.tags]))[:MOST_ITEMS],
        confidence=max(known.confidence or 0.0, memory.confidence or 0.0),
        derived_from=tuple(dict.fromkeys([*known.derived_from, *memory.derived_from]))[-MOST_ITEMS:],
    )


def _tasks(memory: Memory) -> bool:
    """Whether it is something that tasks taught."""
    return bool(memory.derived_from) and memory.kind is Kind.LEARNING and not {LESSON, FAILURE}.isdisjoint(memory.tags)


def _shared_above(
    writing: Writing, memory: Memory, proposal: Proposal, policy: Policy, threshold: float
) -> list[Memory]:
    """What scopes above share that says the same."""
    found: list[Memory] = []
    for scope in memory.scope.ancestors:
        twins, alike = _saying_the_same(writing, amended(memory, scope=scope), proposal, policy, threshold)
        found += [one for one in (*twins, *alike) if one.shared and one.status is Status.ACTIVE]
    return found


def _made_of(writing: Writing, merged: Sequence[Memory]) -> list[Memory]:
    """What memories that were merged became in the end, and is quarantined by now, or was when it was forgotten."""
    found: dict[MemoryId, Memory] = {}
    waiting = list(merged)
    while waiting:
        one = waiting.pop()
        made = None if one.superseded_by is None else writing.get(one.scope, one.superseded_by)
        if made is not None and made.id not in found:
            found[made.id] = made
            waiting += [made] if made.status is Status.CONSOLIDATED else []
    return [one for one in found.values() if or_in_quarantine(writing, one).status is Status.QUARANTINED]


def _about(writing: Writing, memory: Memory) -> list[Memory]:
    """What holds or held of its subject from when it begins."""
    return [] if memory.subject is None else writing.about(memory.scope, memory.subject, begins(memory))


def _trust(writing: Writing, memory: Memory, shared: Mapping[str, Trust]) -> Trust:
    """The least trust of what it came through and what it was made of; what cannot be seen is not trusted."""
    own = {id: writing.get(memory.scope, MemoryId(id)) for id in memory.derived_from}
    trusts = [shared.get(id, Trust.EXTERNAL) if one is None else one.trust for id, one in own.items()]
    return least([memory.trust, *trusts])


def _similarity(one: "Vector | None", other: "Vector | None") -> float:
    from recollect.retrieval.vectors import nearest

    return -1.0 if one is None or other is None else float(nearest(one[None, :], other[None, :])[0])


def _away_since(writing: Writing, memory: Memory) -> datetime:
    """When it was put away: what was superseded held until then."""
    if memory.status is Status.SUPERSEDED and memory.valid_until is not None:
        return memory.valid_until
    return writing.standing_since(memory) or observed(memory)


def _carried_out(
    writing: Writing, judgement: Judgement, proposal: Proposal, memory: Memory, policy: Policy, now: datetime
) -> Receipt:
    match judgement:
        case Admit():
            return _admitted(writing, proposal, memory)
        case Revise(former, restated, place):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=restated)
            state = placed(writing, state, place, now)
            kept = writing.put(state, proposal.vector_of(state, former))
            return Receipt(kept.id, Updated(kept.revisions, place.ends[-1].id if place.ends else None), kept)
        case Echo(twin, reason):
            return _echoed(writing, twin, proposal.draft, memory, reason)
        case Supersede(old):
            kept = writing.put(placed(writing, memory, Place(old), now), proposal.vector_of(memory, None))
            return Receipt(kept.id, superseding(old, memory), kept)
        case Precede(newer, old):
            kept = writing.put(placed(writing, memory, Place(old, newer), now), proposal.vector_of(memory, None))
            if kept.status is not Status.ACTIVE:
                return Receipt(kept.id, _outdated(newer, memory), kept)
            return Receipt(kept.id, superseding(old, memory) if old else Created(), kept)
        case Reactivate(former, place):
            state = _next_state(former, memory, proposal.draft.kind, policy.salience, restated=True)
            back = state.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
            if back.topic_key is not None and writing.topic(back.scope, back.topic_key) is not None:
                back = back.changed(topic_key=None)  # another one speaks for it by now
            back = placed(writing, back, place, now)
            kept = writing.put(back, proposal.vector_of(back, former))
            if place.ended_by is not None and kept.status is not Status.ACTIVE:
                return Receipt(kept.id, _outdated(place.ended_by, memory), kept)
            instead_of = place.ends[-1].id if place.ends else None
            return Receipt(kept.id, Reactivated(former.status.value, instead_of), kept)
        case Leave(former, since):
            when = since.isoformat(timespec="seconds")
            reason = f"it was {former.status.value} on {when}, after this was said"
            return Receipt(former.id, Refused(reason, former.id), former)
        case Isolate(reason, other) if other is not None and other.status is Status.QUARANTINED:
            return Receipt(other.id, Quarantined(reason, other.id), other)
        case Isolate(reason, other):
            state = memory.changed(status=Status.QUARANTINED, remark=reason)
            kept = writing.put(state, proposal.vector_of(memory, None))
            return Receipt(kept.id, Quarantined(reason, None if other is None else other.id), kept)
        case _ as unknown:
            assert_never(unknown)


def _outdated(newer: Memory, memory: Memory) -> Outdated:
    return Outdated(newer.id, f"a later one is of the subject {memory.subject!r}")


def _admitted(writing: Writing, proposal: Proposal, memory: Memory) -> Receipt:
    if proposal.like is None or (proposal.beside and writing.get(memory.scope, proposal.like[0]) is None):
        kept = writing.put(memory, proposal.vector_of(memory, None))
        return Receipt(kept.id, Created(), kept)
    kept = writing.put(memory.changed(indexed=False), proposal.vector_of(memory, None))
    return Receipt(kept.id, like(*proposal.like), kept)


def like(twin: MemoryId, similarity: float) -> Unindexed:
    """What is said of an event that is too much like a memory."""
    return Unindexed(twin, f"an event that is like it is known (similarity {similarity:.3f})")


def _echoed(writing: Writing, twin: Memory, draft: Draft, memory: Memory, reason: str) -> Receipt:
    """An echo counts once: what is told again of the same moment is the same saying, not one more."""
    at = memory.created_at
    if draft.at is not None and (at in (twin.created_at, twin.observed_at) or writing.echoed(twin, at)):
        return Receipt(twin.id, Unchanged(), twin)
    writing.record(memory.scope, [twin.id], Use.ECHOED, at, None)
    return Receipt(twin.id, Reinforced(twin.id, reason), twin)


def _next_state(
    former: Memory, proposed: Memory, kind: Kind | None, policy: SaliencePolicy, *, restated: bool
) -> Memory:
    """The memory that says what is proposed: what describes it stays where nothing is said.

    What vouches for a text and how long it holds are the new text's alone. A text that is only restated stays, holds as
    long as before if nothing else is said, and is trusted no more than before, unless the user or an operator says it.
    """
    since, until = holding(former, proposed, restated=restated)
    own = says_it_itself(proposed, former)
    upto = former.trust if restated and not own else None
    holds = restated and former.status is Status.ACTIVE and not former.ended_by(begins(proposed))
    anew = restated and not holds and former.kind is not Kind.EVENT  # and then in the place that it was judged to have
    first, second = (former, proposed) if restated and told_before(proposed, former) else (proposed, former)
    if own or (not restated and former.trust.less_than(proposed.trust)):
        first = second = proposed  # what describes it was said by somebody who is trusted less
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
        **vouching(former, proposed.provenance, proposed.trust, upto=upto),
    )
