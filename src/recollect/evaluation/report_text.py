"""An evaluation in lines for people: measures by profile, then categories, then what was compared."""

from collections.abc import Iterator
from datetime import timedelta

from recollect.evaluation.figures import MeanFigures, ProfileComparison
from recollect.evaluation.report import EvaluationReport
from recollect.model.format import format_count, make_printable
from recollect.render.styles import Paint, TextStyle, paint_plain
from recollect.render.table import TextTable, format_aligned

NO_FIGURE = "–"

MEAN_OVER_QUERIES, MEAN_OVER_CATEGORIES = "mean over queries", "mean over categories"
"""The rows under the categories: every query counts the same, or every category does."""

MAX_LINE_WIDTH = 1_000_000
"""How wide a terminal is taken to be, so that no figure is cut, however many profiles stand beside each other."""


def format_report(report: EvaluationReport, paint: Paint = paint_plain) -> Iterator[str]:
    """The report, one line after the other."""
    judgements, outcomes = report.judgments, report.outcomes
    memories = format_count(len(judgements.drafts), "memory", "memories")
    queries = format_count(len(judgements.queries), "query", "queries")
    folder, embedder = make_printable(judgements.folder.resolve().name), make_printable(report.embedder)
    yield f"{folder}: {memories}, {queries}, embedder {embedder}"
    yield from (paint(TextStyle.FAINT, note) for note in report.notes)
    yield ""
    names = [make_printable(one.profile) for one in outcomes]
    rows = [(name, *(_format_mean(one.overall, name) for one in outcomes)) for name in outcomes[0].overall.means]
    others = [other_figures(one.overall) for one in outcomes]
    rows += [(name, *(cells[name] for cells in others)) for name in others[0]]
    yield from format_aligned(TextTable(("", *names), rows), MAX_LINE_WIDTH, paint)
    k = outcomes[0].k
    for measure in (f"recall@{k}", f"ndcg@{k}"):
        yield ""
        queries = str(outcomes[0].overall.queries)
        by_category = [
            (category, str(figures.queries), *(_format_mean(one.categories[category], measure) for one in outcomes))
            for category, figures in outcomes[0].categories.items()
        ]
        by_category.append((MEAN_OVER_QUERIES, queries, *(_format_mean(one.overall, measure) for one in outcomes)))
        by_category.append(
            (MEAN_OVER_CATEGORIES, queries, *(format_share(one.category_means[measure]) for one in outcomes))
        )
        yield from format_aligned(TextTable((measure, "queries", *names), by_category), MAX_LINE_WIDTH, paint)
    if report.comparison is not None:
        yield ""
        yield from _format_comparison(report.comparison, paint)


def format_share(value: float) -> str:
    return f"{value:.3f}"


def format_milliseconds(time: timedelta) -> str:
    return f"{time / timedelta(milliseconds=1):.1f} ms"


def format_p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else "< 0.001"


def _format_comparison(comparison: ProfileComparison, paint: Paint) -> Iterator[str]:
    one, other = make_printable(comparison.one), make_printable(comparison.other)
    rows = [
        (
            name,
            f"{found.mean:+.3f}",
            f"[{found.interval.low:+.3f}, {found.interval.high:+.3f}]",
            format_p_value(found.p),
            str(found.wins),
            str(found.losses),
            str(found.ties),
        )
        for name, found in comparison.differences.items()
    ]
    yield f"{other} over {one}"
    yield from format_aligned(
        TextTable(("", "gain", "95 %", "p", "wins", "losses", "ties"), rows), MAX_LINE_WIDTH, paint
    )


MEDIAN_TOKENS = "tokens needed, median"


def other_figures(figures: MeanFigures) -> dict[str, str]:
    """What is said beside the measures, by its name."""
    tokens = figures.tokens
    return {
        MEDIAN_TOKENS: NO_FIGURE if tokens.median is None else str(tokens.median),
        "tokens needed, p95": NO_FIGURE if tokens.p95 is None else str(tokens.p95),
        "all within reach": f"{tokens.complete} of {figures.queries}",
        "latency p50": format_milliseconds(figures.p50),
        "latency p95": format_milliseconds(figures.p95),
    }


def _format_mean(figures: MeanFigures, name: str) -> str:
    interval = figures.intervals[name]
    return f"{format_share(figures.means[name])} [{format_share(interval.low)}, {format_share(interval.high)}]"
