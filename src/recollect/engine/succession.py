"""Succession: of a subject one thing holds at a time, and what takes the place of what."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from recollect.admission.judgement import Place, begins
from recollect.admission.policy import Policy
from recollect.evidence.likeness import LONGEST
from recollect.evidence.sameness import Same, difference
from recollect.model.memory import Kind, Memory, Status
from recollect.model.verdict import Changed, Receipt, Superseded
from recollect.ports import Writing


def ended(old: Memory, by: Memory, now: datetime, at: datetime | None = None) -> Memory:
    """The memory as it stands once another one took its place, at that moment if it is said; until that begins it goes
    on holding.
    """
    begin = begins(by) if at is None else at
    until = begin if old.valid_until is None else min(old.valid_until, begin)
    if old.valid_from is not None:
        until = max(until, old.valid_from)
    status = Status.SUPERSEDED if begin <= now else old.status
    return old.changed(status=status, superseded_by=by.id, valid_until=until)


def placed(writing: Writing, state: Memory, place: Place, now: datetime) -> Memory:
    """The memory in its place among those of its subject, and at least as important as what it ends."""
    for one in place.ends:
        writing.put(ended(one, state, now), None)
    if place.ended_by is not None:
        state = ended(state, place.ended_by, now)
    if not place.ends or state.status is not Status.ACTIVE:
        return state
    importances = [one.importance for one in (*place.ends, state) if one.importance is not None]
    return state.changed(importance=max(importances, default=None))


def superseding(old: Sequence[Memory], memory: Memory) -> Superseded:
    """What is said of a memory that others of its subject ended for: which one did last, and how the two differ."""
    told = f"both are of the subject {memory.subject!r}"
    found = difference(old[-1].text, memory.text) if max(len(old[-1].text), len(memory.text)) <= LONGEST else Same()
    return Superseded(old[-1].id, told if isinstance(found, Same) else f"{told}: {found.old!r} → {found.new!r}")


def rivals(writing: Writing, memory: Memory, policy: Policy) -> list[Memory]:
    """The other active memories of its subject that hold at a moment at which it does, in the order they began."""
    if memory.subject is None or not is_a_truth(memory, policy):
        return []
    return overlapping(memory, writing.about(memory.scope, memory.subject, begins(memory)))


def overlapping(memory: Memory, others: Iterable[Memory]) -> list[Memory]:
    """Those of them that are active, say something else and hold at a moment at which the memory does; events only
    happened.
    """
    return [
        one
        for one in others
        if one.id != memory.id
        and one.status is Status.ACTIVE
        and one.kind is not Kind.EVENT
        and one.hash != memory.hash
        and not one.ended_by(begins(memory))
        and not memory.ended_by(begins(one))
    ]


def is_a_truth(memory: Memory, policy: Policy) -> bool:
    """Whether no other memory of its subject may hold beside it."""
    return memory.subject is not None and memory.kind is not Kind.EVENT and policy.truth.supersede


def standing(kept: Memory, instead_of: Sequence[Memory] = ()) -> Receipt:
    """What is said of a memory that got another standing, and of those that hold no longer for it."""
    return Receipt(kept.id, Changed(kept.status.value, instead_of[-1].id if instead_of else None), kept)
