"""Training sets: the signal values of every candidate of every query, for tuning a profile.

No signal depends on a weight or a floor. So once the values are collected, ranking with other weights and floors is a
sum and a product.
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
from recollect.evaluation.runner import LoadedFolder
from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
from recollect.model.validation import MAX_LIMIT
from recollect.protocols import ProgressListener
from recollect.ranking.profile import Profile

HeldOutGroup = Scope | str
"""The unit in which queries are held out: their scope, or their question."""


@dataclass(frozen=True, slots=True)
class TunableNumbers:
    """The numbers that tuning changes, in the profile's order: term weights and factor floors."""

    weights: tuple[float, ...]
    floors: tuple[float, ...]

    @classmethod
    def of(cls, profile: Profile) -> Self:
        """Return the numbers of a profile."""
        return cls(tuple(term.weight for term in profile.terms), tuple(factor.floor for factor in profile.factors))

    def apply_to(self, profile: Profile) -> Profile:
        """Return the profile with these numbers."""
        terms = [replace(term, weight=weight) for term, weight in zip(profile.terms, self.weights, strict=True)]
        factors = [replace(factor, floor=floor) for factor, floor in zip(profile.factors, self.floors, strict=True)]
        return replace(profile, terms=tuple(terms), factors=tuple(factors))

    def distance_to(self, other: "TunableNumbers") -> float:
        """Return the distance to other numbers.

        It is the share of the weight that moved, plus the sum of the changes of the floors.
        """
        weights = math.fsum(abs(one - two) for one, two in zip(self.weights, other.weights, strict=True))
        return weights / 2.0 + math.fsum(abs(one - two) for one, two in zip(self.floors, other.floors, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetSummary:
    """What a report says about a training set: its name, content digest and size."""

    name: str
    digest: str
    memories: int
    queries: int
    judgments: int
    scopes: int


class TrainingSet(Protocol):
    """Queries whose measures can be computed for any numbers."""

    @property
    def source(self) -> TrainingSetSummary:
        """What a report says about the training set."""
        ...

    @property
    def groups(self) -> Sequence[HeldOutGroup]:
        """The group with which each query is held out."""
        ...

    def measure(self, numbers: TunableNumbers) -> Mapping[str, Floats]:
        """Return each measure for every query; all training sets have the same measures."""
        ...

    def find_varied_signals(self) -> list[bool]:
        """Return whether each term, and then each factor, varies within any one query."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredValues:
    """The values of every query by measure, one array for each training set."""

    measures: Mapping[str, tuple[Floats, ...]] = field(hash=False)

    @property
    def worth(self) -> tuple[Floats, ...]:
        """The objective of tuning: the mean of all measures."""
        several = zip(*self.measures.values(), strict=True)
        return tuple(np.mean(np.stack(each), axis=0) for each in several)


def mean_of_means(materials: Sequence[Floats]) -> float:
    """Return the mean of the sets' means, so that large folders count no more than small ones.

    Empty sets are left out.
    """
    means = [float(one.mean()) for one in materials if len(one)]
    return math.fsum(means) / len(means)


def equalize(materials: Sequence[Floats]) -> Floats:
    """Return the values of all queries, scaled so that every training set counts the same.

    Their mean is the mean of the sets' means.
    """
    every = sum(len(one) for one in materials)
    return np.concatenate([one * (every / (len(materials) * len(one))) for one in materials])


def score_candidates(opinions: Floats, numbers: TunableNumbers) -> Floats:
    """Return the score of every candidate with these numbers, up to rounding.

    `opinions` has a column for each candidate, and a row for each term and then each factor. Missing evidence already
    has its default value there.
    """
    score, terms = np.zeros(opinions.shape[1]), len(numbers.weights)
    for opinion, weight in zip(opinions[:terms], numbers.weights, strict=True):
        score += opinion * weight
    np.minimum(score, 1.0, out=score)
    for opinion, floor in zip(opinions[terms:], numbers.floors, strict=True):
        score *= floor + (1.0 - floor) * opinion
    return score


def find_varied_rows(opinions: Floats, starts: Rows) -> list[bool]:
    """Return whether each row of signal values varies between any start and the next."""
    filled = starts[:-1][np.diff(starts) > 0]
    if not len(filled):
        return [False] * len(opinions)
    lowest = np.minimum.reduceat(opinions, filled, axis=1)
    highest = np.maximum.reduceat(opinions, filled, axis=1)
    differs: list[bool] = np.any(highest > lowest, axis=1).tolist()
    return differs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgmentTrainingSet:
    """The candidates of a folder's queries that pass the gates, one row each, by query.

    Rows of one query are in tie-breaking order. `ids` are ids of the folder whose text the memory had at query time.
    `opinions` has a row for each term and then each factor, with defaults for missing evidence. `starts` has the first
    row of each query, and ends with the number of rows.
    For each query, `needed` is the number of judged memories, and `best` the ideal gain among the first `k`. For each
    row, `grades` is its gain, and `counts` the number of judged ids that it represents, duplicates included.
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
        """The scope of every query; a scope is held out as a whole."""
        return tuple(query.scope for query in self.judgments.queries)

    @property
    def source(self) -> TrainingSetSummary:
        """What a report says about the folder; it has its name, not its path."""
        judgments = self.judgments
        return TrainingSetSummary(
            name=judgments.folder.resolve().name,
            digest=judgments.digest,
            memories=len(judgments.memories),
            queries=len(judgments.queries),
            judgments=judgments.pairs,
            scopes=len(set(self.groups)),
        )

    def measure(self, numbers: TunableNumbers) -> dict[str, Floats]:
        """Return recall@k and nDCG@k of every query with these numbers."""
        scores, judged = score_candidates(self.opinions, numbers), self.rivals.judged
        places = self.rivals.places(scores)
        found = (places <= self.k) & (scores[judged] >= self.min_score)
        queries = self.rivals.queries[found]
        gains = self.grades[judged][found] / np.log2(places[found] + 1.0)
        hits = np.bincount(queries, self.counts[judged][found], minlength=len(self.needed))
        ndcg = np.bincount(queries, gains, minlength=len(self.needed)) / self.best
        return {f"recall@{self.k}": hits / self.needed, f"ndcg@{self.k}": ndcg}

    def find_varied_signals(self) -> list[bool]:
        """Return whether each term, and then each factor, varies within any one query."""
        return find_varied_rows(self.opinions, self.starts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedRows:
    """The judged rows with all rows of their queries; measures need only the judged places."""

    judged: Rows
    queries: Rows
    others: Rows
    begins: Rows
    earlier: NDArray[np.bool_]

    @classmethod
    def of(cls, grades: Floats, starts: Rows) -> Self:
        """Build from the grades of all rows, and the first row of each query."""
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
        """Return the place of every judged row in its query, from 1; ties go to the earlier row."""
        if not len(self.judged):
            return self.judged
        sizes = np.diff(np.append(self.begins, len(self.others)))
        own = np.repeat(scores[self.judged], sizes)
        theirs = scores[self.others]
        ahead = (theirs > own) | ((theirs == own) & self.earlier)
        found: Rows = np.add.reduceat(ahead.astype(np.intp), self.begins) + 1
        return found


def build_training_set(
    engine: Engine,
    judgments: Judgments,
    loaded: LoadedFolder,
    profile: Profile,
    *,
    k: int,
    report_progress: ProgressListener,
) -> JudgmentTrainingSet:
    """Run every query without a score limit, and collect the signal values of each candidate.

    The values come from the engine's own explanations.
    """
    queries = judgments.queries
    unlimited = replace(profile, min_score=0.0)  # which scores are too low depends on the weights
    ids: list[str] = []
    opinions: list[tuple[float, ...]] = []
    grades: list[float] = []
    counts: list[int] = []
    starts, best = [0], []

    report_progress(0, len(queries))
    for query in queries:
        twins = loaded.find_twins(query)
        gains, judged_counts = gain_by_id(query.grades, twins), Counter(twins.get(id, id) for id in query.grades)
        ranking = engine.search(query.text, scope=query.scope, profile=unlimited, limit=MAX_LIMIT, as_of=query.asked_at)
        for scored in sorted(ranking, key=lambda one: one.id):
            name = loaded.name_at(scored.id, query.asked_at)
            ids.append(name)
            opinions.append(scored.explanation.opinions)
            grades.append(gains.get(name, 0.0))
            counts.append(judged_counts[name])
        starts.append(len(ids))
        best.append(ideal_gain(query.grades, k, twins))
        report_progress(len(starts) - 1, len(queries))
    values, begins = np.array(grades), np.array(starts, dtype=np.intp)
    return JudgmentTrainingSet(
        judgments=judgments,
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
