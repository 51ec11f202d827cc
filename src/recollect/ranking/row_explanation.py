"""Where one row of a table stands, and why, without scoring all the others."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable, Rows
from recollect.ranking import scorer
from recollect.ranking.column_scores import ScoredColumns, score_columns
from recollect.ranking.columns import FetchCandidates
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.result import Scored
from recollect.ranking.selection import select_best
from recollect.ranking.set_signal_columns import all_rows, compute_set_signals, set_evidence
from recollect.ranking.why import (
    CandidatePosition,
    Why,
    candidate_not_found,
    explain_candidate,
    explain_position,
    find_rival,
)


def why_in_table(
    id: str,
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> Why:
    """Why the candidate of that id is in the best `limit` of the table, or what kept it out.

    It is what `why_ranked` tells of the table's candidates; `fetch` and `rows` are as for `rank_table`.
    """
    at = scorer.check_arguments(at, limit)
    row = _find_row(id, table, rows)
    seen = score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows)

    def rival(last: int) -> Scored | None:
        return find_rival(select_best(seen, last), table.ids[row], last)

    return explain_position(_position_of(seen, row), profile, at, limit=limit, rival=rival)


def explain_rows(
    wanted: Sequence[int],
    table: CandidateTable,
    profile: Profile,
    at: datetime,
    *,
    asked: bool = False,
    fetch: FetchCandidates | None = None,
    rows: Rows | None = None,
) -> list[tuple[Candidate, Explanation]]:
    """The candidates of some of the rows looked at, each with the explanation that `why_in_table` gives of it."""
    at = scorer.check_arguments(at, None)
    seen = score_columns(table, profile, at, asked=asked, fetch=fetch, rows=rows)
    standings = [_position_of(seen, row) for row in wanted]
    return [(one.candidate, explain_candidate(one, profile, at)) for one in standings]


def _find_row(id: str, table: CandidateTable, rows: Rows | None) -> int:
    """The row of that id, if it is one of those looked at."""
    looked_at = range(len(table)) if rows is None else rows.tolist()
    row = next((row for row in looked_at if table.ids[row] == id), None)
    if row is None:
        raise candidate_not_found(id)
    return row


def _position_of(seen: ScoredColumns, row: int) -> CandidatePosition:
    """How the row stands among those that passed the gates; if it did not, it is seen beside them."""
    columns, sets = seen.columns, seen.sets
    passed = columns.has_row(row)
    if not passed:
        columns = columns.with_row(row)
        sets = compute_set_signals(columns, seen.profile, all_rows(columns))
    here = columns.row_index(row)
    (candidate,) = columns.candidates(np.array([here]))
    return CandidatePosition(candidate, set_evidence(sets, here), _find_place(seen, here) if passed else None)


def _find_place(seen: ScoredColumns, here: int) -> int | None:
    """Its place among all that score enough; those too close to tell are asked of the oracle."""
    own = float(seen.exact_scores(np.array([here]))[0])
    if own < seen.profile.min_score:
        return None
    ahead = seen.scores > own + seen.error_bound
    close = np.flatnonzero(~ahead & (seen.scores >= own - seen.error_bound))
    scores = seen.exact_scores(close)
    (id,) = seen.columns.ids(np.array([here]))
    tied = seen.columns.ids(close[scores == own])
    return 1 + int(np.count_nonzero(ahead)) + int(np.count_nonzero(scores > own)) + sum(other < id for other in tied)
