"""Choice: which of a ranking's memories a budget takes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.model.memory import Kind
from recollect.packing.budget import Budget
from recollect.packing.prompt import READING_ORDER, Prompt, PromptBlock
from recollect.ranking.result import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedRanking:
    """Everything considered, each rendered and counted once; a place is a position in the ranking.

    `limit` is how many may be taken: the least of what the budget and the profile allow and what there is.
    """

    prompt: Prompt
    blocks: tuple[PromptBlock, ...]
    costs: tuple[int, ...]
    frame: int
    limit: int
    pinned: tuple[int, ...]
    by_kind: Mapping[Kind, Sequence[int]]

    @classmethod
    def of(cls, ranking: Ranking, budget: Budget, prompt: Prompt) -> "RenderedRanking":
        blocks = tuple(PromptBlock(scored, prompt.block(scored)) for scored in ranking)
        limits = (budget.items, ranking.scheme.profile.max_items, len(blocks))
        by_kind: dict[Kind, list[int]] = {kind: [] for kind in READING_ORDER}
        for place, block in enumerate(blocks):
            by_kind[block.scored.memory.kind].append(place)
        return cls(
            prompt=prompt,
            blocks=blocks,
            costs=tuple(prompt.tokens(block.text) for block in blocks),
            frame=prompt.tokens(prompt.frame),
            limit=min(limit for limit in limits if limit is not None),
            pinned=tuple(place for place, block in enumerate(blocks) if block.scored.memory.pinned),
            by_kind=by_kind,
        )

    def has_priority(self, place: int, budget: Budget) -> bool:
        """Whether the memory may be taken before its turn in rank order."""
        memory = self.blocks[place].scored.memory
        return memory.pinned or memory.kind in budget.reserves

    def render(self, places: Iterable[int]) -> str:
        """These memories rendered together, in rank order within a kind."""
        return self.prompt.assemble(self.blocks[place] for place in sorted(places))

    def tokens_alone(self, place: int) -> int:
        """What a context of this memory alone counts."""
        return self.prompt.tokens(self.render([place]))


@dataclass(slots=True)
class PackingChoice:
    """The places taken, in the order of taking, and how much room the others met at their last turn.

    A place that is neither taken nor in `room_met` came when the limit of items was reached. `more` is the
    smallest larger budget with which anything could come out differently: every decision asks whether the
    budget is at least so much, and a yes stays a yes, so nothing changes before the least of those that were
    answered with no.
    """

    tokens: int
    limit: int
    spent: int
    chosen: dict[int, None] = field(default_factory=dict[int, None])
    room_met: dict[int, int] = field(default_factory=dict[int, int])
    next_budget: float = math.inf

    @property
    def is_full(self) -> bool:
        return len(self.chosen) >= self.limit

    def take(self, place: int, cost: int, *, least: float = 0) -> bool:
        """Take the memory if an item is left and the budget is `least` and has the room; says whether."""
        if self.is_full:
            return False
        needs = max(least, self.spent + cost)
        if needs > self.tokens:
            self.next_budget = min(self.next_budget, needs)
            return False
        self.chosen[place] = None
        self.spent += cost
        return True


def choose_memories(offer: RenderedRanking, budget: Budget, *, last: int | None = None) -> PackingChoice:
    """Take pinned memories into their share, each kind into its reserve, then whatever fits in rank order.

    What does not fit is passed over, so that a smaller one further down gets its chance. With `last`, the
    turns in rank order end with that place.
    """
    choice = PackingChoice(budget.tokens, offer.limit, offer.frame)
    shared = 0
    for place in offer.pinned:
        cost = offer.costs[place]
        if choice.take(place, cost, least=budget.tokens_for_pinned(shared + cost)):
            shared += cost
    for kind in sorted(budget.reserves, key=READING_ORDER.index):
        reserve = budget.reserves[kind]
        for place in offer.by_kind[kind]:
            cost = offer.costs[place]
            if place not in choice.chosen and cost <= reserve and choice.take(place, cost):
                reserve -= cost
    for place, cost in enumerate(offer.costs if last is None else offer.costs[: last + 1]):
        if place not in choice.chosen and not choice.take(place, cost) and not choice.is_full:
            choice.room_met[place] = choice.tokens - choice.spent
    return choice


@dataclass(frozen=True, slots=True)
class FittedText:
    """What remains of a choice once its text is counted as a whole.

    `over` is by how much the text exceeded the budget with each place that had to go. `more` is the smallest
    larger budget with which the same choice could settle differently.
    """

    places: tuple[int, ...]
    text: str
    tokens: int
    excess: Mapping[int, int]
    next_budget: float


def fit_text(offer: RenderedRanking, choice: PackingChoice) -> FittedText:
    """Drop the last taken until the text is within the budget; if none remains, the first that fits alone.

    Counters do not add up: a text may count more than its parts, and also less.
    """
    over: dict[int, int] = {}
    more = math.inf
    taken = list(choice.chosen)
    while taken:
        text = offer.render(taken)
        tokens = offer.prompt.tokens(text)
        if tokens <= choice.tokens:
            return FittedText(tuple(sorted(taken)), text, tokens, over, more)
        more = min(more, tokens)
        over[taken.pop()] = tokens - choice.tokens
    for place in range(len(offer.costs)):
        tokens = offer.tokens_alone(place)
        if tokens <= choice.tokens:
            return FittedText((place,), offer.render([place]), tokens, over, more)
        more = min(more, tokens)
    return FittedText((), "", 0, over, more)
