"""The JSON shape of an evaluation; full precision, nothing rounded."""

from datetime import timedelta
from typing import Any

from recollect.evaluation.figures import MeanFigures, ProfileComparison, ProfileEvaluation
from recollect.evaluation.intervals import Interval, MeanDifference
from recollect.evaluation.report import EvaluationReport


def report_to_json(report: EvaluationReport) -> dict[str, Any] | list[dict[str, Any]]:
    """One profile as an object, several as a list of such, a comparison as both and what it came to."""
    shown = [evaluation_to_json(one, report) for one in report.outcomes]
    if report.comparison is not None:
        return {"profiles": shown, "compared": comparison_to_json(report.comparison)}
    return shown[0] if len(shown) == 1 else shown


def evaluation_to_json(outcome: ProfileEvaluation, report: EvaluationReport) -> dict[str, Any]:
    """The figures of one profile, with what they were made with."""
    judgements = report.judgments
    return {
        "profile": outcome.profile,
        "version": outcome.version,
        **_figures_to_json(outcome.overall),
        "exact": outcome.exact,
        "by_category": {category: _figures_to_json(figures) for category, figures in outcome.categories.items()},
        "by_category_mean": outcome.category_means,
        "depth": outcome.depth,
        "folder": judgements.folder.resolve().name,
        "digest": judgements.digest,
        "memories": len(judgements.memories),
        "merged": report.merged_count,
        "judgements": judgements.pairs,
        "absent": judgements.absent_pairs,
        "later": judgements.late_pairs,
        "replaced": report.replaced_count,
        "outside": report.invisible_count,
        "blind": judgements.blind_queries,
        "unjudged": judgements.unjudged_queries,
        "embedder": report.embedder,
    }


def comparison_to_json(comparison: ProfileComparison) -> dict[str, Any]:
    """What the second profile gains over the first."""
    return {
        "one": comparison.one,
        "other": comparison.other,
        "differences": {name: difference_to_json(found) for name, found in comparison.differences.items()},
    }


def difference_to_json(difference: MeanDifference) -> dict[str, Any]:
    """What is gained by going over from one to the other."""
    return {
        "mean": difference.mean,
        "interval": interval_to_json(difference.interval),
        "p": difference.p,
        "wins": difference.wins,
        "losses": difference.losses,
        "ties": difference.ties,
    }


def interval_to_json(interval: Interval) -> list[float]:
    """The low end and the high one."""
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
