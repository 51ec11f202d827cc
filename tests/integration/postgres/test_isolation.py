"""Without any condition of ours, whoever asks still gets what is theirs: row-level security holds owner and agent."""

# ruff: noqa: S608 - the names of tables are our own

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from psycopg import errors, sql

import recollect
from recollect.errors import NotFound
from recollect.model.context import Use
from recollect.model.scope import Scope
from recollect.stores.postgres import transaction
from recollect.stores.postgres.connection import register_vector_type
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.transaction import SQL, PostgresTransaction, RlsScope
from recollect.stores.sql.rows import STATE_COLUMNS
from recollect.testing.builders import ManualClock, count_uses, set_checkpoint
from tests.integration.postgres.scene import AGENT, Db, a_role, an_engine, grant, undone
from tests.postgres import ROLE, Server

TEAM, ANA, BEN, BELOW, RIVAL = "acme", "acme/ana", "acme/stranger", "acme/ana/stranger", "stranger/ana"
OURS, ROOT = {TEAM, ANA}, {TEAM, ANA, BEN, BELOW}
"""What somebody sees who asks for ana, and for all of her root."""

TABLES = (
    *("checkpoints", "keys", "contexts", "votes", "uses", "usage", "versions", "memories", "vectors", "contents"),
    "scopes",
)
"""Every table that is about scopes, those first that refer to others."""

OF_ROOTS = ("commits", "roots")

Rows = dict[str, list[dict[str, Any]]]


def live(engine: recollect.Engine, scope: str) -> None:
    """Whatever may happen to a memory happens, so that no table is empty; the same ids are in both roots."""
    name = scope.replace("/", "-")
    id = "seat" if scope in (ANA, RIVAL) else f"{name}-seat"
    more = {"id": id, "key": f"{name}-key", "shared": True, "topic_key": f"{name} seat", "subject": f"{name}: sits"}
    engine.remember_all([{"text": f"{name} prefers window seats", **more}], scope=scope)
    engine.remember(f"{name} keeps this to itself", scope=scope)
    engine.revise(id, f"{name} prefers aisle seats, as Vera said", scope=scope)
    engine.remember(f"{name} prefers aisle seats, as Vera said", scope=scope)
    context = engine.recall(f"which seat for {name}?", scope=scope)
    assert context.id is not None
    engine.feedback(context.id, scope=scope, helped=[id], by=f"{name} itself")
    engine.observe([f"{name} took a seat"], scope=scope)
    engine.admin.flush()


def note(store: PostgresStore, scope: str) -> None:
    """Whoever sums up what happened notes how far that got, and somebody quotes all that was recalled."""
    whose = Scope.parse(scope)
    store.write(lambda writing: set_checkpoint(writing, whose, "how far", f"as far as {scope}"))
    (made,) = store.contexts(whose)
    packed = [one.id for one in made.packed]
    store.write(lambda writing: count_uses(writing, whose, packed, Use.QUOTED, made.made_at, made.id))


@pytest.fixture(scope="module")
def database(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database in which two roots live, and siblings in one of them; owned by one role, used by another too."""
    a_role(postgres_server, AGENT)
    with postgres_server.database(like=postgres_template) as name:
        grant(postgres_server, name)
        with an_engine(postgres_server.url(name)) as engine:
            for scope in (TEAM, ANA, BEN, BELOW, RIVAL):
                live(engine, scope)
        with closing(PostgresStore(postgres_server.url(name), ManualClock())) as store:
            for scope in (TEAM, ANA, BEN, BELOW, RIVAL):
                note(store, scope)
        yield name


@pytest.fixture(scope="module")
def admin(postgres_server: Server, database: str) -> Iterator[Db]:
    """A connection of the superuser, who can take any role for a transaction."""
    with postgres_server.admin(database) as db:
        (number,) = db.execute("SELECT 'vector'::regtype::oid::bigint").fetchone() or (0,)
        register_vector_type(db, cast(int, number))
        yield db


@pytest.fixture(params=[ROLE, AGENT])
def role(request: pytest.FixtureRequest) -> str:
    """Who asks: the owner of the tables, and a role that may read and write."""
    return str(request.param)


def taking(role: str) -> str:
    return f"SET LOCAL ROLE {role}"


def reaching(scope: str | None, *, wide: bool = False) -> sql.Composed:
    return RlsScope.of(None if scope is None else Scope.parse(scope), wide=wide).full_statement


def everything(db: Db) -> Rows:
    """All rows of all tables, with the path of the scope that each is of; of the root, if it is of no scope."""
    found: Rows = {}
    for table in (*TABLES, *OF_ROOTS):
        rows = [row for (row,) in db.execute(f"SELECT to_jsonb(t) FROM {table} t")]
        found[table] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    return found


def whose(db: Db) -> Callable[[dict[str, Any]], str]:
    """Tells whose a row is, by a superuser's knowledge."""
    paths: dict[int, str] = dict(db.execute("SELECT number, path FROM recollect.scopes").fetchall())
    return lambda row: str(row.get("path") or paths.get(row.get("scope", 0)) or row["root"])


def owners(rows: Rows, owner: Callable[[dict[str, Any]], str]) -> dict[str, set[str]]:
    return {table: {owner(row) for row in found} for table, found in rows.items()}


def expected(paths: set[str], roots: set[str]) -> dict[str, set[str]]:
    return {**dict.fromkeys(TABLES, paths), **dict.fromkeys(OF_ROOTS, roots)}


def partitions(db: Db) -> list[str]:
    """The names of all partitions of all tables."""
    found = db.execute(
        "SELECT relname FROM pg_class"
        " WHERE relnamespace = 'recollect'::regnamespace AND relispartition AND relkind = 'r'"
    )
    return [str(name) for (name,) in found]


def test_the_tables_here_are_all_that_have_a_root(admin: Db) -> None:
    found = admin.execute(
        "SELECT table_name FROM information_schema.columns c WHERE table_schema = 'recollect' AND column_name = 'root'"
    )
    assert {name for (name,) in found} == {*TABLES, *OF_ROOTS, *partitions(admin)}


def test_a_superuser_sees_rows_of_everybody_in_every_table(admin: Db) -> None:
    with undone(admin):
        seen = owners(everything(admin), whose(admin))
    assert seen == expected(ROOT | {RIVAL}, {"acme", "stranger"})


def test_who_says_nothing_sees_nothing(admin: Db, role: str) -> None:
    with undone(admin, taking(role)):
        assert not any(everything(admin).values())


def test_what_the_transaction_before_said_is_forgotten(admin: Db, role: str) -> None:
    with undone(admin, taking(role), reaching(None)):
        assert all(everything(admin).values())
    with undone(admin, taking(role), reaching(ANA)):
        assert all(everything(admin).values())
    with undone(admin, taking(role)):
        assert not any(everything(admin).values())


def test_who_asks_for_a_scope_sees_it_and_its_ancestors(admin: Db, role: str) -> None:
    with undone(admin, taking(role), reaching(ANA)):
        rows = everything(admin)
        admin.execute("RESET ROLE")
        assert owners(rows, whose(admin)) == expected(OURS, {"acme"})


def test_who_asks_for_a_root_sees_nothing_of_another(admin: Db, role: str) -> None:
    with undone(admin, taking(role), reaching(ANA, wide=True)):
        rows = everything(admin)
        admin.execute("RESET ROLE")
        assert owners(rows, whose(admin)) == expected(ROOT, {"acme"})


@pytest.mark.parametrize("scope", ["acme/an", "acm", "acme/ana/x", "nobody", "acme/ana_", "ACME/ana"])
def test_a_scope_that_only_looks_alike_sees_no_more_than_its_ancestors(admin: Db, role: str, scope: str) -> None:
    above = {str(one) for one in Scope.parse(scope).ancestors} & OURS
    with undone(admin, taking(role), reaching(scope)):
        rows = {table: found for table, found in everything(admin).items() if table in TABLES}
        admin.execute("RESET ROLE")
        assert owners(rows, whose(admin)) == dict.fromkeys(TABLES, above)


def test_a_partition_that_is_asked_by_its_own_name_shows_and_takes_nothing(admin: Db, role: str) -> None:
    names = partitions(admin)
    assert len(names) == 8 * len((*TABLES, *OF_ROOTS))
    with undone(admin):
        held = [name for name in names if admin.execute(f"SELECT FROM {name}").fetchone() is not None]
    assert len(held) > 12
    for scope, wide in ((ANA, False), (ANA, True), (None, False)):
        with undone(admin, taking(role), reaching(scope, wide=wide)):
            for name in held:
                assert admin.execute(f"SELECT * FROM {name}").fetchall() == []
                assert admin.execute(f"UPDATE {name} SET root = root").rowcount == 0
                assert admin.execute(f"DELETE FROM {name}").rowcount == 0
            with pytest.raises(errors.InsufficientPrivilege), admin.transaction():
                admin.execute("INSERT INTO roots_0 (root) VALUES ('acme')")


def strangers(rows: Rows, owner: Callable[[dict[str, Any]], str], paths: set[str], roots: set[str]) -> Rows:
    """What is not of these."""
    reached = expected(paths, roots)
    return {table: [row for row in found if owner(row) not in reached[table]] for table, found in rows.items()}


@pytest.mark.parametrize(("wide", "paths"), [(False, OURS), (True, ROOT)], ids=["scope", "root"])
def test_an_update_without_a_condition_touches_no_more_than_can_be_seen(
    admin: Db, role: str, wide: bool, paths: set[str]
) -> None:
    owner = whose(admin)
    with undone(admin, taking(role), reaching(ANA, wide=wide)):
        seen = {table: len(rows) for table, rows in everything(admin).items()}
        assert seen == {table: admin.execute(f"UPDATE {table} SET root = root").rowcount for table in seen}
        before = _as_superuser(admin, role)
        assert admin.execute("UPDATE contents SET text = 'gone'").rowcount == seen["contents"]
        admin.execute("UPDATE scopes SET changed = 0, used = 0, emptied = 0")
        admin.execute("UPDATE commits SET recorded_at = 0")
        after = _as_superuser(admin, role)
        assert strangers(after, owner, paths, {"acme"}) == strangers(before, owner, paths, {"acme"})
        assert {row["text"] for row in after["contents"] if owner(row) in paths} == {"gone"}


@pytest.mark.parametrize(("wide", "paths"), [(False, OURS), (True, ROOT)], ids=["scope", "root"])
def test_a_delete_without_a_condition_removes_no_more_than_can_be_seen(
    admin: Db, role: str, wide: bool, paths: set[str]
) -> None:
    with undone(admin):
        before, owner = everything(admin), whose(admin)
    with undone(admin, taking(role), reaching(ANA, wide=wide)):
        for table in (*TABLES, *OF_ROOTS):
            admin.execute(f"DELETE FROM {table}")
        assert not any(everything(admin).values())
        assert _as_superuser(admin, role) == strangers(before, owner, paths, {"acme"})


def _as_superuser(db: Db, role: str) -> Rows:
    """All there is in the middle of a transaction of somebody else's."""
    db.execute("RESET ROLE")
    rows = everything(db)
    db.execute(taking(role))
    return rows


@pytest.mark.parametrize("table", [*TABLES, *OF_ROOTS])
def test_a_row_for_another_root_or_scope_is_refused(admin: Db, role: str, table: str) -> None:
    with undone(admin):
        rows, owner = everything(admin)[table], whose(admin)
    theirs = [row for row in rows if owner(row) in {BEN, RIVAL, "stranger"}]
    assert {"acme", "stranger"} >= {row["root"] for row in theirs} >= {"stranger"}
    for row in theirs:
        with undone(admin, taking(role), reaching(ANA)), pytest.raises(errors.InsufficientPrivilege, match="row-level"):
            admin.execute(
                f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s::jsonb)", [json.dumps(row)]
            )


@pytest.mark.parametrize("table", [*TABLES, *OF_ROOTS])
def test_no_row_is_handed_over_to_another_root_or_scope(admin: Db, role: str, table: str) -> None:
    (stranger,) = admin.execute("SELECT number FROM recollect.scopes WHERE path = %s", [BEN]).fetchone() or (None,)
    moves = ["root = 'stranger'"]
    if table not in (*OF_ROOTS, "scopes"):
        moves.append(f"scope = {stranger}")
    if table == "scopes":
        moves.append("path = 'acme/somebody'")
    for move in moves:
        with undone(admin, taking(role), reaching(ANA)), pytest.raises(errors.InsufficientPrivilege, match="row-level"):
            admin.execute(f"UPDATE {table} SET {move}")


def test_the_agent_may_not_empty_a_table_which_row_level_security_would_let_it(admin: Db) -> None:
    with undone(admin, taking(AGENT)), pytest.raises(errors.InsufficientPrivilege):
        admin.execute("TRUNCATE memories CASCADE")


# our own statements, without what they say about root, scope, path and id

_BY_ROOT = re.compile(r"\(%\(root\)s::text IS NULL OR [\w.]+ = %\(root\)s\)")
_CONDITION = re.compile(r"[\w.]+ (?:=|<|>|<=|>=|<>) %\((?!after)\w+\)s(?:::\w+)?(?![\w:(])(?!\s*\|\|)")
_IN_SCOPE = re.compile(r"[\w.]+ = \(SELECT s\.number FROM scopes s WHERE true AND true\)")
_VALUES = re.compile(r"(\bSET\b.*?(?=\bWHERE\b|$))", re.DOTALL)
"""What an update gives to rows, which are no conditions."""

CHANGING = sorted(name for name, text in SQL.items() if re.search(r"\b(UPDATE \w+ SET|UPDATE \w+\nSET|DELETE)\b", text))
READING = sorted(name for name, text in SQL.items() if not re.search(r"\b(INSERT|UPDATE|DELETE|LOCK|TRUNCATE)\b", text))


def bare(text: str) -> str:
    """A statement that no longer says whose and which rows it is about."""
    parts = _VALUES.split(text)
    for place in range(0, len(parts), 2):
        parts[place] = _IN_SCOPE.sub("true", _CONDITION.sub("true", _BY_ROOT.sub("true", parts[place])))
    return "".join(parts).replace("number = (\n", "number IN (\n")


@pytest.fixture
def any_given(admin: Db) -> dict[str, Any]:
    """Something for every parameter, such that as much as can be is found."""
    with undone(admin):
        rows = everything(admin)
    paths, ids = [row["path"] for row in rows["scopes"]], [row["id"] for row in rows["memories"]]
    numbers = [row["number"] for row in rows["memories"]]
    lists = {
        "paths": paths,
        "ancestors": paths,
        "ids": ids,
        "memories": numbers,
        "numbers": numbers,
        "places": [[row["number"], row["changed"]] for row in rows["memories"]],
        "contents": [row["number"] for row in rows["contents"]],
        "contexts": [row["id"] for row in rows["contexts"]],
        "statuses": ["active", "superseded", "forgotten", "archived"],
        "levels": ["event"],
        "models": ["hashing"],
    }
    plain = {"encoder": 1, "at": 1 << 60, "commit": 1 << 30, "after": 0, "most": 99, "limit": 99, "below": True}
    known = {**plain, **{name: json.dumps(value) for name, value in lists.items()}, "unshared": True, "first": ""}
    names = {name for text in SQL.values() for name in re.findall(r"%\((\w+)\)s", text)} - {"root", "token"}
    one = next(row for row in rows["memories"] if row["id"] == "seat" and row["root"] == TEAM)
    state = {name: one[name] for name in ("content", *STATE_COLUMNS)} | {"status": "forgotten", "shared": False}
    others = {"beyond": "\U0010ffff", "id": "seat", "path": ANA, "number": 1, "helped": 7, "misled": 7}
    return {**dict.fromkeys(names, "1"), **state, **others, **known}


def shown(admin: Db, given: dict[str, Any], *first: sql.Composed | str) -> dict[str, str]:
    """What each statement that reads shows, in a transaction of its own that begins so."""
    found = {}
    for name in READING:
        with undone(admin, *first):
            db = PostgresTransaction(admin, RlsScope.of(Scope.parse(ANA)))
            found[name] = repr([row for row in db.fetch_all(name, **given) if row != (0, 0)])
    return found


@pytest.fixture
def unconditional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "SQL", {name: bare(text) for name, text in SQL.items()})


@pytest.mark.usefixtures("unconditional")
def test_our_own_statements_show_nobody_else_without_their_conditions(
    admin: Db, role: str, any_given: dict[str, Any]
) -> None:
    for scope, wide in ((ANA, False), (TEAM, False)):
        told = shown(admin, any_given, taking(role), reaching(scope, wide=wide))
        assert {name for name, text in told.items() if "stranger" in text} == set()
    told = shown(admin, any_given, taking(role))
    assert {name for name, text in told.items() if "seat" in text or "acme" in text} == set()

    told = shown(admin, any_given, taking(role), reaching(ANA, wide=True))
    assert {name for name, text in told.items() if "stranger-ana" in text or "stranger/ana" in text} == set()


@pytest.mark.usefixtures("unconditional")
def test_they_would_show_strangers_to_who_is_not_held(admin: Db, any_given: dict[str, Any]) -> None:
    told = shown(admin, any_given, reaching(ANA))
    exposed = {name for name, text in told.items() if "stranger" in text}
    assert exposed >= {
        *("entries", "entries_known_at", "memories_by_id", "memories_now", "history", "memory_known_at", "own_memory"),
        *("scope_stamps", "sayings", "context", "key", "all_contexts", "votes_on", "saved_memories", "counts"),
        *("saved_contents", "saved_votes", "saved_keys", "saved_contexts", "said_by", "keys_of", "own_places"),
        *("timeline", "checkpoint", "votes_in", "signs_in"),
    }


def changing(db: Db, given: dict[str, Any]) -> set[str]:
    """Run every statement that changes or removes rows, as far as it can be; gives those that did."""
    done = set()
    for name in CHANGING:
        try:
            with db.transaction():
                PostgresTransaction(db, RlsScope.of(Scope.parse(ANA))).execute(name, **given)
        except (errors.IntegrityError, errors.InsufficientPrivilege):
            continue
        done.add(name)
    return done


@pytest.mark.usefixtures("unconditional")
def test_our_own_statements_change_nobody_else_without_their_conditions(
    admin: Db, role: str, any_given: dict[str, Any]
) -> None:
    with undone(admin):
        before, owner = everything(admin), whose(admin)
    outside = strangers(before, owner, OURS, {"acme"})
    with undone(admin, taking(role), reaching(ANA)):
        assert changing(admin, any_given) >= {
            *("change_memory", "drop_memory", "drop_vectors", "scope_changed", "drop_checkpoints"),
        }
        after = _as_superuser(admin, role)
        assert strangers(after, owner, OURS, {"acme"}) == outside
        assert after != before
    with undone(admin, reaching(ANA)):
        changing(admin, any_given)
        assert strangers(everything(admin), owner, OURS, {"acme"}) != outside


# what the engine says


def test_an_engine_never_sees_siblings_or_other_roots(postgres_server: Server, database: str, role: str) -> None:
    with an_engine(postgres_server.url(database, role)) as engine:
        found = engine.search("which seat, as Vera said?", scope=ANA, limit=100)
        assert {str(one.memory.scope) for one in found} == OURS
        assert {str(memory.scope) for memory in engine.memories(scope=ANA)} == {ANA}
        assert {str(memory.scope) for memory in engine.memories(scope=TEAM, below=True)} == ROOT
        assert "stranger-ana" not in "".join(engine.export(scope=TEAM))
        assert "acme" not in "".join(engine.export(scope=RIVAL))
        assert engine.get("seat", scope=ANA).text.startswith("acme-ana")
        assert engine.get("seat", scope=RIVAL).text.startswith("stranger-ana")


@pytest.mark.parametrize("theirs", ["acme-stranger-seat", "acme-ana-stranger-seat"])
def test_what_is_somebody_elses_is_answered_as_what_is_nobodys(
    postgres_server: Server, database: str, admin: Db, role: str, theirs: str
) -> None:
    with an_engine(postgres_server.url(database, role)) as engine:
        acts: list[Callable[[str], object]] = [
            lambda id: engine.why(id, "which seat?", scope=ANA),
            lambda id: engine.get(id, scope=ANA),
            lambda id: engine.history(id, scope=ANA),
            lambda id: engine.contexts.usage(id, scope=ANA),
            lambda id: engine.forget(id, scope=ANA),
            lambda id: engine.revise(id, "taken over", scope=ANA),
        ]
        for act in acts:
            said = []
            for id in (theirs, "nobodys"):
                with pytest.raises(NotFound) as refusal:
                    act(id)
                said.append(str(refusal.value).replace(id, "it"))
            assert said[0] == said[1]
    with undone(admin):
        (text,) = admin.execute(
            "SELECT c.text FROM memories m JOIN contents c ON (c.root, c.number) = (m.root, m.content) WHERE m.id = %s",
            [theirs],
        ).fetchone() or ("",)
    assert str(text).endswith("prefers aisle seats, as Vera said")
