"""Plot: how long a search takes with ever more memories, as a drawing that can be read on light and dark pages."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

from peers.results import Results
from peers.roster import PEERS, Peer

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 520, 44, 392
"""The edges of the plot itself; labels are to its right."""

OURS = "recollect"
BETWEEN = 17
"""How far apart two labels are at least."""

COLOURS = ("#8a8f98", "#d6336c", "#e8590c", "#b08900", "#2f9e44", "#0c8599", "#1c7ed6", "#7048e8", "#a0522d")
"""Of middle brightness, so that each can be told from a white and from a black background."""

STYLE = """
  .panel { fill: #ffffff; stroke: #d0d4da }
  .grid { stroke: #e3e6ea }
  text { fill: #24292f; font: 12px system-ui, 'DejaVu Sans', sans-serif }
  .title { font-size: 14px; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .panel { fill: #16191d; stroke: #3a4048 }
    .grid { stroke: #2b3037 }
    text { fill: #d7dce2 }
  }
"""


def search(results: Results) -> str:
    """The drawing of the median search, both axes in powers of ten; a peer that did not finish ends earlier."""
    lines = _lines(results)
    if not lines:
        return _drawing(["<text x='40' y='60'>nothing is measured yet</text>"])
    sizes = sorted({rows for points in lines.values() for rows in points})
    values = [value for points in lines.values() for value in points.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    drawn = [f'<text class="title" x="{LEFT}" y="26">Median search for the best 10, in milliseconds</text>']
    for power in range(low, high + 1):
        height = _y(10.0**power, low, high)
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{10.0**power:,.10g}</text>')
    for rows in sizes:
        across = _x(rows, sizes)
        drawn.append(f'<line class="grid" x1="{across:.1f}" x2="{across:.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
        drawn.append(f'<text x="{across:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{rows:,} memories</text>')
    whole = {peer.name: points[sizes[-1]] for peer, points in lines.items() if sizes[-1] in points}
    labels = spread({name: _y(value, low, high) for name, value in whole.items()})
    colours = dict(zip(lines, cycle(COLOURS), strict=False))
    for peer in sorted(lines, key=lambda peer: peer.name == OURS):  # ours last, over the others
        path = [(_x(rows, sizes), _y(value, low, high)) for rows, value in sorted(lines[peer].items())]
        drawn += _line(peer, path, labels.get(peer.name), colours[peer])
    return _drawing(drawn)


def spread(wanted: Mapping[str, float], between: float = BETWEEN) -> dict[str, float]:
    """Heights in the same order, near to those wanted, none closer to the next than `between`."""
    names = sorted(wanted, key=lambda name: (wanted[name], name))
    heights: list[float] = []
    for name in names:
        heights.append(max(wanted[name], heights[-1] + between) if heights else wanted[name])
    over = max(0.0, heights[-1] - BOTTOM) if heights else 0.0
    for place in reversed(range(len(heights))):
        limit = heights[place + 1] - between if place + 1 < len(heights) else heights[place] - over
        heights[place] = min(heights[place], limit)
    return dict(zip(names, heights, strict=True))


def _lines(results: Results) -> dict[Peer, dict[int, float]]:
    lines = {}
    for peer in PEERS:
        known = results[peer.name].speed if peer.name in results else {}
        points = {rows: speed.p50 for rows, speed in known.items() if speed.p50 is not None}
        if points:
            lines[peer] = points
    return lines


def _line(peer: Peer, path: Sequence[tuple[float, float]], label: float | None, colour: str) -> list[str]:
    """The line of a peer with its name: in the column of names, or at its end if that is earlier."""
    wide, weight = (3.5, ' font-weight="600"') if peer.name == OURS else (1.8, "")
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
    x, y = path[-1]
    name = escape(peer.title.replace("*", "").replace("`", ""))
    line = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{wide}" stroke-linejoin="round"/>'
    dots = [f'<circle cx="{across:.1f}" cy="{height:.1f}" r="3" fill="{colour}"/>' for across, height in path]
    if label is None:
        # before its end and above it, where no line goes on and the column of names is far
        end = f'<text x="{x:.1f}" y="{y - 24:.1f}" text-anchor="end" fill="{colour}">{name}: more did not finish</text>'
        return [line, *dots, end]
    leader = f'<path d="M{x + 5:.1f} {y:.1f}L{RIGHT + 14} {label:.1f}" stroke="{colour}" stroke-dasharray="2 3"/>'
    return [line, *dots, leader, f'<text x="{RIGHT + 18}" y="{label + 4:.1f}"{weight}>{name}</text>']


def _x(rows: int, sizes: Sequence[int]) -> float:
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])
    share = (math.log10(rows) - first) / (last - first) if last > first else 0.5
    return LEFT + 20 + share * (RIGHT - LEFT - 40)


def _y(value: float, low: int, high: int) -> float:
    share = (math.log10(value) - low) / max(high - low, 1)
    return BOTTOM - share * (BOTTOM - TOP)


def _drawing(parts: Sequence[str]) -> str:
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"  <title>Median search time by number of memories</title>\n"
        f"  <style>{STYLE}  </style>\n"
        f'  <rect class="panel" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>\n'
        f"  {body}\n</svg>\n"
    )
