"""The JSON shape of an evaluation; full precision, nothing rounded."""

from datetime import timedelta
from typing import Any

from recollect.evaluation.figures import Comparison, Figures, Outcome
from recollect.evaluation.intervals import Difference, Interval
from recollect.evaluation.report import Report


def report(report: Report) -> dict[str, Any] | list[dict[str, Any]]:
    """One profile as an object, several as a list of such, a comparison as both and what it came to."""
    shown = [outcome(one, report) for one in report.outcomes]
    if report.comparison is not None:
        return {"profiles": shown, "compared": comparison(report.comparison)}
    return shown[0] if len(shown) == 1 else shown


def outcome(outcome: Outcome, report: Report) -> dict[str, Any]:
    """The figures of one profile, with what they were made with."""
    judgements = report.judgements
    return {
        "profile": outcome.profile,
        "version": outcome.version,
        **_figures(outcome.whole),
        "exact": outcome.exact,
        "by_category": {category: _figures(figures) for category, figures in outcome.categories.items()},
        "by_category_mean": outcome.category_means,
        "depth": outcome.depth,
        "folder": judgements.folder.resolve().name,
        "digest": judgements.digest,
        "memories": len(judgements.memories),
        "merged": report.merged,
        "judgements": judgements.pairs,
        "absent": judgements.absent,
        "later": judgements.later,
        "replaced": report.replaced,
        "outside": report.outside,
        "blind": judgements.blind,
        "unjudged": judgements.unjudged,
        "embedder": report.embedder,
    }


def comparison(comparison: Comparison) -> dict[str, Any]:
    """What the second profile gains over the first."""
    return {
        "one": comparison.one,
        "other": comparison.other,
        "differences": {name: difference(found) for name, found in comparison.differences.items()},
    }


def difference(difference: Difference) -> dict[str, Any]:
    """What is gained by going over from one to the other."""
    return {
        "mean": difference.mean,
        "interval": interval(difference.interval),
        "p": difference.p,
        "wins": difference.wins,
        "losses": difference.losses,
        "ties": difference.ties,
    }


def interval(interval: Interval) -> list[float]:
    """The low end and the high one."""
    return [interval.low, interval.high]


def _figures(figures: Figures) -> dict[str, Any]:
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
        "intervals": {name: interval(one) for name, one in figures.intervals.items()},
    }
