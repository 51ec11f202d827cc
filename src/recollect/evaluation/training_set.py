"""Material: queries that the numbers of a profile are fitted to, and what they come to by any numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from recollect.model.scope import Scope
from recollect.model.table import Floats, Rows
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
