"""Likeness: what two memories have in common that say the same in other words."""

import hashlib

from recollect.model.memory import Kind, Memory, build_embedded_text
from recollect.model.nfc import to_nfc
from recollect.text.paraphrase import meaning_key

MAX_COMPARED_CHARS = 2_000
"""How many characters a text may have to be compared by what it means; longer ones are documents, not statements."""

NO_KEY = ""
"""The likeness of what is like nothing else: events, which are raw, records of what happened, and long texts."""


def paraphrase_key(memory: Memory) -> str:
    """The same for two memories of one speaker that mean the same, however they are worded; `NO_KEY` for those that are
    not compared.
    """
    return NO_KEY if memory.level is not None else paraphrase_key_of(memory.text, memory.speaker, memory.kind.value)


def paraphrase_key_of(text: str, speaker: str | None, kind: str) -> str:
    """The likeness of a plain memory with that text, speaker and kind."""
    if kind == Kind.EVENT or len(text) > MAX_COMPARED_CHARS:
        return NO_KEY
    said = meaning_key(build_embedded_text(None, text, speaker))
    if speaker is None:
        return said
    whose = hashlib.sha256(to_nfc(speaker).casefold().encode()).hexdigest()[:16]
    return f"{said} {whose}"


def have_same_meaning(one: str, other: str) -> bool:
    """Whether two texts say the same, whoever says them; long ones only if they do so word for word."""
    return one == other or (max(len(one), len(other)) <= MAX_COMPARED_CHARS and meaning_key(one) == meaning_key(other))


def are_paraphrases(one: Memory, other: Memory) -> bool:
    """Whether both mean the same, however they are worded."""
    return paraphrase_key(one) != NO_KEY and paraphrase_key(one) == paraphrase_key(other)
