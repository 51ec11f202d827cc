"""why(): where a memory stands or fell, from the gates to the last token."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.packing.budget import Budget
from recollect.packing.pack import OmissionReason, pack
from recollect.packing.prompt import Prompt
from recollect.packing.shortfall import smallest_budget
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument
from recollect.ranking.ranker import parse_candidates, rank, resolve_profile, why_in_ranking
from recollect.ranking.result import Ranking
from recollect.ranking.why import Ranked, SignalChange, Unpacked, Why, changes_to_reach


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
    """Why the candidate of that id is in, or at which step it fell and the smallest change that would have helped.

    With a budget and a prompt it tells of packing too: what was ranked but not packed learns the budget that
    would have been enough, or, where a limit of items kept it out, what would have ranked it among the first.
    """
    if (budget is None) != (prompt is None):
        raise InvalidInput("packing is asked about with a budget and a prompt; give both or neither")
    pool, chosen = parse_candidates(candidates), resolve_profile(profile, overrides)
    reason = why_in_ranking(id, pool, chosen, at, limit=limit, asked=asked)
    if budget is None or prompt is None or not isinstance(reason.fate, Ranked):
        return reason
    return why_packed(reason, rank(pool, chosen, at, limit=limit, asked=asked), budget, prompt)


def why_packed(reason: Why, ranking: Ranking, budget: Budget, prompt: Prompt) -> Why:
    """The reason, where ranking is all there is to tell; or why the memory was ranked and not packed.

    The ranking is the one that the reason is about, as far as it was considered for packing.
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
    changes = _changes_to_be_packed(reason, ranking, budget) if omitted.reason is OmissionReason.ITEMS else ()
    return replace(reason, fate=fate, changes=changes)


def _changes_to_be_packed(reason: Why, ranking: Ranking, budget: Budget) -> tuple[SignalChange, ...]:
    """What would have ranked it among as many as may be packed."""
    limit = min(number for number in (budget.items, ranking.scheme.profile.max_items) if number is not None)
    return changes_to_reach(reason, ranking, limit)
