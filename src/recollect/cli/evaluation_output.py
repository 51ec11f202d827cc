"""The figures of an evaluation and of a tuning as lines of text.

The tables are aligned in a pipe too, and never cut. It imports NumPy, so commands load it only when they run.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recollect.cli.tables import Paint, TextStyle, TextTable, format_aligned, paint_plain
from recollect.evaluation import feedback_data, report, tuned_profile
from recollect.evaluation.measures import Interval
from recollect.evaluation.report import format_share
from recollect.model.format import format_count, make_printable

MAX_LINE_WIDTH = 1_000_000
"""Assumed width of the terminal, so that no figure is cut, however many profiles there are."""


def format_report(evaluated: report.EvaluationReport, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield the report as lines of text."""
    judgments, outcomes = evaluated.judgments, evaluated.outcomes
    memories = format_count(len(judgments.drafts), "memory", "memories")
    queries = format_count(len(judgments.queries), "query", "queries")
    folder, embedder = make_printable(judgments.folder.resolve().name), make_printable(evaluated.embedder)
    yield f"{folder}: {memories}, {queries}, embedder {embedder}"
    yield from (paint(TextStyle.FAINT, note) for note in evaluated.notes)
    yield ""
    names = [make_printable(one.profile) for one in outcomes]
    rows = [(name, *(_format_mean(one.overall, name) for one in outcomes)) for name in outcomes[0].overall.means]
    others = [report.other_figures(one.overall) for one in outcomes]
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
        by_category.append(
            (report.MEAN_OVER_QUERIES, queries, *(_format_mean(one.overall, measure) for one in outcomes))
        )
        by_category.append(
            (
                report.MEAN_OVER_CATEGORIES,
                queries,
                *(format_share(one.category_means[measure]) for one in outcomes),
            )
        )
        yield from format_aligned(TextTable((measure, "queries", *names), by_category), MAX_LINE_WIDTH, paint)
    if evaluated.comparison is not None:
        yield ""
        yield from _format_comparison(evaluated.comparison, paint)


def _format_comparison(comparison: report.ProfileComparison, paint: Paint) -> Iterator[str]:
    one, other = make_printable(comparison.one), make_printable(comparison.other)
    rows = [
        (
            name,
            f"{found.mean:+.3f}",
            f"[{found.interval.low:+.3f}, {found.interval.high:+.3f}]",
            report.format_p_value(found.p),
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


def _format_mean(figures: report.MeanFigures, name: str) -> str:
    return _format_figure(figures.means[name], figures.intervals[name])


def _format_figure(mean: float, interval: Interval) -> str:
    return f"{format_share(mean)} [{format_share(interval.low)}, {format_share(interval.high)}]"


HELD_OUT_HEADER = ("", "before", "after", "gain", "95 %", "p")
NUMBERS_HEADER = ("number", "before", "after", "in the folds")


def format_tuning(tuned: tuned_profile.TunedProfile, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield the report as lines of text."""
    tuning, start = tuned.tuning, tuned.tuning.profile
    yield f"{start.name} {start.version} on {tuned.amount}, embedder {make_printable(tuned.embedder)}"
    if isinstance(tuned.origin, feedback_data.FeedbackOrigin):
        yield from _format_feedback(tuned.origin)
    yield ""
    yield paint(TextStyle.STRONG, f"held out by {tuned.origin.held_by}, in {format_count(len(tuning.folds), 'fold')}")
    yield from format_aligned(
        TextTable(HELD_OUT_HEADER, [_held_out_cells(row) for row in tuned.rows]), MAX_LINE_WIDTH, paint
    )
    yield ""
    yield paint(TextStyle.STRONG, "fitted to all queries (optimistic)")
    rows = [
        (
            _row_name(row),
            _format_figure(row.before.mean, row.before.interval),
            _format_figure(row.after.mean, row.after.interval),
        )
        for row in tuned.rows
    ]
    yield from format_aligned(TextTable(("", "before", "after"), rows), MAX_LINE_WIDTH, paint)
    yield ""
    yield from format_aligned(TextTable(NUMBERS_HEADER, list(_number_cells(tuned))), MAX_LINE_WIDTH, paint)
    yield ""
    yield from (paint(TextStyle.STRONG, line) for line in _format_warnings(tuned))
    yield _format_verdict(tuned)


def _format_warnings(tuned: tuned_profile.TunedProfile) -> Iterator[str]:
    """Yield a warning if the folds disagree on any number."""
    unsettled = [
        f"{_number_name(one)} ({_format_range(one.folds)})"
        for one in tuned_profile.tuned_numbers(tuned.tuning)
        if one.tuned and not one.settled
    ]
    if unsettled:
        yield f"the folds disagree on {', '.join(unsettled)}: {tuned.origin.remedy} before you rely on it"


def _format_verdict(tuned: tuned_profile.TunedProfile) -> str:
    """Describe whether the gain carries over to held-out data."""
    if not tuned.tuning.changed:
        return "tuning found no improvement: no change of a weight or floor gains enough"
    gain = tuned.tuning.gain
    summary = f"held-out queries gained {gain.mean:+.4f}"
    if tuned.tuning.carries_over:
        return f"{summary}, p {report.format_p_value(gain.p)}"
    reason = ", which may be chance" if gain.mean > 0.0 else ""
    return f"tuning found no improvement that carries over: {summary}{reason}"


def _format_feedback(learned: feedback_data.FeedbackOrigin) -> Iterator[str]:
    """Yield how many votes there were, which contexts were left out, and the position bias."""
    uses = ", ".join(
        f"{count} {use.value}"
        for use in feedback_data.WORTH_BY_USE
        if (count := learned.votes.count_by_use.get(use, 0))
    )
    by = f", by {format_count(learned.votes.principals, 'principal')}" if learned.votes.principals else ""
    yield f"votes: {uses}{by}"
    yield from (f"left out: {reason}" for reason in feedback_data.describe_left_out(learned.left_out))
    if learned.unplaced_contexts:
        contexts = format_count(learned.unplaced_contexts, "context")
        yield f"{contexts} with erased memories: position bias is not corrected in them"
    fifth = learned.position_bias.propensities(np.array([5])).item()
    yield f"position bias: the fifth place is looked at {fifth:.2f} times as often as the first; this is corrected for"


def _held_out_cells(row: tuned_profile.MeasureRow) -> tuple[str, ...]:
    gained = row.gain
    interval = f"[{gained.interval.low:+.3f}, {gained.interval.high:+.3f}]"
    return (
        _row_name(row),
        _format_figure(row.before.mean, row.before.interval),
        _format_figure(row.held_out.mean, row.held_out.interval),
        f"{gained.mean:+.3f}",
        interval,
        report.format_p_value(gained.p),
    )


def _row_name(row: tuned_profile.MeasureRow) -> str:
    return row.measure if row.folder is None else f"{make_printable(row.folder)} {row.measure}"


def _number_cells(tuned: tuned_profile.TunedProfile) -> Iterator[tuple[str, ...]]:
    for one in tuned_profile.tuned_numbers(tuned.tuning):
        folds = _format_range(one.folds) if one.tuned else "unchanged: does not vary in this data"
        yield _number_name(one), f"{one.before:.4g}", f"{one.after:.4g}", folds


def _number_name(one: tuned_profile.TunedNumber) -> str:
    return one.signal if one.what == "weight" else f"{one.signal}, {one.what}"


def _format_range(folds: Sequence[float]) -> str:
    return f"{min(folds):.4f} to {max(folds):.4f}"
