"""Both dialects have the same statements; those of PostgreSQL find what they ask for in one partition, by an index."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from recollect.stores import sql as shared
from recollect.stores.postgres.transaction import SQL as POSTGRES
from recollect.stores.sql.rows import STATE_COLUMNS
from recollect.stores.sqlite.transaction import SQL as SQLITE
from tests.integration.postgres.scene import Db, undone
from tests.postgres import Server
from tests.tables import table

ASKED_BY = {"all", "each", "one", "the", "run", "_one", "_run", "_memory"}
"""The functions that are given the name of a statement first."""

OF_PARTITIONS = {"root", "token", "scope"}
"""What only PostgreSQL is told, or is told more often: whose a row is, and which transaction wrote it."""

NUMBERED = {"add_content", "add_memory"}
"""What PostgreSQL is given the number of, which SQLite gives."""

UTILITIES = {name for name, text in POSTGRES.items() if re.search(r"^(LOCK|TRUNCATE)", text, re.MULTILINE)}
"""The statements that the planner has no part in."""

OF_A_ROOT = sorted(name for name, text in POSTGRES.items() if "%(root)s" in text)


def asked_for() -> Iterator[str]:
    """The name of every statement that is asked for whatever the dialect is."""
    (folder,) = shared.__path__
    for file in Path(folder).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and _called(node.func) in ASKED_BY:
                yield from filter(None, map(_text, ast.walk(node.args[0])))
            elif _text(node) in {*POSTGRES, *SQLITE} - {*STATE_COLUMNS}:
                yield _text(node)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def of_sqlite(statement: str) -> set[str]:
    said = re.sub(r"'[^']*'|--.*", "", SQLITE[statement])
    return set(re.findall(r":(\w+)", said))


def of_postgres(statement: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", POSTGRES[statement]))


@table("statement", sorted(set(asked_for())))
def test_what_any_store_of_tables_asks_for_both_dialects_have_with_the_same_parameters(statement: str) -> None:
    given = OF_PARTITIONS | ({"number"} if statement in NUMBERED else set())
    assert of_postgres(statement) - given == of_sqlite(statement) - OF_PARTITIONS


@pytest.fixture(scope="module")
def connection(postgres_server: Server, postgres_template: str) -> Iterator[Db]:
    """A connection to an empty store."""
    with (
        postgres_server.database(like=postgres_template) as name,
        psycopg.connect(postgres_server.url(name), autocommit=True) as db,
    ):
        yield db


@pytest.fixture
def db(connection: Db) -> Iterator[Db]:
    """A transaction that leaves nothing behind."""
    with undone(connection) as db:
        yield db


def plan_of(db: Db, statement: str, given: Mapping[str, object]) -> dict[str, Any]:
    """How the server finds what a statement asks for."""
    row = db.execute(sql.SQL("EXPLAIN (FORMAT JSON) ") + sql.SQL(POSTGRES[statement]), given).fetchone()
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from steps(inner)


def test_the_server_understands_every_statement_also_where_nothing_is_given(db: Db) -> None:
    planned = POSTGRES.keys() - UTILITIES
    assert all(plan_of(db, statement, dict.fromkeys(of_postgres(statement))) for statement in planned)
    assert {db.execute(POSTGRES[statement]).statusmessage for statement in UTILITIES} == {
        "LOCK TABLE",
        "TRUNCATE TABLE",
    }


@pytest.fixture(scope="module")
def anything() -> dict[str, object]:
    """A value for every parameter that its type can be read from."""
    given: dict[str, object] = dict.fromkeys({one for name in POSTGRES for one in of_postgres(name)}, "1")
    return {**given, "value": "[1]", "token": UUID(int=1), "wanted": UUID(int=1)}


@pytest.mark.parametrize("statement", OF_A_ROOT)
def test_what_is_asked_of_a_root_is_found_in_one_partition_of_each_table_by_an_index(
    statement: str, db: Db, anything: dict[str, object]
) -> None:
    db.execute("SET LOCAL enable_seqscan = off")  # so that one is left only where no index would do
    read = defaultdict[str, set[str]](set)
    for step in steps(plan_of(db, statement, anything)):
        table, _, partition = step.get("Relation Name", "").rpartition("_")
        if partition.isdigit():
            assert step["Node Type"] != "Seq Scan", step
            read[table].add(partition)
    assert {table: len(partitions) for table, partitions in read.items()} == dict.fromkeys(read, 1)


def remembered(db: Db, many: int) -> None:
    """So many memories of one scope, which the planner has not counted."""
    db.execute("SELECT set_config('recollect.reach', 'all', true)")
    db.execute("INSERT INTO scopes (root, number, path) VALUES ('1', 1, '1')")
    db.execute("INSERT INTO contents VALUES ('1', 1, 1, NULL, '', '', '', '', '', '')")
    columns = "root, id, scope, content, hash, likeness, subject, kind, status, shared, pinned, revisions, created_at"
    values = "'1', n, 1, 1, md5(n::text), md5(n::text), md5(n::text), 'fact', 'active', false, false, 1, 1"
    added = (
        "INSERT INTO memories ({}, more, recorded_at, changed) SELECT {}, '{{}}', 1, 1 FROM generate_series(1, {}) n"
    )
    db.execute(sql.SQL(added).format(sql.SQL(columns), sql.SQL(values), sql.Literal(many)))


@pytest.mark.parametrize("many", [300, 1_000, 12_000])
def test_whether_something_is_known_is_looked_up_by_its_own_index_also_where_nothing_was_counted(
    many: int, db: Db, anything: dict[str, object]
) -> None:
    db.execute("SELECT set_config('enable_sort', 'off', true)")
    remembered(db, many)
    asked = [step for step in steps(plan_of(db, "heard_of", {**anything, "ancestors": "[]"})) if "Index Cond" in step]
    for column in ("hash", "likeness", "subject"):
        assert [step for step in asked if f"({column} >= " in step["Index Cond"]], column
    assert not [step for step in asked if "_changed_" in step["Index Name"]]
