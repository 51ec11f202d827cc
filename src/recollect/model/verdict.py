"""Verdict: what became of a draft, and the receipt its writer gets."""

from dataclasses import dataclass

from recollect.model.memory import Memory, MemoryId
from recollect.model.wording import printable, shortened


@dataclass(frozen=True, slots=True)
class Created:
    """It is news: a memory of its own."""


@dataclass(frozen=True, slots=True)
class Updated:
    """It is a new revision of a memory: the one of its topic, or the one that was revised."""

    revision: int


@dataclass(frozen=True, slots=True)
class Reinforced:
    """It is no news: the memory says so already, or its topic has a text that was observed later; it was echoed."""

    twin: MemoryId


@dataclass(frozen=True, slots=True)
class Changed:
    """Its standing changed, not its text: forgotten, restored, pinned or unpinned."""

    to: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """It stood so already; nothing was written."""


Verdict = Created | Updated | Reinforced | Changed | Unchanged


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer gets back: which memory now says it, what was decided, and the memory itself."""

    id: MemoryId
    verdict: Verdict
    memory: Memory

    def __repr__(self) -> str:
        return f"<Receipt {self.verdict}: {printable(self.id)}  {shortened(self.memory.text)}>"
