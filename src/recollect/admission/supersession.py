"""Supersession: at most one memory of a subject is valid at a time, and a new memory ends the old one."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from recollect.admission.decision import SubjectPosition, effective_from
from recollect.admission.policy import AdmissionPolicy
from recollect.model.draft import Changed, Receipt, Superseded
from recollect.model.enums import Kind, Status
from recollect.model.format import shorten
from recollect.model.memory import Memory
from recollect.text.paraphrase import MAX_COMPARED_CHARS, SameMeaning, compare_meanings
from recollect.text.updates import claims


def read_subject(memory: Memory, policy: AdmissionPolicy) -> str | None:
    """Return the subject that the text is about, or None.

    Memories with a topic key have none, since they are replaced by key; events have none, since nothing replaces them.
    """
    if memory.topic_key is not None or memory.kind is Kind.EVENT or not policy.truth.derive_subject:
        return None
    return claims.find_subject(
        memory.text, memory.speaker, claims.first_person_name(memory.provenance), claims.distinguishing_context(memory)
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
    return old.with_changes(status=status, superseded_by=successor.id, valid_until=until)


def place_in_subject(state: Memory, position: SubjectPosition, now: datetime) -> tuple[Memory, tuple[Memory, ...]]:
    """Return the memory in its position, with at least the importance of those it replaces, and these as ended."""
    ended = tuple(end_memory(one, state, now) for one in position.ends)
    if position.ended_by is not None:
        state = end_memory(state, position.ended_by, now)
    if not position.ends or state.status is not Status.ACTIVE:
        return state, ended
    importances = [one.importance for one in (*position.ends, state) if one.importance is not None]
    return state.with_changes(importance=max(importances, default=None)), ended


def superseded_verdict(old: Memory, memory: Memory) -> Superseded:
    """Return the verdict of a memory that replaces another one of its subject."""
    return Superseded(old.id, f"both are of the subject {memory.subject!r}")


def quote_difference(verdict: Superseded, old: Memory, memory: Memory) -> Superseded:
    """Add to the verdict how the two texts differ; a store does not keep that, since it may outlive them.

    It quotes both texts, shortened, if the difference alone would be unclear.
    """
    before, after = old.text, memory.text
    comparable = max(len(before), len(after)) <= MAX_COMPARED_CHARS
    difference = compare_meanings(before, after) if comparable else SameMeaning()
    if isinstance(difference, SameMeaning):
        return verdict
    is_clear = _is_whole(difference.old, before) and _is_whole(difference.new, after)
    shown_old, shown_new = (difference.old, difference.new) if is_clear else (shorten(before), shorten(after))
    if shown_old == shown_new:
        return verdict
    return Superseded(verdict.old, f"{verdict.reason}: {shown_old!r} → {shown_new!r}")


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


def filter_overlapping(memory: Memory, others: Iterable[Memory]) -> list[Memory]:
    """Return the active memories, without events, that contradict this one at some moment."""
    return [
        one
        for one in others
        if one.id != memory.id
        and one.status is Status.ACTIVE
        and one.kind is not Kind.EVENT
        and one.hash != memory.hash
        and not claims.are_compatible(one, memory)
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
