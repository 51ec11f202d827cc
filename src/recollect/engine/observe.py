"""Observe: what happened is kept as events, each once, in the order in which it happened."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

from recollect.admission.decision import injection_reason
from recollect.admission.policy import QuarantinePolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.salience import rate_salience
from recollect.admission.screening import screen
from recollect.engine.admit import Proposal, unindexed_verdict
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.novelty import find_known_events
from recollect.errors import Conflict, show
from recollect.model.conversation import PROVENANCE_BY_ROLE, ConversationTurn, Role
from recollect.model.draft import Draft
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import TRUST_BY_PROVENANCE, Provenance, Trust
from recollect.model.verdict import Created, Quarantined, Receipt, Refused, Unchanged, Verdict
from recollect.protocols import WriteTransaction

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_STEP = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """Where events come from: whose they are, through whom they came, and the id of what they were read from."""

    scope: Scope
    provenance: Provenance | None = None
    source: str | None = None


def observe(world: Dependencies, events: Sequence[ConversationTurn], origin: EventOrigin) -> list[Receipt]:
    """Keep all of the events, or none; the same event again changes nothing.

    Who said what in which session at which moment is one event, and said twice it is two. Those of one moment keep the
    order in which they are told; one without a date happens now.
    """
    now, scope = world.now(), origin.scope
    heard = Counter[ConversationTurn]()
    proposed: list[Proposal | Refused] = []
    for said, at in zip(events, _assign_times(events, now), strict=True):
        proposed.append(_propose_event(world, said, at, heard[said], origin))
        heard[said] += 1
    ids = [one.memory.id for one in proposed if not isinstance(one, Refused)]
    known = {one.id for one in world.store.get(scope, ids)} if ids else set[MemoryId]()

    new = [one for one in proposed if not isinstance(one, Refused) and one.memory.id not in known]
    _separate_times(world, new)
    vectors = world.embed([one.memory.embedded_text for one in new], "memory")
    for one, vector in zip(new, vectors, strict=True):
        one.vector = vector
    if world.policy.novelty.enabled:
        find_known_events(world, new, now)

    def change(writing: WriteTransaction) -> list[Receipt]:
        writing.adopt(world.encoder)
        kept = (_put_event(writing, one, world.policy.quarantine) for one in proposed if isinstance(one, Proposal))
        return [Receipt(None, one, None) if isinstance(one, Refused) else next(kept) for one in proposed]

    return world.store.write(change)


def _assign_times(events: Sequence[ConversationTurn], now: datetime) -> list[datetime]:
    """When each happened; what is told without a date happened just now, one after the other."""
    undated = sum(said.at is None for said in events)
    before = iter(range(undated - 1, -1, -1))
    return [
        now - next(before) * _TIME_STEP if one.at is None else require_not_future("at", one.at, now) for one in events
    ]


def _separate_times(world: Dependencies, new: Sequence[Proposal]) -> None:
    """Events of one moment a microsecond after each other and after those that are there, so that they keep order."""
    if not new:
        return
    moments = [one.memory.created_at for one in new]
    until = max(moments) + len(new) * _TIME_STEP + _MILLISECOND
    scope = new[0].memory.scope
    there = world.store.timeline(scope, [Level.EVENT], since=min(moments), before=until, statuses=tuple(Status))
    taken, free = {one.created_at for one in there}, dict[datetime, datetime]()
    for one in new:
        at = one.memory.created_at
        place = free.get(at, at)
        while place in taken:
            place += _TIME_STEP
        taken.add(place)
        free[at] = place + _TIME_STEP
        if place != at:
            one.memory = one.memory.changed(created_at=place, observed_at=place, updated_at=place)


def _propose_event(
    world: Dependencies, said: ConversationTurn, at: datetime, before: int, origin: EventOrigin
) -> Proposal | Refused:
    """The event that it would become, without what is private or secret; the same was told so often `before`."""
    by = [PROVENANCE_BY_ROLE[said.role], *([] if origin.provenance is None else [origin.provenance])]
    draft = Draft(
        id=said.id,
        text=said.text,
        scope=origin.scope,
        kind=Kind.EVENT,
        session=said.session,
        speaker=said.speaker,
        at=at,
        provenance=min(by, key=lambda one: TRUST_BY_PROVENANCE[one].level),
        source=origin.source,
        metadata={"role": said.role.value},
    )
    found = screen(draft, world.policy.secrets)
    if isinstance(found, Refused):
        return found
    draft = found.value
    memory = Memory(
        id=draft.id or make_event_id(draft, said.role, at, before),
        scope=draft.scope,
        text=draft.text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.EVENT,
        level=Level.EVENT,
        session=draft.session,
        speaker=draft.speaker,
        salience=rate_salience(draft.text, Kind.EVENT, pinned=False, policy=world.policy.salience),
        provenance=draft.provenance,
        source=draft.source,
        metadata=draft.metadata or {},
    )
    return Proposal(draft, memory, found.redacted)


def make_event_id(draft: Draft, role: Role, at: datetime, before: int) -> MemoryId:
    """An id that sorts by when it happened, and is the same whenever the same is told: a UUID of version 7 whose other
    digits come from whose it is, who said what, in which session, and how often before.
    """
    whose = (str(draft.scope), draft.session or "", role.value, draft.speaker or "")
    said = json.dumps([*whose, at.isoformat(), draft.text, before])
    chance = int.from_bytes(hashlib.sha256(said.encode()).digest()[:10])
    milliseconds = max((at - _EPOCH) // _MILLISECOND, 0)
    high = (milliseconds << 16) | 0x7000 | (chance >> 68)
    low = (0b10 << 62) | (chance & ((1 << 62) - 1))
    return MemoryId(str(UUID(int=(high << 64) | low)))


def _put_event(writing: WriteTransaction, proposal: Proposal, policy: QuarantinePolicy) -> Receipt:
    """What became of one event."""
    memory = proposal.memory
    known = writing.get(memory.scope, memory.id)
    if known is not None:
        if proposal.draft.id is not None and (known.level, known.text) != (memory.level, memory.text):
            raise Conflict(f"there is a memory {show(memory.id)} already, and it is another; give another id, or none")
        return Receipt(known.id, Unchanged(), known, proposal.redacted)
    state, verdict = memory, cast("Verdict", Created())
    orders = (
        (find_injection(memory.text) or find_injection(memory.speaker or "")) if _is_doubted(memory, policy) else None
    )
    if orders is not None:
        remark = injection_reason(orders)
        state, verdict = memory.changed(status=Status.QUARANTINED, remark=remark), Quarantined(remark)
    elif proposal.similar_event is not None:
        state, verdict = memory.changed(indexed=False), unindexed_verdict(*proposal.similar_event)
    kept = writing.put(state, proposal.vector)
    return Receipt(kept.id, verdict, kept, proposal.redacted)


def _is_doubted(memory: Memory, policy: QuarantinePolicy) -> bool:
    """Whether orders among its words would not be the user's own."""
    return policy.enabled and memory.trust.less_than(Trust.STATED)
