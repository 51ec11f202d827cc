"""An evaluation as one self-contained HTML page: no scripts, no other files, no network, and no plots, only tables."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from recollect.evaluation import report
from recollect.evaluation.report import EvaluationReport, MeanFigures, ProfileComparison, ProfileEvaluation, QueryAnswer
from recollect.model.format import make_printable, shorten

ROUND_NUMBERS = [step * 10**power for power in range(12) for step in (1, 2, 5)]
"""The places and token budgets that have a row: 1, 2, 5, 10, 20, 50 and so on."""

MAX_WORST_QUERIES = 20
"""How many of the worst queries are shown."""

MAX_TOP_MEMORIES = 5
"""How many of the top results are shown for a query."""

MAX_TEXT_CHARS = 280
"""How many characters of a text are shown."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --faint: #667085; --paper: #ffffff; --grid: #e4e7ec; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --faint: #98a2b3; --paper: #14171d; --grid: #2c323c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
p, li { max-width: 46rem; }
.faint, dt { color: var(--faint); }
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
"""

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
    yield "<h2>Figures</h2>"
    yield _render_table(["", *names], _figure_rows(wholes))
    yield "<h2>Recall by k</h2>"
    yield _render_table(["among the first", *names], recall_rows([one.curve for one in outcomes]))
    yield "<h2>Queries served by a budget</h2>"
    yield '<p class="faint">The share of queries whose judged memories within reach fit into so many tokens.</p>'
    yield _render_table(["tokens", *names], budget_rows([_needed_tokens(one) for one in outcomes]))
    if report.comparison is not None:
        yield from _render_comparison(report.comparison)
    yield from _render_categories(outcomes)
    yield from _render_worst(report)
    yield f'<h2>How to read this</h2><p class="faint">{_escape_line(READING_GUIDE)}</p>'


def _figure_rows(wholes: Sequence[MeanFigures]) -> list[list[str]]:
    measured = [[name, *(_mean_cell(whole, name) for whole in wholes)] for name in wholes[0].means]
    others = [report.other_figures(whole) for whole in wholes]
    return measured + [[_escape_line(name), *(_escape_line(cells[name]) for cells in others)] for name in others[0]]


def recall_rows(curves: Sequence[Sequence[float]]) -> list[list[str]]:
    """Return the recall among the first 1, 2, 5, 10, … results, and among all that were asked for."""
    depth = len(curves[0])
    places = [*ROUND_NUMBERS[: bisect_left(ROUND_NUMBERS, depth)], depth]
    return [[str(k), *(report.format_share(curve[k - 1]) for curve in curves)] for k in places]


def _needed_tokens(outcome: ProfileEvaluation) -> list[float]:
    """Return the budget that each query needs, in order; one that no budget serves needs infinitely many."""
    return sorted(math.inf if answer.tokens is None else answer.tokens for answer in outcome.answers)


def budget_rows(needed: Sequence[Sequence[float]]) -> list[list[str]]:
    """Return the share of queries that each round budget serves, from the smallest that serves any to the largest."""
    finite = [tokens for series in needed for tokens in series if math.isfinite(tokens)]
    if not finite:
        return []
    first, last = (bisect_left(ROUND_NUMBERS, end) for end in (min(finite), max(finite)))
    return [
        [f"{budget:,}", *(report.format_share(bisect_right(series, budget) / len(series)) for series in needed)]
        for budget in ROUND_NUMBERS[first : last + 1]
    ]


def _render_categories(outcomes: Sequence[ProfileEvaluation]) -> Iterable[str]:
    k = outcomes[0].k
    measures = (f"recall@{k}", f"ndcg@{k}", "mrr")
    yield "<h2>By category</h2>"
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
