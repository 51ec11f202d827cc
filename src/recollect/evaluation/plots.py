"""Plots as SVG: bars with their intervals, the curve of recall, and how many queries a budget serves."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from recollect.model.format import make_printable, shorten

PLOT_WIDTH, PLOT_HEIGHT = 760, 270
LEFT_MARGIN, RIGHT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 44, 28, 12, 30
"""The room around what is plotted, for the axes and what they say."""

SERIES_COLORS = 8
"""How many series have a colour of their own."""

MAX_LABEL_CHARS = 24
GRID_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class PlotBar:
    """A share, and between which it may lie."""

    value: float
    low: float
    high: float


def color_class(place: int) -> str:
    """The class of the series' colour."""
    return f"s{place % SERIES_COLORS}"


def plot_bars(title: str, groups: Sequence[tuple[str, Sequence[PlotBar]]], series: Sequence[str]) -> str:
    """A group of bars for each label, a bar for each series, with whiskers for the interval."""
    room = (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) / len(groups)
    wide = min(0.8 * room / len(series), 56.0)
    parts: list[str] = []
    for place, (label, values) in enumerate(groups):
        middle = LEFT_MARGIN + room * (place + 0.5)
        parts.append(_svg_text(middle, PLOT_HEIGHT - BOTTOM_MARGIN + 18, _shorten_label(label, room), "middle"))
        for number, (name, bar) in enumerate(zip(series, values, strict=True)):
            left = middle + (number - len(series) / 2) * wide
            told = f"{name}, {label}: {bar.value:.3f} [{bar.low:.3f}, {bar.high:.3f}]"
            parts.append(_svg_bar(left, wide, bar, color_class(number), told))
    return _svg_image(title, [*_svg_share_axis(), *parts])


def plot_curves(title: str, series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """The share among the first 1, 2, 3, … of each series."""
    longest = max(len(values) for _, values in series)

    def across(k: int) -> float:
        return LEFT_MARGIN + (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * (k - 1) / max(longest - 1, 1)

    ticks = sorted({1, longest, *range(10, longest, 10)})
    marks = [_svg_tick(across(k), str(k)) for k in ticks]
    lines = [
        _svg_line(
            [(across(k), _share_to_y(value)) for k, value in enumerate(values, start=1)], color_class(place), name
        )
        for place, (name, values) in enumerate(series)
    ]
    return _svg_image(title, [*_svg_share_axis(), *marks, *lines])


def plot_served_queries(title: str, series: Sequence[tuple[str, Sequence[int], int]]) -> str:
    """The share of queries that a budget serves, of each series: its name, the budgets needed, and of how many."""
    needed = [tokens for _, values, _ in series for tokens in values]
    if not needed:
        return ""
    steps = [step * 10**power for power in range(12) for step in (1, 2, 5)]
    after = bisect_left(steps, max(*needed, 2))
    budgets = steps[bisect_right(steps, max(min(needed), 1)) - 1 : after + 1]
    first, last = math.log10(budgets[0]), math.log10(budgets[-1])

    def across(tokens: int) -> float:
        return LEFT_MARGIN + (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * (math.log10(max(tokens, 1)) - first) / max(
            last - first, 1e-9
        )

    marks = [_svg_tick(across(one), f"{one:,}".replace(",", " ")) for one in budgets]
    lines: list[str] = []
    for place, (name, values, queries) in enumerate(series):
        points, height = [(float(LEFT_MARGIN), _share_to_y(0.0))], _share_to_y(0.0)
        for done, tokens in enumerate(sorted(values), start=1):
            points.append((across(tokens), height))
            height = _share_to_y(done / queries)
            points.append((across(tokens), height))
        lines.append(_svg_line([*points, (float(PLOT_WIDTH - RIGHT_MARGIN), height)], color_class(place), name))
    return _svg_image(title, [*_svg_share_axis(), *marks, *lines])


def _share_to_y(value: float) -> float:
    """How far down a share is drawn."""
    return TOP_MARGIN + (PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN) * (1.0 - value)


def _shorten_label(label: str, room: float) -> str:
    return shorten(label, max(min(int(room / 7), MAX_LABEL_CHARS), 3))


def _svg_text(x: float, y: float, said: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>'


def _svg_tick(x: float, said: str) -> str:
    foot = PLOT_HEIGHT - BOTTOM_MARGIN
    mark = f'<line class="axis" x1="{x:.1f}" y1="{foot}" x2="{x:.1f}" y2="{foot + 4}"/>'
    return mark + _svg_text(x, foot + 18, said, "middle")


def _svg_share_axis() -> Iterable[str]:
    for share in GRID_SHARES:
        y = _share_to_y(share)
        yield f'<line class="grid" x1="{LEFT_MARGIN}" y1="{y:.1f}" x2="{PLOT_WIDTH - RIGHT_MARGIN}" y2="{y:.1f}"/>'
        yield _svg_text(LEFT_MARGIN - 6, y + 4, f"{share:.2f}", "end")


def _svg_bar(left: float, wide: float, bar: PlotBar, look: str, told: str) -> str:
    top, middle, cap = _share_to_y(bar.value), left + wide / 2, min(wide / 4, 5.0)
    whisker = (
        f"M{middle:.1f} {_share_to_y(bar.low):.1f}V{_share_to_y(bar.high):.1f}"
        f"M{middle - cap:.1f} {_share_to_y(bar.low):.1f}h{2 * cap:.1f}"
        f"M{middle - cap:.1f} {_share_to_y(bar.high):.1f}h{2 * cap:.1f}"
    )
    return (
        f"<g><title>{escape(make_printable(told))}</title>"
        f'<rect class="{look}" x="{left + 1:.1f}" y="{top:.1f}" width="{max(wide - 2, 1):.1f}" '
        f'height="{_share_to_y(0.0) - top:.1f}"/><path class="whisker" d="{whisker}"/></g>'
    )


def _svg_line(points: Sequence[tuple[float, float]], look: str, name: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<g><title>{escape(make_printable(name))}</title><polyline class="line {look}" points="{path}"/></g>'


def _svg_image(title: str, parts: Iterable[str]) -> str:
    drawn = "\n".join(parts)
    return f'<svg viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" role="img" aria-label="{escape(title)}">\n{drawn}\n</svg>'
