"""Restore: a memory that was put away comes back, and what took its place holds no longer."""

from collections.abc import Collection, Sequence
from datetime import datetime

from recollect.admission.judgement import begins
from recollect.engine.change import own, written
from recollect.engine.settle import ended
from recollect.engine.world import World
from recollect.errors import Conflict, show
from recollect.model.memory import Kind, Memory, Status
from recollect.model.scope import Scope
from recollect.model.verdict import Changed, Receipt, Unchanged
from recollect.ports import Writing


def restore(world: World, scope: Scope, id: str) -> Receipt:
    """Bring the memory back: a forgotten one to where it stood before, any other to where it is recalled."""
    now = world.now()

    def change(writing: Writing) -> Receipt:
        former = own(writing, scope, id)
        if former.status is Status.ACTIVE and former.superseded_by is None:
            return Receipt(former.id, Unchanged(), former)
        if former.status is Status.QUARANTINED:
            raise Conflict(f"the memory {show(former.id)} is quarantined; an operator releases it, or leaves it there")
        if former.status is Status.FORGOTTEN:
            stood = _stood(writing, former, {Status.FORGOTTEN})
            back = former.changed(status=stood.status, remark=stood.remark)
            return _in_its_place(writing, back, now, _of_its_subject(world, writing, back))
        if former.status in (Status.SUPERSEDED, Status.ACTIVE):
            return _reinstated(writing, former, now)
        back = former.changed(status=Status.ACTIVE, superseded_by=None, remark=None)
        return _in_its_place(writing, back, now, _of_its_subject(world, writing, back))

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
        stood = _stood(writing, former, {Status.QUARANTINED, Status.FORGOTTEN})
        free = former.changed(status=stood.status, remark=stood.remark)
        topic = None if free.topic_key is None else writing.topic(scope, free.topic_key)
        rivals = [*_of_its_subject(world, writing, free), *([] if topic is None or topic.id == free.id else [topic])]
        return _in_its_place(writing, free, now, rivals)

    return written(world, scope, id, change)


def _in_its_place(writing: Writing, free: Memory, now: datetime, rivals: Sequence[Memory]) -> Receipt:
    """The memory among those of which one holds at a time: it ends what began before, and what began later ends it."""
    if free.status is not Status.ACTIVE:
        return _put(writing, free)
    known = sorted({one.id: one for one in rivals}.values(), key=lambda one: (begins(one), one.id))
    for one in known:
        if begins(one) <= begins(free):
            writing.put(ended(one, free, now), None)
    later = next((one for one in known if begins(one) > begins(free)), None)
    return _put(writing, free if later is None else ended(free, later, now))


def _put(writing: Writing, state: Memory) -> Receipt:
    kept = writing.put(state, None)
    return Receipt(kept.id, Changed(kept.status.value), kept)


def _stood(writing: Writing, former: Memory, away: Collection[Status]) -> Memory:
    """The memory as it was before it was put away so; active, if it never was anything else."""
    one = former
    while one.status in away:
        earlier = writing.before(one.scope, one.id, one.commit or 0)
        if earlier is None:
            return former.changed(status=Status.ACTIVE, remark=None)
        one, _ = earlier
    return one


def _reinstated(writing: Writing, former: Memory, now: datetime) -> Receipt:
    """A memory that another one took the place of holds again as it would have, and the other one never did."""
    until = _held_until(writing, former)
    back = former.changed(status=Status.ACTIVE, superseded_by=None, valid_until=until, remark=None)
    for one in _replacements(writing, former):
        writing.put(ended(one, back, now), None)
    return _put(writing, back)


def _replacements(writing: Writing, former: Memory) -> list[Memory]:
    """The active memories that hold in its place: those of its subject, and the one that it names."""
    subject, by = former.subject, former.superseded_by
    about = [] if subject is None else writing.about(former.scope, subject, begins(former))
    named = None if by is None else writing.get(former.scope, by)
    found = {one.id: one for one in (*about, named) if one is not None and one.status is Status.ACTIVE}
    return [one for id, one in found.items() if id != former.id]


def _held_until(writing: Writing, former: Memory) -> datetime | None:
    """Until when it would have held: as was said before it was replaced, unless it was said otherwise since."""
    replaced, earlier = former, writing.before(former.scope, former.id, former.commit or 0)
    while earlier is not None and earlier[0].superseded_by is not None:
        replaced, earlier = earlier[0], writing.before(former.scope, former.id, earlier[0].commit or 0)
    if former.valid_until != replaced.valid_until:
        return former.valid_until
    return None if earlier is None else earlier[0].valid_until


def _of_its_subject(world: World, writing: Writing, memory: Memory) -> list[Memory]:
    """The other active memories of its subject, of which one at a time holds."""
    if memory.subject is None or memory.kind is Kind.EVENT or not world.policy.truth.supersede:
        return []
    found = writing.about(memory.scope, memory.subject, begins(memory))
    return [one for one in found if one.status is Status.ACTIVE and one.id != memory.id]
