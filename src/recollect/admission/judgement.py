"""Judgement: what becomes of a draft, given what its scope already knows."""

from dataclasses import dataclass
from datetime import datetime

from recollect.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Admit:
    """It is news: store it."""


@dataclass(frozen=True, slots=True)
class Revise:
    """It is the new state of a topic that has a memory."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class Echo:
    """It is known already, word for word."""

    memory: Memory


Judgement = Admit | Revise | Echo


def judge(proposed: Memory, *, topic: Memory | None, twin: Memory | None) -> Judgement:
    """What becomes of what is proposed: its topic comes before its words, and a twin is of no other topic.

    What was observed before a topic's present text is no news to it. The same words again are an echo, unless they
    come with something that the memory does not have yet, or after the time for which it held: then it holds again.
    """
    known = twin if topic is None else topic
    if known is None:
        return Admit()
    if topic is not None and _observed(proposed) < _observed(topic):
        return Echo(topic)
    if known.hash != proposed.hash or known.ended_by(_observed(proposed)) or _says_more(proposed, known):
        return Revise(known)
    return Echo(known)


def _observed(memory: Memory) -> datetime:
    return memory.observed_at or memory.created_at


def _says_more(proposed: Memory, known: Memory) -> bool:
    """Whether anything but the words is new: a pin, a share, a higher importance, another date, title or topic."""
    raised = (proposed.importance or 0.0) > (known.importance or 0.0)
    given = [(getattr(proposed, name), getattr(known, name)) for name in _SAID]
    changed = any(new not in (None, (), {}) and new != old for new, old in given)
    return raised or changed or (proposed.pinned and not known.pinned) or (proposed.shared and not known.shared)


_SAID = ("title", "topic_key", "tags", "confidence", "valid_from", "valid_until", "metadata")
"""What a proposal may say beside its words, and be heard for."""
