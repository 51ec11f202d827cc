"""Rank candidates that a caller brings, and explain one of them: the reference if they are few, columns if many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from recollect.ranking.why import Why, explain_row, find_row, why_ranked

MIN_COLUMN_CANDIDATES = 2_000
"""The number of candidates from which the columns are faster than the plain scorer."""


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

    A candidate is a `Candidate` or a mapping with its fields. A profile is a `Profile` or the name of a built-in one;
    `overrides` change it for this call. `limit` is the maximum number of results. `asked` means that there was a query,
    even if it matched nothing.
    """
    pool = parse_candidates(candidates)
    resolved = resolve_profile(profile, overrides)
    if limit is None or len(pool) < MIN_COLUMN_CANDIDATES:
        return scorer.rank_candidates(pool, resolved, at, limit=limit, asked=asked)
    from recollect.model.table import CandidateTable  # imports NumPy, only for many candidates
    from recollect.ranking.selection import rank_table

    ranking = rank_table(CandidateTable.of(pool), resolved, at, limit=limit, asked=asked)
    scored = (replace(one, candidate=pool[row]) for one, row in zip(ranking, ranking.rows, strict=True))
    return replace(ranking, scored=tuple(scored), rows=())


def parse_candidates(candidates: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """Return the candidates as values; mappings are parsed."""
    return [one if isinstance(one, Candidate) else read_candidate(one) for one in candidates]


def resolve_profile(profile: Profile | str, overrides: ProfileDocument | None) -> Profile:
    """Return the profile, or the built-in one of that name, with the overrides applied."""
    resolved = builtin_profile(profile) if isinstance(profile, str) else profile
    if not isinstance(resolved, Profile):
        raise FieldError(f"{show(resolved)} is neither a profile nor the name of one", field="profile")
    return resolved if overrides is None else override_profile(resolved, overrides)


def why_in_ranking(
    id: str,
    candidates: Sequence[Candidate],
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
) -> Why:
    """Explain why the candidate is in the best `limit`, or what kept it out; fast for many."""
    if len(candidates) < MIN_COLUMN_CANDIDATES:
        return why_ranked(id, candidates, profile, at, limit=limit, asked=asked)
    from recollect.model.table import CandidateTable  # imports NumPy, only for many candidates
    from recollect.ranking.selection import score_table

    at = scorer.check_arguments(at, limit)
    row = find_row(id, [one.id for one in candidates], range(len(candidates)))
    scored = score_table(CandidateTable.of(candidates), profile, at, asked=asked)
    return replace(explain_row(row, scored, limit), candidate=candidates[row])
