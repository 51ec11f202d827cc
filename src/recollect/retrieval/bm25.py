"""The lexical match: how much of a question's words a memory has, as BM25 in plain Python.

This is the oracle. `postings` computes the same in NumPy, equal to the last bit: both add up over the question's terms
in order of first occurrence, and take nothing but sums, products and quotients in the order written here.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recollect.errors import InvalidInput, show

K1 = 1.2
"""How soon a word said again stops counting."""

B = 0.4
"""How much a longer memory must say a word more often, of fully."""

UNKNOWN_TERM_FACTOR = 0.5
"""What a word that no eligible memory has counts in the best attainable: asked for, but nobody's fault."""

MAX_COUNTED_TERMS = 10
"""How many of the question's rarest words a memory must have for the whole; of a long request no memory has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How the eligible memories use a question's terms; all that a word's worth depends on.

    `frequencies` has, for each distinct term, how many of the `count` memories have it.
    """

    count: int
    total_length: float
    frequencies: Mapping[str, int]

    def __post_init__(self) -> None:
        most = max(self.frequencies.values(), default=0)
        if min(self.frequencies.values(), default=0) < 0 or not most <= self.count or not most <= self.total_length:
            raise InvalidInput(
                f"statistics of {self.count} memories with {self.total_length:g} words cannot have a term in {most} "
                "of them; count memories, their words and those that have a term over the same memories"
            )

    def __add__(self, other: "TermStatistics") -> "TermStatistics":
        """The statistics of both sets of memories together, which share none."""
        if self.frequencies.keys() != other.frequencies.keys():
            raise InvalidInput("statistics of two questions do not add up; count the same terms in both")
        return TermStatistics(
            count=self.count + other.count,
            total_length=self.total_length + other.total_length,
            frequencies={term: times + other.frequencies[term] for term, times in self.frequencies.items()},
        )


@dataclass(frozen=True, slots=True)
class TermWeights:
    """What a question's terms are worth: each that some memory has, and the best that a memory could attain."""

    terms: Mapping[str, float]
    best: float


def count_terms(
    terms: Iterable[str], eligible: Iterable[Mapping[str, int]], total_length: float | None = None
) -> TermStatistics:
    """How these memories, each given as the counts of its terms, use the terms; heard as turns they are longer."""
    memories = list(eligible)
    return TermStatistics(
        count=len(memories),
        total_length=sum(sum(counts.values()) for counts in memories) if total_length is None else total_length,
        frequencies={term: sum(counts.get(term, 0) > 0 for counts in memories) for term in dict.fromkeys(terms)},
    )


def weigh_terms(terms: Iterable[str], statistics: TermStatistics) -> TermWeights:
    """What each term is worth: the more, the fewer eligible memories have it."""
    known: dict[str, float] = {}
    attainable: list[float] = []
    for term in dict.fromkeys(terms):
        if term not in statistics.frequencies:
            raise InvalidInput(f"the statistics say nothing of {show(term)}; count the question's own terms")
        frequency = statistics.frequencies[term]
        weight = math.log(1.0 + (statistics.count - frequency + 0.5) / (frequency + 0.5))
        attainable.append(weight if frequency else weight * UNKNOWN_TERM_FACTOR)
        if frequency:
            known[term] = weight
    # fsum, because the plain sum of floats is not the same in every version of Python.
    return TermWeights(known, (K1 + 1.0) * math.fsum(sorted(attainable, reverse=True)[:MAX_COUNTED_TERMS]))


def score_terms(
    terms: Iterable[str], counts: Mapping[str, float], statistics: TermStatistics, length: float | None = None
) -> float | None:
    """How much of the best attainable an eligible memory has, above 0 and at most 1; `None` if it has no term.

    Without a length it is as long as it has terms.

    `None` is no evidence, as `Candidate.lexical` has it: the profile says what that is worth, and the built-in ones
    say 0, shown as assumed; in a fused relevance the words are silent, and what the similarity says is left.
    """
    weights = weigh_terms(terms, statistics)
    length, total = sum(counts.values()) if length is None else length, 0.0
    for term, weight in weights.terms.items():
        times = counts.get(term, 0)
        if times > 0:
            dampened = K1 * (1.0 - B + B * length / (statistics.total_length / statistics.count))
            total += weight * times * (K1 + 1.0) / (times + dampened)
    return min(total / weights.best, 1.0) if total > 0.0 else None
