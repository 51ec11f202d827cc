"""Supersession: at most one memory of a subject is valid at a time, and a new memory ends the old one.

Also reads a memory's earlier status, which decides how the same text is treated when it is stated again.
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
    """Return the subject that the text is about, or None.

    Memories with a topic key have none, since they are replaced by key; events have none, since nothing replaces them.
    """
    if memory.topic_key is not None or memory.kind is Kind.EVENT or not policy.truth.derive_subject:
        return None
    return find_subject(
        memory.text, memory.speaker, first_person_name(memory.provenance), distinguishing_context(memory)
    )


def end_memory(old: Memory, successor: Memory, now: datetime, ended_at: datetime | None = None) -> Memory:
    """Return the memory as replaced by `successor`: valid until the successor begins, or until `ended_at`."""
    end = effective_from(successor) if ended_at is None else ended_at
    until = end if old.valid_until is None else min(old.valid_until, end)
    if old.valid_from is not None:
        until = max(until, old.valid_from)
    # a successor without a start began when it was observed, even if the clock went back
    began = ended_at is None and successor.valid_from is None
    status = Status.SUPERSEDED if began or end <= now else old.status
    return old.changed(status=status, superseded_by=successor.id, valid_until=until)


def place_in_subject(writing: WriteTransaction, state: Memory, position: SubjectPosition, now: datetime) -> Memory:
    """End the memories that this one replaces; return it with at least their importance."""
    for one in position.ends:
        writing.put(end_memory(one, state, now), None)
    if position.ended_by is not None:
        state = end_memory(state, position.ended_by, now)
    if not position.ends or state.status is not Status.ACTIVE:
        return state
    importances = [one.importance for one in (*position.ends, state) if one.importance is not None]
    return state.changed(importance=max(importances, default=None))


def superseded_verdict(old: Sequence[Memory], memory: Memory) -> Superseded:
    """Return the verdict of a memory that replaces others: the last replaced memory, and how the two differ.

    It quotes both texts, shortened, if the difference alone would be unclear.
    """
    reason = _same_subject_reason(memory)
    before, after = old[-1].text, memory.text
    comparable = max(len(before), len(after)) <= MAX_COMPARED_CHARS
    difference = compare_meanings(before, after) if comparable else SameMeaning()
    if isinstance(difference, SameMeaning):
        return Superseded(old[-1].id, reason)
    is_clear = _is_whole(difference.old, before) and _is_whole(difference.new, after)
    shown_old, shown_new = (difference.old, difference.new) if is_clear else (shorten(before), shorten(after))
    return Superseded(old[-1].id, reason if shown_old == shown_new else f"{reason}: {shown_old!r} → {shown_new!r}")


def without_quotes(verdict: Verdict, memory: Memory) -> Verdict:
    """Return the verdict without quotes of the replaced text, which may be erased before the verdict is."""
    return Superseded(verdict.old, _same_subject_reason(memory)) if isinstance(verdict, Superseded) else verdict


def _same_subject_reason(memory: Memory) -> str:
    return f"both are of the subject {memory.subject!r}"


def _is_whole(value: str, text: str) -> bool:
    """Return whether the value makes sense alone: it is not empty, an article or part of a number."""
    if value.casefold() in _EMPTY_VALUES:
        return False
    words, value_words = _strip_words(text), _strip_words(value)
    positions = [at for at in range(len(words)) if words[at : at + len(value_words)] == value_words]
    return value not in text or any(not _continues_number(words, at, at + len(value_words)) for at in positions)


def _continues_number(words: Sequence[str], start: int, end: int) -> bool:
    """Return whether digits are next to the words, as in a number written in groups."""
    grouped = [
        one[-1:].isdigit() and other[:1].isdigit() for one, other in pairwise(words[max(start - 1, 0) : end + 1])
    ]
    return (start > 0 and grouped[0]) or (end < len(words) and grouped[-1])


def _strip_words(text: str) -> list[str]:
    """Return the words without surrounding punctuation."""
    return [word.strip(_PUNCTUATION) for word in text.split()]


_EMPTY_VALUES = ("", "a", "an", "the")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`“”‘’«»…"


def find_rivals(writing: WriteTransaction, memory: Memory, policy: AdmissionPolicy) -> list[Memory]:
    """Return the other active memories of the subject that are valid at the same time, by start."""
    if memory.subject is None or not is_exclusive(memory, policy):
        return []
    return filter_overlapping(memory, writing.about(memory.scope, memory.subject, effective_from(memory)))


def filter_overlapping(memory: Memory, others: Iterable[Memory]) -> list[Memory]:
    """Return the active memories, without events, that contradict this one at some moment."""
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
    """Return whether no other memory of its subject may be valid beside it.

    Events and timeline records are never exclusive.
    """
    raw = memory.kind is Kind.EVENT or memory.level is not None
    return memory.subject is not None and not raw and policy.truth.supersede


def status_receipt(stored: Memory, ended: Sequence[Memory] = ()) -> Receipt:
    """Return the receipt of a changed status, with the last memory that it ended."""
    return Receipt(stored.id, Changed(stored.status.value, ended[-1].id if ended else None), stored)


def load_prior_version(writing: WriteTransaction, memory: Memory, statuses: Collection[Status]) -> Memory:
    """Return the last version without one of these statuses; if there is none, the memory as active."""
    version = memory
    while version.status in statuses:
        earlier = writing.before(version.scope, version.id, version.commit or 0)
        if earlier is None:
            return memory.changed(status=Status.ACTIVE, remark=None)
        version, _ = earlier
    return version


def with_prior_quarantine(writing: WriteTransaction, memory: Memory) -> Memory:
    """Return the memory, as quarantined if it was in quarantine when it was forgotten."""
    if memory.status is not Status.FORGOTTEN:
        return memory
    prior = load_prior_version(writing, memory, {Status.FORGOTTEN})
    return (
        memory if prior.status is not Status.QUARANTINED else memory.changed(status=prior.status, remark=prior.remark)
    )


def find_quarantine_refusal(writing: WriteTransaction, proposed: Memory) -> Refused | None:
    """Return a refusal if an operator quarantined the same text, even if that was forgotten later."""
    duplicates = writing.sayings(proposed)
    quarantined = find_quarantined_by_hand((with_prior_quarantine(writing, one) for one in duplicates), proposed)
    duplicate = next((one for one in duplicates if quarantined is not None and one.id == quarantined.id), None)
    return None if duplicate is None else Refused(quarantine_reason(duplicate), duplicate.id)
