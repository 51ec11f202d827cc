"""Likeness: what two memories have in common that say the same in other words."""

import hashlib

from recollect.model.memory import Kind, Memory, embedded
from recollect.model.nfc import composed
from recollect.text.paraphrase import meaning

LONGEST = 2_000
"""How many characters a text may have to be compared by what it means; longer ones are documents, not statements."""

NONE = ""
"""The likeness of what is like nothing else: events, which are raw, records of what happened, and long texts."""


def likeness(memory: Memory) -> str:
    """The same for two memories of one speaker that mean the same, however they are worded; `NONE` for those that are
    not compared.
    """
    return NONE if memory.level is not None else likeness_of(memory.text, memory.speaker, memory.kind.value)


def likeness_of(text: str, speaker: str | None, kind: str) -> str:
    """The likeness of a plain memory with that text, speaker and kind."""
    if kind == Kind.EVENT or len(text) > LONGEST:
        return NONE
    said = meaning(embedded(None, text, speaker))
    if speaker is None:
        return said
    whose = hashlib.sha256(composed(speaker).casefold().encode()).hexdigest()[:16]
    return f"{said} {whose}"


def same_in_meaning(one: str, other: str) -> bool:
    """Whether two texts say the same, whoever says them; long ones only if they do so word for word."""
    return one == other or (max(len(one), len(other)) <= LONGEST and meaning(one) == meaning(other))


def alike(one: Memory, other: Memory) -> bool:
    """Whether both mean the same, however they are worded."""
    return likeness(one) != NONE and likeness(one) == likeness(other)
