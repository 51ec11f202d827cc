"""Folders of judgements: what is read, and what is refused with its file, line and field."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.evaluation.judgments import DEFAULT_CATEGORY, can_see, read_judgments
from recollect.model.enums import Kind
from recollect.model.scope import Scope
from tests.platforms import posix_only
from tests.tables import table

from .folder import ASKED, a_memory, a_query, write_folder


def test_a_memory_keeps_its_id_its_moment_and_what_is_known_of_it(tmp_path: Path) -> None:
    written = a_memory("m", kind="preference", session="s1", speaker="Ana", importance=0.7, tags=["travel"])
    (draft,) = read_judgments(write_folder(tmp_path, [written])).drafts
    assert (draft.id, draft.text, draft.scope) == ("m", written["text"], Scope.parse("acme/ana"))
    assert draft.at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (draft.kind, draft.session, draft.speaker) == (Kind.PREFERENCE, "s1", "Ana")
    assert (draft.importance, draft.tags, draft.metadata) == (0.7, ("travel",), None)


def test_what_a_memory_does_not_know_is_metadata(tmp_path: Path) -> None:
    written = a_memory("m", project="move", key="k", at="noon", metadata={"colour": "blue"}, title=None)
    (draft,) = read_judgments(write_folder(tmp_path, [written])).drafts
    assert draft.metadata == {"colour": "blue", "project": "move", "key": "k", "at": "noon"}
    assert (draft.key, draft.title) == (None, None)


def test_memories_come_oldest_first_however_they_are_written(tmp_path: Path) -> None:
    written = [
        a_memory("c", created_at="2026-01-02T00:00:00+00:00"),
        a_memory("b", created_at="2026-01-01T01:00:00+00:00"),
        a_memory("a", created_at="2026-01-01T02:00:00+01:00"),
    ]
    drafts = read_judgments(write_folder(tmp_path, written, qrels=[("q", "a", 1)])).drafts
    assert [draft.id for draft in drafts] == ["a", "b", "c"]


def test_a_query_has_its_grades_and_one_without_judgements_is_left_out(tmp_path: Path) -> None:
    queries = [a_query("q"), a_query("unjudged"), a_query("r", category=None)]
    found = read_judgments(write_folder(tmp_path, queries=queries, qrels=[("r", "m", 2), ("q", "m", 1.5)]))
    assert [(query.id, query.grades) for query in found.queries] == [("q", {"m": 1.5}), ("r", {"m": 2.0})]
    assert [query.category for query in found.queries] == ["seats", DEFAULT_CATEGORY]
    assert (found.unjudged_queries, found.pairs) == (1, 2)


def test_judged_memories_that_cannot_be_found_are_counted(tmp_path: Path) -> None:
    memories = [a_memory("m"), a_memory("late", created_at="2026-03-01T00:00:00+00:00")]
    qrels = [("q", "m", 1), ("q", "late", 1), ("q", "nowhere", 1), ("q", "nor there", 1)]
    found = read_judgments(write_folder(tmp_path, memories, qrels=qrels))
    assert (found.absent_pairs, found.late_pairs) == (2, 1)
    assert found.ended_at == found.written_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_queries_with_no_memory_in_sight_are_counted(tmp_path: Path) -> None:
    memories = [
        a_memory("m"),
        a_memory("shared", "tea at five", scope="acme", shared=True, created_at="2026-01-10T00:00:00+00:00"),
    ]
    before, between = "2025-12-31T00:00:00+00:00", "2026-01-05T00:00:00+00:00"
    seeing = [a_query("own", asked_at=between), a_query("of the team", scope="acme/ben")]
    blind = [
        a_query("too early", asked_at=before),
        a_query("before it was shared", scope="acme/ben", asked_at=between),
        a_query("elsewhere", scope="acme-labs/ana"),
    ]
    qrels = [(query["id"], "m", 1) for query in (*seeing, *blind)]
    assert read_judgments(write_folder(tmp_path, memories, [*seeing, *blind], qrels)).blind_queries == len(blind)


@table(
    ("valid", "is_seen"),
    [
        ({}, True),
        ({"valid_from": ASKED}, True),
        ({"valid_from": "2026-02-01T00:00:01+00:00"}, False),
        ({"valid_until": "2026-02-01T00:00:01+00:00"}, True),
        ({"valid_until": ASKED}, False),
    ],
)
def test_a_query_sees_what_is_valid_when_it_is_asked(valid: dict[str, str], is_seen: bool, tmp_path: Path) -> None:
    found = read_judgments(write_folder(tmp_path, [a_memory("m", **valid)]))
    assert can_see(found.queries[0], found.memories[0]) is is_seen
    assert found.blind_queries == (not is_seen)


SCOPES = st.sampled_from(["acme", "acme/ana", "acme/ana/child", "acme/ben", "other"])
MOMENTS = st.integers(1, 6).map(lambda day: f"2026-01-{day:02}T00:00:00+00:00")
VALID = st.one_of(
    st.just((None, None)),
    st.tuples(MOMENTS, st.none()),
    st.tuples(st.none(), MOMENTS),
    st.tuples(MOMENTS, MOMENTS).filter(lambda both: both[0] < both[1]),
)


@given(
    memories=st.lists(st.tuples(SCOPES, st.booleans(), MOMENTS, VALID), min_size=1, max_size=6),
    queries=st.lists(st.tuples(SCOPES, MOMENTS), min_size=1, max_size=4),
)
def test_a_query_is_blind_if_it_sees_none_of_all_memories(
    memories: list[tuple[str, bool, str, tuple[str | None, str | None]]], queries: list[tuple[str, str]]
) -> None:
    written = [
        a_memory(f"m{number}", scope=scope, shared=shared, created_at=at, valid_from=begin, valid_until=end)
        for number, (scope, shared, at, (begin, end)) in enumerate(memories)
    ]
    asked = [a_query(f"q{number}", scope=scope, asked_at=at) for number, (scope, at) in enumerate(queries)]
    with TemporaryDirectory() as folder:
        found = read_judgments(write_folder(Path(folder), written, asked, [(one["id"], "m0", 1) for one in asked]))
    assert found.blind_queries == sum(
        not any(can_see(query, memory) for memory in found.memories) for query in found.queries
    )


def test_memories_and_drafts_are_the_same_in_the_same_order(tmp_path: Path) -> None:
    written = [a_memory("b"), a_memory("a"), a_memory("c", created_at="2025-12-01T01:00:00+01:00")]
    found = read_judgments(write_folder(tmp_path, written, qrels=[("q", "a", 1)]))
    assert [memory.id for memory in found.memories] == ["c", "a", "b"]
    assert [(draft.id, draft.at) for draft in found.drafts] == [(one.id, one.created_at) for one in found.memories]


def test_some_queries_are_spread_over_all(tmp_path: Path) -> None:
    queries = [a_query(f"q{number}") for number in range(10)]
    qrels = [(query["id"], "m", 1) for query in queries]
    found = read_judgments(write_folder(tmp_path, queries=queries, qrels=qrels))
    assert [query.id for query in found.sample_queries(3).queries] == ["q0", "q3", "q6"]
    assert found.sample_queries(99) == found


def test_the_digest_is_of_the_memories_alone(tmp_path: Path) -> None:
    first = read_judgments(write_folder(tmp_path / "a")).digest
    assert read_judgments(write_folder(tmp_path / "b", queries=[a_query("q", "where?")])).digest == first
    assert read_judgments(write_folder(tmp_path / "c", [a_memory("m", "other")])).digest != first


def test_blank_lines_a_mark_at_the_beginning_and_carriage_returns_do_no_harm(tmp_path: Path) -> None:
    write_folder(tmp_path)
    for name in ("memories.jsonl", "queries.jsonl", "qrels.tsv"):
        written = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + written.replace(b"\n", b"\r\n\r\n"))
    assert read_judgments(tmp_path).pairs == 1


@table("name", ["memories.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_empty_or_no_text_is_refused(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / name).write_text("")
    with pytest.raises(InvalidInput, match=name):
        read_judgments(tmp_path)
    (tmp_path / name).write_bytes(b"\xff\xfe\n")
    with pytest.raises(InvalidInput, match=f"{name}, line 1: invalid UTF-8"):
        read_judgments(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InvalidInput, match=f"{name}' does not exist; a judgments folder has"):
        read_judgments(tmp_path)


def test_an_empty_folder_none_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"memories\.jsonl' does not exist"):
        read_judgments(tmp_path)
    holds = "a judgments folder has memories.jsonl, queries.jsonl and qrels.tsv"
    with pytest.raises(InvalidInput, match=f"^folder '{tmp_path}/nowhere' does not exist; {holds}$"):
        read_judgments(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=f"^'{tmp_path}/file' is not a folder; {holds}$"):
        read_judgments(tmp_path / "file")
    with pytest.raises(InvalidInput, match="cannot be read: File name too long"):
        read_judgments(tmp_path / ("x" * 3_000))


@posix_only
@pytest.mark.parametrize("name", ["memories.jsonl", "queries.jsonl", "qrels.tsv"])
def test_what_is_no_ordinary_file_is_refused_and_not_read(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InvalidInput, match=f"^'.*/{name}' is not a regular file; put one there$"):
        read_judgments(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match=f"/{name}' is not a regular file"):
        read_judgments(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(InvalidInput, match=f"/{name}' is not a regular file"):
        read_judgments(tmp_path)


BAD_MEMORIES: list[tuple[str | dict[str, Any], str]] = [
    ("{", "line 2: this is not JSON"),
    ("[]", "line 2: .* is not a JSON object"),
    ('{"id": "a", "id": "b"}', "line 2, field 'id': occurs twice"),
    ({"id": "n"}, "line 2, field 'scope': is missing; every memory has id, scope, text, created_at"),
    (a_memory("n", created_at=None), "line 2, field 'created_at': is missing"),
    (a_memory("n", created_at="2026-01-01T00:00:00"), "line 2, field 'created_at': .* has no time zone"),
    (a_memory("n", created_at="soon"), "line 2, field 'created_at': 'soon' is not a date"),
    (a_memory("n", valid_until="2026-01-01"), "line 2, field 'valid_until': .* has no time zone"),
    (a_memory("n", scope=""), "line 2, field 'scope'"),
    (a_memory("n", scope=7), "line 2, field 'scope'"),
    (a_memory("n", text=" "), "line 2, field 'text': is blank"),
    (a_memory("n", kind="turn"), "line 2, field 'kind': 'turn' is not a valid kind"),
    (a_memory("n", importance=2), "line 2, field 'importance': 2 is not within 0..1"),
    (a_memory("n", session=""), "line 2, field 'session'"),
    (a_memory("n", tags="travel"), "line 2, field 'tags'"),
    (a_memory("n", metadata=[1]), "line 2, field 'metadata'"),
    (a_memory("n n ", metadata={}), "line 2, field 'id'"),
    (a_memory("m"), "line 2, field 'id': 'm' is already on line 1"),
]


@table(("line", "told"), BAD_MEMORIES)
def test_a_memory_that_cannot_be_is_refused(line: str | dict[str, Any], told: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    with (tmp_path / "memories.jsonl").open("a") as file:
        file.write(line if isinstance(line, str) else json.dumps(line))
    with pytest.raises(InvalidInput, match=rf"memories\.jsonl, {told}"):
        read_judgments(tmp_path)


BAD_QUERIES = [
    ({"id": "r"}, "field 'scope': is missing; every query has id, scope, text, asked_at"),
    (a_query("r", asked_at="2026-01-01T09:00"), "field 'asked_at': .* has no time zone"),
    (a_query("r", text=""), "field 'text': is blank"),
    (a_query("r", category=3), "field 'category': 3 is not text"),
    (a_query("q"), "field 'id': 'q' is already on line 1"),
]


@table(("query", "told"), BAD_QUERIES)
def test_a_query_that_cannot_be_is_refused(query: dict[str, Any], told: str, tmp_path: Path) -> None:
    write_folder(tmp_path, queries=[a_query("q"), query])
    with pytest.raises(InvalidInput, match=rf"queries\.jsonl, line 2, {told}"):
        read_judgments(tmp_path)


BAD_QRELS = [
    ("stranger\tm\t1", "line 2, field 'query': 'stranger' is not in queries.jsonl"),
    ("q\tm\t0", "line 2, field 'grade': '0' is not a grade within 1..1,000,000"),
    ("q\tm\t0.5", "line 2, field 'grade': '0.5' is not a grade within 1..1,000,000"),
    ("q\tm\tnan", "line 2, field 'grade': 'nan' is not a number"),
    ("q\tm\tinf", "line 2, field 'grade': 'inf' is not a number"),
    ("q\tm\t1_0", "line 2, field 'grade': '1_0' is not a number"),
    ("q\tm\t1.7e308", "line 2, field 'grade': '1.7e308' is not a grade within 1..1,000,000"),
    ("q\tm\tgood", "line 2, field 'grade': 'good' is not a number"),
    ("q\tm", "line 2: has 2 tab-separated fields"),
    ("q m 1", "line 2: has 1 tab-separated fields"),
    ("q\t\t1", "line 2, field 'memory': is empty"),
    ("q\tm\t1\nq\tm\t2", "line 3, field 'memory': 'm' is judged twice for 'q'"),
]


@table(("rows", "told"), BAD_QRELS)
def test_a_judgement_that_cannot_be_is_refused(rows: str, told: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "qrels.tsv").write_text(f"query\tmemory\tgrade\n{rows}\n")
    with pytest.raises(InvalidInput, match=rf"qrels\.tsv, {told}"):
        read_judgments(tmp_path)


def test_judgements_without_their_header_or_without_any_are_refused(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "qrels.tsv").write_text("q\tm\t1\n")
    with pytest.raises(InvalidInput, match=r"qrels\.tsv, line 1: .* is not the header 'query\\tmemory\\tgrade'"):
        read_judgments(tmp_path)
    (tmp_path / "qrels.tsv").write_text("query\tmemory\tgrade\n")
    with pytest.raises(InvalidInput, match=r"qrels\.tsv: has no judgments"):
        read_judgments(tmp_path)
