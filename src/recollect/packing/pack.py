"""Pack a ranking into a budget; every memory is packed or listed as omitted.

`pack` builds the context, `smallest_budget` finds the budget a memory would have needed, and `why` explains a memory
from the gates to the last token.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from recollect.errors import InvalidInput, NotFound
from recollect.model.candidate import Candidate
from recollect.model.context import ReplayDifference
from recollect.model.enums import Kind
from recollect.model.format import format_count, format_left_out
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.prompt import READING_ORDER, Prompt, PromptBlock
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument
from recollect.ranking.rank import parse_candidates, rank, resolve_profile, why_in_ranking
from recollect.ranking.result import Ranking, Scored, format_listing
from recollect.ranking.why import Ranked, SignalChange, Unpacked, Why, changes_to_reach


class OmissionReason(StrEnum):
    """Why a memory was left out."""

    BUDGET = "budget"
    ITEMS = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """A memory that was left out: why, its size in tokens, and the room that was left."""

    scored: Scored
    reason: OmissionReason
    cost: int
    room: int

    def __repr__(self) -> str:
        shortage = f", {format_count(self.short, 'token')} short" if self.reason is OmissionReason.BUDGET else ""
        return f"<Omitted by {self.reason.value}{shortage}: {self.scored}>"

    @property
    def short(self) -> int:
        """How many tokens were missing; 0 if the limit of items kept it out."""
        return self.cost - self.room if self.reason is OmissionReason.BUDGET else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The text for a model, and what was left out and why.

    `packed` is in rank order, even where the text groups by kind. `tokens` counts the text as a whole, `estimated` if
    the counter is not a model's own. `id` names its recorded trace, if there is one.
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
        """A one-line summary: memories, tokens, and what was left out by which reason."""
        tokens = f"{self.tokens} of {self.budget.tokens} tokens{' (estimated)' if self.estimated else ''}"
        reasons = {**Counter(one.reason.value for one in self.omitted), **self.ranking.excluded}
        return f"{format_count(len(self.packed), 'memory', 'memories')}, {tokens}{format_left_out(reasons)}"


def pack(ranking: Ranking, budget: Budget, prompt: Prompt) -> Context:
    """Pack what fits, best first, after pinned memories and reserves; never exceed the budget.

    Every memory of the ranking is packed or omitted. If any of them fits, the context is not empty.
    """
    rendered = RenderedRanking.of(ranking, budget, prompt)
    choice = choose_memories(rendered, budget)
    fitted = fit_text(rendered, choice)
    packed = set(fitted.places)

    def explain_omission(place: int) -> Omitted:
        cost = rendered.costs[place]
        if place in fitted.excess:
            reason, room = OmissionReason.BUDGET, cost - fitted.excess[place]
        elif place in choice.room_at_turn:
            reason, room = OmissionReason.BUDGET, choice.room_at_turn[place]
        else:
            reason, room = OmissionReason.ITEMS, choice.tokens - choice.spent
        return Omitted(scored=ranking[place], reason=reason, cost=cost, room=room)

    return Context(
        text=fitted.text,
        packed=tuple(ranking[place] for place in fitted.places),
        omitted=tuple(explain_omission(place) for place in range(len(ranking)) if place not in packed),
        tokens=fitted.tokens,
        estimated=not prompt.count.exact,
        budget=budget,
        ranking=ranking,
        marker=prompt.marker,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedRanking:
    """All memories of a ranking, each rendered and counted once; a place is a position in it.

    `limit` is how many may be packed: the smallest of the budget's limit, the profile's limit and the number of
    memories.
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
        """Return whether the memory may be packed before its turn in rank order."""
        memory = self.blocks[place].scored.memory
        return memory.pinned or memory.kind in budget.reserves

    def render(self, places: Iterable[int]) -> str:
        """Render these memories together, in rank order within a kind."""
        return self.prompt.assemble(self.blocks[place] for place in sorted(places))

    def tokens_alone(self, place: int) -> int:
        """Return the tokens of a context with only this memory."""
        return self.prompt.tokens(self.render([place]))


@dataclass(slots=True)
class PackingChoice:
    """The places packed, in order, and how much room the others found at their last turn.

    A place that is in neither `chosen` nor `room_at_turn` came after the limit of items was reached. `next_budget` is
    the smallest larger budget that could change the choice. Each decision compares the budget with a threshold, so the
    choice is unchanged until the smallest threshold not yet met.
    """

    tokens: int
    limit: int
    spent: int
    chosen: dict[int, None] = field(default_factory=dict[int, None])
    room_at_turn: dict[int, int] = field(default_factory=dict[int, int])
    next_budget: float = math.inf

    @property
    def is_full(self) -> bool:
        return len(self.chosen) >= self.limit

    def take(self, place: int, cost: int, *, min_budget: float = 0) -> bool:
        """Add the memory if the limits, `min_budget` and the room allow it; return whether they did."""
        if self.is_full:
            return False
        needs = max(min_budget, self.spent + cost)
        if needs > self.tokens:
            self.next_budget = min(self.next_budget, needs)
            return False
        self.chosen[place] = None
        self.spent += cost
        return True


def choose_memories(rendered: RenderedRanking, budget: Budget, *, last: int | None = None) -> PackingChoice:
    """Choose pinned memories within their share, kinds within reserves, then the rest by rank.

    A memory that does not fit is skipped, so a smaller one further down can fit. With `last`, the turns in rank order
    end at that place.
    """
    choice = PackingChoice(budget.tokens, rendered.limit, rendered.frame)
    pinned_cost = 0
    for place in rendered.pinned:
        cost = rendered.costs[place]
        if choice.take(place, cost, min_budget=budget.tokens_for_pinned(pinned_cost + cost)):
            pinned_cost += cost
    for kind in sorted(budget.reserves, key=READING_ORDER.index):
        reserve = budget.reserves[kind]
        for place in rendered.by_kind[kind]:
            cost = rendered.costs[place]
            if place not in choice.chosen and cost <= reserve and choice.take(place, cost):
                reserve -= cost
    for place, cost in enumerate(rendered.costs if last is None else rendered.costs[: last + 1]):
        if place not in choice.chosen and not choice.take(place, cost) and not choice.is_full:
            choice.room_at_turn[place] = choice.tokens - choice.spent
    return choice


@dataclass(frozen=True, slots=True)
class FittedText:
    """The choice that remains once the text is counted as a whole.

    `excess` has, for each place that was dropped, by how much the text exceeded the budget with it. `next_budget` is
    the smallest larger budget that could give another result for the same choice.
    """

    places: tuple[int, ...]
    text: str
    tokens: int
    excess: Mapping[int, int]
    next_budget: float


def fit_text(rendered: RenderedRanking, choice: PackingChoice) -> FittedText:
    """Drop the last chosen until the text fits; if none remains, take the first that fits alone.

    Token counts do not add up: a text may count more than its parts, or less.
    """
    excess: dict[int, int] = {}
    next_budget = math.inf
    taken = list(choice.chosen)
    while taken:
        text = rendered.render(taken)
        tokens = rendered.prompt.tokens(text)
        if tokens <= choice.tokens:
            return FittedText(tuple(sorted(taken)), text, tokens, excess, next_budget)
        next_budget = min(next_budget, tokens)
        excess[taken.pop()] = tokens - choice.tokens
    for place in range(len(rendered.costs)):
        tokens = rendered.tokens_alone(place)
        if tokens <= choice.tokens:
            return FittedText((place,), rendered.render([place]), tokens, excess, next_budget)
        next_budget = min(next_budget, tokens)
    return FittedText((), "", 0, excess, next_budget)


MAX_TRIED_BUDGETS = 300
"""After this many failed budgets, a sufficient one is returned that may not be the smallest."""


@dataclass(frozen=True, slots=True)
class SufficientBudget:
    """A budget that packs the memory; the smallest one, unless the search took too long."""

    tokens: int
    smallest: bool


def smallest_budget(ranking: Ranking, budget: Budget, prompt: Prompt, id: MemoryId) -> SufficientBudget | None:
    """Return the smallest budget, at least the given one, that packs the memory, or `None`.

    More room can let in a larger memory that keeps this one out. Budgets are therefore tried in order, but only those
    that can change the result. `None` means that no number of tokens helps.
    """
    place = next((place for place, scored in enumerate(ranking) if scored.id == id), None)
    if place is None:
        raise NotFound(f"memory {id!r} is not in the ranking; give one that was ranked")

    rendered = RenderedRanking.of(ranking, budget, prompt)
    tokens: float = _lower_bound(rendered, budget, place)
    for _ in range(MAX_TRIED_BUDGETS):
        if tokens == math.inf:
            return None
        budget = replace(budget, tokens=int(tokens))
        choice = choose_memories(rendered, budget, last=place)
        if place in choice.chosen or not _first_remains(rendered, choice):
            choice = choose_memories(rendered, budget)
            fitted = fit_text(rendered, choice)
            if place in fitted.places:
                return SufficientBudget(budget.tokens, smallest=True)
            tokens = min(choice.next_budget, fitted.next_budget)
        else:
            tokens = choice.next_budget
    return _budget_for_all(rendered, budget, place)


def _budget_for_all(rendered: RenderedRanking, budget: Budget, place: int) -> SufficientBudget | None:
    """Return a budget with room for all memories, if it packs this one."""
    separately = rendered.frame + sum(rendered.costs)
    together = rendered.prompt.tokens(rendered.render(range(len(rendered.costs))))
    pinned = budget.tokens_for_pinned(sum(rendered.costs[pin] for pin in rendered.pinned))
    pinned = pinned if pinned < math.inf else 0  # a share of 0 is never enough: pinned memories come in by rank
    budget = replace(budget, tokens=max(budget.tokens, separately, together, int(pinned)))
    fitted = fit_text(rendered, choose_memories(rendered, budget))
    return SufficientBudget(budget.tokens, smallest=False) if place in fitted.places else None


def _lower_bound(rendered: RenderedRanking, budget: Budget, place: int) -> int:
    """Return a budget, at least the given one, below which the memory is not packed.

    If the memory is packed by its rank, then when each earlier memory was considered, at least `needed` tokens were
    free: the cost of this memory and of those packed between them. A memory that costs at most `needed` was therefore
    packed too. Pinned memories, kinds with a reserve, and the first that fits alone may be packed in other ways.
    """
    if rendered.has_priority(place, budget) or place == 0 or rendered.tokens_alone(0) > budget.tokens:
        return budget.tokens
    needed = total = rendered.costs[place]
    for other in reversed(range(place)):
        cost = rendered.costs[other]
        if cost <= needed:
            total += cost
            needed += 0 if rendered.has_priority(other, budget) else cost
    return max(budget.tokens, rendered.frame + total)


def _first_remains(rendered: RenderedRanking, choice: PackingChoice) -> bool:
    """Return whether the first choice certainly remains, so that `fit_text` adds no other."""
    first = next(iter(choice.chosen), None)
    return first is not None and rendered.tokens_alone(first) <= choice.tokens


def why(
    id: str,
    candidates: Iterable[Candidate | Mapping[str, Any]],
    profile: Profile | str,
    at: datetime,
    *,
    overrides: ProfileDocument | None = None,
    limit: int | None = None,
    asked: bool = False,
    budget: Budget | None = None,
    prompt: Prompt | None = None,
) -> Why:
    """Explain why the candidate was included, or at which step it was excluded.

    Each change is the smallest change to one signal. With a budget and a prompt, the explanation covers packing: a
    memory that was ranked but not packed gets the budget that would have been enough or, if a limit of items kept it
    out, the changes that would have ranked it high enough.
    """
    if (budget is None) != (prompt is None):
        raise InvalidInput("a budget and a prompt are needed together; give both or neither")
    pool, resolved = parse_candidates(candidates), resolve_profile(profile, overrides)
    reason = why_in_ranking(id, pool, resolved, at, limit=limit, asked=asked)
    if budget is None or prompt is None or not isinstance(reason.fate, Ranked):
        return reason
    return why_packed(reason, rank(pool, resolved, at, limit=limit, asked=asked), budget, prompt)


def why_packed(reason: Why, ranking: Ranking, budget: Budget, prompt: Prompt) -> Why:
    """Return the reason, extended by why the memory was ranked but not packed.

    The ranking must be the one that the reason is about, up to the depth considered for packing.
    """
    if not isinstance(reason.fate, Ranked):
        return reason
    if reason.id not in {one.id for one in ranking}:
        raise InvalidInput(f"memory {reason.id!r} is ranked, but not in this ranking; give the one the reason is about")
    omitted = next((one for one in pack(ranking, budget, prompt).omitted if one.scored.id == reason.id), None)
    if omitted is None:
        return reason
    enough = smallest_budget(ranking, budget, prompt, reason.id)
    tokens, smallest = (enough.tokens, enough.smallest) if enough else (None, True)
    fate = Unpacked(omitted.reason.value, omitted.cost, omitted.room, tokens, smallest)
    changes: tuple[SignalChange, ...] = ()
    if omitted.reason is OmissionReason.ITEMS:
        limit = min(number for number in (budget.items, ranking.scheme.profile.max_items) if number is not None)
        changes = changes_to_reach(reason, ranking, limit)
    return replace(reason, fate=fate, changes=changes)


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded context that was rebuilt, and its differences from the recording."""

    context: Context
    differences: tuple[ReplayDifference, ...]

    def __repr__(self) -> str:
        result = "identical" if self.identical else format_count(len(self.differences), "difference")
        return f"<Replay of {self.context.id}: {result}>"

    @property
    def identical(self) -> bool:
        """Whether ids, scores, order, costs, counts and text equal the recording to the last bit."""
        return not self.differences
