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
from recollect.evaluation.judgments import Judgements
from recollect.evaluation.loaded_folder import Loaded
from recollect.evaluation.measures import gains, most
from recollect.evaluation.runner import Tell
from recollect.evaluation.training_set import Numbers, Source, scores, varied
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import LARGEST_LIMIT
from recollect.ranking.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Features:
    """The candidates of a folder's queries that pass the gates, a row for each stored memory, query after query.

    Rows of one query are in the order in which ties are broken; `ids` are of the folder, whose words each has then.
    `opinions` has a row for every term and then for every factor, with what silence is worth. `starts` says where each
    query's rows begin, with the end of all as its last.
    Of each query, `needed` is how many memories are judged, and `best` the most that they can gain among the first `k`;
    of each row, `grades` is what its place gains, and `counts` how many judged ids are found there: itself and twins.
    """

    judgements: Judgements
    k: int
    needed: Floats
    best: Floats
    min_score: float
    ids: tuple[str, ...]
    opinions: Floats
    starts: Rows
    grades: Floats
    counts: Floats
    rivals: "Rivals"

    @property
    def groups(self) -> tuple[Scope, ...]:
        """The scope of every query, with all of which it is held out."""
        return tuple(query.scope for query in self.judgements.queries)

    @property
    def source(self) -> Source:
        """What a report tells of the folder: its name alone says where it is."""
        judgements = self.judgements
        return Source(
            name=judgements.folder.resolve().name,
            digest=judgements.digest,
            memories=len(judgements.memories),
            queries=len(judgements.queries),
            judgements=judgements.pairs,
            scopes=len(set(self.groups)),
        )

    def ranked(self, query: int, numbers: Numbers) -> tuple[str, ...]:
        """The ids that the query of this number finds by these numbers, best first."""
        rows = slice(self.starts[query], self.starts[query + 1])
        said, ids = scores(self.opinions, numbers)[rows], self.ids[rows]
        order = np.argsort(-said, kind="stable").tolist()
        return tuple(ids[row] for row in order if said[row] >= self.min_score)

    def measured(self, numbers: Numbers) -> dict[str, Floats]:
        """recall@k and nDCG@k of every query by these numbers."""
        said, judged = scores(self.opinions, numbers), self.rivals.judged
        places = self.rivals.places(said)
        found = (places <= self.k) & (said[judged] >= self.min_score)
        of = self.rivals.queries[found]
        gained = self.grades[judged][found] / np.log2(places[found] + 1.0)
        hits = np.bincount(of, self.counts[judged][found], minlength=len(self.needed))
        ndcg = np.bincount(of, gained, minlength=len(self.needed)) / self.best
        return {f"recall@{self.k}": hits / self.needed, f"ndcg@{self.k}": ndcg}

    def varied(self) -> list[bool]:
        """Whether each term, and then each factor, says different things of two candidates of any one query."""
        return varied(self.opinions, self.starts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rivals:
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


def gather(engine: Engine, judgements: Judgements, loaded: Loaded, profile: Profile, *, k: int, tell: Tell) -> Features:
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
        together = loaded.twins(query)
        worth, meant = gains(query.grades, together), Counter(together.get(id, id) for id in query.grades)
        ranking = engine.search(
            query.text, scope=query.scope, profile=everyone, limit=LARGEST_LIMIT, as_of=query.asked_at
        )
        for scored in sorted(ranking, key=lambda one: one.id):
            name = loaded.name(scored.id, query.asked_at)
            ids.append(name)
            opinions.append(scored.explanation.opinions)
            grades.append(worth.get(name, 0.0))
            counts.append(meant[name])
        starts.append(len(ids))
        best.append(most(query.grades, k, together))
        tell(len(starts) - 1, len(queries))
    values, begins = np.array(grades), np.array(starts, dtype=np.intp)
    return Features(
        judgements=judgements,
        k=k,
        needed=np.array([float(len(query.grades)) for query in queries]),
        best=np.array(best),
        min_score=profile.min_score,
        ids=tuple(ids),
        opinions=_columns(opinions, len(profile.uses)),
        starts=begins,
        grades=values,
        counts=np.array(counts, dtype=np.float64),
        rivals=Rivals.of(values, begins),
    )


def _columns(rows: Sequence[tuple[float, ...]], width: int) -> Floats:
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(len(rows), width).T)
