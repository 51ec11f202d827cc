"""An index of the nearest for a scope: what it is of, who uses it, and that nobody else is kept waiting by it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

import recollect
from recollect.errors import InvalidInput, NotFound, StoreBusy, StoreError
from recollect.factory import drop_index, drop_useless_indexes, index_scope, list_indexes, re_embed
from recollect.model.encoder import ScopeVectorIndex
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.providers.hashing import HashingEmbedder
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.transaction import RlsScope
from recollect.stores.postgres.vector_index import PostgresVectorIndexes, index_name
from recollect.testing.builders import ENCODER, ManualClock, a_note, a_vector, adopt, put
from tests.integration.postgres.scene import AGENT, Db, a_role, grant, named, undone, until
from tests.postgres import ROLE, Server, admin_url
from tests.postgres.pooler import a_pooler

ANA, BEN, RIVAL = "acme/ana", "acme/ben", "stranger/ana"
IN_ORDER = "SET LOCAL enable_sort = off"
"""Has the planner prefer what is in order already: of a root it does not know how many rows there are."""

ENDED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%'"
BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'"


@pytest.fixture
def admin(postgres_store_url: str) -> Iterator[Db]:
    """A connection of the superuser."""
    with psycopg.connect(admin_url(postgres_store_url), autocommit=True) as db:
        yield db


@pytest.fixture
def store(postgres_store_url: str) -> Iterator[PostgresStore]:
    """A store whose scopes have a few vectors each."""
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        for scope, count in ((ANA, 30), (BEN, 3), (RIVAL, 5)):
            put(store, *notes(scope, count))
        yield store


def notes(scope: str, count: int) -> list[recollect.Memory]:
    return [a_note(f"{scope.replace('/', '-')}-{n}", scope=Scope.parse(scope)) for n in range(count)]


def with_options(url: str, *options: str) -> str:
    """The same database for sessions that begin with these settings."""
    return f"{url}&options={quote(' '.join(f'-c {one}' for one in options))}"


def number_of(admin: Db, scope: str) -> int:
    (number,) = admin.execute("SELECT number FROM recollect.scopes WHERE path = %s", [scope]).fetchone() or (0,)
    return int(number)


def in_the_catalogue(admin: Db) -> dict[str, int]:
    """Every index of the nearest, with the number that the server has for it."""
    found = admin.execute("SELECT relname, oid::bigint FROM pg_class WHERE relname LIKE 'near%' ORDER BY relname")
    return dict(found.fetchall())


def nearest(db: Db, scope: str, text: str, encoder: int = 1) -> tuple[str, list[str]]:
    """How the server finds what is nearest to a text in a scope, asked as a store asks, and what it finds."""
    direction = str(a_vector(text).tolist())
    (number,) = db.execute("SELECT number FROM scopes WHERE path = %s", [scope]).fetchone() or (0,)
    statement = sql.SQL(
        "SELECT (SELECT c.text FROM contents c WHERE (c.root, c.number) = (v.root, v.content)) FROM vectors v"
        " WHERE v.root = {} AND v.scope = {} AND v.encoder = {}"
        " ORDER BY v.value::halfvec(8) <=> {}::halfvec(8) LIMIT 5"
    ).format(*map(sql.Literal, (scope.partition("/")[0], number, encoder, direction)))
    plan = "\n".join(str(line) for (line,) in db.execute(sql.SQL("EXPLAIN ") + statement))
    return plan, [str(text) for (text,) in db.execute(statement)]


@contextmanager
def a_writer_who_takes_its_time(store: PostgresStore, scope: str, id: str) -> Iterator[Callable[[], None]]:
    """Somebody has written a memory and does not commit before it is told to; others build meanwhile."""
    written, go_on = threading.Event(), threading.Event()

    def slowly(writing: WriteTransaction) -> None:
        adopt(writing, ENCODER)
        note = a_note(id, scope=Scope.parse(scope))
        writing.put(note, a_vector(note.embedded_text))
        written.set()
        assert go_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(store.write, slowly)
        try:
            assert written.wait(60)
            yield go_on.set
        finally:
            go_on.set()
            done.result(60)


@contextmanager
def a_build(admin: Db, url: str, scope: str = ANA) -> Iterator["Future[ScopeVectorIndex]"]:
    """A build that waits for somebody who writes."""
    with ThreadPoolExecutor(1) as pool:
        build = pool.submit(index_scope, url, scope)
        until(lambda: build.done() or admin.execute(BUILDING).fetchone() == (1,))
        assert not build.done(), build.result()
        try:
            yield build
        finally:
            while not build.done():  # only if the test fails: the writer would wait for the build, and that for it
                admin.execute(ENDED)


@pytest.mark.usefixtures("store")
def test_an_index_is_of_the_vectors_that_the_model_gave_one_scope(postgres_store_url: str, admin: Db) -> None:
    assert list_indexes(postgres_store_url) == []
    built = index_scope(postgres_store_url, ANA)
    name = index_name(1, number_of(admin, ANA))
    assert built == ScopeVectorIndex(
        name=name,
        scope=ANA,
        model=ENCODER.name,
        vectors=30,
        bytes=built.bytes,
        valid=True,
        present=True,
        built=True,
    )
    assert built.bytes > 0
    assert built.is_usable
    (defined,) = admin.execute("SELECT pg_get_indexdef(%s::regclass)", [f"recollect.{name}"]).fetchone() or ("",)
    (partition,) = admin.execute(
        "SELECT DISTINCT tableoid::regclass::text FROM recollect.vectors WHERE root = 'acme'"
    ).fetchone() or ("",)
    assert defined == (
        f"CREATE INDEX {name} ON {partition} USING hnsw (((value)::halfvec(8)) halfvec_cosine_ops)"
        f" WITH (m='16', ef_construction='64') WHERE ((scope = {number_of(admin, ANA)}) AND (encoder = 1))"
    )


@pytest.mark.usefixtures("store")
def test_one_that_is_there_is_left_as_it_is(postgres_store_url: str, admin: Db) -> None:
    assert index_scope(postgres_store_url, ANA).built
    before = in_the_catalogue(admin)
    again = index_scope(postgres_store_url, ANA)
    assert (again.built, again.is_usable, in_the_catalogue(admin)) == (False, True, before)


@pytest.mark.usefixtures("store")
def test_an_index_is_dropped_by_its_scope_and_others_stay(postgres_store_url: str, admin: Db) -> None:
    for scope in (ANA, BEN, RIVAL):
        index_scope(postgres_store_url, scope)
    assert [(one.scope, one.vectors) for one in list_indexes(postgres_store_url)] == [(ANA, 30), (BEN, 3), (RIVAL, 5)]
    (gone,) = drop_index(postgres_store_url, ANA)
    assert gone.scope == ANA
    assert drop_index(postgres_store_url, ANA) == drop_useless_indexes(postgres_store_url) == []
    assert [one.scope for one in list_indexes(postgres_store_url)] == [BEN, RIVAL]
    assert len(in_the_catalogue(admin)) == 2


@pytest.mark.parametrize("role", [ROLE, AGENT])
@pytest.mark.usefixtures("store")
def test_the_planner_uses_it_for_roles_that_row_level_security_holds_and_for_that_scope_alone(
    postgres_server: Server, postgres_store_url: str, admin: Db, role: str
) -> None:
    index_scope(postgres_store_url, ANA)
    admin.execute("ANALYZE")
    name = index_name(1, number_of(admin, ANA))
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(postgres_store_url))
    held = sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role))
    with undone(admin, held, IN_ORDER, RlsScope.of(Scope.parse(ANA)).full_statement):
        plan, found = nearest(admin, ANA, "what acme-ana-7 says")
        assert f"Index Scan using {name}" in plan, plan
        assert "Sort" not in plan, plan
        assert (found[0], len(found)) == ("what acme-ana-7 says", 5)
    for scope, count in ((RIVAL, 5), (BEN, 3)):
        with undone(admin, held, IN_ORDER, RlsScope.of(Scope.parse(scope)).full_statement):
            plan, found = nearest(admin, scope, "what acme-ana-7 says")
            assert name not in plan, plan
            assert sorted(found) == [f"what {scope.replace('/', '-')}-{n} says" for n in range(count)]
    with undone(admin, held, IN_ORDER):
        assert nearest(admin, ANA, "what acme-ana-7 says")[1] == []


def test_others_read_and_write_while_it_is_built_and_what_they_write_is_in_it(
    postgres_store_url: str, store: PostgresStore, admin: Db
) -> None:
    (beside,) = admin.execute(
        "SELECT r.root FROM (SELECT 'root' || n AS root FROM generate_series(1, 999) n) r, recollect.vectors v"
        " WHERE v.root = 'acme' AND satisfies_hash_partition('recollect.vectors'::regclass, 8,"
        " right(v.tableoid::regclass::text, 1)::int, r.root) LIMIT 1"
    ).fetchone() or ("",)
    with (
        a_writer_who_takes_its_time(store, ANA, "late") as commit,
        a_build(admin, postgres_store_url) as build,
    ):
        put(store, a_note("beside", scope=Scope.parse(f"{beside}/ana")))
        with (
            closing(PostgresStore(postgres_store_url, ManualClock())) as other,
            recollect.open(postgres_store_url) as engine,
        ):
            assert other.stats(Scope.parse(BEN), below=False).memories == 3
            assert [str(one.scope) for one in engine.memories(scope=f"{beside}/ana")] == [f"{beside}/ana"]
        commit()
        assert build.result(60).valid
    put(store, a_note("later", scope=Scope.parse(ANA)))
    with undone(admin, IN_ORDER):
        for text in ("what late says", "what later says"):
            plan, found = nearest(admin, ANA, text)
            assert "Index Scan using near_" in plan, plan
            assert found[0] == text


def test_a_build_that_was_cut_off_is_told_and_begun_anew_by_the_next(
    postgres_store_url: str, store: PostgresStore, admin: Db
) -> None:
    with a_writer_who_takes_its_time(store, ANA, "late"), a_build(admin, postgres_store_url) as build:
        admin.execute(ENDED)
        with pytest.raises(StoreBusy, match="cannot be reached"):
            build.result(60)
    (left,) = list_indexes(postgres_store_url)
    assert (left.scope, left.valid, left.is_usable) == (ANA, False, False)
    before = in_the_catalogue(admin)
    built = index_scope(postgres_store_url, ANA)
    assert (built.built, built.valid, built.vectors) == (True, True, 31)
    after = in_the_catalogue(admin)
    assert (after.keys(), set(after.values()) & set(before.values())) == (before.keys(), set())


def test_what_was_cut_off_can_be_dropped_with_all_that_is_of_no_use(
    postgres_store_url: str, store: PostgresStore, admin: Db
) -> None:
    index_scope(postgres_store_url, BEN)
    with a_writer_who_takes_its_time(store, ANA, "late"), a_build(admin, postgres_store_url) as build:
        admin.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONC%'")
        with pytest.raises(StoreError, match="the operation did not finish"):
            build.result(60)
    assert [one.scope for one in drop_useless_indexes(postgres_store_url)] == [ANA]
    assert [one.scope for one in list_indexes(postgres_store_url)] == [BEN]


@pytest.mark.parametrize("second", [index_scope, drop_index])
def test_who_comes_second_is_told_so_and_the_first_is_not_disturbed(
    postgres_store_url: str, store: PostgresStore, admin: Db, second: Callable[[str, str], object]
) -> None:
    with (
        ThreadPoolExecutor(2) as others,
        a_writer_who_takes_its_time(store, ANA, "late") as commit,
        a_build(admin, postgres_store_url) as build,
    ):
        for scope in (ANA, RIVAL):
            with pytest.raises(
                StoreBusy, match="another process is creating or dropping an index, or sweeping; try again"
            ):
                others.submit(second, postgres_store_url, scope).result(30)
        assert [one.valid for one in list_indexes(postgres_store_url)] == [False]
        commit()
        assert build.result(60).is_usable
    second(postgres_store_url, ANA)
    assert index_scope(postgres_store_url, ANA).built is (second is drop_index)


def test_the_time_limits_of_a_role_are_not_for_a_build(
    postgres_store_url: str, store: PostgresStore, admin: Db
) -> None:
    limits = ("statement_timeout=1s", "lock_timeout=1s", "idle_in_transaction_session_timeout=1s")
    waited = (
        "SELECT bool_and(now() - state_change > '2 s') FROM pg_stat_activity"
        " WHERE datname = current_database() AND (query LIKE 'CREATE INDEX%' OR query LIKE '%advisory_xact_lock%')"
        " AND pid <> pg_backend_pid()"
    )
    with (
        a_writer_who_takes_its_time(store, ANA, "late") as commit,
        a_build(admin, with_options(postgres_store_url, *limits)) as build,
    ):
        until(lambda: build.done() or admin.execute(waited).fetchone() == (True,))
        assert not build.done()
        commit()
        assert build.result(60).valid


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
@pytest.mark.usefixtures("store")
def test_it_does_not_wait_for_itself_whatever_a_role_sees_in_a_transaction(postgres_store_url: str, level: str) -> None:
    level = level.replace(" ", "\\ ")
    assert index_scope(with_options(postgres_store_url, f"default_transaction_isolation={level}"), ANA).valid


@pytest.mark.usefixtures("store")
def test_where_processes_have_too_little_memory_to_share_one_builds_it_alone(
    postgres_store_url: str, admin: Db
) -> None:
    (partition,) = admin.execute(
        "SELECT DISTINCT tableoid::regclass::text FROM recollect.vectors WHERE root = 'acme'"
    ).fetchone() or ("",)
    admin.execute(f"ALTER TABLE {partition} SET (parallel_workers = 2)")
    more_than_there_is = with_options(postgres_store_url, "maintenance_work_mem=1900GB")
    with psycopg.connect(more_than_there_is, autocommit=True) as db, pytest.raises(psycopg.OperationalError):
        db.execute(f"CREATE INDEX ON {partition} USING hnsw ((value::halfvec(8)) halfvec_cosine_ops)")
    assert index_scope(more_than_there_is, ANA).is_usable


@pytest.mark.usefixtures("store")
def test_through_a_pooler_it_is_built_and_nothing_stays_set(postgres_server: Server, postgres_store_url: str) -> None:
    name = named(postgres_store_url)
    asked = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT LIKE 'recollect.%'"
    with a_pooler(postgres_server, connections=3) as pooler:
        built = index_scope(pooler.url(name), ANA)
        assert built.built
        assert built.is_usable
        sessions = [psycopg.connect(pooler.url(name)) for _ in range(3)]
        try:
            found = [{name for name, _ in one.execute(asked)} for one in sessions]
        finally:
            for one in sessions:
                one.close()
    told = {"client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name"}
    assert [one - told for one in found] == [set(), set(), set()]


@pytest.mark.usefixtures("store")
def test_who_does_not_own_the_tables_is_told_who_does(postgres_server: Server, postgres_store_url: str) -> None:
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(postgres_store_url))
    index_scope(postgres_store_url, ANA)
    agent = postgres_server.url(named(postgres_store_url), AGENT)
    for act in (index_scope, drop_index):
        with pytest.raises(
            StoreError, match=f"only the owner of the tables can create or drop indexes; run it as {ROLE}$"
        ):
            act(agent, ANA)
    with pytest.raises(StoreError, match=f"run it as {ROLE}$"):
        drop_useless_indexes(agent)
    assert [one.scope for one in list_indexes(agent)] == [ANA]


@pytest.mark.usefixtures("store")
def test_nothing_is_built_where_nothing_can_be_written(postgres_store_url: str, admin: Db) -> None:
    reader = with_options(postgres_store_url, "default_transaction_read_only=on")
    for act in (index_scope, drop_index):
        with pytest.raises(StoreError, match="connect to the primary server as a role that can write"):
            act(reader, ANA)
    assert list_indexes(reader) == []
    assert in_the_catalogue(admin) == {}


def test_a_scope_that_is_not_there_or_has_no_vectors_is_refused(postgres_store_url: str, store: PostgresStore) -> None:
    for act in (index_scope, drop_index):
        with pytest.raises(NotFound, match="the scope acme/nobody does not exist; "):
            act(postgres_store_url, "acme/nobody")
    put(store, a_note("only", scope=Scope.parse("acme/emptied")))
    with recollect.open(postgres_store_url) as engine:
        engine.erase(id="only", scope="acme/emptied")
    with pytest.raises(NotFound, match="the scope acme/emptied has no vectors to index; "):
        index_scope(postgres_store_url, "acme/emptied")


def test_a_database_without_a_store_is_not_made_one(postgres_url: str) -> None:
    with pytest.raises(NotFound, match="there is no store"):
        list_indexes(postgres_url)
    with psycopg.connect(postgres_url) as db:
        assert db.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


@pytest.mark.parametrize(("dimensions", "fits"), [(4_000, True), (4_001, False)])
def test_vectors_of_too_many_dimensions_are_refused(
    postgres_store_url: str, admin: Db, dimensions: int, fits: bool
) -> None:
    with recollect.open(postgres_store_url, embedder=HashingEmbedder(dimensions=dimensions)) as engine:
        engine.remember("Ana prefers window seats", scope=ANA)
    if fits:
        assert index_scope(postgres_store_url, ANA).is_usable
        return
    with pytest.raises(
        InvalidInput, match="hashing-4001 have 4,001 dimensions, but an index takes at most 4,000; search without"
    ):
        index_scope(postgres_store_url, ANA)
    assert in_the_catalogue(admin) == {}


@pytest.mark.usefixtures("store")
def test_after_going_over_to_another_model_the_former_index_is_told_and_replaced(
    postgres_store_url: str, admin: Db
) -> None:
    for scope in (ANA, BEN):
        index_scope(postgres_store_url, scope)
    with closing(PostgresVectorIndexes(postgres_store_url)) as open_before:
        re_embed(postgres_store_url, embedder=HashingEmbedder(dimensions=64))
        assert [(one.scope, one.model, one.present, one.is_usable) for one in open_before.list_all()] == [
            (ANA, None, False, False),
            (BEN, None, False, False),
        ]
        built = open_before.build(Scope.parse(ANA))
    assert (built.built, built.model, built.vectors) == (True, "hashing-64", 30)
    names = {index_name(2, number_of(admin, ANA)), index_name(1, number_of(admin, BEN))}
    assert in_the_catalogue(admin).keys() == names
    with recollect.open(postgres_store_url, embedder=HashingEmbedder(dimensions=64)) as engine:
        engine.remember("Ana prefers window seats", scope=ANA)
        engine.remember("Ben prefers aisle seats", scope=BEN)
    assert [one.scope for one in drop_useless_indexes(postgres_store_url)] == [BEN]
    assert [one.scope for one in list_indexes(postgres_store_url)] == [ANA]


@pytest.mark.usefixtures("store")
def test_the_vectors_of_a_former_model_that_are_not_removed_yet_keep_its_name(
    postgres_store_url: str, admin: Db
) -> None:
    index_scope(postgres_store_url, ANA)
    admin.execute("UPDATE recollect.encoders SET present = false, name = concat(' ', number, ' ', name)")
    (left,) = list_indexes(postgres_store_url)
    assert (left.model, left.present, left.is_usable) == (ENCODER.name, False, False)


def test_the_index_of_a_scope_that_was_erased_is_told_and_dropped_and_its_name_is_never_another_s(
    postgres_store_url: str, store: PostgresStore, admin: Db
) -> None:
    name = index_scope(postgres_store_url, ANA).name
    with recollect.open(postgres_store_url) as engine:
        engine.erase(scope=ANA, everything=True)
    put(store, a_note("anew", scope=Scope.parse(ANA)))
    (left,) = list_indexes(postgres_store_url)
    assert (left.name, left.scope, left.is_usable) == (name, None, False)
    built = index_scope(postgres_store_url, ANA)
    assert (built.built, built.name != name, built.vectors) == (True, True, 1)
    assert [one.name for one in list_indexes(postgres_store_url)] == [built.name, name]
    assert [one.name for one in drop_useless_indexes(postgres_store_url)] == [name]
    assert in_the_catalogue(admin).keys() == {built.name}


@pytest.mark.usefixtures("store")
def test_an_index_of_somebody_else_is_left_alone(postgres_store_url: str, admin: Db) -> None:
    for name in ("near_1_x", "near_1_2_3", "nearby_1_2"):
        admin.execute(f"CREATE INDEX {name} ON recollect.vectors_3 (scope)")
    admin.execute("CREATE INDEX near_1_1 ON recollect.contents_3 (scope)")
    assert list_indexes(postgres_store_url) == []
    assert drop_useless_indexes(postgres_store_url) == []
    assert len(in_the_catalogue(admin)) == 4


def test_pgvector_may_be_in_a_schema_of_its_own(postgres_server: Server) -> None:
    with postgres_server.database() as name:
        with postgres_server.admin(name) as admin:
            admin.execute('CREATE SCHEMA "of vectors"')
            admin.execute('CREATE EXTENSION vector SCHEMA "of vectors"')
            admin.execute(f'GRANT USAGE ON SCHEMA "of vectors" TO {ROLE}')
        url = postgres_server.url(name)
        with closing(PostgresStore(url, ManualClock())) as store:
            put(store, *notes(ANA, 3))
        assert index_scope(url, ANA).is_usable
