"""The ranking without any store, and the reasons, for whoever brings the candidates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.errors import FieldError, show
from recollect.model.candidate import Candidate
from recollect.ranking import scorer
from recollect.ranking.candidates_json import read_candidate
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument, override_profile
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import Ranking
from recollect.ranking.why import Why, why_ranked

MIN_COLUMN_CANDIDATES = 2_000
"""From here on, columns find the best few sooner than the plain scorer finds them all."""


def rank(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    profile: Profile | str,
    at: datetime,
    *,
    overrides: ProfileDocument | None = None,
    limit: int | None = None,
    asked: bool = False,
) -> Ranking:
    """Rank candidates by a profile at a moment, best first, each with its explanation.

    A candidate is a `Candidate` or a mapping with its fields; a profile is one or the name of a built-in one,
    changed for this call by `overrides`. `limit` keeps the best few; `asked` says that there was a question
    even though it found nothing.
    """
    pool = parse_candidates(candidates)
    chosen = resolve_profile(profile, overrides)
    if limit is None or len(pool) < MIN_COLUMN_CANDIDATES:
        return scorer.rank_candidates(pool, chosen, at, limit=limit, asked=asked)
    from recollect.model.table import CandidateTable  # NumPy, only where there are many
    from recollect.ranking.selection import rank_table

    table = CandidateTable.of(pool)
    return rank_table(table, chosen, at, limit=limit, asked=asked, fetch=lambda rows: [pool[row] for row in rows])


def why_in_ranking(
    id: str,
    candidates: Sequence[Candidate],
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
) -> Why:
    """Why the candidate of that id is in the best `limit`, or what kept it out."""
    if len(candidates) < MIN_COLUMN_CANDIDATES:
        return why_ranked(id, candidates, profile, at, limit=limit, asked=asked)
    from recollect.model.table import CandidateTable  # NumPy, only where there are many
    from recollect.ranking.row_explanation import why_in_table

    return why_in_table(
        id,
        CandidateTable.of(candidates),
        profile,
        at,
        limit=limit,
        asked=asked,
        fetch=lambda rows: [candidates[row] for row in rows],
    )


def parse_candidates(candidates: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """The candidates as values, whether they came so or as mappings."""
    return [one if isinstance(one, Candidate) else read_candidate(one) for one in candidates]


def resolve_profile(profile: Profile | str, overrides: ProfileDocument | None) -> Profile:
    """The profile itself, or the built-in one of that name, as overridden."""
    chosen = builtin_profile(profile) if isinstance(profile, str) else profile
    if not isinstance(chosen, Profile):
        raise FieldError(f"{show(chosen)} is neither a profile nor the name of one", field="profile")
    return chosen if overrides is None else override_profile(chosen, overrides)
