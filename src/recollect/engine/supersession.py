"""Succession: of a subject one thing holds at a time, and what takes the place of what.

Former: where a memory stood before it was put away, by which the same words are judged when they come again.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from recollect.admission.decision import SubjectPosition, effective_from, find_quarantined_by_hand, quarantine_reason
from recollect.admission.policy import AdmissionPolicy
from recollect.model.draft import Changed, Receipt, Refused, Superseded, Verdict
from recollect.model.enums import Kind, Status
from recollect.model.format import shorten
from recollect.model.memory import Memory
from recollect.protocols import WriteTransaction
from recollect.text.paraphrase import MAX_COMPARED_CHARS, SameMeaning, compare_meanings
from recollect.text.updates.claims import are_compatible, distinguishing_context, find_subject, first_person_name


def read_subject(memory: Memory, policy: AdmissionPolicy) -> str | None:
    """What the memory is about by its text; a topic has its own way of changing, and events only happened."""
    if memory.topic_key is not None or memory.kind is Kind.EVENT or not policy.truth.derive_subject:
        return None
    return find_subject(
        memory.text, memory.speaker, first_person_name(memory.provenance), distinguishing_context(memory)
    )


def end_memory(old: Memory, by: Memory, now: datetime, at: datetime | None = None) -> Memory:
    """The memory as it stands once another one took its place, at that moment if it is said; until that begins it goes
    on holding.
    """
    begin = effective_from(by) if at is None else at
    until = begin if old.valid_until is None else min(old.valid_until, begin)
    if old.valid_from is not None:
        until = max(until, old.valid_from)
    holds = at is None and by.valid_from is None  # since it was observed, also if the clock went back since
    status = Status.SUPERSEDED if holds or begin <= now else old.status
    return old.changed(status=status, superseded_by=by.id, valid_until=until)


def place_in_subject(writing: WriteTransaction, state: Memory, place: SubjectPosition, now: datetime) -> Memory:
    """The memory in its place among those of its subject, and at least as important as what it ends."""
    for one in place.ends:
        writing.put(end_memory(one, state, now), None)
    if place.ended_by is not None:
        state = end_memory(state, place.ended_by, now)
    if not place.ends or state.status is not Status.ACTIVE:
        return state
    importances = [one.importance for one in (*place.ends, state) if one.importance is not None]
    return state.changed(importance=max(importances, default=None))


def superseded_verdict(old: Sequence[Memory], memory: Memory) -> Superseded:
    """What is said of a memory that others of its subject ended for: which one did last, and how the two differ; by the
    whole texts where the difference alone says nothing to whoever sees neither.
    """
    told = _same_subject_reason(memory)
    before, after = old[-1].text, memory.text
    found = compare_meanings(before, after) if max(len(before), len(after)) <= MAX_COMPARED_CHARS else SameMeaning()
    if isinstance(found, SameMeaning):
        return Superseded(old[-1].id, told)
    whole = _is_whole(found.old, before) and _is_whole(found.new, after)
    was, now = (found.old, found.new) if whole else (shorten(before), shorten(after))
    return Superseded(old[-1].id, told if was == now else f"{told}: {was!r} → {now!r}")


def without_quotes(verdict: Verdict, memory: Memory) -> Verdict:
    """The verdict as it may be kept with the memory: without words of what it ended, which may be erased before it."""
    return Superseded(verdict.old, _same_subject_reason(memory)) if isinstance(verdict, Superseded) else verdict


def _same_subject_reason(memory: Memory) -> str:
    return f"both are of the subject {memory.subject!r}"


def _is_whole(value: str, text: str) -> bool:
    """Whether a value of the text is one by itself: not if it is empty, an article, or part of a word or a figure."""
    if value.casefold() in _EMPTY_VALUES:
        return False
    words, wanted = _strip_words(text), _strip_words(value)
    places = [at for at in range(len(words)) if words[at : at + len(wanted)] == wanted]
    return value not in text or any(not _continues_number(words, at, at + len(wanted)) for at in places)


def _continues_number(words: Sequence[str], start: int, end: int) -> bool:
    """Whether figures stand right before or behind the words between, as in a number that is written in groups."""
    grouped = [
        one[-1:].isdigit() and other[:1].isdigit() for one, other in pairwise(words[max(start - 1, 0) : end + 1])
    ]
    return (start > 0 and grouped[0]) or (end < len(words) and grouped[-1])


def _strip_words(text: str) -> list[str]:
    """The words without what stands around them."""
    return [word.strip(_PUNCTUATION) for word in text.split()]


_EMPTY_VALUES = ("", "a", "an", "the")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`“”‘’«»…"


def find_rivals(writing: WriteTransaction, memory: Memory, policy: AdmissionPolicy) -> list[Memory]:
    """The other active memories of its subject that hold at a moment at which it does, in the order they began."""
    if memory.subject is None or not is_exclusive(memory, policy):
        return []
    return filter_overlapping(memory, writing.about(memory.scope, memory.subject, effective_from(memory)))


def filter_overlapping(memory: Memory, others: Iterable[Memory]) -> list[Memory]:
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
        and not are_compatible(one, memory)
        and not one.ended_by(effective_from(memory))
        and not memory.ended_by(effective_from(one))
    ]


def is_exclusive(memory: Memory, policy: AdmissionPolicy) -> bool:
    """Whether no other memory of its subject may hold beside it; what records that something happened ends nothing."""
    raw = memory.kind is Kind.EVENT or memory.level is not None
    return memory.subject is not None and not raw and policy.truth.supersede


def status_receipt(kept: Memory, instead_of: Sequence[Memory] = ()) -> Receipt:
    """What is said of a memory that got another standing, and of those that hold no longer for it."""
    return Receipt(kept.id, Changed(kept.status.value, instead_of[-1].id if instead_of else None), kept)


def load_prior_version(writing: WriteTransaction, former: Memory, away: Collection[Status]) -> Memory:
    """The memory as it was before it was put away so; active, if it never was anything else."""
    one = former
    while one.status in away:
        earlier = writing.before(one.scope, one.id, one.commit or 0)
        if earlier is None:
            return former.changed(status=Status.ACTIVE, remark=None)
        one, _ = earlier
    return one


def with_prior_quarantine(writing: WriteTransaction, memory: Memory) -> Memory:
    """The memory; if it was quarantined when it was forgotten, as it would stand there again."""
    if memory.status is not Status.FORGOTTEN:
        return memory
    stood = load_prior_version(writing, memory, {Status.FORGOTTEN})
    return (
        memory if stood.status is not Status.QUARANTINED else memory.changed(status=stood.status, remark=stood.remark)
    )


def find_quarantine_refusal(writing: WriteTransaction, proposed: Memory) -> Refused | None:
    """Why words are not taken that an operator put into quarantine, also if they were forgotten there since."""
    sayings = writing.sayings(proposed)
    apart = find_quarantined_by_hand((with_prior_quarantine(writing, one) for one in sayings), proposed)
    other = next((one for one in sayings if apart is not None and one.id == apart.id), None)
    return None if other is None else Refused(quarantine_reason(other), other.id)
