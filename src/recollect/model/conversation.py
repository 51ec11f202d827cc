"""Conversations: turns, sessions, and the result of extracting memories from turns.

A session is a stretch of an agent's work in one scope. It lasts until it is ended or inactive for too long. The end of
this module counts the requests and tokens that a model used, and their cost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.enums import Kind, Provenance, Status, require_choice, require_kind
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope


class Role(StrEnum):
    """Who speaks in a conversation with a model."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


PROVENANCE_BY_ROLE: Mapping[Role, Provenance] = {
    Role.USER: Provenance.DIRECT_USER,
    Role.ASSISTANT: Provenance.MODEL_INFERENCE,
    Role.SYSTEM: Provenance.MODEL_INFERENCE,
    Role.TOOL: Provenance.TOOL_EXTERNAL,
}
"""The provenance of text in a conversation, by the role of its speaker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """One turn of a conversation; `id` is the memory that keeps it, if one does."""

    text: str
    role: Role = Role.USER
    speaker: str | None = None
    at: datetime | None = None
    session: str | None = None
    id: MemoryId | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        require_choice("role", self.role, Role)
        for name in ("speaker", "session", "id"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.require_id(name, getattr(self, name)))
        if self.at is not None:
            object.__setattr__(self, "at", validation.require_moment("at", self.at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session: when it began, was last active and ended, and its summary.

    `summarised` means that a caller gave the summary. A session that ended without one gets a summary composed of the
    memories saved in it that still exist.
    """

    id: MemoryId
    scope: Scope
    started_at: datetime
    last_active_at: datetime
    ended_at: datetime | None = None
    summary: str | None = None
    summarised: bool = False
    status: Status = Status.ACTIVE

    def __repr__(self) -> str:
        state = "under way" if self.under_way else "over"
        said = "" if self.summary is None else f": {shorten(self.summary)}"
        return f"<Session {self.id} of {self.scope}, {state}{said}>"

    @property
    def under_way(self) -> bool:
        """Whether it has not ended yet."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyMemories:
    """A memory with those just before and just after it, ordered by time and id."""

    memory: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeHoldings:
    """What a scope holds: recallable plain memories by kind, their time span, and sessions.

    Only memories of the scope itself count. `current` is the session under way.
    """

    memories: int
    kinds: Mapping[Kind, int] = field(hash=False)
    sessions: int
    first_at: datetime | None
    last_at: datetime | None
    current: MemoryId | None

    def __repr__(self) -> str:
        memories = format_count(self.memories, "memory", "memories")
        return f"<Holdings: {memories}, {format_count(self.sessions, 'session')}>"


MAX_EXTRACTS = 10
"""How many memories one call extracts at most."""

TOKENS_PER_PRICE = 1_000_000
"""The number of tokens that a price is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """A proposed memory that an extractor found in a turn, with the quote that supports it.

    `turn` is the index of the turn in the conversation, from 0, and `quote` occurs in it word for word. `subject` is
    what the memory is about, where only one thing can be true of it at a time.
    """

    text: str
    kind: Kind
    quote: str
    turn: int
    importance: float | None = None
    confidence: float | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        validation.require_content("quote", self.quote)
        require_kind("kind", self.kind)
        for name in ("importance", "confidence"):
            if getattr(self, name) is not None:
                validation.require_fraction(name, getattr(self, name))
        if type(self.turn) is not int or self.turn < 0:
            raise FieldError(f"{show(self.turn)} is not the index of a turn", field="turn")


class RejectionReason(StrEnum):
    """Why a proposed memory was rejected."""

    NOT_SAID = "its quote does not occur in the conversation"
    QUOTE_TOO_SHORT = "its quote is too short to be evidence"
    TOO_LONG = "its text, quote or subject is too long"
    NO_TEXT = "its text is blank or has characters that cannot be stored"
    NO_SUBJECT = "its subject is blank or has invisible characters"
    BAD_IMPORTANCE = "its importance is not within 0..1"
    THIRD_PARTY = "it is about someone other than the speaker and does not say so"
    DUPLICATE = "it is a duplicate"
    TOO_MANY = "there were too many, and others are more important"


@dataclass(frozen=True, slots=True)
class RejectedExtract:
    """A proposed memory that was rejected: how its text begins, on one line, and why."""

    text: str
    reason: RejectionReason

    def __post_init__(self) -> None:
        validation.require_clean_text("text", self.text)
        require_choice("reason", self.reason, RejectionReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """The price of a million prompt tokens and of a million completion tokens, in any currency."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        for name in ("prompt", "completion"):
            if validation.require_number(name, getattr(self, name)) < 0.0:
                raise FieldError(f"{show(getattr(self, name))} is negative; give a price of at least 0", field=name)

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of these tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The memories extracted from a conversation, in its order, and what the extraction cost.

    `calls` counts all requests sent to a model, including those it refused or answered with nonsense. `uncounted`
    counts the calls whose token counts are missing or not plausible; they count as zero. With any of them the token
    counts are a minimum and there is no cost. `cost` is also `None` without prices.
    """

    extracts: tuple[Extract, ...] = ()
    rejected: tuple[RejectedExtract, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "prompt_tokens", "completion_tokens", "uncounted"):
            validation.require_count(name, getattr(self, name))
        if self.cost is not None and validation.require_number("cost", self.cost) < 0.0:
            raise FieldError(f"{show(self.cost)} is negative; give a cost of at least 0", field="cost")

    @property
    def usage(self) -> "LlmUsage":
        """The calls to a model and their tokens."""
        return LlmUsage(
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            uncounted=self.uncounted,
        )

    @staticmethod
    def total_cost(extractions: "Iterable[Extraction]") -> float | None:
        """Return what several extractions cost together, or None if no cost is known."""
        costs = [one.cost for one in extractions if one.cost is not None]
        return sum(costs) if costs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUsage:
    """How many requests were answered, and the tokens of those with plausible token counts."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0

    def __add__(self, other: "LlmUsage") -> "LlmUsage":
        return LlmUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            uncounted=self.uncounted + other.uncounted,
        )

    def __sub__(self, earlier: "LlmUsage") -> "LlmUsage":
        """Return what was used since an earlier count."""
        return LlmUsage(
            calls=self.calls - earlier.calls,
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            uncounted=self.uncounted - earlier.uncounted,
        )

    def cost(self, prices: ModelPrices | None) -> float | None:
        """Return the cost of the tokens; `None` without prices or if some tokens are unknown."""
        return None if prices is None or self.uncounted else prices.cost_of(self.prompt_tokens, self.completion_tokens)
