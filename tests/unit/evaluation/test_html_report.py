"""Tables of the page: what is read from a curve or a budget is what was measured."""

import math

from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.html_report import budget_rows, recall_rows
from recollect.evaluation.report import format_share
from tests.tables import table

shares = st.floats(0.0, 1.0)


@table(
    ("depth", "places"), [(1, [1]), (2, [1, 2]), (7, [1, 2, 5, 7]), (10, [1, 2, 5, 10]), (25, [1, 2, 5, 10, 20, 25])]
)
def test_recall_is_shown_at_round_places_and_at_the_last(depth: int, places: list[int]) -> None:
    curve = [place / depth for place in range(1, depth + 1)]
    assert recall_rows([curve, curve]) == [[str(k), *[format_share(k / depth)] * 2] for k in places]


def test_a_budget_serves_the_queries_that_need_no_more() -> None:
    needed = [[40.0, 100.0, 101.0, math.inf], [math.inf] * 4]
    assert budget_rows(needed) == [
        ["50", "0.250", "0.000"],
        ["100", "0.500", "0.000"],
        ["200", "0.750", "0.000"],
    ]


def test_without_a_query_that_any_budget_serves_there_is_no_row() -> None:
    assert budget_rows([[math.inf], []]) == []


@given(st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=20), min_size=1, max_size=5))
def test_the_last_budget_serves_all_and_none_serves_fewer_than_a_smaller_one(needed: list[list[int]]) -> None:
    rows = budget_rows([sorted(map(float, series)) for series in needed])
    assert set(rows[-1][1:]) == {"1.000"}
    assert all(list(column) == sorted(column) for column in zip(*(row[1:] for row in rows), strict=True))
