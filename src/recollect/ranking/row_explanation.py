"""Where one row of a table stands, and why, without scoring all the others."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.table import Rows, Table
from recollect.ranking import scorer
from recollect.ranking.column_scores import Survey, survey
from recollect.ranking.columns import Fetch
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.result import Scored
from recollect.ranking.selection import select
from recollect.ranking.set_signal_columns import every_row, evidence, gather_sets
from recollect.ranking.why import Standing, Why, explanation_of, not_there, rival_in, tell


def why_in_table(
    id: str,
    table: Table,
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
    fetch: Fetch | None = None,
    rows: Rows | None = None,
) -> Why:
    """Why the candidate of that id is in the best `limit` of the table, or what kept it out.

    It is what `why_ranked` tells of the table's candidates; `fetch` and `rows` are as for `rank_table`.
    """
    at = scorer.check(at, limit)
    row = _row(id, table, rows)
    seen = survey(table, profile, at, asked=asked, fetch=fetch, rows=rows)

    def rival(last: int) -> Scored | None:
        return rival_in(select(seen, last), table.ids[row], last)

    return tell(_standing(seen, row), profile, at, limit=limit, rival=rival)


def explain_rows(
    wanted: Sequence[int],
    table: Table,
    profile: Profile,
    at: datetime,
    *,
    asked: bool = False,
    fetch: Fetch | None = None,
    rows: Rows | None = None,
) -> list[tuple[Candidate, Explanation]]:
    """The candidates of some of the rows looked at, each with the explanation that `why_in_table` gives of it."""
    at = scorer.check(at, None)
    seen = survey(table, profile, at, asked=asked, fetch=fetch, rows=rows)
    standings = [_standing(seen, row) for row in wanted]
    return [(one.candidate, explanation_of(one, profile, at)) for one in standings]


def _row(id: str, table: Table, rows: Rows | None) -> int:
    """The row of that id, if it is one of those looked at."""
    looked_at = range(len(table)) if rows is None else rows.tolist()
    row = next((row for row in looked_at if table.ids[row] == id), None)
    if row is None:
        raise not_there(id)
    return row


def _standing(seen: Survey, row: int) -> Standing:
    """How the row stands among those that passed the gates; if it did not, it is seen beside them."""
    columns, sets = seen.columns, seen.sets
    passed = columns.has(row)
    if not passed:
        columns = columns.beside(row)
        sets = gather_sets(columns, seen.profile, every_row(columns))
    here = columns.where(row)
    (candidate,) = columns.candidates(np.array([here]))
    return Standing(candidate, evidence(sets, here), _place(seen, here) if passed else None)


def _place(seen: Survey, here: int) -> int | None:
    """Its place among all that score enough; those too close to tell are asked of the oracle."""
    own = float(seen.true_scores(np.array([here]))[0])
    if own < seen.profile.min_score:
        return None
    ahead = seen.scores > own + seen.slack
    close = np.flatnonzero(~ahead & (seen.scores >= own - seen.slack))
    scores = seen.true_scores(close)
    (id,) = seen.columns.ids(np.array([here]))
    tied = seen.columns.ids(close[scores == own])
    return 1 + int(np.count_nonzero(ahead)) + int(np.count_nonzero(scores > own)) + sum(other < id for other in tied)
