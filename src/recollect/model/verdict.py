"""Verdict: what became of a draft, and the receipt its writer gets."""

from dataclasses import dataclass, fields

from recollect.errors import NotFound
from recollect.model.format import make_printable, shorten
from recollect.model.memory import Memory, MemoryId


@dataclass(frozen=True, slots=True)
class Created:
    """It is news: a memory of its own."""


@dataclass(frozen=True, slots=True)
class Updated:
    """It is a new revision of a memory: the one of its topic, or the one that was revised; in place of another one of
    its subject, if one held.
    """

    revision: int
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Reinforced:
    """It is no news: the memory says so already, or its topic has a text that was observed later; it was echoed."""

    twin: MemoryId
    reason: str = "the same words"


@dataclass(frozen=True, slots=True)
class Superseded:
    """It is a memory of its own, and another one of its subject holds no longer."""

    old: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """It is a memory of its own that held until a later one of its subject, which was known already."""

    newer: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Reactivated:
    """It was said before and put away since; it is said again, so it is back, in place of the other if one held."""

    was: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unindexed:
    """It is an event like one that is known: kept, and not found by a question."""

    twin: MemoryId
    reason: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    """It is kept, and recalled only once an operator releases it; `other` is the memory that it is at odds with."""

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written; `other` is the memory that stands in the way, if one does."""

    reason: str
    other: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Its standing changed, not its text: forgotten, restored in place of another if one held, pinned or unpinned."""

    to: str
    instead_of: MemoryId | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """It stood so already; nothing was written."""


Verdict = (
    Created
    | Updated
    | Reinforced
    | Superseded
    | Outdated
    | Reactivated
    | Unindexed
    | Quarantined
    | Refused
    | Changed
    | Unchanged
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer gets back: which memory now says it, what was decided, and the memory itself.

    A refused draft may have none: then asking for it says why. `redacted` names what was taken out before anything
    was kept: what was private, and kinds of secrets.
    """

    _id: MemoryId | None
    verdict: Verdict
    _memory: Memory | None
    redacted: tuple[str, ...] = ()

    @property
    def id(self) -> MemoryId:
        if self._id is None:
            raise NotFound(f"nothing was kept: {self.reason}")
        return self._id

    @property
    def memory(self) -> Memory:
        if self._memory is None:
            raise NotFound(f"nothing was kept: {self.reason}")
        return self._memory

    @property
    def kept(self) -> bool:
        """Whether there is a memory that says it."""
        return self._memory is not None

    @property
    def reason(self) -> str:
        """Why it was decided so; empty where the verdict says it all."""
        match self.verdict:
            case Reinforced() | Superseded() | Outdated() | Unindexed() | Quarantined() | Refused():
                return self.verdict.reason
            case Reactivated(was, _):
                return f"it was {was}, and was said again since"
            case _:
                return ""

    @property
    def other(self) -> MemoryId | None:
        """The other memory that the decision was about, if there is one."""
        match self.verdict:
            case Reinforced(twin, _) | Unindexed(twin, _):
                return twin
            case Superseded(old, _) | Reactivated(_, old) | Updated(_, old) | Changed(_, old):
                return old
            case Outdated(newer, _):
                return newer
            case Quarantined(_, other) | Refused(_, other):
                return other
            case _:
                return None

    def __repr__(self) -> str:
        if self._id is None or self._memory is None:
            return f"<Receipt {self._describe_verdict}>"
        return f"<Receipt {self._describe_verdict}: {make_printable(self._id)}  {shorten(self._memory.text)}>"

    @property
    def _describe_verdict(self) -> str:
        """The verdict with what it says, and nothing of what it leaves open."""
        given = {one.name: getattr(self.verdict, one.name) for one in fields(self.verdict)}
        told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"{type(self.verdict).__name__}({told})"
