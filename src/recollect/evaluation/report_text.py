"""An evaluation in lines for people: measures by profile, then categories, then what was compared."""

from collections.abc import Iterator
from datetime import timedelta

from recollect.evaluation.figures import Comparison, Figures
from recollect.evaluation.report import Report
from recollect.model.format import counted, printable
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import Table, aligned

NONE = "–"

OVER_QUERIES, OVER_CATEGORIES = "mean over queries", "mean over categories"
"""The rows under the categories: every query counts the same, or every category does."""

WIDEST = 1_000_000
"""How wide a terminal is taken to be, so that no figure is cut, however many profiles stand beside each other."""


def report(report: Report, paint: Paint = plain) -> Iterator[str]:
    """The report, one line after the other."""
    judgements, outcomes = report.judgements, report.outcomes
    memories = counted(len(judgements.drafts), "memory", "memories")
    queries = counted(len(judgements.queries), "query", "queries")
    yield f"{printable(judgements.folder.resolve().name)}: {memories}, {queries}, embedder {printable(report.embedder)}"
    yield from (paint(Look.FAINT, note) for note in report.notes)
    yield ""
    names = [printable(one.profile) for one in outcomes]
    rows = [(name, *(_mean(one.whole, name) for one in outcomes)) for name in outcomes[0].whole.means]
    others = [beside(one.whole) for one in outcomes]
    rows += [(name, *(cells[name] for cells in others)) for name in others[0]]
    yield from aligned(Table(("", *names), rows), WIDEST, paint)
    k = outcomes[0].k
    for measure in (f"recall@{k}", f"ndcg@{k}"):
        yield ""
        queries = str(outcomes[0].whole.queries)
        by_category = [
            (category, str(figures.queries), *(_mean(one.categories[category], measure) for one in outcomes))
            for category, figures in outcomes[0].categories.items()
        ]
        by_category.append((OVER_QUERIES, queries, *(_mean(one.whole, measure) for one in outcomes)))
        by_category.append((OVER_CATEGORIES, queries, *(share(one.category_means[measure]) for one in outcomes)))
        yield from aligned(Table((measure, "queries", *names), by_category), WIDEST, paint)
    if report.comparison is not None:
        yield ""
        yield from _comparison(report.comparison, paint)


def share(value: float) -> str:
    return f"{value:.3f}"


def milliseconds(time: timedelta) -> str:
    return f"{time / timedelta(milliseconds=1):.1f} ms"


def chance(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else "< 0.001"


def _comparison(comparison: Comparison, paint: Paint) -> Iterator[str]:
    one, other = printable(comparison.one), printable(comparison.other)
    rows = [
        (
            name,
            f"{found.mean:+.3f}",
            f"[{found.interval.low:+.3f}, {found.interval.high:+.3f}]",
            chance(found.p),
            str(found.wins),
            str(found.losses),
            str(found.ties),
        )
        for name, found in comparison.differences.items()
    ]
    yield f"{other} over {one}"
    yield from aligned(Table(("", "gain", "95 %", "p", "wins", "losses", "ties"), rows), WIDEST, paint)


MEDIAN = "tokens needed, median"


def beside(figures: Figures) -> dict[str, str]:
    """What is said beside the measures, by its name."""
    tokens = figures.tokens
    return {
        MEDIAN: NONE if tokens.median is None else str(tokens.median),
        "tokens needed, p95": NONE if tokens.p95 is None else str(tokens.p95),
        "all within reach": f"{tokens.complete} of {figures.queries}",
        "latency p50": milliseconds(figures.p50),
        "latency p95": milliseconds(figures.p95),
    }


def _mean(figures: Figures, name: str) -> str:
    interval = figures.intervals[name]
    return f"{share(figures.means[name])} [{share(interval.low)}, {share(interval.high)}]"
