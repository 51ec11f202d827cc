"""Candidates as written: what is refused, and with which words."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FieldError
from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.ranking.candidates_json import (
    CALLER_SCOPE,
    FIELD_READERS,
    parse_datetime,
    read_candidate,
    read_candidates,
)
from recollect.testing import a_candidate
from tests.tables import table

WHOLE: dict[str, Any] = {
    "id": "m-1",
    "kind": "fact",
    "similarity": 0.5,
    "lexical": 0,
    "relevance": 1,
    "addressed": 1,
    "days_off": 1.5,
    "setting": 0.6,
    "linked": 0.7,
    "link": "ana souza",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T02:00:00+02:00",
    "last_accessed_at": "2026-01-01T00:00:00.5+00:00",
    "valid_from": "2026-01-01 00:00:00+00:00",
    "importance": 0.1,
    "usefulness": 0.2,
    "confidence": 0.3,
    "salience": 0.4,
    "served": 3,
    "revisions": 4,
    "words": 5,
    "session": "monday",
    "speaker": "Ana",
    "vector": [1, 0.5],
    "text": "Ana prefers window seats",
    "title": "Seats",
    "pinned": True,
    "scope": "acme/ana",
}


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "m", **fields}).encode()


def test_every_field_that_is_written_is_read() -> None:
    midnight = datetime(2026, 1, 1, tzinfo=UTC)
    assert set(WHOLE) == set(FIELD_READERS)
    assert read_candidates([json.dumps(WHOLE).encode()]) == [
        Candidate(
            id=MemoryId("m-1"),
            kind=Kind.FACT,
            similarity=0.5,
            lexical=0.0,
            relevance=1.0,
            addressed=1.0,
            days_off=1.5,
            setting=0.6,
            linked=0.7,
            link="ana souza",
            created_at=midnight,
            updated_at=midnight,
            last_accessed_at=midnight + timedelta(seconds=0.5),
            valid_from=midnight,
            importance=0.1,
            usefulness=0.2,
            confidence=0.3,
            salience=0.4,
            served=3,
            revisions=4,
            words=5,
            scope=Scope.parse("acme/ana"),
            session="monday",
            speaker="Ana",
            vector=(1.0, 0.5),
            memory=Memory(
                id=MemoryId("m-1"),
                scope=Scope.parse("acme/ana"),
                text="Ana prefers window seats",
                created_at=midnight,
                kind=Kind.FACT,
                title="Seats",
                session="monday",
                speaker="Ana",
                pinned=True,
            ),
        )
    ]


def test_null_is_unknown_and_blank_lines_and_a_byte_order_mark_are_nothing() -> None:
    assert read_candidates([b"\xef\xbb\xbf" + line(importance=None) + b"\r\n", b"\n", b"  \n"]) == [a_candidate("m")]


def test_a_text_without_a_kind_is_an_observation_and_without_a_scope_the_callers() -> None:
    (one,) = read_candidates([line(text="x", created_at="2026-01-01T00:00:00Z")])
    assert one.memory is not None
    assert (one.kind, one.memory.kind, one.memory.pinned) == (None, Kind.OBSERVATION, False)
    assert (one.scope, one.memory.scope) == (None, CALLER_SCOPE)


def test_a_scope_is_of_a_candidate_with_or_without_a_text() -> None:
    (one,) = read_candidates([line(session="1", scope="acme/ana")])
    assert (one.scope, one.session, one.memory) == (Scope.parse("acme/ana"), "1", None)


def test_a_scope_that_names_nothing_is_refused_with_its_line() -> None:
    with pytest.raises(FieldError, match="line 1, field 'scope': scope part ''"):
        read_candidates([line(text="x", created_at="2026-01-01T00:00:00Z", scope="acme//ana")])


def test_a_mapping_of_python_may_hold_moments_and_tuples() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9)))
    assert read_candidate({"id": "m", "created_at": at, "vector": (1, 2)}) == a_candidate(
        "m", created_at=at, vector=(1.0, 2.0)
    )


@table(
    ("written", "complaint"),
    [
        (b"{", "line 2: this is not JSON: Expecting property name"),
        (b"nonsense", "line 2: this is not JSON"),
        (b"[" * 100_000, "line 2: this is not JSON"),
        (b'{"id": "a", "served": ' + b"9" * 5_000 + b"}", "line 2: this is not JSON"),
        (b"[1]", r"line 2: \[1\] is not a JSON object"),
        (b'"' + b"x" * 200 + b'"', "line 2: 'x+\\.\\.\\.x+' is not a JSON object"),
        (b"\xff", "line 2: this is not UTF-8: invalid start byte"),
        (b'{"id": "a", "id": "b"}', "line 2, field 'id': occurs twice in one object"),
        (b'{"id": "a", "similarity": NaN}', "line 2, field 'similarity': nan is not a finite number"),
        (b'{"id": "a", "similarity": -Infinity}', "line 2, field 'similarity': -inf is not a finite number"),
        (b'{"id": "a", "similarity": 1e999}', "line 2, field 'similarity': inf is not a finite number"),
        (b"{}", "line 2, field 'id': is missing"),
        (b'{"id": null}', "line 2, field 'id': is missing"),
        (b'{"id": 7}', "line 2, field 'id': 7 is not text"),
        (b'{"id": ""}', "line 2, field 'id': '' is empty"),
        (b'{"id": " a"}', "line 2, field 'id': ' a' is empty or padded"),
        (b'{"id": "a\\u0000"}', "line 2, field 'id': .*has control, invisible"),
        (b'{"id": "\\ud800"}', "line 2, field 'id': .*broken characters"),
        (b'{"id": "' + b"x" * 257 + b'"}', "line 2, field 'id': has 257 characters; at most 256"),
        (b'{"id": "first"}', "line 2, field 'id': 'first' is already on line 1"),
        (line(simlarity=0.5), "line 2, field 'simlarity': unknown field; did you mean 'similarity'"),
        (line(zzz=0.5), "line 2, field 'zzz': unknown field; known are id, kind"),
        (line(**{"k" * 200: 0.5}), "line 2, field 'k+\\.\\.\\.k+'"),
        (line(kind="idea"), "line 2, field 'kind': 'idea' is not a valid kind; known are profile, preference"),
        (line(kind=3), "line 2, field 'kind': 3 is not text"),
        (line(similarity="0.5"), "line 2, field 'similarity': '0.5' is not a number"),
        (line(similarity=True), "line 2, field 'similarity': True is not a number"),
        (line(similarity=1.01), "line 2, field 'similarity': 1.01 is not a cosine"),
        (line(similarity=-1.01), "line 2, field 'similarity': -1.01 is not a cosine"),
        (line(importance=10**400), "line 2, field 'importance': 1000.*000 is too large"),
        (line(importance=1.5), r"line 2, field 'importance': 1\.5 is not within 0\.\.1"),
        (line(lexical=-0.1), r"line 2, field 'lexical': -0\.1 is not within 0\.\.1"),
        (line(relevance=2), r"line 2, field 'relevance': 2 is not within 0\.\.1"),
        (line(usefulness=[1]), r"line 2, field 'usefulness': \[1\] is not a number"),
        (line(addressed=2), r"line 2, field 'addressed': 2 is not within 0\.\.1"),
        (line(setting=-0.1), r"line 2, field 'setting': -0\.1 is not within 0\.\.1"),
        (line(days_off=-0.5), r"line 2, field 'days_off': -0\.5 is not within 0\.\.1e\+07 days"),
        (line(days_off="1d"), "line 2, field 'days_off': '1d' is not a number"),
        (line(session=7), "line 2, field 'session': 7 is not text"),
        (line(speaker=""), "line 2, field 'speaker': '' is empty"),
        (line(words=0.5), "line 2, field 'words': 0.5 is not a whole number"),
        (line(served=-1), "line 2, field 'served': -1 is not a count"),
        (line(served=1.5), "line 2, field 'served': 1.5 is not a whole number"),
        (line(served=True), "line 2, field 'served': True is not a whole number"),
        (line(revisions=2**53 + 1), "line 2, field 'revisions': 9007199254740993 is not a count"),
        (
            line(created_at="2026-01-01"),
            "line 2, field 'created_at': '2026-01-01' has no time zone; .*such as 2026-01-01T00:00:00",
        ),
        (line(created_at="yesterday"), "line 2, field 'created_at': 'yesterday' is not a date; write ISO 8601"),
        (line(created_at=1_700_000_000), "line 2, field 'created_at': 1700000000 is not a date"),
        (
            line(updated_at="9999-12-31T23:59:59+00:00"),
            "line 2, field 'updated_at': 9999.* is not within 1900",
        ),
        (
            line(updated_at="0001-01-01T00:00:00+14:00"),
            "line 2, field 'updated_at': 0001.* is not within 1900",
        ),
        (line(valid_from="2200-01-01T00:00:00Z"), "line 2, field 'valid_from': 2200.* is not within 1900"),
        (line(vector=[]), "line 2, field 'vector': a vector needs at least one number"),
        (line(vector=0.5), "line 2, field 'vector': 0.5 is not a list of numbers"),
        (line(vector=["x"]), "line 2, field 'vector': 'x' is not a number"),
        (line(text=3), "line 2, field 'text': 3 is not text"),
        (line(text="  ", created_at="2026-01-01T00:00:00Z"), "line 2, field 'text': is blank"),
        (line(text="x"), "line 2, field 'created_at': is missing; a candidate with a text needs a date"),
        (line(title="x"), "line 2, field 'text': is missing; a candidate with a title or a pin needs a text"),
        (line(pinned="yes"), "line 2, field 'pinned': 'yes' is neither true nor false"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line_its_field_and_its_value(written: bytes, complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        read_candidates([b'{"id": "first"}', written])


def test_vectors_of_two_lengths_are_refused_with_the_line() -> None:
    lines = [line(vector=[1, 2]), b'{"id": "b"}', b'{"id": "c", "vector": [1]}']
    with pytest.raises(FieldError, match="line 3, field 'vector': has 1 dimensions, but earlier lines have 2"):
        read_candidates(lines)


@table("record", [None, 3, "id", ["id"]])
def test_what_is_no_mapping_is_no_candidate(record: Any) -> None:
    with pytest.raises(FieldError, match="neither a candidate nor a mapping"):
        read_candidate(record)


def test_rounding_around_a_cosine_is_forgiven() -> None:
    assert [one.similarity for one in read_candidates([line(similarity=1.0000001)])] == [1.0000001]


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_whatever_is_written_is_read_or_refused(written: bytes) -> None:
    refused_at: int | None = 1
    try:
        read_candidates([written])
    except FieldError as refusal:
        refused_at = refusal.line
    assert refused_at == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=3,
)


@given(st.dictionaries(st.sampled_from([*FIELD_READERS, "odd"]), json_values))
def test_whatever_a_record_holds_it_is_read_or_refused(record: dict[str, Any]) -> None:
    try:
        outcome: object = read_candidate(record).id
    except FieldError as refusal:
        outcome = refusal.field
    assert isinstance(outcome, str)


def test_a_moment_is_read_from_iso_8601() -> None:
    assert parse_datetime("--at", "2026-01-01T01:00:00+01:00") == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(FieldError, match="field '--at'"):
        parse_datetime("--at", "now")
