"""Conversation: turns that were said.

Session: a stretch of an agent's work for one scope, from when it began until it was ended or fell silent.

Extraction: what an extractor made of a conversation, what of it was not taken, and what it cost.

Tally: what was asked of a model, in requests and tokens, and what that costs.
"""

from collections.abc import Mapping
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
    """In which part somebody speaks in a conversation with a model."""

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
"""Through whom words of the conversation came, by the part of who said them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """One turn of a conversation: what was said, by whom, when, and in which session; `id` if a memory keeps it."""

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
    """When it began, was last active and ended, and what it came to.

    `summary` is what somebody said of it, and then it is `summarised`; of one that ended without a word it is put
    together from what was saved in it and is still there.
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
    """A memory with those that came just before and just after it, all in the order of time and id."""

    memory: Memory
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeHoldings:
    """How many plain memories of its own a scope has that can be recalled now, by kind, from when to when, and how many
    sessions; `current` is the one that is under way.
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
"""How many tokens a price is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What was understood from a turn: a memory to be, with the words it rests on.

    `turn` is the place of the turn in the conversation, from 0 on, and `quote` occurs in it, word for word. `subject`
    is what it is about, where only one thing of that can be true at a time.
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
            raise FieldError(f"{show(self.turn)} is no place of a turn", field="turn")


class RejectionReason(StrEnum):
    """Why something that was proposed is no memory."""

    NOT_SAID = "its quote does not occur in the conversation"
    QUOTE_TOO_SHORT = "its quote is so short that it would occur anywhere"
    TOO_LONG = "it, its quote or its subject is longer than one may be"
    NO_TEXT = "it says nothing, or has characters that cannot be kept"
    NO_SUBJECT = "its subject is blank, or has characters that no eye can see"
    BAD_IMPORTANCE = "its importance is not within 0..1"
    THIRD_PARTY = "it is about somebody else than the speaker and does not say so"
    DUPLICATE = "it is there already"
    TOO_MANY = "others are more important, and there were too many"


@dataclass(frozen=True, slots=True)
class RejectedExtract:
    """Something that was proposed and not taken: how it began, on one line, and why."""

    text: str
    reason: RejectionReason

    def __post_init__(self) -> None:
        validation.require_clean_text("text", self.text)
        require_choice("reason", self.reason, RejectionReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """What a million tokens cost, of those that are read and of those that are written, in whatever currency."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        for name in ("prompt", "completion"):
            if validation.require_number(name, getattr(self, name)) < 0.0:
                raise FieldError(f"{show(getattr(self, name))} is below zero; give a price", field=name)

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was understood from a conversation, in its order, and what it took to understand it.

    `calls` are the requests a model was sent, those among them that it refused or answered with nonsense too.
    `uncounted` are the calls whose tokens the server did not tell, or told unbelievably: they count as none, so with
    any of them the tokens are a least, and there is no cost. `cost` is there if prices were given.
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
            raise FieldError(f"{show(self.cost)} is below zero", field="cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUsage:
    """How many requests were answered, and the tokens of those whose answers told them believably."""

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
        """What came since an earlier one."""
        return LlmUsage(
            calls=self.calls - earlier.calls,
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            uncounted=self.uncounted - earlier.uncounted,
        )

    def cost(self, prices: ModelPrices | None) -> float | None:
        """What the tokens cost; not told without prices, or if some of the tokens are not known."""
        return None if prices is None or self.uncounted else prices.cost_of(self.prompt_tokens, self.completion_tokens)
