"""What is looked up is looked up by an index, however much the scope has, and however much others have."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.model.scope import Scope
from recollect.stores.sql.archive import read_inventory, read_items
from recollect.stores.sql.reader import count_stats
from recollect.stores.sqlite.connection import SqliteDatabase
from recollect.stores.sqlite.transaction import SQL, SqliteTransaction
from tests.integration.sqlite.engines import SCOPE, an_engine


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    with closing(SqliteDatabase.open(tmp_path / "agent.db").connect()) as db:
        yield db


def plan_of(db: apsw.Connection, statement: str, given: Any) -> list[str]:
    """How SQLite finds what a statement asks for, step by step."""
    return [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", given)]


@pytest.mark.parametrize(
    ("statement", "by"),
    [
        ("sayings", "memories_by_hash (scope=? AND hash=?)"),
        ("said_before", "versions_by_hash (hash=?)"),
        ("sayings", "memories_by_likeness (scope=? AND likeness=?)"),
        ("about", "memories_by_subject (scope=? AND subject=?)"),
        ("twin_id", "one_active_memory_says_it (scope=? AND hash=?)"),
        ("topic", "one_active_memory_of_a_topic (scope=? AND topic_key=?)"),
        ("topic_id", "one_active_memory_of_a_topic (scope=? AND topic_key=?)"),
    ],
)
def test_a_memory_is_found_by_its_words_its_topic_and_its_subject(statement: str, by: str, db: apsw.Connection) -> None:
    given = {"path": "acme/ana", "scope": 1, "hash": "hash", "likeness": "like", "topic_key": "topic"}
    given |= {"subject": "home", "after": 0, "most": 9}
    plan = plan_of(db, SQL[statement], given)
    assert [step for step in plan if step.endswith(by)] != []
    assert [step for step in plan if step.startswith("SCAN") or "memories_by_scope" in step] == []


@pytest.mark.parametrize(
    ("statement", "by"),
    [
        ("timeline", "memories_by_level (scope=? AND level=? AND created_at>? AND created_at<?)"),
        ("touched", "memories_by_scope (scope=? AND changed>?)"),
        ("checkpoint", "PRIMARY KEY (scope=? AND name=?)"),
    ],
)
def test_what_happened_is_found_by_its_moment_and_by_what_changed(statement: str, by: str, db: apsw.Connection) -> None:
    given = {"path": "acme/ana", "levels": '["event", "day"]', "level": "event", "statuses": '["active"]'}
    plan = plan_of(db, SQL[statement], {**given, "since": 0, "before": 9, "after": 0, "name": "how far"})
    assert [step for step in plan if step.endswith(by)] != []
    assert [step for step in plan if step.startswith("SCAN") and "json_each" not in step] == []


def test_a_page_of_a_list_is_found_where_the_one_before_ended(db: apsw.Connection) -> None:
    given = {"path": "acme/ana", "below": True, "statuses": '["active"]', "passed": "a", "limit": 9}
    plan = plan_of(db, SQL["numbers_below"], given)
    assert [step for step in plan if step.endswith("memories_by_status (scope=? AND status=? AND id>?)")] != []
    assert [step for step in plan if step.startswith("SCAN") and "asked" not in step] == []
    assert plan.count("USE TEMP B-TREE FOR ORDER BY") == 1  # of what all scopes gave together


@pytest.mark.parametrize(
    ("statement", "by"),
    [
        ("votes_in", "votes_by_context (context=?)"),
        ("signs_in", "one_sign_of_a_context (context=?)"),
        ("sign", "one_sign_of_a_context (context=? AND memory=? AND use=?)"),
        ("context_ids", "contexts_by_scope (scope=?)"),
    ],
)
def test_what_was_said_and_noted_of_contexts_is_found_by_these(statement: str, by: str, db: apsw.Connection) -> None:
    given = {"path": "acme/ana", "ancestors": '["acme"]', "contexts": '["a", "b"]'}
    plan = plan_of(db, SQL[statement], {**given, "context": "a", "memory": 1, "use": "quoted"})
    assert [step for step in plan if step.endswith(by)] != []
    assert [step for step in plan if step.startswith("SCAN") and "asked" not in step and "json_each" not in step] == []


ASKED: dict[str, Callable[[apsw.Connection, Scope], object]] = {
    "its figures": lambda db, scope: count_stats(SqliteTransaction(db), scope, below=False, schema=0, size=0),
    "the figures of all below it": lambda db, scope: count_stats(
        SqliteTransaction(db), scope, below=True, schema=0, size=0
    ),
    "what an export says first": lambda db, scope: read_inventory(SqliteTransaction(db), scope),
    "an export": lambda db, scope: list(read_items(SqliteTransaction(db), scope)),
}

FREE = ("SCAN CONSTANT ROW", "SCAN json_each", "SCAN encoders", "SEARCH scopes")
"""What is no longer than what is asked about: what was given, the few models, and the scopes below one."""


@pytest.mark.parametrize("what", ASKED)
def test_what_is_asked_of_a_scope_is_found_without_reading_what_others_have(what: str, tmp_path: Path) -> None:
    with an_engine(tmp_path / "agent.db") as engine:
        train = engine.remember("the train leaves at nine", scope=SCOPE, key="train")
        engine.revise(train.id, "the train leaves at ten", scope=SCOPE)
        context = engine.recall("when does the train leave?", scope=SCOPE)
        engine.feedback(context.id or "", scope=SCOPE, helped=[train.id])
    with closing(SqliteDatabase.open(tmp_path / "agent.db").connect()) as db:
        run: list[tuple[str, Any]] = []

        def note(_: apsw.Cursor, statement: str, given: Any) -> bool:
            run.append((statement, given))
            return True

        db.exec_trace = note
        ASKED[what](db, Scope.parse("acme"))
        db.exec_trace = None
        plans = {statement: plan_of(db, statement, given) for statement, given in run}
    assert plans
    for statement, plan in plans.items():
        paid = [step for step in plan if not step.startswith(FREE)]
        assert [step for step in paid if step.startswith("SCAN") or ">?" in step] == [], statement
