"""Selection: columns find the few that matter among many candidates, and the oracle ranks those.

Whatever lies within the columns' error of a gate, of `min_score` or of the last place is scored by the
oracle, so the outcome is the oracle's to the last bit.
"""

import heapq
from collections import Counter
from datetime import datetime

import numpy as np

from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking import scorer
from recollect.ranking.column_scores import ScoredColumns, score_columns
from recollect.ranking.columns import FetchCandidates, SignalColumns, nth_largest
from recollect.ranking.profile import Profile
from recollect.ranking.proof import Proof
from recollect.ranking.result import Ranking, Scheme, Scored, order_exclusions


def rank_table(
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> Ranking:
    """The best `limit` of the table, exactly as the oracle ranks all of it.

    With `rows`, in order and each once, only these are candidates, as if there were no others. A table with a
    similarity error needs `fetch`, which brings the true similarities of a few rows.
    """
    at = scorer.check_arguments(at, limit)
    return select_best(score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows), limit)


def select_best(seen: ScoredColumns, limit: int) -> Ranking:
    """The best `limit` of those seen."""
    profile, columns = seen.profile, seen.columns
    excluded = Counter(seen.gated_out)
    contenders = _find_contenders(seen.scores, profile, limit, seen.error_bound, excluded)
    scores = seen.exact_scores(contenders)

    passes = scores >= profile.min_score
    shown = _order_best(columns, contenders[passes], scores[passes], limit)
    excluded["min_score"] += len(passes) - int(np.count_nonzero(passes))
    excluded["limit"] = len(columns) - excluded["min_score"] - len(shown)
    scheme = Scheme(profile, columns.at)
    pairs = zip(columns.candidates(shown), seen.explain_rows_once(shown), strict=True)
    scored = tuple(Scored.of(candidate, explanation, scheme) for candidate, explanation in pairs)
    proof = Proof.scan(len(columns) + sum(seen.gated_out.values()))
    return Ranking(scheme=scheme, scored=scored, proof=proof, excluded=order_exclusions(profile, excluded))


def _order_best(columns: SignalColumns, rows: Rows, scores: Floats, limit: int) -> Rows:
    """The best of these rows, best first: by score, then by id."""
    ordered = zip((-scores).tolist(), columns.ids(rows), rows.tolist(), strict=True)
    return np.array([row for *_, row in heapq.nsmallest(limit, ordered)], dtype=np.intp)


def _find_contenders(scores: Floats, profile: Profile, limit: int, slack: float, excluded: Counter[str]) -> Rows:
    """Whose fate the oracle must settle: those near `min_score`, and all that may be among the best."""
    least = profile.min_score
    excluded["min_score"] = int(np.count_nonzero(scores < least - slack))
    last = nth_largest(scores, limit)
    if last <= least + slack:
        return np.flatnonzero(scores >= least - slack)
    chosen = scores >= last - 2.0 * slack
    if least > 0.0 and np.count_nonzero(scores <= least + slack) > excluded["min_score"]:
        chosen |= np.abs(scores - least) <= slack
    return np.flatnonzero(chosen)
