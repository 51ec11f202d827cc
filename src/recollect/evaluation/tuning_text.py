"""What tuning came to, in lines for people: what it is worth held out, fitted, and which numbers changed."""

from collections.abc import Iterator, Sequence

import numpy as np

from recollect.evaluation.learning import Learned, omissions
from recollect.evaluation.report_text import WIDEST, chance, share
from recollect.evaluation.tuned_profile import Figure, Number, Row, Tuned, numbers
from recollect.evaluation.votes import WORTH_OF
from recollect.model.format import counted, printable
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import Table, aligned

HELD_OUT = ("", "before", "after", "gain", "95 %", "p")
NUMBERS = ("number", "before", "after", "in the folds")


def report(tuned: Tuned, paint: Paint = plain) -> Iterator[str]:
    """The report, one line after the other."""
    tuning, start = tuned.tuning, tuned.tuning.profile
    yield f"{start.name} {start.version} on {tuned.amount}, embedder {printable(tuned.embedder)}"
    if isinstance(tuned.origin, Learned):
        yield from _heard(tuned.origin)
    yield ""
    yield paint(Look.STRONG, f"held out by {tuned.origin.held_by}, in {counted(len(tuning.folds), 'fold')}")
    yield from aligned(Table(HELD_OUT, [_held_out(row) for row in tuned.rows]), WIDEST, paint)
    yield ""
    yield paint(Look.STRONG, "fitted to all, which flatters")
    rows = [(_called(row), _shown(row.before), _shown(row.after)) for row in tuned.rows]
    yield from aligned(Table(("", "before", "after"), rows), WIDEST, paint)
    yield ""
    yield from aligned(Table(NUMBERS, list(_numbers(tuned))), WIDEST, paint)
    yield ""
    yield from (paint(Look.STRONG, line) for line in _warnings(tuned))
    yield _verdict(tuned)


def _warnings(tuned: Tuned) -> Iterator[str]:
    """What the folds do not agree on; a line, or none."""
    torn = [f"{_named(one)} ({_range(one.folds)})" for one in numbers(tuned.tuning) if one.tuned and not one.settled]
    if torn:
        yield f"the folds do not agree on {', '.join(torn)}: {tuned.origin.remedy} before you rely on it"


def _verdict(tuned: Tuned) -> str:
    """Whether it carries over, in words."""
    if not tuned.tuning.changed:
        return "tuning found nothing: no change of a number gains anything worth having"
    gained = tuned.tuning.gained
    told = f"what was held out gained {gained.mean:+.4f}"
    if tuned.tuning.carries_over:
        return f"{told}, p {chance(gained.p)}"
    why = "; chance alone may do as much" if gained.mean > 0.0 else ""
    return f"tuning found nothing that carries over: {told}{why}"


def _heard(learned: Learned) -> Iterator[str]:
    """What was said in these contexts, which were left out, and how much less is looked at what stands further down."""
    uses = ", ".join(f"{count} {use.value}" for use in WORTH_OF if (count := learned.heard.uses.get(use, 0)))
    by = f", by {counted(learned.heard.principals, 'principal')}" if learned.heard.principals else ""
    yield f"what was said: {uses}{by}"
    yield from (f"left out: {told}" for told in omissions(learned.left_out))
    if learned.unplaced:
        contexts = counted(learned.unplaced, "context")
        yield f"something was erased of {contexts}, so it is not made up for where things stood in them"
    fifth = learned.places.seen(np.array([5])).item()
    yield f"what stands fifth is looked at {fifth:.2f} times as often as what stands first, which is made up for"


def _held_out(row: Row) -> tuple[str, ...]:
    gained = row.gained
    interval = f"[{gained.interval.low:+.3f}, {gained.interval.high:+.3f}]"
    return (
        _called(row),
        _shown(row.before),
        _shown(row.held_out),
        f"{gained.mean:+.3f}",
        interval,
        chance(gained.p),
    )


def _called(row: Row) -> str:
    return row.measure if row.folder is None else f"{printable(row.folder)} {row.measure}"


def _shown(figure: Figure) -> str:
    return f"{share(figure.mean)} [{share(figure.interval.low)}, {share(figure.interval.high)}]"


def _numbers(tuned: Tuned) -> Iterator[tuple[str, ...]]:
    for one in numbers(tuned.tuning):
        told = _range(one.folds) if one.tuned else "kept: nothing here tells anything of it"
        yield _named(one), f"{one.before:.4g}", f"{one.after:.4g}", told


def _named(one: Number) -> str:
    return one.signal if one.what == "weight" else f"{one.signal}, {one.what}"


def _range(folds: Sequence[float]) -> str:
    return f"{min(folds):.4f} to {max(folds):.4f}"
