"""why(): where a memory stands or fell, from the gates to the last token."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.errors import InvalidInput
from recollect.model.candidate import Candidate
from recollect.packing.budget import Budget
from recollect.packing.pack import Reason, pack
from recollect.packing.prompt import Prompt
from recollect.packing.shortfall import smallest_budget
from recollect.ranking import door, scorer
from recollect.ranking.parse import Document
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking
from recollect.ranking.why import Change, Ranked, Unpacked, Why, why_ranked


def why(
    id: str,
    candidates: Iterable[Candidate | Mapping[str, Any]],
    profile: Profile | str,
    at: datetime,
    *,
    overrides: Document | None = None,
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
    pool, chosen = door.take_in(candidates), door.choose(profile, overrides)
    reason = why_ranked(id, pool, chosen, at, limit=limit, asked=asked)
    if budget is None or prompt is None or not isinstance(reason.fate, Ranked):
        return reason
    ranking = scorer.rank(pool, chosen, at, limit=limit, asked=asked)
    omitted = next((one for one in pack(ranking, budget, prompt).omitted if one.scored.id == id), None)
    if omitted is None:
        return reason
    enough = smallest_budget(ranking, budget, prompt, reason.id)
    tokens, smallest = (enough.tokens, enough.smallest) if enough else (None, True)
    fate = Unpacked(omitted.reason.value, omitted.cost, omitted.room, tokens, smallest)
    changes = _into_the_first(reason, pool, at, ranking, budget, asked=asked) if omitted.reason is Reason.ITEMS else ()
    return replace(reason, fate=fate, changes=changes)


def _into_the_first(
    reason: Why, pool: Sequence[Candidate], at: datetime, ranking: Ranking, budget: Budget, *, asked: bool
) -> tuple[Change, ...]:
    """What would have ranked it among as many as may be packed."""
    profile = ranking.scheme.profile
    limit = min(number for number in (budget.items, profile.max_items) if number is not None)
    return why_ranked(reason.id, pool, profile, at, limit=limit, asked=asked).changes
