"""Plots: well-formed whatever is plotted, within their frame, and nothing in them that is markup."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation import html_report
from recollect.evaluation.html_report import PLOT_HEIGHT, PLOT_WIDTH, PlotBar
from tests.tables import table

names = st.text(max_size=40)
shares = st.floats(0.0, 1.0)
bars = st.tuples(shares, shares, shares).map(lambda three: PlotBar(sorted(three)[1], min(three), max(three)))


def parsed(plot: str) -> ET.Element:
    return ET.fromstring(plot)  # noqa: S314  # our own plot


def within(plot: str) -> bool:
    """Whether every point of every line and every bar lies within the frame."""
    root = parsed(plot)
    points = [pair.split(",") for one in root.iter("polyline") for pair in one.attrib["points"].split()]
    corners = [(one.attrib["x"], one.attrib["y"]) for one in root.iter("rect")]
    return all(0 <= float(x) <= PLOT_WIDTH and 0 <= float(y) <= PLOT_HEIGHT for x, y in [*points, *corners])


@given(st.lists(st.tuples(names, st.lists(bars, min_size=2, max_size=2)), min_size=1, max_size=12), names)
def test_bars_are_well_formed_whatever_they_are_called(groups: list[tuple[str, list[PlotBar]]], name: str) -> None:
    plot = html_report.plot_bars("title", groups, [name, "other"])
    assert within(plot)
    assert len(list(parsed(plot).iter("rect"))) == 2 * len(groups)


@given(st.lists(st.lists(shares, min_size=1, max_size=50), min_size=1, max_size=10), names)
def test_a_curve_is_well_formed_however_long_it_is(series: list[list[float]], name: str) -> None:
    assert within(html_report.plot_curves("title", [(name, values) for values in series]))


@given(st.lists(st.lists(st.integers(0, 10**9), max_size=20), min_size=1, max_size=10), names)
def test_budgets_are_well_formed_however_large_they_are(series: list[list[int]], name: str) -> None:
    plot = html_report.plot_served_queries("title", [(name, values, len(values) + 1) for values in series])
    assert (plot == "") == (not any(series))
    assert plot == "" or within(plot)


@table("needed", [[100], [100, 100], [1], [0]])
def test_a_single_budget_has_its_place(needed: list[int]) -> None:
    assert within(html_report.plot_served_queries("title", [("one", needed, 2)]))


def test_series_beyond_the_last_colour_begin_with_the_first_again() -> None:
    assert html_report.color_class(html_report.SERIES_COLORS) == html_report.color_class(0) == "s0"
