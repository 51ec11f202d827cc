"""Evidence for tests of ranking: candidates whose exact similarities are known beside approximate ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.table import CandidateTable, Floats, Rows
from recollect.ranking.bound_pruning import PrunedEvidence, Pruning, SimilarityRequest
from recollect.retrieval.eligibility import View
from recollect.retrieval.evidence import Evidence
from recollect.retrieval.scope_columns import ScopeColumns
from recollect.retrieval.snapshot import MergedColumns, Snapshot
from recollect.testing import NOW
from recollect.testing.builders import SCOPE

NOTHING = Snapshot.of(View(scope=SCOPE, at=NOW), MergedColumns((ScopeColumns.empty(SCOPE, 1),)), 0)
"""A snapshot of an empty store."""


def evidence_of(
    pool: Sequence[Candidate],
    table: CandidateTable | None = None,
    *,
    rows: Rows | None = None,
    asked: bool = False,
    exact: Mapping[int, float] | None = None,
) -> Evidence:
    """Return these candidates as evidence; similarities of the table may be off, `exact` ones are those of the pool."""
    true = {row: np.nan if one.similarity is None else one.similarity for row, one in enumerate(pool)}
    return Evidence(
        snapshot=NOTHING,
        table=CandidateTable.of(pool) if table is None else table,
        rows=np.arange(len(pool)) if rows is None else rows,
        asked=asked,
        fetched=true if exact is None else exact,
    )


def drive(pruning: Pruning, fetch: Callable[[SimilarityRequest], Floats]) -> PrunedEvidence:
    """Fetch what is asked for until there is nothing more to ask, as the engine does."""
    try:
        wanted = next(pruning)
        while True:
            wanted = pruning.send(fetch(wanted))
    except StopIteration as finished:
        pruned: PrunedEvidence = finished.value
        return pruned


def without_vector(candidate: Candidate) -> Candidate:
    """Return the candidate as a table gives it."""
    return replace(candidate, vector=None)
