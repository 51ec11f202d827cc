"""Extraction: what an extractor made of a conversation, what of it was not taken, and what it cost."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.memory import Kind, require_choice, require_kind

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
