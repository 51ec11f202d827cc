"""Restore: a memory that was put away comes back, and what took its place holds no longer."""

from collections.abc import Sequence
from datetime import datetime

from recollect.admission.decision import effective_from
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_own, write_change
from recollect.engine.prior_status import load_prior_version
from recollect.engine.supersession import end_memory, find_rivals, status_receipt
from recollect.errors import Conflict, show
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.model.verdict import Receipt, Unchanged
from recollect.protocols import WriteTransaction


def restore(world: Dependencies, scope: Scope, id: str) -> Receipt:
    """Bring the memory back: a forgotten one to where it stood before, any other to where it is recalled.

    It is an operator's act, and may end what is trusted more; the receipt says what holds no longer for it.
    """
    now = world.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is Status.ACTIVE and former.superseded_by is None:
            return Receipt(former.id, Unchanged(), former)
        if former.status is Status.QUARANTINED:
            raise Conflict(f"the memory {show(former.id)} is quarantined; an operator releases it, or leaves it there")
        if former.status is Status.FORGOTTEN:
            stood = load_prior_version(writing, former, {Status.FORGOTTEN})
            back = former.changed(status=stood.status, remark=stood.remark)
            return _put_among_rivals(writing, back, now, find_rivals(writing, back, world.policy))
        if former.status in (Status.SUPERSEDED, Status.ACTIVE):
            return _reinstate(world, writing, former, now)
        back = former.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
        return _put_among_rivals(writing, back, now, find_rivals(writing, back, world.policy))

    return write_change(world, scope, id, change)


def release(world: Dependencies, scope: Scope, id: str) -> Receipt:
    """Let a quarantined memory be recalled, in its place among those of its subject or topic: of these one holds at a
    time, so it ends what began before it, and is ended by what began later.
    """
    now = world.now()

    def change(writing: WriteTransaction) -> Receipt:
        former = get_own(writing, scope, id)
        if former.status is not Status.QUARANTINED:
            raise Conflict(
                f"the memory {show(former.id)} is {former.status.value}; only what is quarantined is released"
            )
        stood = load_prior_version(writing, former, {Status.QUARANTINED, Status.FORGOTTEN})
        free = former.changed(status=stood.status, remark=stood.remark)
        topic = None if free.topic_key is None else writing.topic(scope, free.topic_key)
        others = [*find_rivals(writing, free, world.policy), *([] if topic is None or topic.id == free.id else [topic])]
        return _put_among_rivals(writing, free, now, others)

    return write_change(world, scope, id, change)


def _put_among_rivals(writing: WriteTransaction, free: Memory, now: datetime, others: Sequence[Memory]) -> Receipt:
    """The memory among those of which one holds at a time: it ends what began before, and what began later ends it."""
    if free.status is not Status.ACTIVE:
        return status_receipt(writing.put(free, None))
    known = sorted({one.id: one for one in others}.values(), key=lambda one: (effective_from(one), one.id))
    before = [one for one in known if effective_from(one) <= effective_from(free)]
    for one in before:
        writing.put(end_memory(one, free, now), None)
    later = next((one for one in known if effective_from(one) > effective_from(free)), None)
    return status_receipt(writing.put(free if later is None else end_memory(free, later, now), None), before)


def _reinstate(world: Dependencies, writing: WriteTransaction, former: Memory, now: datetime) -> Receipt:
    """A memory that another one took the place of holds again as it would have, and the other one never did."""
    until = _find_original_end(writing, former)
    back = former.changed(status=Status.ACTIVE, superseded_by=None, valid_until=until, remark=None)
    named = None if former.superseded_by is None else writing.get(former.scope, former.superseded_by)
    others = [*find_rivals(writing, back, world.policy), *([] if named is None else [named])]
    instead_of = {one.id: one for one in others if one.status is Status.ACTIVE}
    for one in instead_of.values():
        writing.put(end_memory(one, back, now), None)
    return status_receipt(writing.put(back, None), list(instead_of.values()))


def _find_original_end(writing: WriteTransaction, former: Memory) -> datetime | None:
    """Until when it would have held: as was said before it was replaced, unless it was said otherwise since."""
    replaced, earlier = former, writing.before(former.scope, former.id, former.commit or 0)
    while earlier is not None and earlier[0].superseded_by is not None:
        replaced, earlier = earlier[0], writing.before(former.scope, former.id, earlier[0].commit or 0)
    if former.valid_until != replaced.valid_until:
        return former.valid_until
    return None if earlier is None else earlier[0].valid_until
