"""Candidates as columns, and back."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from recollect.errors import FieldError
from recollect.model import limits
from recollect.model.candidate import Candidate
from recollect.model.memory import Kind, MemoryId
from recollect.ranking.table import Table
from recollect.testing import NOW, a_candidate, a_memory
from tests.unit.ranking.strategies import candidates


@given(candidates(max_size=8))
def test_a_candidate_comes_back_from_its_columns_as_it_was_but_for_its_vector(pool: list[Candidate]) -> None:
    table = Table.of(pool)
    assert len(table) == len(pool)
    assert [table.candidate(row) for row in range(len(pool))] == [replace(one, vector=None) for one in pool]


def test_what_a_reader_is_shown_is_not_kept_in_columns() -> None:
    shown = a_candidate(memory=a_memory())
    assert Table.of([shown]).candidate(0) == replace(shown, memory=None)


def test_a_field_without_a_column_is_unknown() -> None:
    assert Table(ids=[MemoryId("a")]).candidate(0) == a_candidate("a")
    assert not Table(ids=[MemoryId("a")]).questioned


def test_taking_rows_takes_them_from_every_column() -> None:
    pool = [
        a_candidate(id, similarity=0.5, created_at=NOW, kind=Kind.FACT, vector=(n, 2.0))
        for n, id in enumerate("abc", 1)
    ]
    taken = replace(Table.of(pool), similarity_error=0.1).take(np.array([2, 0]))
    assert [taken.candidate(row) for row in (0, 1)] == [replace(pool[2], vector=None), replace(pool[0], vector=None)]
    assert taken.vectors is not None
    assert taken.vectors.tolist() == [[3.0, 2.0], [1.0, 2.0]]
    assert taken.similarity_error == 0.1
    assert Table(ids=[MemoryId("a")]).take(np.array([0])) == Table(ids=[MemoryId("a")])


@pytest.mark.parametrize("arm", ["similarity", "lexical", "relevance"])
def test_a_question_shows_in_any_of_its_arms(arm: str) -> None:
    evidence: dict[str, Any] = {arm: 0.0}
    assert Table.of([a_candidate("a"), a_candidate("b", **evidence)]).questioned
    assert not Table.of([a_candidate("a", importance=0.5)]).questioned


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("importance", 1.5, "field 'importance': 1.5 is not within 0..1"),
        ("importance", np.inf, "field 'importance': inf"),
        ("similarity", -1.1, "field 'similarity': -1.1 is not within -1..1"),
        ("served", -1.0, "field 'served': -1.0 is not within 0..9.0072e"),
        ("magic", 0.5, "field 'magic': no column is called so; known are similarity"),
    ],
)
def test_a_column_with_an_impossible_value_is_refused(column: str, value: float, complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        Table(ids=[MemoryId("a")], numbers={column: np.array([value])})


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"numbers": {"served": np.array([1.5])}}, "field 'served': some values are no whole numbers"),
        ({"dates": {"created_at": np.array([np.inf])}}, "field 'created_at': inf is not within"),
        ({"dates": {"created_at": np.array([1e18])}}, "field 'created_at': 1e.18 is not within"),
        (
            {"dates": {"written_at": np.array([0.0])}},
            "field 'written_at': no column is called so; known are created_at",
        ),
        ({"dates": {"creatd_at": np.array([0.0])}}, "field 'creatd_at': .*did you mean 'created_at'"),
        ({"numbers": {"created_at": np.array([0.0])}}, "field 'created_at': no column is called so; known are sim"),
        ({"dates": {"created_at": np.array([0.5])}}, "field 'created_at': some values are no whole numbers"),
        ({"vectors": np.array([0.5])}, "field 'vector': 1 axes; give a row for each id"),
        ({"kinds": np.array([16], dtype=np.int8)}, "field 'kind': 16 is not within -1..15"),
        ({"kinds": np.array([-2], dtype=np.int8)}, "field 'kind': -2 is not within -1..15"),
        ({"similarity_error": -1.0}, "field 'similarity_error': -1.0 is no error"),
        ({"similarity_error": np.nan}, "field 'similarity_error': nan is no error"),
        ({"similarity_error": np.inf}, "field 'similarity_error': inf is no error"),
    ],
)
def test_a_table_that_cannot_be_cannot_be_made(columns: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        Table(ids=[MemoryId("a")], **columns)


@pytest.mark.parametrize("column", ["numbers", "dates", "kinds", "vectors"])
def test_a_column_of_another_length_is_refused(column: str) -> None:
    columns = {
        "numbers": {"importance": np.zeros(2)},
        "dates": {"created_at": np.zeros(2)},
        "kinds": np.zeros(2, dtype=np.int8),
        "vectors": np.zeros((2, 3)),
    }
    with pytest.raises(FieldError, match="2 values for 1 ids"):
        Table(ids=[MemoryId("a")], **{column: columns[column]})  # type: ignore[arg-type]


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(FieldError, match="'b' is there twice"):
        Table(ids=[MemoryId(id) for id in "abcb"])


@pytest.mark.parametrize("moment", [limits.EARLIEST, limits.LATEST - timedelta(microseconds=1), NOW])
def test_a_date_is_exact_to_the_microsecond_from_the_first_to_the_last(moment: datetime) -> None:
    assert Table.of([a_candidate(created_at=moment)]).candidate(0).created_at == moment


def test_rows_with_equal_inputs_are_known_as_equal_even_where_they_are_silent() -> None:
    pool = [a_candidate(id, similarity=0.5, salience=s) for id, s in (("a", None), ("b", None), ("c", 0.1))]
    read = Table.of(pool).inputs(np.array([0, 1, 2]), {"similarity", "salience", "kind", "created_at"})
    assert read[0] == read[1] != read[2]
    assert Table.of(pool).inputs(np.array([0, 2]), {"similarity"})[0] == (0.5,)
    assert Table.of(pool).inputs(np.array([0, 2]), set()) == [(), ()]
