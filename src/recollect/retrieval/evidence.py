"""Evidence: what speaks for each memory of a snapshot, given a query.

`retrieve` computes it from the snapshot's arrays: BM25, cosines, turns, links, days and speakers. Nothing here reads a
store. Vectors that stay in a database have no similarity yet; `ranking.bound_pruning` decides which ones to fetch.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.table import KINDS, NO_LABEL, CandidateTable, Floats, Labels, Rows
from recollect.retrieval import turn_context
from recollect.retrieval.eligibility import Barrier
from recollect.retrieval.query import QueryAnalysis
from recollect.retrieval.snapshot import MergedColumns, Snapshot, concatenate
from recollect.retrieval.turn_context import TurnColumns
from recollect.retrieval.vectors import Vectors, approximate_cosines, cosine_error_bound, nearest_cosines
from recollect.text import dates

NO_ROWS: Rows = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """The nearest rows by an index, their similarities, and a ceiling for all other rows.

    The ceiling holds only if the index is exact; a ceiling of 1 tells nothing about the others. Similarities are
    within the error of the evidence's table.
    """

    rows: Rows
    similarities: Floats
    ceiling: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The memories of a snapshot as columns, with the evidence of one query.

    `rows` are the memories to rank, and `pinned` those of them that are pinned; `barred` counts the others. `asked` is
    false without a query. Similarities in the table are approximate; `exact_similarities` computes them to the last
    bit from the vectors of the snapshot and of the query. `remote_rows` have their vectors in the database; `fetched`
    has the exact similarities that were fetched from there.
    """

    snapshot: Snapshot
    table: CandidateTable
    rows: Rows
    pinned: Rows = field(default_factory=NO_ROWS.copy)
    barred: Mapping[Barrier, int] = field(default_factory=dict[Barrier, int])
    asked: bool = False
    query_vectors: Vectors | None = None
    turns: TurnColumns | None = None
    remote_rows: Rows = field(default_factory=NO_ROWS.copy)
    fetched: Mapping[int, float] = field(default_factory=dict[int, float])

    @property
    def similarity_count(self) -> int:
        """The number of rows that have a similarity."""
        near = self.table.numbers.get("similarity")
        return 0 if near is None else int(np.count_nonzero(~np.isnan(near[self.rows])))

    def of_kinds(self, kinds: Collection[Kind]) -> "Evidence":
        """Return the evidence with only the rows of these kinds; the others count as barred."""
        if len(kinds) == len(KINDS) or self.table.kinds is None:
            return self
        rows = self.rows[np.isin(self.table.kinds[self.rows], [KINDS.index(kind) for kind in kinds])]
        others = len(self.rows) - len(rows)
        if not others:
            return self
        pinned = np.intersect1d(self.pinned, rows, assume_unique=True)
        return replace(self, rows=rows, pinned=pinned, barred={**self.barred, Barrier.KIND: others})

    def exact_similarities(self, rows: Sequence[int]) -> Floats | None:
        """Return the similarities of these rows, exact to the last bit; None if those of the table are exact."""
        if self.table.similarity_error == 0.0:
            return None
        found = np.array([self.fetched.get(row, np.nan) for row in rows], dtype=np.float64)
        if self.query_vectors is not None:
            indices = np.asarray(rows, dtype=np.intp)
            local = np.flatnonzero(self.snapshot.columns.has_local_vectors[indices])
            if len(local):
                found[local] = self._compute_similarities(indices[local], self.query_vectors)
        return found

    def candidates(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the candidates of these rows, with exact similarities."""
        return self.table.candidates(rows, self.exact_similarities(rows))

    def _compute_similarities(self, rows: Rows, query: Vectors) -> Floats:
        """Return the exact similarities of rows whose vectors are loaded."""
        vectors = self.snapshot.columns.vectors
        own = nearest_cosines(vectors[rows], query)
        if self.turns is None:
            return own
        before, earlier = self.turns.previous[rows], np.full(len(rows), np.nan)
        earlier[before != NO_LABEL] = nearest_cosines(vectors[before[before != NO_LABEL]], query)
        return turn_context.lend_similarities(own, earlier)


def retrieve(snapshot: Snapshot, analysis: QueryAnalysis | None = None, vectors: Vectors | None = None) -> Evidence:
    """Return the evidence for every row that the view admits; never a shortlist.

    Without an analysis, there is no query and no evidence of one. `vectors` are those of the query's phrasings; the
    nearest counts.
    """
    columns = snapshot.columns
    evidence = Evidence(
        snapshot=snapshot,
        table=columns.table,
        rows=snapshot.rows,
        pinned=snapshot.pinned,
        barred=snapshot.barred,
        asked=analysis is not None,
        query_vectors=vectors,
    )
    if analysis is None:
        return evidence
    turns = columns.build_turns(snapshot.eligible) if analysis.in_turns else None
    similarity, error = None, 0.0
    if vectors is not None and snapshot.encoder_number > 0:
        similarity, error = _compare_vectors(columns, vectors, turns), cosine_error_bound(vectors.shape[1])
    links = columns.mentions.link_rows(analysis.names, snapshot.eligible) if analysis.names else None
    linked, link = links or (None, None)
    table = columns.table.with_evidence(
        similarity=similarity,
        similarity_error=error,
        lexical=_score_terms(snapshot, analysis.terms, turns) if analysis.terms else None,
        setting=_score_sessions(snapshot, analysis.terms) if analysis.terms and turns is not None else None,
        linked=linked,
        link=link,
        days_off=dates.distances_in_days(analysis.days, columns.column("created_at")) if analysis.days else None,
        addressed=_match_speakers(analysis.addressed, columns.speakers) if analysis.addressed else None,
    )
    remote = columns.remote_rows if similarity is not None and columns.has_remote_vectors else NO_ROWS
    return replace(evidence, table=table, turns=turns, remote_rows=remote)


def _compare_vectors(columns: MergedColumns, vectors: Vectors, turns: TurnColumns | None) -> Floats:
    """Return the similarity of every row, within `cosine_error_bound`; NaN where no vector is loaded."""
    parts = [
        np.full(len(part), np.nan, dtype=np.float32)
        if part.contents is not None
        else approximate_cosines(part.matrix, vectors)
        for part in columns.parts
    ]
    similarities = concatenate(parts).astype(np.float64)
    return similarities if turns is None else turns.similarities(similarities)


def _score_terms(snapshot: Snapshot, terms: Sequence[str], turns: TurnColumns | None) -> Floats:
    """Return how much of the query's terms each admitted row has; NaN where none.

    Term statistics cover the admitted rows only.
    """
    columns, eligible = snapshot.columns, snapshot.eligible
    mask = np.ones(len(columns.ids), dtype=np.bool_) if eligible is None else eligible
    masks = np.split(mask, np.cumsum([len(part) for part in columns.parts])[:-1])
    parts = list(zip((part.postings for part in columns.parts), masks, strict=True))
    first, *others = (postings.statistics(terms, mask) for postings, mask in parts)
    total = sum(others, start=first)
    if turns is None:
        return concatenate([postings.score_rows(terms, mask, total) for postings, mask in parts])
    lengths = turns.lengths(columns.term_counts)
    total = replace(total, total_length=float(lengths.sum() if eligible is None else lengths[eligible].sum()))
    return turn_context.score_turns(columns.find_postings(terms, eligible), terms, turns, columns.term_counts, total)


def _score_sessions(snapshot: Snapshot, terms: Sequence[str]) -> Floats:
    """Return how much of the query's terms the session of each admitted row has."""
    columns, eligible = snapshot.columns, snapshot.eligible
    mask = np.ones(len(columns.ids), dtype=np.bool_) if eligible is None else eligible
    postings = columns.find_postings(terms, eligible)
    return turn_context.score_sessions(postings, terms, columns.sessions, columns.term_counts, mask)


def _match_speakers(names: frozenset[str], speakers: Labels) -> Floats:
    """Return 1 for rows of these speakers, 0 for others, and ½ where the speaker is unknown."""
    worth = np.array([*(float(name in names) for name in speakers.names), 0.5])
    return worth[speakers.codes]
