"""Figures: what a profile came to over all queries of a folder, and over those of a category."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from recollect.evaluation.intervals import Interval, MeanDifference, bootstrap_intervals, compare_paired
from recollect.evaluation.judgments import JudgedQuery
from recollect.evaluation.measures import Twins, measure_names, measure_ranking, quantile, recall

MAX_CURVE_K = 50
"""Up to which k the curve of recall goes."""

DEFAULT_K = 10
"""The k that queries are sorted by, if it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """What came of one query: ids of the folder, one for each memory that was found, best first, and how long it took.

    `twins` are the judged ids that are found where another one is, with that one, and `replaced_ids` those whose
    words a later memory had replaced by then, which are not found. `tokens` is the budget with which packing in rank
    order has packed every judged memory that is within reach, `None` if none is; `complete` if that is all that was
    judged.
    """

    query: JudgedQuery
    found_ids: tuple[str, ...]
    tokens: int | None
    complete: bool
    duration: timedelta
    exact: bool = True
    twins: Twins = field(default_factory=dict[str, str], hash=False)
    replaced_ids: tuple[str, ...] = ()

    def measure(self, ks: Sequence[int]) -> dict[str, float]:
        """Every measure of what was found, by its name."""
        return measure_ranking(self.found_ids, self.query.grades, ks, self.twins)

    def find_place(self, id: str) -> int | None:
        """The place at which a judged memory was found, from 1; none if it was not."""
        ranked = self.twins.get(id, id)
        return self.found_ids.index(ranked) + 1 if ranked in self.found_ids else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensNeeded:
    """The budgets that queries need, over the `reached` of them that have any judged memory within reach.

    `complete` counts those whose judged memories are all within reach.
    """

    median: int | None
    p95: int | None
    reached: int
    complete: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanFigures:
    """The means of all measures with their intervals, the tokens needed and the time taken."""

    queries: int
    means: Mapping[str, float] = field(hash=False)
    intervals: Mapping[str, Interval] = field(hash=False)
    tokens: TokensNeeded
    p50: timedelta
    p95: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEvaluation:
    """All that is to be said of one profile: the figures, those of each category, and each query's own measures.

    `k` is the one that queries are sorted by, and the only one where there is no room for all. `curve` is the mean
    recall among the first 1, 2, 3, ….
    """

    profile: str
    version: str
    depth: int
    ks: tuple[int, ...]
    answers: tuple[QueryAnswer, ...]
    scores: tuple[Mapping[str, float], ...] = field(hash=False)
    overall: MeanFigures
    categories: Mapping[str, MeanFigures] = field(hash=False)
    curve: tuple[float, ...]

    @property
    def k(self) -> int:
        return DEFAULT_K if DEFAULT_K in self.ks else self.ks[-1]

    @property
    def category_means(self) -> dict[str, float]:
        """Every measure as the mean over categories, each of which counts the same however many queries it has."""
        categories = self.categories.values()
        return {name: statistics.fmean(one.means[name] for one in categories) for name in self.overall.means}

    @property
    def exact(self) -> bool:
        return all(answer.exact for answer in self.answers)

    def worst_answers(self, most: int) -> list[QueryAnswer]:
        """The answers that found least, the least first."""

        def order(place: int) -> tuple[float, float, float, str]:
            values = self.scores[place]
            return (
                values[f"recall@{self.k}"],
                values[f"ndcg@{self.k}"],
                values["mrr"],
                self.answers[place].query.id,
            )

        places = sorted(range(len(self.answers)), key=order)
        lacking = [place for place in places if self.scores[place][f"recall@{self.k}"] < 1.0]
        return [self.answers[place] for place in lacking[:most]]


def evaluate_answers(
    profile: str, version: str, depth: int, answers: Sequence[QueryAnswer], ks: Sequence[int]
) -> ProfileEvaluation:
    """What the answers come to."""
    each = [answer.measure(ks) for answer in answers]
    categories = sorted({answer.query.category for answer in answers})

    def of(category: str) -> MeanFigures:
        places = [place for place, answer in enumerate(answers) if answer.query.category == category]
        return _mean_figures([answers[place] for place in places], [each[place] for place in places], ks)

    return ProfileEvaluation(
        profile=profile,
        version=version,
        depth=depth,
        ks=tuple(ks),
        answers=tuple(answers),
        scores=tuple(each),
        overall=_mean_figures(answers, each, ks),
        categories={category: of(category) for category in categories},
        curve=tuple(
            statistics.fmean(recall(answer.found_ids, answer.query.grades, k, answer.twins) for answer in answers)
            for k in range(1, min(MAX_CURVE_K, depth) + 1)
        ),
    )


def _mean_figures(
    answers: Sequence[QueryAnswer], each: Sequence[Mapping[str, float]], ks: Sequence[int]
) -> MeanFigures:
    measured = measure_names(ks)
    intervals = bootstrap_intervals([[values[name] for name in measured] for values in each])
    took = [answer.duration / timedelta(microseconds=1) for answer in answers]
    return MeanFigures(
        queries=len(answers),
        means={name: statistics.fmean(values[name] for values in each) for name in measured},
        intervals=dict(zip(measured, intervals, strict=True)),
        tokens=_summarize_tokens(answers),
        p50=timedelta(microseconds=quantile(took, 0.5)),
        p95=timedelta(microseconds=quantile(took, 0.95)),
    )


def _summarize_tokens(answers: Sequence[QueryAnswer]) -> TokensNeeded:
    needed = [answer.tokens for answer in answers if answer.tokens is not None]
    return TokensNeeded(
        median=quantile(needed, 0.5) if needed else None,
        p95=quantile(needed, 0.95) if needed else None,
        reached=len(needed),
        complete=sum(answer.complete for answer in answers),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileComparison:
    """What the second of two profiles gains over the first, measure by measure, on the same queries."""

    one: str
    other: str
    differences: Mapping[str, MeanDifference] = field(hash=False)


def compare_profiles(one: ProfileEvaluation, other: ProfileEvaluation) -> ProfileComparison:
    """The two outcomes, query by query; any@k says nothing that recall@k does not."""
    compared = [name for name in measure_names(one.ks) if not name.startswith("any")]
    differences = {
        name: compare_paired([values[name] for values in one.scores], [values[name] for values in other.scores])
        for name in compared
    }
    return ProfileComparison(one=one.profile, other=other.profile, differences=differences)
