"""Candidates as columns, and back."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from recollect.errors import FieldError, ScopeError
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import NO_LABEL, CandidateTable, Labels
from recollect.testing import NOW, a_candidate, a_memory
from tests.tables import table
from tests.unit.ranking.strategies import candidates


@given(candidates(max_size=8))
def test_a_candidate_comes_back_from_its_columns_as_it_was_but_for_its_vector(pool: list[Candidate]) -> None:
    table = CandidateTable.of(pool)
    assert len(table) == len(pool)
    assert [table.candidate(row) for row in range(len(pool))] == [replace(one, vector=None) for one in pool]


def test_what_a_reader_is_shown_is_not_kept_in_columns() -> None:
    shown = a_candidate(memory=a_memory())
    assert CandidateTable.of([shown]).candidate(0) == replace(shown, memory=None)


def test_a_field_without_a_column_is_unknown() -> None:
    assert CandidateTable(ids=[MemoryId("a")]).candidate(0) == a_candidate("a")


def test_taking_rows_takes_them_from_every_column() -> None:
    pool = [
        a_candidate(
            id, similarity=0.5, created_at=NOW, kind=Kind.FACT, vector=(n, 2.0), session="rst"[n - 1], speaker="Ana"
        )
        for n, id in enumerate("abc", 1)
    ]
    taken = replace(CandidateTable.of(pool), similarity_error=0.1).take(np.array([2, 0]))
    assert [taken.candidate(row) for row in (0, 1)] == [replace(pool[2], vector=None), replace(pool[0], vector=None)]
    assert taken.vectors is not None
    assert taken.vectors.tolist() == [[3.0, 2.0], [1.0, 2.0]]
    assert taken.similarity_error == 0.1
    assert CandidateTable(ids=[MemoryId("a")]).take(np.array([0])) == CandidateTable(ids=[MemoryId("a")])


def test_a_number_comes_back_as_a_candidate_would_have_it() -> None:
    table = CandidateTable(ids=[MemoryId("a")], numbers={"similarity": np.array([-0.0]), "served": np.array([3.0])})
    candidate = table.candidate(0)
    assert (str(candidate.similarity), candidate.served, type(candidate.served)) == ("0.0", 3, int)
    assert candidate == replace(candidate)


def test_many_candidates_come_back_in_the_order_asked_for_with_the_true_similarities_if_they_are_given() -> None:
    table = CandidateTable.of([a_candidate(id, similarity=0.5, importance=n / 4) for n, id in enumerate("abc")])
    assert table.candidates([]) == []
    assert table.candidates([2, 0]) == [
        a_candidate("c", similarity=0.5, importance=0.5),
        a_candidate("a", similarity=0.5, importance=0.0),
    ]
    assert table.candidates([1, 2], np.array([0.25, np.nan])) == [
        a_candidate("b", similarity=0.25, importance=0.25),
        a_candidate("c", importance=0.5),
    ]


def test_a_similarity_that_is_no_cosine_makes_no_candidate() -> None:
    rough = CandidateTable(ids=[MemoryId("a")], numbers={"similarity": np.array([1.00002])}, similarity_error=2.3e-5)
    with pytest.raises(FieldError, match=r"field 'similarity': 1.00002 is not within"):
        rough.candidate(0)
    assert rough.candidates([0], np.array([1.0])) == [a_candidate("a", similarity=1.0)]
    with pytest.raises(FieldError, match=r"field 'similarity': 1.5 is not within"):
        rough.candidates([0], np.array([1.5]))
    with pytest.raises(FieldError, match="field 'similarity': has 2 values for 1 ids"):
        rough.candidates([0], np.array([0.5, 0.5]))
    with pytest.raises(FieldError, match=r"field 'similarity': 1.00003 is not within"):
        replace(rough, numbers={"similarity": np.array([1.00003])})


def test_columns_that_are_trusted_are_not_looked_at_again() -> None:
    ids, importance = [MemoryId(" "), MemoryId(" ")], np.array([7.0, 7.0])
    table = CandidateTable.from_checked(ids=ids, numbers={"importance": importance}, dates={})
    assert (table.ids, table.numbers["importance"], table.dates, len(table)) == (ids, importance, {}, 2)
    assert (table.kinds, table.vectors, table.similarity_error) == (None, None, 0.0)
    assert len(table.take(np.array([1, 0]))) == 2
    with pytest.raises(FieldError):
        replace(table)


def test_a_questions_evidence_is_added_without_touching_the_columns() -> None:
    base = CandidateTable.of(
        [a_candidate("a", importance=0.5, kind=Kind.FACT, vector=(1.0,)), a_candidate("b", created_at=NOW)]
    )
    near = np.array([0.5, np.nan], dtype=np.float32)
    asked = base.with_evidence(similarity=near, lexical=np.array([0.25, 1.0]), similarity_error=0.01)
    assert asked.ids is base.ids
    assert asked.numbers["importance"] is base.numbers["importance"]
    assert (asked.dates, asked.kinds, asked.vectors) == (base.dates, base.kinds, base.vectors)
    assert asked.labels is base.labels
    assert asked.numbers["similarity"].dtype == np.float64
    assert asked.similarity_error == 0.01
    assert asked.candidate(0) == a_candidate("a", importance=0.5, kind=Kind.FACT, similarity=0.5, lexical=0.25)
    assert asked.candidate(1) == a_candidate("b", created_at=NOW, lexical=1.0)
    assert base.candidate(1) == a_candidate("b", created_at=NOW)
    assert base.with_evidence().numbers == base.numbers


@table(
    ("evidence", "complaint"),
    [
        ({"similarity": np.zeros(2)}, "field 'similarity': has 2 values for 1 ids"),
        ({"lexical": np.zeros(0)}, "field 'lexical': has 0 values for 1 ids"),
        ({"similarity_error": -0.1}, "field 'similarity_error': -0.1 is not an error bound"),
        ({"addressed": np.zeros(2)}, "field 'addressed': has 2 values for 1 ids"),
        ({"days_off": np.zeros(3)}, "field 'days_off': has 3 values for 1 ids"),
        ({"link": Labels.of(["ana", "ana"])}, "field 'link': has 2 values for 1 ids"),
    ],
)
def test_evidence_that_cannot_be_of_these_rows_is_refused(evidence: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        CandidateTable.of([a_candidate("a")]).with_evidence(**evidence)


@table(
    ("column", "value", "complaint"),
    [
        ("importance", 1.5, "field 'importance': 1.5 is not within 0..1"),
        ("importance", np.inf, "field 'importance': inf"),
        ("similarity", -1.1, "field 'similarity': -1.1 is not within -1..1"),
        ("served", -1.0, "field 'served': -1.0 is not within 0..9.0072e"),
        ("words", -1.0, "field 'words': -1.0 is not within 0..9.0072e"),
        ("addressed", 1.5, "field 'addressed': 1.5 is not within 0..1"),
        ("setting", -0.5, "field 'setting': -0.5 is not within 0..1"),
        ("days_off", -0.5, r"field 'days_off': -0.5 is not within 0..1e\+07"),
        ("days_off", 2e7, r"field 'days_off': 20000000.0 is not within 0..1e\+07"),
        ("magic", 0.5, "field 'magic': unknown column; known are similarity"),
    ],
)
def test_a_column_with_an_impossible_value_is_refused(column: str, value: float, complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        CandidateTable(ids=[MemoryId("a")], numbers={column: np.array([value])})


@table(
    ("columns", "complaint"),
    [
        ({"numbers": {"served": np.array([1.5])}}, "field 'served': some values are not whole numbers"),
        ({"dates": {"created_at": np.array([np.inf])}}, "field 'created_at': inf is not within"),
        ({"dates": {"created_at": np.array([1e18])}}, "field 'created_at': 1e.18 is not within"),
        (
            {"dates": {"written_at": np.array([0.0])}},
            "field 'written_at': unknown column; known are created_at",
        ),
        ({"dates": {"creatd_at": np.array([0.0])}}, "field 'creatd_at': .*did you mean 'created_at'"),
        ({"numbers": {"created_at": np.array([0.0])}}, "field 'created_at': unknown column; known are sim"),
        ({"dates": {"created_at": np.array([0.5])}}, "field 'created_at': some values are not whole numbers"),
        ({"vectors": np.array([0.5])}, "field 'vector': has 1 axes; give a matrix with a row for each id"),
        ({"kinds": np.array([16], dtype=np.int8)}, "field 'kind': 16 is not within -1..15"),
        ({"kinds": np.array([-2], dtype=np.int8)}, "field 'kind': -2 is not within -1..15"),
        ({"similarity_error": -1.0}, "field 'similarity_error': -1.0 is not an error bound"),
        ({"similarity_error": np.nan}, "field 'similarity_error': nan is not an error bound"),
        ({"similarity_error": np.inf}, "field 'similarity_error': inf is not an error bound"),
    ],
)
def test_a_table_that_cannot_be_cannot_be_made(columns: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        CandidateTable(ids=[MemoryId("a")], **columns)


@table("column", ["numbers", "dates", "kinds", "vectors"])
def test_a_column_of_another_length_is_refused(column: str) -> None:
    columns = {
        "numbers": {"importance": np.zeros(2)},
        "dates": {"created_at": np.zeros(2)},
        "kinds": np.zeros(2, dtype=np.int8),
        "vectors": np.zeros((2, 3)),
    }
    with pytest.raises(FieldError, match="2 values for 1 ids"):
        CandidateTable(ids=[MemoryId("a")], **{column: columns[column]})  # type: ignore[arg-type]


def test_evidence_of_any_name_is_added_and_similarities_that_are_not_given_keep_their_error() -> None:
    rough = CandidateTable.of([a_candidate("a", similarity=0.5)]).with_evidence(similarity_error=0.1)
    asked = rough.with_evidence(addressed=np.array([1.0]), days_off=np.array([2.5]), setting=None, link=None)
    assert asked.similarity_error == 0.1
    assert asked.candidate(0) == a_candidate("a", similarity=0.5, addressed=1.0, days_off=2.5)
    linked = rough.with_evidence(linked=np.array([0.5]), link=Labels.of(["ana"]))
    assert linked.candidate(0) == a_candidate("a", similarity=0.5, linked=0.5, link="ana")
    assert rough.with_evidence(similarity=np.array([0.25])).similarity_error == 0.0
    assert rough.with_evidence(lexical=np.array([0.25]), similarity_error=0.0).similarity_error == 0.0


def test_labels_are_the_numbers_of_names_in_the_order_they_come() -> None:
    given = ["b", None, "a", "b"]
    labels = Labels.of(given)
    assert (labels.codes.tolist(), tuple(labels.names), len(labels)) == ([0, NO_LABEL, 1, 0], ("b", "a"), 4)
    assert labels.tolist() == given
    some = labels[np.array([2, 1])]
    assert (some.codes.tolist(), some.tolist(), tuple(some.names)) == ([1, NO_LABEL], ["a", None], ("b", "a"))
    assert (Labels.of([]).tolist(), Labels.of([None]).tolist()) == ([], [None])


def test_labels_come_back_with_their_candidates() -> None:
    pool = [
        a_candidate(id, session=session, speaker=speaker)
        for id, session, speaker in (("a", "s", "Ana"), ("b", None, "Ben"), ("c", "s", None))
    ]
    table = CandidateTable.of(pool)
    assert {name: label.tolist() for name, label in table.labels.items()} == {
        "scope": [None, None, None],
        "session": ["s", None, "s"],
        "speaker": ["Ana", "Ben", None],
        "link": [None, None, None],
    }
    assert table.candidates([2, 0, 1]) == [pool[2], pool[0], pool[1]]
    assert table.take(np.array([2, 1])).candidates([0, 1]) == pool[2:0:-1]
    assert replace(table, labels={}).candidate(0) == a_candidate("a")


def test_a_session_of_one_name_is_another_in_every_scope_and_stays_so_in_the_candidates() -> None:
    ana, team = Scope.parse("acme/ana"), Scope.parse("acme")
    pool = [
        a_candidate(str(number), scope=scope, session=session)
        for number, (scope, session) in enumerate(
            [(ana, "s"), (team, "s"), (None, "s"), (team, None), (ana, "t"), (ana, "s"), (None, "s"), (team, "ana/s")]
        )
    ]
    table = CandidateTable.of(pool)
    assert table.labels["session"].codes.tolist() == [0, 1, 2, NO_LABEL, 3, 0, 2, 4]
    assert table.candidates(range(len(pool))) == pool
    some = CandidateTable.of(table.take(np.array([6, 5, 1, 0])).candidates(range(4)))
    assert some.labels["session"].codes.tolist() == [0, 1, 2, 1]
    assert replace(table, similarity_error=0.0).candidates([1]) == [pool[1]], "which looks at all columns again"


def test_labels_are_joined_one_below_the_other_and_no_name_of_one_is_that_of_the_next() -> None:
    parts = [Labels.of(["b", None, "a"]), Labels.of([]), Labels.of([None, "a", "b", "a"])]
    joined = Labels.concatenate(parts)
    assert joined.codes.tolist() == [0, NO_LABEL, 1, NO_LABEL, 2, 3, 2]
    assert joined.tolist() == [name for part in parts for name in part.tolist()]


def test_columns_with_a_session_in_two_scopes_or_a_scope_that_is_none_are_refused() -> None:
    two = [MemoryId("a"), MemoryId("b")]
    scopes = Labels.of(["acme", "acme/ana"])
    with pytest.raises(FieldError, match="field 'session': a session is in two scopes"):
        CandidateTable(ids=two, labels={"scope": scopes, "session": Labels.of(["s", "s"])})
    assert CandidateTable(ids=two, labels={"scope": scopes, "session": Labels.of([None, None])}).candidate(
        1
    ).scope == Scope.parse("acme/ana")
    assert CandidateTable(ids=two, labels={"scope": scopes}).candidate(0).scope == Scope.parse("acme")
    with pytest.raises(ScopeError, match="has only dots"):
        CandidateTable(ids=two, labels={"scope": Labels.of(["acme", ".."])})


def test_columns_in_which_one_name_has_two_numbers_are_refused() -> None:
    two, each = [MemoryId("a"), MemoryId("b")], np.array([0, 1])
    twice = Labels(each, ("1", "1"))
    with pytest.raises(FieldError, match="field 'session': a session of one scope has two codes"):
        CandidateTable(ids=two, labels={"session": twice})
    with pytest.raises(FieldError, match="field 'session': a session of one scope has two codes"):
        CandidateTable(ids=two, labels={"session": twice, "scope": Labels.of(["acme", "acme"])})
    assert (
        CandidateTable(ids=two, labels={"session": twice, "scope": Labels.of(["acme", "acme/ana"])})
        .candidate(1)
        .session
        == "1"
    )
    whole = Labels(np.array([0.0]), ("s",))
    assert CandidateTable(ids=two[:1], labels={"session": whole}).labels["session"].names == ("s",)
    for name in ("scope", "speaker"):
        with pytest.raises(FieldError, match=f"field '{name}': a name occurs twice"):
            CandidateTable(ids=two, labels={name: twice})
    with pytest.raises(FieldError, match="field 'scope': a path is not in the form of a scope"):
        CandidateTable(ids=two, labels={"scope": Labels.of(["caf\u0065\u0301", "acme"])})


@table("label", ["session", "speaker"])
@table("name", ["", " ", " 1", "1\n"])
def test_a_session_or_a_speaker_has_a_name_or_is_unknown(label: str, name: str) -> None:
    given: dict[str, Any] = {label: name}
    for build in (a_candidate, a_memory):
        with pytest.raises(FieldError, match=f"field '{label}': .*empty or padded"):
            build(**given)
        assert getattr(build(**{**given, label: "1"}), label) == "1"
        assert getattr(build(**{**given, label: None}), label) is None


def test_the_scope_of_a_candidate_is_a_scope() -> None:
    with pytest.raises(FieldError, match=r"field 'scope': 'acme' is not a scope; use recollect\.Scope\.parse"):
        a_candidate(scope="acme")


@table(
    ("labels", "complaint"),
    [
        ({"session": Labels.of([])}, "field 'session': has 0 values for 1 ids"),
        ({"speaker": Labels.of(["Ana", "Ben"])}, "field 'speaker': has 2 values for 1 ids"),
        ({"mood": Labels.of(["good"])}, "field 'mood': unknown column; known are scope, session, speaker"),
        ({"sesion": Labels.of(["s"])}, "field 'sesion': .*did you mean 'session'"),
        ({"session": Labels(np.array([1]), ("s",))}, r"field 'session': 1 is not within -1\.\.0"),
        ({"session": Labels(np.array([-2]), ("s",))}, r"field 'session': -2 is not within -1\.\.0"),
        ({"speaker": Labels(np.array([0]), ())}, r"field 'speaker': 0 is not within -1\.\.-1"),
    ],
)
def test_labels_that_cannot_be_of_these_rows_are_refused(labels: dict[str, Labels], complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        CandidateTable(ids=[MemoryId("a")], labels=labels)


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(FieldError, match="'b' occurs twice"):
        CandidateTable(ids=[MemoryId(id) for id in "abcb"])


def test_an_id_that_no_candidate_could_have_is_refused() -> None:
    with pytest.raises(FieldError, match="field 'id': ' a' is empty or padded"):
        CandidateTable(ids=[MemoryId(" a")])


@table("moment", [validation.EARLIEST_DATETIME, validation.LATEST_DATETIME - timedelta(microseconds=1), NOW])
def test_a_date_is_exact_to_the_microsecond_from_the_first_to_the_last(moment: datetime) -> None:
    assert CandidateTable.of([a_candidate(created_at=moment)]).candidate(0).created_at == moment


def test_the_inputs_of_rows_are_the_columns_of_the_fields_that_are_read() -> None:
    pool = [a_candidate(id, similarity=0.5, kind=kind) for id, kind in (("a", Kind.FACT), ("b", None), ("c", None))]
    table, rows = CandidateTable.of(pool), np.array([0, 2])
    similarity, kind = table.field_columns(rows, {"similarity", "kind", "magic"})
    assert (similarity.tolist(), kind.tolist()) == ([0.5, 0.5], [list(Kind).index(Kind.FACT), -1.0])
    assert [len(column) for column in table.field_columns(rows, {"similarity", "created_at"})] == [2, 2]
    assert table.field_columns(rows, set()) == []
    assert CandidateTable(ids=[MemoryId("a")]).field_columns(np.array([0]), {"similarity", "kind"}) == []
