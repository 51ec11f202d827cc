"""What is looked up for every memory that is remembered is looked up by an index, however much a scope has."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.stores.sqlite.connection import Database
from recollect.stores.sqlite.sql import SQL


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    with closing(Database.open(tmp_path / "agent.db").connect()) as db:
        yield db


@pytest.mark.parametrize(
    ("statement", "by"),
    [
        ("twin", "one_active_memory_says_it (scope=? AND hash=?)"),
        ("twin_id", "one_active_memory_says_it (scope=? AND hash=?)"),
        ("topic", "one_active_memory_of_a_topic (scope=? AND topic_key=?)"),
        ("topic_id", "one_active_memory_of_a_topic (scope=? AND topic_key=?)"),
    ],
)
def test_a_memory_is_found_by_its_words_and_by_its_topic(statement: str, by: str, db: apsw.Connection) -> None:
    given = {"path": "acme/ana", "scope": 1, "hash": "hash", "topic_key": "topic"}
    plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {SQL[statement]}", given)]
    assert [step for step in plan if step.endswith(by)] != []
    assert [step for step in plan if step.startswith("SCAN") or "memories_by_scope" in step] == []
