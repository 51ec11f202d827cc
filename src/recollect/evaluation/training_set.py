"""Material: queries that the numbers of a profile are fitted to, and what they come to by any numbers.

Features: what every signal of a profile says of every candidate of every query of a folder.

No signal depends on a weight or a floor, so with these in hand a ranking by other ones is a sum and a product.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from recollect.engine.engine import Engine
from recollect.evaluation.judgments import Judgments
from recollect.evaluation.measures import gain_by_id, ideal_gain
from recollect.evaluation.runner import LoadedFolder, ProgressCallback
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import MAX_LIMIT
from recollect.ranking.profile import Profile

HeldOutGroup = Scope | str
"""With what a query is held out: with all others of its scope, or of its question."""


@dataclass(frozen=True, slots=True)
class TunableNumbers:
    """What tuning changes of a profile, in the profile's order: the weights of its terms, the floors of its factors."""

    weights: tuple[float, ...]
    floors: tuple[float, ...]

    @classmethod
    def of(cls, profile: Profile) -> Self:
        """Those that the profile has."""
        return cls(tuple(term.weight for term in profile.terms), tuple(factor.floor for factor in profile.factors))

    def apply_to(self, profile: Profile) -> Profile:
        """The profile with these in place of its own."""
        terms = [replace(term, weight=weight) for term, weight in zip(profile.terms, self.weights, strict=True)]
        factors = [replace(factor, floor=floor) for factor, floor in zip(profile.factors, self.floors, strict=True)]
        return replace(profile, terms=tuple(terms), factors=tuple(factors))

    def distance_to(self, other: "TunableNumbers") -> float:
        """How far these are from others: the share of the weights that went elsewhere, and by how much floors moved."""
        weights = math.fsum(abs(one - two) for one, two in zip(self.weights, other.weights, strict=True))
        return weights / 2.0 + math.fsum(abs(one - two) for one, two in zip(self.floors, other.floors, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetSummary:
    """What a report tells of some material: its name, a digest of what is in it, and how much there is."""

    name: str
    digest: str
    memories: int
    queries: int
    judgments: int
    scopes: int


class TrainingSet(Protocol):
    """Some queries, of which is known what they come to by any numbers."""

    @property
    def source(self) -> TrainingSetSummary:
        """What a report tells of it."""
        ...

    @property
    def groups(self) -> Sequence[HeldOutGroup]:
        """Of every query, with what it is held out."""
        ...

    def measure(self, numbers: TunableNumbers) -> Mapping[str, Floats]:
        """What every query comes to by these numbers, for each measure; the same measures for all material."""
        ...

    def find_varied_signals(self) -> list[bool]:
        """Whether each term, and then each factor, says different things of two candidates of any one query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredValues:
    """What all queries come to by each measure, material after material."""

    measures: Mapping[str, tuple[Floats, ...]] = field(hash=False)

    @property
    def worth(self) -> tuple[Floats, ...]:
        """What is tuned for: the mean of all measures."""
        several = zip(*self.measures.values(), strict=True)
        return tuple(np.mean(np.stack(each), axis=0) for each in several)


def mean_of_means(materials: Sequence[Floats]) -> float:
    """The mean of the means of those that have any value, so that a large folder counts no more than a small one."""
    means = [float(one.mean()) for one in materials if len(one)]
    return math.fsum(means) / len(means)


def equalize(materials: Sequence[Floats]) -> Floats:
    """The values of all queries, scaled so that their mean is that of the materials' means."""
    every = sum(len(one) for one in materials)
    return np.concatenate([one * (every / (len(materials) * len(one))) for one in materials])


def score_candidates(opinions: Floats, numbers: TunableNumbers) -> Floats:
    """The score of every candidate by these numbers, to within rounding of what the engine says.

    `opinions` has a row for every term and then for every factor, with what silence is worth, and a column a candidate.
    """
    score, terms = np.zeros(opinions.shape[1]), len(numbers.weights)
    for opinion, weight in zip(opinions[:terms], numbers.weights, strict=True):
        score += opinion * weight
    np.minimum(score, 1.0, out=score)
    for opinion, floor in zip(opinions[terms:], numbers.floors, strict=True):
        score *= floor + (1.0 - floor) * opinion
    return score


def find_varied_rows(opinions: Floats, starts: Rows) -> list[bool]:
    """Whether each row of the opinions says different things of two candidates from any start to the next."""
    filled = starts[:-1][np.diff(starts) > 0]
    if not len(filled):
        return [False] * len(opinions)
    lowest = np.minimum.reduceat(opinions, filled, axis=1)
    highest = np.maximum.reduceat(opinions, filled, axis=1)
    differs: list[bool] = np.any(highest > lowest, axis=1).tolist()
    return differs


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
