"""The figures of an evaluation: answers, means and comparisons, and their JSON, which has full precision."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from recollect.evaluation.judgments import JudgedQuery, Judgments
from recollect.evaluation.measures import (
    Interval,
    MeanDifference,
    Twins,
    bootstrap_intervals,
    compare_paired,
    measure_names,
    measure_ranking,
    quantile,
    recall,
)
from recollect.model.format import format_count

MAX_CURVE_K = 50
"""The largest k of the recall curve."""

DEFAULT_K = 10
"""The k used for sorting queries, if it is one of the requested ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The answer to one query: the ids found, best first, and how long it took.

    `found_ids` are ids of the folder, one for each memory found. `twins` maps judged ids to the id of the duplicate
    that represents them. `replaced_ids` had been replaced by a later memory at query time, and are not found. A judged
    memory is within reach if it is among the profile's maximum number of results. `tokens` is the budget that packs
    every judged memory within reach in rank order, `None` if none is. `complete` is true if all are within reach.
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
        """Return every measure of this answer, by name."""
        return measure_ranking(self.found_ids, self.query.grades, ks, self.twins)

    def find_place(self, id: str) -> int | None:
        """Return the place of a judged memory, from 1; None if it was not found."""
        ranked = self.twins.get(id, id)
        return self.found_ids.index(ranked) + 1 if ranked in self.found_ids else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensNeeded:
    """The token budgets that queries need, over the queries with a judged memory within reach.

    `reached` counts these queries, and `complete` those with all judged memories within reach.
    """

    median: int | None
    p95: int | None
    reached: int
    complete: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanFigures:
    """The mean of each measure with its interval, the tokens needed and the latency."""

    queries: int
    means: Mapping[str, float] = field(hash=False)
    intervals: Mapping[str, Interval] = field(hash=False)
    tokens: TokensNeeded
    p50: timedelta
    p95: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEvaluation:
    """The evaluation of one profile: overall figures, figures by category, and each query's.

    `k` is used for sorting queries and in tables with only one k. `curve` is the mean recall among the first 1, 2, 3, …
    results.
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
        """The mean of each measure over categories; each category counts the same."""
        categories = self.categories.values()
        return {name: statistics.fmean(one.means[name] for one in categories) for name in self.overall.means}

    @property
    def exact(self) -> bool:
        return all(answer.exact for answer in self.answers)

    def worst_answers(self, most: int) -> list[QueryAnswer]:
        """Return the answers with the lowest recall, worst first."""

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
    """Compute the evaluation of a profile from its answers."""
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
    names = measure_names(ks)
    intervals = bootstrap_intervals([[values[name] for name in names] for values in each])
    durations = [answer.duration / timedelta(microseconds=1) for answer in answers]
    return MeanFigures(
        queries=len(answers),
        means={name: statistics.fmean(values[name] for values in each) for name in names},
        intervals=dict(zip(names, intervals, strict=True)),
        tokens=_summarize_tokens(answers),
        p50=timedelta(microseconds=quantile(durations, 0.5)),
        p95=timedelta(microseconds=quantile(durations, 0.95)),
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
    """What the second of two profiles gains over the first by measure, on the same queries."""

    one: str
    other: str
    differences: Mapping[str, MeanDifference] = field(hash=False)


def compare_profiles(one: ProfileEvaluation, other: ProfileEvaluation) -> ProfileComparison:
    """Compare two evaluations query by query; any@k is left out, as recall@k covers it."""
    names = [name for name in measure_names(one.ks) if not name.startswith("any")]
    differences = {
        name: compare_paired([values[name] for values in one.scores], [values[name] for values in other.scores])
        for name in names
    }
    return ProfileComparison(one=one.profile, other=other.profile, differences=differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """The evaluations of a folder, with the conditions they were made under.

    `merged_count` counts ids that repeat an earlier memory of their topic. `invisible_count` counts judged memories
    that their query cannot see.
    """

    judgments: Judgments
    outcomes: tuple[ProfileEvaluation, ...]
    comparison: ProfileComparison | None
    embedder: str
    merged_count: int
    invisible_count: int
    command: str
    versions: Mapping[str, str] = field(hash=False)
    made_at: datetime

    @property
    def replaced_count(self) -> int:
        """How many judged memories had been replaced by query time; the same for every profile."""
        return sum(len(answer.replaced_ids) for answer in self.outcomes[0].answers)

    @property
    def notes(self) -> list[str]:
        """Warnings about the folder for a reader of the figures; empty if there are none."""
        judged = self.judgments
        counts = (
            (judged.unjudged_queries, "query", "queries", "without judgments: left out"),
            (judged.absent_pairs, "judged memory", "judged memories", "not in the folder: counted as not found"),
            (judged.late_pairs, "judged memory", "judged memories", "later than the query: counted as not found"),
            (self.replaced_count, "judged memory", "judged memories", "replaced by a later one: counted as not found"),
            (
                self.invisible_count,
                "judged memory",
                "judged memories",
                "that the query may not see: counted as not found",
            ),
            (judged.blind_queries, "query", "queries", "that may see no memory: counted as finding nothing"),
            (
                self.merged_count,
                "memory",
                "memories",
                "with the text of an earlier one of the same topic: counted as that one",
            ),
        )
        return [f"{format_count(count, one, several)} {problem}" for count, one, several, problem in counts if count]


def report_to_json(report: EvaluationReport) -> dict[str, Any] | list[dict[str, Any]]:
    """Return the report as JSON: one object, a list of profiles, or a comparison."""
    shown = [evaluation_to_json(one, report) for one in report.outcomes]
    if report.comparison is not None:
        return {"profiles": shown, "compared": comparison_to_json(report.comparison)}
    return shown[0] if len(shown) == 1 else shown


def evaluation_to_json(outcome: ProfileEvaluation, report: EvaluationReport) -> dict[str, Any]:
    """Return the figures of one profile as JSON, with the conditions they were made under."""
    judgments = report.judgments
    return {
        "profile": outcome.profile,
        "version": outcome.version,
        **_figures_to_json(outcome.overall),
        "exact": outcome.exact,
        "by_category": {category: _figures_to_json(figures) for category, figures in outcome.categories.items()},
        "by_category_mean": outcome.category_means,
        "depth": outcome.depth,
        "folder": judgments.folder.resolve().name,
        "digest": judgments.digest,
        "memories": len(judgments.memories),
        "merged": report.merged_count,
        "judgements": judgments.pairs,
        "absent": judgments.absent_pairs,
        "later": judgments.late_pairs,
        "replaced": report.replaced_count,
        "outside": report.invisible_count,
        "blind": judgments.blind_queries,
        "unjudged": judgments.unjudged_queries,
        "embedder": report.embedder,
    }


def comparison_to_json(comparison: ProfileComparison) -> dict[str, Any]:
    """Return a comparison of two profiles as JSON."""
    return {
        "one": comparison.one,
        "other": comparison.other,
        "differences": {name: difference_to_json(found) for name, found in comparison.differences.items()},
    }


def difference_to_json(difference: MeanDifference) -> dict[str, Any]:
    """Return a mean difference as JSON."""
    return {
        "mean": difference.mean,
        "interval": interval_to_json(difference.interval),
        "p": difference.p,
        "wins": difference.wins,
        "losses": difference.losses,
        "ties": difference.ties,
    }


def interval_to_json(interval: Interval) -> list[float]:
    """Return the low and the high end of an interval."""
    return [interval.low, interval.high]


def _figures_to_json(figures: MeanFigures) -> dict[str, Any]:
    millisecond = timedelta(milliseconds=1)
    tokens = figures.tokens
    return {
        "queries": figures.queries,
        **figures.means,
        "latency_ms": {"p50": figures.p50 / millisecond, "p95": figures.p95 / millisecond},
        "tokens": {
            "median": tokens.median,
            "p95": tokens.p95,
            "reached": tokens.reached,
            "complete": tokens.complete,
        },
        "intervals": {name: interval_to_json(one) for name, one in figures.intervals.items()},
    }


NO_FIGURE = "–"

MEAN_OVER_QUERIES, MEAN_OVER_CATEGORIES = "mean over queries", "mean over categories"
"""Names of the rows below the categories: in one every query counts the same, in the other every category."""


def format_share(value: float) -> str:
    return f"{value:.3f}"


def format_milliseconds(time: timedelta) -> str:
    return f"{time / timedelta(milliseconds=1):.1f} ms"


def format_p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else "< 0.001"


MEDIAN_TOKENS = "tokens needed, median"


def other_figures(figures: MeanFigures) -> dict[str, str]:
    """Return the other figures, by name: tokens needed, reach and latency."""
    tokens = figures.tokens
    return {
        MEDIAN_TOKENS: NO_FIGURE if tokens.median is None else str(tokens.median),
        "tokens needed, p95": NO_FIGURE if tokens.p95 is None else str(tokens.p95),
        "all within reach": f"{tokens.complete} of {figures.queries}",
        "latency p50": format_milliseconds(figures.p50),
        "latency p95": format_milliseconds(figures.p95),
    }
