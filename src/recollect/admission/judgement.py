"""Judgement: what becomes of a draft, given what its scope already knows."""

from dataclasses import dataclass

from recollect.model.draft import Draft
from recollect.model.memory import Memory, content_hash


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


def judge(draft: Draft, *, topic: Memory | None, twin: Memory | None) -> Judgement:
    """What becomes of the draft: its topic comes before its words.

    Someone else's memory that happens to say the same does not keep a topic from its new state.
    """
    if topic is not None:
        return Echo(topic) if topic.hash == content_hash(draft.text) else Revise(topic)
    return Admit() if twin is None else Echo(twin)
