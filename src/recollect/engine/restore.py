"""Restore: a memory that was put away comes back, and what took its place holds no longer."""

from collections.abc import Sequence
from datetime import datetime

from recollect.admission.decision import begins
from recollect.engine.dependencies import World
from recollect.engine.edit import own, written
from recollect.engine.prior_status import as_it_stood
from recollect.engine.supersession import ended, rivals, standing
from recollect.errors import Conflict, show
from recollect.model.memory import Memory, Status
from recollect.model.scope import Scope
from recollect.model.verdict import Receipt, Unchanged
from recollect.protocols import Writing


def restore(world: World, scope: Scope, id: str) -> Receipt:
    """Bring the memory back: a forgotten one to where it stood before, any other to where it is recalled.

    It is an operator's act, and may end what is trusted more; the receipt says what holds no longer for it.
    """
    now = world.now()

    def change(writing: Writing) -> Receipt:
        former = own(writing, scope, id)
        if former.status is Status.ACTIVE and former.superseded_by is None:
            return Receipt(former.id, Unchanged(), former)
        if former.status is Status.QUARANTINED:
            raise Conflict(f"the memory {show(former.id)} is quarantined; an operator releases it, or leaves it there")
        if former.status is Status.FORGOTTEN:
            stood = as_it_stood(writing, former, {Status.FORGOTTEN})
            back = former.changed(status=stood.status, remark=stood.remark)
            return _in_its_place(writing, back, now, rivals(writing, back, world.policy))
        if former.status in (Status.SUPERSEDED, Status.ACTIVE):
            return _reinstated(world, writing, former, now)
        back = former.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
        return _in_its_place(writing, back, now, rivals(writing, back, world.policy))

    return written(world, scope, id, change)


def release(world: World, scope: Scope, id: str) -> Receipt:
    """Let a quarantined memory be recalled, in its place among those of its subject or topic: of these one holds at a
    time, so it ends what began before it, and is ended by what began later.
    """
    now = world.now()

    def change(writing: Writing) -> Receipt:
        former = own(writing, scope, id)
        if former.status is not Status.QUARANTINED:
            raise Conflict(
                f"the memory {show(former.id)} is {former.status.value}; only what is quarantined is released"
            )
        stood = as_it_stood(writing, former, {Status.QUARANTINED, Status.FORGOTTEN})
        free = former.changed(status=stood.status, remark=stood.remark)
        topic = None if free.topic_key is None else writing.topic(scope, free.topic_key)
        others = [*rivals(writing, free, world.policy), *([] if topic is None or topic.id == free.id else [topic])]
        return _in_its_place(writing, free, now, others)

    return written(world, scope, id, change)


def _in_its_place(writing: Writing, free: Memory, now: datetime, others: Sequence[Memory]) -> Receipt:
    """The memory among those of which one holds at a time: it ends what began before, and what began later ends it."""
    if free.status is not Status.ACTIVE:
        return standing(writing.put(free, None))
    known = sorted({one.id: one for one in others}.values(), key=lambda one: (begins(one), one.id))
    before = [one for one in known if begins(one) <= begins(free)]
    for one in before:
        writing.put(ended(one, free, now), None)
    later = next((one for one in known if begins(one) > begins(free)), None)
    return standing(writing.put(free if later is None else ended(free, later, now), None), before)


def _reinstated(world: World, writing: Writing, former: Memory, now: datetime) -> Receipt:
    """A memory that another one took the place of holds again as it would have, and the other one never did."""
    until = _held_until(writing, former)
    back = former.changed(status=Status.ACTIVE, superseded_by=None, valid_until=until, remark=None)
    named = None if former.superseded_by is None else writing.get(former.scope, former.superseded_by)
    others = [*rivals(writing, back, world.policy), *([] if named is None else [named])]
    instead_of = {one.id: one for one in others if one.status is Status.ACTIVE}
    for one in instead_of.values():
        writing.put(ended(one, back, now), None)
    return standing(writing.put(back, None), list(instead_of.values()))


def _held_until(writing: Writing, former: Memory) -> datetime | None:
    """Until when it would have held: as was said before it was replaced, unless it was said otherwise since."""
    replaced, earlier = former, writing.before(former.scope, former.id, former.commit or 0)
    while earlier is not None and earlier[0].superseded_by is not None:
        replaced, earlier = earlier[0], writing.before(former.scope, former.id, earlier[0].commit or 0)
    if former.valid_until != replaced.valid_until:
        return former.valid_until
    return None if earlier is None else earlier[0].valid_until
