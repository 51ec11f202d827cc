"""Succession: of a subject one thing holds at a time, and what takes the place of what."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from recollect.admission.decision import Place, begins
from recollect.admission.policy import Policy
from recollect.model.format import shortened
from recollect.model.memory import Kind, Memory, Status
from recollect.model.verdict import Changed, Receipt, Superseded, Verdict
from recollect.protocols import Writing
from recollect.text.paraphrase import Same, difference
from recollect.text.paraphrase_key import LONGEST
from recollect.text.updates.claims import agree, beside, me_in, subject_of


def read_subject(memory: Memory, policy: Policy) -> str | None:
    """What the memory is about by its text; a topic has its own way of changing, and events only happened."""
    if memory.topic_key is not None or memory.kind is Kind.EVENT or not policy.truth.derive_subject:
        return None
    return subject_of(memory.text, memory.speaker, me_in(memory.provenance), beside(memory))


def ended(old: Memory, by: Memory, now: datetime, at: datetime | None = None) -> Memory:
    """The memory as it stands once another one took its place, at that moment if it is said; until that begins it goes
    on holding.
    """
    begin = begins(by) if at is None else at
    until = begin if old.valid_until is None else min(old.valid_until, begin)
    if old.valid_from is not None:
        until = max(until, old.valid_from)
    holds = at is None and by.valid_from is None  # since it was observed, also if the clock went back since
    status = Status.SUPERSEDED if holds or begin <= now else old.status
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
    """What is said of a memory that others of its subject ended for: which one did last, and how the two differ; by the
    whole texts where the difference alone says nothing to whoever sees neither.
    """
    told = _one_subject(memory)
    before, after = old[-1].text, memory.text
    found = difference(before, after) if max(len(before), len(after)) <= LONGEST else Same()
    if isinstance(found, Same):
        return Superseded(old[-1].id, told)
    whole = _is_whole(found.old, before) and _is_whole(found.new, after)
    was, now = (found.old, found.new) if whole else (shortened(before), shortened(after))
    return Superseded(old[-1].id, told if was == now else f"{told}: {was!r} → {now!r}")


def unquoted(verdict: Verdict, memory: Memory) -> Verdict:
    """The verdict as it may be kept with the memory: without words of what it ended, which may be erased before it."""
    return Superseded(verdict.old, _one_subject(memory)) if isinstance(verdict, Superseded) else verdict


def _one_subject(memory: Memory) -> str:
    return f"both are of the subject {memory.subject!r}"


def _is_whole(value: str, text: str) -> bool:
    """Whether a value of the text is one by itself: not if it is empty, an article, or part of a word or a figure."""
    if value.casefold() in _UNSAYING:
        return False
    words, wanted = _bare(text), _bare(value)
    places = [at for at in range(len(words)) if words[at : at + len(wanted)] == wanted]
    return value not in text or any(not _goes_on(words, at, at + len(wanted)) for at in places)


def _goes_on(words: Sequence[str], start: int, end: int) -> bool:
    """Whether figures stand right before or behind the words between, as in a number that is written in groups."""
    grouped = [
        one[-1:].isdigit() and other[:1].isdigit() for one, other in pairwise(words[max(start - 1, 0) : end + 1])
    ]
    return (start > 0 and grouped[0]) or (end < len(words) and grouped[-1])


def _bare(text: str) -> list[str]:
    """The words without what stands around them."""
    return [word.strip(_AROUND) for word in text.split()]


_UNSAYING = ("", "a", "an", "the")
_AROUND = ".,;:!?()[]{}<>\"'`“”‘’«»…"


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
        and not agree(one, memory)
        and not one.ended_by(begins(memory))
        and not memory.ended_by(begins(one))
    ]


def is_a_truth(memory: Memory, policy: Policy) -> bool:
    """Whether no other memory of its subject may hold beside it; what records that something happened ends nothing."""
    raw = memory.kind is Kind.EVENT or memory.level is not None
    return memory.subject is not None and not raw and policy.truth.supersede


def standing(kept: Memory, instead_of: Sequence[Memory] = ()) -> Receipt:
    """What is said of a memory that got another standing, and of those that hold no longer for it."""
    return Receipt(kept.id, Changed(kept.status.value, instead_of[-1].id if instead_of else None), kept)
