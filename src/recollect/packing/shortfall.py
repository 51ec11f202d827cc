"""Shortfall: how large a budget would have had to be for a memory to be packed."""

import math
from dataclasses import dataclass, replace

from recollect.errors import NotFound
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.choice import PackingChoice, RenderedRanking, choose_memories, fit_text
from recollect.packing.prompt import Prompt
from recollect.ranking.result import Ranking

MAX_TRIED_BUDGETS = 300
"""After so many budgets tried in vain, one that is enough is told, though a smaller one may be."""


@dataclass(frozen=True, slots=True)
class SufficientBudget:
    """A budget with which the memory is packed; the smallest one, unless finding it took too long."""

    tokens: int
    smallest: bool


def smallest_budget(ranking: Ranking, budget: Budget, prompt: Prompt, id: MemoryId) -> SufficientBudget | None:
    """The fewest tokens, not below the given, with which the memory is packed; `None` if no number helps.

    More room can let a larger memory in that keeps this one out, so budgets are tried in turn, but only those
    with which something can come out differently.
    """
    place = next((place for place, scored in enumerate(ranking) if scored.id == id), None)
    if place is None:
        raise NotFound(f"memory {id!r} is not in the ranking; ask about one that was considered")

    offer = RenderedRanking.of(ranking, budget, prompt)
    tokens: float = _lower_bound(offer, budget, place)
    for _ in range(MAX_TRIED_BUDGETS):
        if tokens == math.inf:
            return None
        budget = replace(budget, tokens=int(tokens))
        choice = choose_memories(offer, budget, last=place)
        if place in choice.chosen or not _first_remains(offer, choice):
            choice = choose_memories(offer, budget)
            settled = fit_text(offer, choice)
            if place in settled.places:
                return SufficientBudget(budget.tokens, smallest=True)
            tokens = min(choice.next_budget, settled.next_budget)
        else:
            tokens = choice.next_budget
    return _budget_for_all(offer, budget, place)


def _budget_for_all(offer: RenderedRanking, budget: Budget, place: int) -> SufficientBudget | None:
    """A budget with room for everyone, if the memory is then packed."""
    everyone = offer.frame + sum(offer.costs)
    together = offer.prompt.tokens(offer.render(range(len(offer.costs))))
    pinned = budget.tokens_for_pinned(sum(offer.costs[pin] for pin in offer.pinned))
    pinned = pinned if pinned < math.inf else 0  # a share of nothing is never enough: they come in by rank
    budget = replace(budget, tokens=max(budget.tokens, everyone, together, int(pinned)))
    settled = fit_text(offer, choose_memories(offer, budget))
    return SufficientBudget(budget.tokens, smallest=False) if place in settled.places else None


def _lower_bound(offer: RenderedRanking, budget: Budget, place: int) -> int:
    """A budget below which the memory is not packed, and not below the given.

    If it comes in by its rank, then whoever had a turn before it met room for it and for those taken between,
    `rest`; who costs no more than that was not passed over and is in as well. A pinned one, one with a reserve
    and the first that fits alone may come in otherwise.
    """
    if offer.has_priority(place, budget) or place == 0 or offer.tokens_alone(0) > budget.tokens:
        return budget.tokens
    rest = all_in = offer.costs[place]
    for other in reversed(range(place)):
        cost = offer.costs[other]
        if cost <= rest:
            all_in += cost
            rest += 0 if offer.has_priority(other, budget) else cost
    return max(budget.tokens, offer.frame + all_in)


def _first_remains(offer: RenderedRanking, choice: PackingChoice) -> bool:
    """Whether the first taken is sure to remain, so that settling brings nothing else in."""
    first = next(iter(choice.chosen), None)
    return first is not None and offer.tokens_alone(first) <= choice.tokens
