"""Parsed memories: read what memories say once, and compare them as often as needed."""

from dataclasses import dataclass

from recollect.model.memory import Memory
from recollect.text.paraphrase import MAX_COMPARED_CHARS, meaning_key
from recollect.text.updates.claims import (
    are_claims_compatible,
    distinguishing_context,
    first_person_name,
    read_claim,
)
from recollect.text.updates.statement import Claim


@dataclass(frozen=True, slots=True)
class ParsedMemory:
    """The key of a text's canonical form, if it is short enough to have one, and its claim about a subject."""

    key: str | None
    claim: Claim | None


class ParsedMemories:
    """What memories say, parsed once.

    A memory that was parsed before a transaction is not parsed inside it, while other writers wait.
    """

    def __init__(self) -> None:
        self._parsed: dict[tuple[str, str | None, str | None, str | None], ParsedMemory] = {}

    def parse(self, memory: Memory) -> ParsedMemory:
        """Return what a memory's text says."""
        text, speaker = memory.text, memory.speaker
        me, context = first_person_name(memory.provenance), distinguishing_context(memory)
        source = (text, speaker, me, context)
        if source not in self._parsed:
            key = meaning_key(text) if len(text) <= MAX_COMPARED_CHARS else None
            self._parsed[source] = ParsedMemory(key, read_claim(text, speaker, me, context))
        return self._parsed[source]

    def contradict(self, one: Memory, other: Memory) -> bool:
        """Return whether two memories of one subject differ in meaning and cannot both be true."""
        if one.text == other.text:
            return False
        first, second = self.parse(one), self.parse(other)
        if first.key is not None and first.key == second.key:
            return False
        return one.subject != other.subject or not are_claims_compatible(one.subject, first.claim, second.claim)
