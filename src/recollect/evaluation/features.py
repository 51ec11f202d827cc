"""Features: what every signal of a profile says of every candidate of every query of a folder.

No signal depends on a weight or a floor, so with these in hand a ranking by other ones is a sum and a product.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recollect.engine.engine import Engine
from recollect.evaluation.judgments import Judgments
from recollect.evaluation.loaded_folder import LoadedFolder
from recollect.evaluation.measures import gain_by_id, ideal_gain
from recollect.evaluation.runner import ProgressCallback
from recollect.evaluation.training_set import TrainingSetSummary, TunableNumbers, find_varied_rows, score_candidates
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import MAX_LIMIT
from recollect.ranking.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgmentTrainingSet:
    """The candidates of a folder's queries that pass the gates, a row for each stored memory, query after query.

    Rows of one query are in the order in which ties are broken; `ids` are of the folder, whose words each has then.
    `opinions` has a row for every term and then for every factor, with what silence is worth. `starts` says where each
    query's rows begin, with the end of all as its last.
    Of each query, `needed` is how many memories are judged, and `best` the most that they can gain among the first `k`;
    of each row, `grades` is what its place gains, and `counts` how many judged ids are found there: itself and twins.
    """

    judgments: Judgments
    k: int
    needed: Floats
    best: Floats
    min_score: float
    ids: tuple[str, ...]
    opinions: Floats
    starts: Rows
    grades: Floats
    counts: Floats
    rivals: "JudgedRows"

    @property
    def groups(self) -> tuple[Scope, ...]:
        """The scope of every query, with all of which it is held out."""
        return tuple(query.scope for query in self.judgments.queries)

    @property
    def source(self) -> TrainingSetSummary:
        """What a report tells of the folder: its name alone says where it is."""
        judgements = self.judgments
        return TrainingSetSummary(
            name=judgements.folder.resolve().name,
            digest=judgements.digest,
            memories=len(judgements.memories),
            queries=len(judgements.queries),
            judgments=judgements.pairs,
            scopes=len(set(self.groups)),
        )

    def rank_ids(self, query: int, numbers: TunableNumbers) -> tuple[str, ...]:
        """The ids that the query of this number finds by these numbers, best first."""
        rows = slice(self.starts[query], self.starts[query + 1])
        said, ids = score_candidates(self.opinions, numbers)[rows], self.ids[rows]
        order = np.argsort(-said, kind="stable").tolist()
        return tuple(ids[row] for row in order if said[row] >= self.min_score)

    def measure(self, numbers: TunableNumbers) -> dict[str, Floats]:
        """recall@k and nDCG@k of every query by these numbers."""
        said, judged = score_candidates(self.opinions, numbers), self.rivals.judged
        places = self.rivals.places(said)
        found = (places <= self.k) & (said[judged] >= self.min_score)
        of = self.rivals.queries[found]
        gained = self.grades[judged][found] / np.log2(places[found] + 1.0)
        hits = np.bincount(of, self.counts[judged][found], minlength=len(self.needed))
        ndcg = np.bincount(of, gained, minlength=len(self.needed)) / self.best
        return {f"recall@{self.k}": hits / self.needed, f"ndcg@{self.k}": ndcg}

    def find_varied_signals(self) -> list[bool]:
        """Whether each term, and then each factor, says different things of two candidates of any one query."""
        return find_varied_rows(self.opinions, self.starts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedRows:
    """The judged rows, each beside all rows of its query: what a measure needs to know is the places of these alone."""

    judged: Rows
    queries: Rows
    others: Rows
    begins: Rows
    earlier: NDArray[np.bool_]

    @classmethod
    def of(cls, grades: Floats, starts: Rows) -> Self:
        """Those of rows with these grades, where each query's rows begin at these starts."""
        judged = np.flatnonzero(grades > 0.0)
        queries = np.searchsorted(starts, judged, side="right") - 1
        sizes = starts[queries + 1] - starts[queries]
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(judged) else np.array([], dtype=np.intp)
        others = np.arange(int(sizes.sum())) - np.repeat(begins - starts[queries], sizes)
        return cls(
            judged=judged,
            queries=queries,
            others=others,
            begins=begins,
            earlier=others < np.repeat(judged, sizes),
        )

    def places(self, scores: Floats) -> Rows:
        """The place of every judged row in the ranking of its query, from 1; ties go to the earlier row."""
        if not len(self.judged):
            return self.judged
        sizes = np.diff(np.append(self.begins, len(self.others)))
        own = np.repeat(scores[self.judged], sizes)
        theirs = scores[self.others]
        ahead = (theirs > own) | ((theirs == own) & self.earlier)
        found: Rows = np.add.reduceat(ahead.astype(np.intp), self.begins) + 1
        return found


def build_training_set(
    engine: Engine, judgements: Judgments, loaded: LoadedFolder, profile: Profile, *, k: int, tell: ProgressCallback
) -> JudgmentTrainingSet:
    """Ask every query for all that passes the gates, and keep what the engine's own explanations say of each."""
    queries = judgements.queries
    everyone = replace(profile, min_score=0.0)  # whose score is too low depends on the weights
    ids: list[str] = []
    opinions: list[tuple[float, ...]] = []
    grades: list[float] = []
    counts: list[int] = []
    starts, best = [0], []

    tell(0, len(queries))
    for query in queries:
        together = loaded.find_twins(query)
        worth, meant = gain_by_id(query.grades, together), Counter(together.get(id, id) for id in query.grades)
        ranking = engine.search(query.text, scope=query.scope, profile=everyone, limit=MAX_LIMIT, as_of=query.asked_at)
        for scored in sorted(ranking, key=lambda one: one.id):
            name = loaded.name_at(scored.id, query.asked_at)
            ids.append(name)
            opinions.append(scored.explanation.opinions)
            grades.append(worth.get(name, 0.0))
            counts.append(meant[name])
        starts.append(len(ids))
        best.append(ideal_gain(query.grades, k, together))
        tell(len(starts) - 1, len(queries))
    values, begins = np.array(grades), np.array(starts, dtype=np.intp)
    return JudgmentTrainingSet(
        judgments=judgements,
        k=k,
        needed=np.array([float(len(query.grades)) for query in queries]),
        best=np.array(best),
        min_score=profile.min_score,
        ids=tuple(ids),
        opinions=_transpose_opinions(opinions, len(profile.uses)),
        starts=begins,
        grades=values,
        counts=np.array(counts, dtype=np.float64),
        rivals=JudgedRows.of(values, begins),
    )


def _transpose_opinions(rows: Sequence[tuple[float, ...]], width: int) -> Floats:
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(len(rows), width).T)
