"""An evaluation as one self-contained HTML page: no scripts, no other files, no network.

The plots are SVG: bars with confidence intervals, the recall curve, and the share of queries that a token budget
serves.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from recollect.evaluation import report
from recollect.evaluation.report import EvaluationReport, MeanFigures, ProfileComparison, ProfileEvaluation, QueryAnswer
from recollect.model.format import make_printable, shorten

PLOT_WIDTH, PLOT_HEIGHT = 760, 270
LEFT_MARGIN, RIGHT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 44, 28, 12, 30
"""The margins around a plot, for the axes and their labels."""

SERIES_COLORS = 8
"""How many series have a color of their own."""

MAX_LABEL_CHARS = 24
GRID_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class PlotBar:
    """A share with its confidence interval."""

    value: float
    low: float
    high: float


def color_class(place: int) -> str:
    """Return the CSS class with the color of a series."""
    return f"s{place % SERIES_COLORS}"


def plot_bars(title: str, groups: Sequence[tuple[str, Sequence[PlotBar]]], series: Sequence[str]) -> str:
    """Plot a group of bars for each label, one bar a series, with whiskers for the interval."""
    room = (PLOT_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) / len(groups)
    width = min(0.8 * room / len(series), 56.0)
    label_chars = max(min(int(room / 7), MAX_LABEL_CHARS), 3)
    parts: list[str] = []
    for place, (label, values) in enumerate(groups):
        middle = LEFT_MARGIN + room * (place + 0.5)
        parts.append(_svg_text(middle, PLOT_HEIGHT - BOTTOM_MARGIN + 18, shorten(label, label_chars), "middle"))
        for number, (name, bar) in enumerate(zip(series, values, strict=True)):
            left = middle + (number - len(series) / 2) * width
            tooltip = f"{name}, {label}: {bar.value:.3f} [{bar.low:.3f}, {bar.high:.3f}]"
            parts.append(_svg_bar(left, width, bar, color_class(number), tooltip))
    return _svg_image(title, [*_svg_share_axis(), *parts])


def plot_curves(title: str, series: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Plot the recall of each series among the first 1, 2, 3, … results."""
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
    """Plot the share of queries that a token budget serves, for each series.

    A series has a name, the budgets its queries need, and the number of all its queries.
    """
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
    """Return the y coordinate of a share."""
    return TOP_MARGIN + (PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN) * (1.0 - value)


def _svg_text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg_tick(x: float, label: str) -> str:
    foot = PLOT_HEIGHT - BOTTOM_MARGIN
    mark = f'<line class="axis" x1="{x:.1f}" y1="{foot}" x2="{x:.1f}" y2="{foot + 4}"/>'
    return mark + _svg_text(x, foot + 18, label, "middle")


def _svg_share_axis() -> Iterable[str]:
    for share in GRID_SHARES:
        y = _share_to_y(share)
        yield f'<line class="grid" x1="{LEFT_MARGIN}" y1="{y:.1f}" x2="{PLOT_WIDTH - RIGHT_MARGIN}" y2="{y:.1f}"/>'
        yield _svg_text(LEFT_MARGIN - 6, y + 4, f"{share:.2f}", "end")


def _svg_bar(left: float, width: float, bar: PlotBar, css_class: str, tooltip: str) -> str:
    top, middle, cap = _share_to_y(bar.value), left + width / 2, min(width / 4, 5.0)
    whisker = (
        f"M{middle:.1f} {_share_to_y(bar.low):.1f}V{_share_to_y(bar.high):.1f}"
        f"M{middle - cap:.1f} {_share_to_y(bar.low):.1f}h{2 * cap:.1f}"
        f"M{middle - cap:.1f} {_share_to_y(bar.high):.1f}h{2 * cap:.1f}"
    )
    return (
        f"<g><title>{escape(make_printable(tooltip))}</title>"
        f'<rect class="{css_class}" x="{left + 1:.1f}" y="{top:.1f}" width="{max(width - 2, 1):.1f}" '
        f'height="{_share_to_y(0.0) - top:.1f}"/><path class="whisker" d="{whisker}"/></g>'
    )


def _svg_line(points: Sequence[tuple[float, float]], css_class: str, name: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<g><title>{escape(make_printable(name))}</title><polyline class="line {css_class}" points="{path}"/></g>'


def _svg_image(title: str, parts: Iterable[str]) -> str:
    drawn = "\n".join(parts)
    return f'<svg viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" role="img" aria-label="{escape(title)}">\n{drawn}\n</svg>'


MAX_WORST_QUERIES = 20
"""How many of the worst queries are shown."""

MAX_TOP_MEMORIES = 5
"""How many of the top results are shown for a query."""

MAX_TEXT_CHARS = 280
"""How many characters of a text are shown."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --faint: #667085; --paper: #ffffff; --grid: #e4e7ec; --panel: #f8f9fb;
  --c0: #2563eb; --c1: #d97706; --c2: #0f9b76; --c3: #b83280; --c4: #6d4fc4;
  --c5: #0891b2; --c6: #a16207; --c7: #64748b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --faint: #98a2b3; --paper: #14171d; --grid: #2c323c;
  --panel: #1b1f27; --c0: #6d9dfc; --c1: #f0a94a; --c2: #3cc79f; --c3: #ec7fbd; --c4: #a78bfa; --c5: #4cc9e4;
  --c6: #d3a54a; --c7: #9aa7b8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
p, li { max-width: 46rem; }
.faint, figcaption, dt { color: var(--faint); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; }
thead th { color: var(--faint); font-weight: 500; }
td small { color: var(--faint); }
td ol { margin: 0; padding-left: 1.2rem; }
td li, .said { overflow-wrap: anywhere; }
table.worst { table-layout: fixed; font-size: .87rem; }
figure { margin: 1rem 0; padding: .75rem; background: var(--panel); border: 1px solid var(--grid);
  border-radius: .5rem; }
figcaption { font-size: .87rem; margin-bottom: .4rem; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--faint); }
.grid, .axis { stroke: var(--grid); stroke-width: 1; }
.whisker { stroke: var(--ink); stroke-width: 1.3; fill: none; }
.line { fill: none !important; stroke-width: 2; stroke-linejoin: round; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: .15em; margin-right: .35em; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: 0 0 .4rem; padding: 0; }
""" + "\n".join(
    f".s{n} {{ fill: var(--c{n}); stroke: var(--c{n}); background: var(--c{n}); }} rect.s{n} {{ stroke: none; }}"
    for n in range(SERIES_COLORS)
)

READING_GUIDE = (
    "recall@k is the mean share of a query's judged memories among the first k; any@k is the share of queries with at "
    "least one of them there; nDCG@k rewards early places, as a share of the best possible order; MRR is the mean of 1 "
    "over the place of the first one. All are means over queries; the mean over categories counts every category the "
    "same. Intervals are 95 % bootstrap intervals over queries. Tokens needed are the budget that packs every judged "
    "memory within reach in rank order. Latency is the time of a whole search to the depth, including the embedding of "
    "the query."
)


def render_page(report: EvaluationReport) -> str:
    """Return the whole page."""
    title = f"Evaluation of {', '.join(outcome.profile for outcome in report.outcomes)} on {_folder_name(report)}"
    body = "\n".join([*_render_head(title, report), *_render_body(report)])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
        f"<title>{_escape_line(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _render_head(title: str, report: EvaluationReport) -> Iterable[str]:
    judgments = report.judgments
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    facts = {
        "folder": _escape_line(_folder_name(report)),
        "memories": str(len(judgments.memories)),
        "queries": f"{len(judgments.queries)}, with {judgments.pairs} judged memories",
        "profiles": _escape_line(", ".join(f"{one.profile} (version {one.version})" for one in report.outcomes)),
        "embedder": _escape_line(report.embedder),
        "depth": f"{report.outcomes[0].depth} of each ranking, which is "
        f"{'exact' if all(one.exact for one in report.outcomes) else 'not exact'}",
        "made": f"{report.made_at:%Y-%m-%d %H:%M} UTC, {_escape_line(versions)}",
        "command": f"<code>{_escape_line(report.command)}</code>",
        "digest": f"<code>{judgments.digest}</code>",
    }
    yield f"<h1>{_escape_line(title)}</h1>"
    yield f"<dl>{''.join(f'<dt>{name}</dt><dd>{fact}</dd>' for name, fact in facts.items())}</dl>"
    if report.notes:
        yield f"<ul>{''.join(f'<li>{_escape_line(note)}</li>' for note in report.notes)}</ul>"


def _render_body(report: EvaluationReport) -> Iterable[str]:
    outcomes = report.outcomes
    names = [outcome.profile for outcome in outcomes]
    wholes = [outcome.overall for outcome in outcomes]
    legend = _render_legend(names)
    yield "<h2>Figures</h2>"
    yield _render_table(["", *names], _figure_rows(wholes))
    bars = [(name, [_interval_bar(whole, name) for whole in wholes]) for name in wholes[0].means]
    yield _render_figure("Every measure, with its 95 % interval", legend, plot_bars("Measures by profile", bars, names))
    curves = [(outcome.profile, outcome.curve) for outcome in outcomes]
    yield _render_figure(
        f"Recall among the first 1 to {len(outcomes[0].curve)}", legend, plot_curves("Recall by k", curves)
    )
    budgets = [
        (one.profile, [answer.tokens for answer in one.answers if answer.tokens is not None], len(one.answers))
        for one in outcomes
    ]
    yield _render_figure(
        "Share of queries whose judged memories within reach fit into a token budget",
        legend,
        plot_served_queries("Queries served by a budget", budgets),
    )
    if report.comparison is not None:
        yield from _render_comparison(report.comparison)
    yield from _render_categories(outcomes, legend)
    yield from _render_worst(report)
    yield f'<h2>How to read this</h2><p class="faint">{_escape_line(READING_GUIDE)}</p>'


def _figure_rows(wholes: Sequence[MeanFigures]) -> list[list[str]]:
    measured = [[name, *(_mean_cell(whole, name) for whole in wholes)] for name in wholes[0].means]
    others = [report.other_figures(whole) for whole in wholes]
    return measured + [[_escape_line(name), *(_escape_line(cells[name]) for cells in others)] for name in others[0]]


def _render_categories(outcomes: Sequence[ProfileEvaluation], legend: str) -> Iterable[str]:
    names = [outcome.profile for outcome in outcomes]
    k = outcomes[0].k
    measures = (f"recall@{k}", f"ndcg@{k}", "mrr")
    yield "<h2>By category</h2>"
    groups = [
        (category, [_interval_bar(outcome.categories[category], measures[0]) for outcome in outcomes])
        for category in outcomes[0].categories
    ]
    yield _render_figure(
        f"{measures[0]} by category, with its 95 % interval", legend, plot_bars(measures[0], groups, names)
    )
    rows = [
        [_escape_line(category), str(outcome.categories[category].queries), _escape_line(outcome.profile)]
        + [_mean_cell(outcome.categories[category], name) for name in measures]
        + [_escape_line(report.other_figures(outcome.categories[category])[report.MEDIAN_TOKENS])]
        for category in outcomes[0].categories
        for outcome in outcomes
    ]
    rows += [
        [report.MEAN_OVER_CATEGORIES, str(outcome.overall.queries), _escape_line(outcome.profile)]
        + [report.format_share(outcome.category_means[name]) for name in measures]
        + [report.NO_FIGURE]
        for outcome in outcomes
    ]
    yield _render_table(["category", "queries", "profile", *measures, report.MEDIAN_TOKENS], rows)


def _render_comparison(comparison: ProfileComparison) -> Iterable[str]:
    yield f"<h2>What {_escape_line(comparison.other)} gains over {_escape_line(comparison.one)}</h2>"
    rows = [
        [
            name,
            f"{found.mean:+.3f} <small>[{found.interval.low:+.3f}, {found.interval.high:+.3f}]</small>",
            escape(report.format_p_value(found.p)),
            *map(str, (found.wins, found.losses, found.ties)),
        ]
        for name, found in comparison.differences.items()
    ]
    yield _render_table(["", "gain", "p", "queries won", "lost", "tied"], rows)
    yield '<p class="faint">p is from a paired randomization test over queries, for each measure by itself.</p>'


def _render_worst(report: EvaluationReport) -> Iterable[str]:
    texts = report.judgments.texts
    yield "<h2>Queries with the worst results</h2>"
    for outcome in report.outcomes:
        worst = outcome.worst_answers(MAX_WORST_QUERIES)
        yield f"<h3>{_escape_line(outcome.profile)}</h3>"
        if not worst:
            yield f"<p>Every judged memory is among the first {outcome.k}.</p>"
            continue
        rows = [[_query_cell(answer), _expected_cell(answer, texts), _found_cell(answer, texts)] for answer in worst]
        yield _render_table(["query", "expected, and its place", "what came first"], rows, css_class="worst")


def _query_cell(answer: QueryAnswer) -> str:
    query = answer.query
    facts = f"{query.id}, {query.category}, {query.scope}, {query.asked_at:%Y-%m-%d}"
    return f'<div class="said">{_escape_short(query.text)}</div><small>{_escape_line(facts)}</small>'


def _expected_cell(answer: QueryAnswer, texts: Mapping[str, str]) -> str:
    def render_judgment(id: str) -> str:
        text = _escape_short(texts[id]) if id in texts else "not in the folder"
        place = answer.find_place(id)
        reason = "replaced by a later one" if id in answer.replaced_ids else "not found"
        return f"<li>{text} <small>{_escape_line(id)}, {reason if place is None else f'place {place}'}</small></li>"

    return f"<ol>{''.join(map(render_judgment, answer.query.grades))}</ol>"


def _found_cell(answer: QueryAnswer, texts: Mapping[str, str]) -> str:
    items = [
        f"<li>{_escape_short(texts[id])} <small>{_escape_line(id)}</small></li>"
        for id in answer.found_ids[:MAX_TOP_MEMORIES]
    ]
    return f"<ol>{''.join(items)}</ol>" if items else "nothing"


def _mean_cell(figures: MeanFigures, name: str) -> str:
    interval = figures.intervals[name]
    ends = f"[{report.format_share(interval.low)}, {report.format_share(interval.high)}]"
    return f"{report.format_share(figures.means[name])} <small>{ends}</small>"


def _interval_bar(figures: MeanFigures, name: str) -> PlotBar:
    interval = figures.intervals[name]
    return PlotBar(figures.means[name], interval.low, interval.high)


def _render_legend(names: Sequence[str]) -> str:
    keys = [f'<li><span class="key {color_class(n)}"></span>{_escape_line(name)}</li>' for n, name in enumerate(names)]
    return f'<ul class="legend">{"".join(keys)}</ul>'


def _render_figure(caption: str, legend: str, plot: str) -> str:
    return f"<figure><figcaption>{_escape_line(caption)}</figcaption>{legend}{plot}</figure>" if plot else ""


def _render_table(header: Sequence[str], rows: Sequence[Sequence[str]], css_class: str = "plain") -> str:
    """Return a table whose cells are already HTML; the header is escaped."""
    head = "".join(f"<th>{_escape_line(name)}</th>" for name in header)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f'<table class="{css_class}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _folder_name(report: EvaluationReport) -> str:
    return report.judgments.folder.resolve().name


def _escape_line(text: str) -> str:
    """Return the text on one line, escaped for HTML and for control characters."""
    return escape(make_printable(text))


def _escape_short(text: str) -> str:
    return escape(shorten(text, MAX_TEXT_CHARS))
