"""What tuning came to, in lines for people: what it is worth held out, fitted, and which numbers changed."""

from collections.abc import Iterator, Sequence

import numpy as np

from recollect.evaluation.learning import FeedbackOrigin, describe_left_out
from recollect.evaluation.report_text import MAX_LINE_WIDTH, format_p_value, format_share
from recollect.evaluation.tuned_profile import MeanFigure, MeasureRow, TunedNumber, TunedProfile, tuned_numbers
from recollect.evaluation.votes import WORTH_BY_USE
from recollect.model.format import format_count, make_printable
from recollect.render.styles import Paint, TextStyle, paint_plain
from recollect.render.table import TextTable, format_aligned

HELD_OUT_HEADER = ("", "before", "after", "gain", "95 %", "p")
NUMBERS_HEADER = ("number", "before", "after", "in the folds")


def format_tuning(tuned: TunedProfile, paint: Paint = paint_plain) -> Iterator[str]:
    """The report, one line after the other."""
    tuning, start = tuned.tuning, tuned.tuning.profile
    yield f"{start.name} {start.version} on {tuned.amount}, embedder {make_printable(tuned.embedder)}"
    if isinstance(tuned.origin, FeedbackOrigin):
        yield from _format_feedback(tuned.origin)
    yield ""
    yield paint(TextStyle.STRONG, f"held out by {tuned.origin.held_by}, in {format_count(len(tuning.folds), 'fold')}")
    yield from format_aligned(
        TextTable(HELD_OUT_HEADER, [_held_out_cells(row) for row in tuned.rows]), MAX_LINE_WIDTH, paint
    )
    yield ""
    yield paint(TextStyle.STRONG, "fitted to all, which flatters")
    rows = [(_row_name(row), _format_figure(row.before), _format_figure(row.after)) for row in tuned.rows]
    yield from format_aligned(TextTable(("", "before", "after"), rows), MAX_LINE_WIDTH, paint)
    yield ""
    yield from format_aligned(TextTable(NUMBERS_HEADER, list(_number_cells(tuned))), MAX_LINE_WIDTH, paint)
    yield ""
    yield from (paint(TextStyle.STRONG, line) for line in _format_warnings(tuned))
    yield _format_verdict(tuned)


def _format_warnings(tuned: TunedProfile) -> Iterator[str]:
    """What the folds do not agree on; a line, or none."""
    torn = [
        f"{_number_name(one)} ({_format_range(one.folds)})"
        for one in tuned_numbers(tuned.tuning)
        if one.tuned and not one.settled
    ]
    if torn:
        yield f"the folds do not agree on {', '.join(torn)}: {tuned.origin.remedy} before you rely on it"


def _format_verdict(tuned: TunedProfile) -> str:
    """Whether it carries over, in words."""
    if not tuned.tuning.changed:
        return "tuning found nothing: no change of a number gains anything worth having"
    gained = tuned.tuning.gain
    told = f"what was held out gained {gained.mean:+.4f}"
    if tuned.tuning.carries_over:
        return f"{told}, p {format_p_value(gained.p)}"
    why = "; chance alone may do as much" if gained.mean > 0.0 else ""
    return f"tuning found nothing that carries over: {told}{why}"


def _format_feedback(learned: FeedbackOrigin) -> Iterator[str]:
    """What was said in these contexts, which were left out, and how much less is looked at what stands further down."""
    uses = ", ".join(
        f"{count} {use.value}" for use in WORTH_BY_USE if (count := learned.votes.count_by_use.get(use, 0))
    )
    by = f", by {format_count(learned.votes.principals, 'principal')}" if learned.votes.principals else ""
    yield f"what was said: {uses}{by}"
    yield from (f"left out: {told}" for told in describe_left_out(learned.left_out))
    if learned.unplaced_contexts:
        contexts = format_count(learned.unplaced_contexts, "context")
        yield f"something was erased of {contexts}, so it is not made up for where things stood in them"
    fifth = learned.position_bias.propensities(np.array([5])).item()
    yield f"what stands fifth is looked at {fifth:.2f} times as often as what stands first, which is made up for"


def _held_out_cells(row: MeasureRow) -> tuple[str, ...]:
    gained = row.gain
    interval = f"[{gained.interval.low:+.3f}, {gained.interval.high:+.3f}]"
    return (
        _row_name(row),
        _format_figure(row.before),
        _format_figure(row.held_out),
        f"{gained.mean:+.3f}",
        interval,
        format_p_value(gained.p),
    )


def _row_name(row: MeasureRow) -> str:
    return row.measure if row.folder is None else f"{make_printable(row.folder)} {row.measure}"


def _format_figure(figure: MeanFigure) -> str:
    return f"{format_share(figure.mean)} [{format_share(figure.interval.low)}, {format_share(figure.interval.high)}]"


def _number_cells(tuned: TunedProfile) -> Iterator[tuple[str, ...]]:
    for one in tuned_numbers(tuned.tuning):
        told = _format_range(one.folds) if one.tuned else "kept: nothing here tells anything of it"
        yield _number_name(one), f"{one.before:.4g}", f"{one.after:.4g}", told


def _number_name(one: TunedNumber) -> str:
    return one.signal if one.what == "weight" else f"{one.signal}, {one.what}"


def _format_range(folds: Sequence[float]) -> str:
    return f"{min(folds):.4f} to {max(folds):.4f}"
