"""Pack: a ranking and a budget make a context, and nothing vanishes unnamed."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from recollect.model.format import format_count, format_left_out
from recollect.packing.budget import Budget
from recollect.packing.choice import RenderedRanking, choose_memories, fit_text
from recollect.packing.prompt import Prompt
from recollect.ranking.result import Ranking, Scored, format_listing


class OmissionReason(StrEnum):
    """Why a memory was left out."""

    BUDGET = "budget"
    ITEMS = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """A memory that was considered and left out: why, what it would have cost, and the room it met."""

    scored: Scored
    reason: OmissionReason
    cost: int
    room: int

    def __repr__(self) -> str:
        lacking = f", {format_count(self.short, 'token')} short" if self.reason is OmissionReason.BUDGET else ""
        return f"<Omitted by {self.reason.value}{lacking}: {self.scored}>"

    @property
    def short(self) -> int:
        """How many tokens were missing; none were if the limit of items kept it out."""
        return self.cost - self.room if self.reason is OmissionReason.BUDGET else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is handed to a model, and what was left out and why.

    `packed` is in rank order, also where the text groups by kind. `tokens` is the count of the text as a
    whole, `estimated` if the counter is not a model's own. `id` names its trace, where one is kept.
    """

    text: str
    packed: tuple[Scored, ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    estimated: bool
    budget: Budget
    ranking: Ranking
    marker: str
    id: str | None = None

    def __repr__(self) -> str:
        name = "Context" if self.id is None else f"Context {self.id}"
        return format_listing(f"<{name}: {self.summary}>", self.packed)

    @property
    def summary(self) -> str:
        """What it came to, in a line: memories, tokens, and what was left out by which reason."""
        tokens = f"{self.tokens} of {self.budget.tokens} tokens{' (estimated)' if self.estimated else ''}"
        reasons = {**Counter(one.reason.value for one in self.omitted), **self.ranking.excluded}
        return f"{format_count(len(self.packed), 'memory', 'memories')}, {tokens}{format_left_out(reasons)}"


def pack(ranking: Ranking, budget: Budget, prompt: Prompt) -> Context:
    """Take what fits, best first, after pinned memories and reserves; never more than the budget.

    Every memory of the ranking is packed or omitted, and if any of them fits, the context is not empty.
    """
    offer = RenderedRanking.of(ranking, budget, prompt)
    choice = choose_memories(offer, budget)
    settled = fit_text(offer, choice)
    kept = set(settled.places)

    def omitted(place: int) -> Omitted:
        cost = offer.costs[place]
        if place in settled.excess:
            reason, room = OmissionReason.BUDGET, cost - settled.excess[place]
        elif place in choice.room_met:
            reason, room = OmissionReason.BUDGET, choice.room_met[place]
        else:
            reason, room = OmissionReason.ITEMS, choice.tokens - choice.spent
        return Omitted(scored=ranking[place], reason=reason, cost=cost, room=room)

    return Context(
        text=settled.text,
        packed=tuple(ranking[place] for place in settled.places),
        omitted=tuple(omitted(place) for place in range(len(ranking)) if place not in kept),
        tokens=settled.tokens,
        estimated=not prompt.count.exact,
        budget=budget,
        ranking=ranking,
        marker=prompt.marker,
    )
