"""Shortfall: how large a budget would have had to be for a memory to be packed."""

import math
from dataclasses import replace

from recollect.errors import NotFound
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.choice import Choice, Offer, choose, settle
from recollect.packing.prompt import Prompt
from recollect.ranking.result import Ranking


def smallest_budget(ranking: Ranking, budget: Budget, prompt: Prompt, id: MemoryId) -> int | None:
    """The fewest tokens, not below the given, with which the memory is packed; `None` if no number helps.

    More room can let a larger memory in that keeps this one out, so budgets are tried in turn, but only those
    with which something can come out differently.
    """
    place = next((place for place, scored in enumerate(ranking) if scored.id == id), None)
    if place is None:
        raise NotFound(f"memory {id!r} is not in the ranking; ask about one that was considered")

    offer = Offer.of(ranking, budget, prompt)
    tokens: float = _least(offer, budget, place)
    while tokens < math.inf:
        budget = replace(budget, tokens=int(tokens))
        choice = choose(offer, budget, last=place)
        if place in choice.taken or not _stands(offer, choice):
            choice = choose(offer, budget)
            settled = settle(offer, choice)
            if place in settled.places:
                return budget.tokens
            tokens = min(choice.more, settled.more)
        else:
            tokens = choice.more
    return None


def _least(offer: Offer, budget: Budget, place: int) -> int:
    """A budget below which the memory is not packed, and not below the given.

    If it comes in by its rank, then whoever had a turn before it met room for it and for those taken between,
    `rest`; who costs no more than that was not passed over and is in as well. A pinned one, one with a reserve
    and the first that fits alone may come in otherwise.
    """
    if offer.favoured(place, budget) or place == 0 or offer.alone(0) > budget.tokens:
        return budget.tokens
    rest = all_in = offer.costs[place]
    for other in reversed(range(place)):
        cost = offer.costs[other]
        if cost <= rest:
            all_in += cost
            rest += 0 if offer.favoured(other, budget) else cost
    return max(budget.tokens, offer.frame + all_in)


def _stands(offer: Offer, choice: Choice) -> bool:
    """Whether the first taken is sure to remain, so that settling brings nothing else in."""
    first = next(iter(choice.taken), None)
    return first is not None and offer.alone(first) <= choice.tokens
