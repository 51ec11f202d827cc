"""Whoever opens a database first makes the tables, once; whatever is not as it must be is refused with what to do."""

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import recollect
from recollect.errors import SchemaMismatch, StoreError
from recollect.stores.postgres import connection
from recollect.stores.postgres.connection import MIGRATIONS, PostgresMigrationLog
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql.migrations import Migration, load_migrations
from recollect.testing.builders import ManualClock
from tests.integration.postgres import writers_rig as rig
from tests.integration.postgres.processes import Process
from tests.integration.postgres.scene import AGENT, a_role, an_engine, grant, named, until
from tests.postgres import ROLE, Server, admin_url

STARTERS = 8
NEWEST = len(load_migrations(MIGRATIONS))


def opened(url: str) -> str:
    """What is said when the database is opened, be it that it is open."""
    try:
        PostgresStore(url, ManualClock()).close()
    except StoreError as error:
        return f"{type(error).__name__} {error}"
    return "open"


def tables(url: str) -> int:
    """How many tables there are, that are not the server's own."""
    with psycopg.connect(admin_url(url)) as db:
        found = db.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        (many,) = found.fetchone() or (0,)
    return int(many)


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_many_starters_at_the_same_moment_all_succeed_and_migrate_once(
    postgres_server: Server, postgres_url: str, isolation: str
) -> None:
    with postgres_server.admin() as admin:
        setting = sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = {}")
        admin.execute(setting.format(sql.Identifier(named(postgres_url)), sql.Literal(isolation)))
    starters = [Process(rig.opens, postgres_url) for _ in range(STARTERS)]
    assert [one.hear() for one in starters] == [("ready",)] * STARTERS
    for one in starters:
        one.tell()
    assert [one.end() for one in starters] == [[("open",)]] * STARTERS
    with psycopg.connect(admin_url(postgres_url)) as db:
        assert db.execute("SELECT number FROM recollect.migrated").fetchall() == [
            (number,) for number in range(1, NEWEST + 1)
        ]


def test_a_starter_that_is_killed_in_the_middle_leaves_nothing(postgres_server: Server, postgres_url: str) -> None:
    with psycopg.connect(admin_url(postgres_url)) as held:
        held.execute("CREATE EXTENSION vector")
        held.commit()
        held.execute("CREATE TABLE public.marker ()")  # which is nobody's business
        held.execute("CREATE SCHEMA recollect")  # the starter waits for us here, with its turn taken
        starter = Process(rig.opens, postgres_url)
        assert starter.hear() == ("ready",)
        starter.tell()
        with postgres_server.admin() as admin:
            waits = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND wait_event_type = 'Lock'"
            until(lambda: admin.execute(waits, [ROLE]).fetchone() == (1,))
        starter.kill()
        held.rollback()
    assert tables(postgres_url) == 0
    assert opened(postgres_url) == "open"
    assert tables(postgres_url) > 100


def test_a_migration_that_breaks_off_leaves_nothing(postgres_url: str) -> None:
    script = "CREATE TABLE half (number integer); INSERT INTO half VALUES (1); SELECT 1 / 0"
    with psycopg.connect(admin_url(postgres_url), autocommit=True) as db:
        ledger = PostgresMigrationLog(db, "a database", "public")
        for _ in range(2):
            with pytest.raises(psycopg.errors.DivisionByZero):
                ledger.advance(Migration(1, "0001_half.sql", script))
            assert ledger.version() == 0
            assert tables(postgres_url) == 0


def test_a_schema_of_a_newer_program_is_refused(postgres_store_url: str) -> None:
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute("INSERT INTO recollect.migrated (number) VALUES (%s)", [NEWEST + 1])
    told = rf"written by a newer recollect \(schema {NEWEST + 1}; .* upgrade recollect"
    with pytest.raises(SchemaMismatch, match=told):
        PostgresStore(postgres_store_url, ManualClock())


@pytest.mark.parametrize("version", ["0.8.1", "0.7.4", "0.8"])
def test_a_pgvector_that_is_too_old_is_refused(postgres_store_url: str, version: str) -> None:
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", [version])
    told = opened(postgres_store_url)
    assert f"has pgvector {version}, but 0.8.2 or newer is needed" in told
    assert "ALTER EXTENSION vector UPDATE" in told


@pytest.mark.parametrize("version", ["0.8.2", "0.8.10", "0.10.0", "1.0"])
def test_a_pgvector_that_is_new_enough_is_not(postgres_store_url: str, version: str) -> None:
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", [version])
    assert opened(postgres_store_url) == "open"


def test_a_database_without_pgvector_says_who_may_create_it(untrusting_postgres_url: str) -> None:
    told = opened(untrusting_postgres_url)
    assert "the database does not have pgvector, and this role cannot create it" in told
    assert "run CREATE EXTENSION vector in it as a role that can" in told
    assert tables(untrusting_postgres_url) == 0
    with psycopg.connect(admin_url(untrusting_postgres_url)) as db:
        db.execute("CREATE EXTENSION vector")
    assert opened(untrusting_postgres_url) == "open"


def test_pgvector_may_be_in_a_schema_of_its_own(untrusting_postgres_url: str) -> None:
    with psycopg.connect(admin_url(untrusting_postgres_url)) as db:
        db.execute('CREATE SCHEMA "Extra ""things"""')
        db.execute(f'GRANT USAGE ON SCHEMA "Extra ""things""" TO {ROLE}')
        db.execute('CREATE EXTENSION vector SCHEMA "Extra ""things"""')
    with an_engine(untrusting_postgres_url) as engine:
        receipt = engine.remember("Ana prefers window seats", scope="acme/ana")
        assert engine.search("seat", scope="acme/ana")[0].id == receipt.id


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def encoded_url(request: pytest.FixtureRequest, postgres_server: Server) -> Iterator[str]:
    """A database that cannot keep every text."""
    with postgres_server.admin() as admin:
        made = "CREATE DATABASE encoded OWNER {} ENCODING {} LOCALE 'C' TEMPLATE template0"
        admin.execute(sql.SQL(made).format(sql.Identifier(ROLE), sql.Literal(request.param)))
        try:
            yield postgres_server.url("encoded")
        finally:
            admin.execute("DROP DATABASE encoded WITH (FORCE)")


def test_a_database_that_cannot_keep_every_text_is_refused(encoded_url: str) -> None:
    told = opened(encoded_url)
    assert "has the encoding" in told
    assert "create a database with ENCODING 'UTF8'" in told
    assert tables(encoded_url) == 0


def test_a_role_that_may_not_make_a_schema_is_told_who_may(postgres_server: Server, postgres_url: str) -> None:
    a_role(postgres_server, AGENT)
    with psycopg.connect(admin_url(postgres_url)) as db:
        db.execute("CREATE EXTENSION vector")
    told = opened(postgres_server.url(named(postgres_url), AGENT))
    assert "migration 0001_first.sql is not allowed" in told
    assert "open the store once as a role that can create a schema in the database" in told


def test_a_role_without_rights_on_the_tables_is_told_whom_to_ask(
    postgres_server: Server, postgres_store_url: str
) -> None:
    a_role(postgres_server, AGENT)
    url = postgres_server.url(named(postgres_store_url), AGENT)
    told = opened(url)
    assert "permission denied for schema recollect; ask the owner of its tables to grant the missing privilege" in told
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute(f"GRANT USAGE ON SCHEMA recollect TO {AGENT}")
    assert "permission denied for table migrated; ask the owner of its tables to grant the missing privilege" in opened(
        url
    )
    grant(postgres_server, named(postgres_store_url))
    assert opened(url) == "open"


def test_a_role_that_may_read_but_not_write_is_told_so_when_it_writes(
    postgres_server: Server, postgres_store_url: str
) -> None:
    a_role(postgres_server, AGENT)
    with an_engine(postgres_store_url) as engine:
        engine.remember("Ana prefers window seats", scope="acme/ana")
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute(f"GRANT USAGE ON SCHEMA recollect TO {AGENT}")
        db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO {AGENT}")
    with an_engine(postgres_server.url(named(postgres_store_url), AGENT)) as engine:
        assert len(engine.search("seat", scope="acme/ana")) == 1
        assert "window" in engine.recall("seat", scope="acme/ana").text  # which keeps no trace of it
        with pytest.raises(StoreError, match="is read-only for this role"):
            engine.remember("Ana drinks tea", scope="acme/ana")


def test_a_role_that_may_write_some_tables_is_told_which_not(postgres_server: Server, postgres_store_url: str) -> None:
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(postgres_store_url))
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        db.execute(f"REVOKE INSERT ON recollect.memories FROM {AGENT}")
    told = "permission denied for table memories; ask the owner of its tables to grant the missing privilege"
    with (
        an_engine(postgres_server.url(named(postgres_store_url), AGENT)) as engine,
        pytest.raises(StoreError, match=told),
    ):
        engine.remember("Ana drinks tea", scope="acme/ana")


def test_a_password_is_never_shown(postgres_server: Server, postgres_store_url: str) -> None:
    good = postgres_server.network_url(named(postgres_store_url))
    assert opened(good) == "open"
    with recollect.open(good, embedder="hashing") as engine:
        assert postgres_server._password not in f"{engine!r} {engine._deps.store}"
    secret = "sesame" * 2
    for wrong in (
        good.replace(postgres_server._password, secret),
        good.replace(postgres_server._password, secret).replace(f":{postgres_server.port}/", ":1/"),
        good.replace(postgres_server._password, secret).replace("127.0.0.1", "nowhere.invalid"),
    ):
        with pytest.raises(StoreError, match=r"cannot be reached .*check host, port, role, password") as refusal:
            PostgresStore(wrong, ManualClock())
        shown: list[BaseException | None] = [refusal.value]
        while shown[-1] is not None:
            assert secret not in f"{shown[-1]!s} {shown[-1]!r} {shown[-1].args!r}"
            shown.append(shown[-1].__cause__ or shown[-1].__context__)


def test_a_database_that_is_not_there_is_named(postgres_server: Server) -> None:
    told = opened(postgres_server.url("nowhere"))
    assert 'database "nowhere" does not exist' in told


def test_a_server_that_is_too_old_is_refused(postgres_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MIN_SERVER_VERSION", 99)  # instead of having an old one
    assert "PostgreSQL 18 is too old; version 99 or newer is needed" in opened(postgres_store_url)


SETTINGS = {
    "client_encoding": "LATIN1",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "standard_conforming_strings": "off",
    "escape_string_warning": "off",
    "search_path": "nowhere",
    "bytea_output": "escape",
    "extra_float_digits": "0",
    "DateStyle": "German",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Pacific/Chatham",
    "lock_timeout": "1ms",
    "quote_all_identifiers": "on",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "backslash_quote": "off",
    "plan_cache_mode": "force_generic_plan",
    "xmloption": "document",
    "check_function_bodies": "off",
    "cursor_tuple_fraction": "1",
    "default_toast_compression": "pglz",
    "enable_partition_pruning": "off",
}


def test_whatever_a_role_has_set_for_itself_makes_no_difference(postgres_server: Server, postgres_url: str) -> None:
    place = sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}")
    with postgres_server.admin() as admin:
        for name, value in SETTINGS.items():
            who, where = sql.Identifier(ROLE), sql.Identifier(named(postgres_url))
            admin.execute(place.format(who, where, sql.SQL(name), sql.Literal(value)))
    with psycopg.connect(admin_url(postgres_url)) as db:
        db.execute("CREATE EXTENSION vector SCHEMA public")
    text = "Ana's \\ \"seat\" is ⅓ of 部署 🚀 '; -- é"
    with an_engine(postgres_url) as engine:
        receipt = engine.remember(text, scope="acmé/部署", title="\\'", importance=1 / 3, metadata={"a'": "\\b"})
        (hit, *_) = engine.search("部署", scope="acmé/部署")
        assert (hit.id, hit.memory.text, hit.memory.importance) == (receipt.id, text, 1 / 3)
        context = engine.recall("seat", scope="acmé/部署")
        assert context.id is not None
        engine.feedback(context.id, scope="acmé/部署", helped=[receipt.id])
        assert len(list(engine.export())) > 1
        assert engine.erase(scope="acmé/部署", everything=True).ids == (receipt.id,)


def test_the_environment_of_the_driver_makes_no_difference(
    postgres_store_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "PGCLIENTENCODING": "SQL_ASCII",
        "PGDATESTYLE": "German",
        "PGTZ": "Pacific/Chatham",
        "PGOPTIONS": "-c search_path=nowhere -c default_transaction_isolation=serializable",
        "PGAPPNAME": "somebody",
        "PGPASSFILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(name, value)
    with an_engine(postgres_store_url) as engine:
        receipt = engine.remember("部署 é", scope="acme/ana")
        assert engine.search("部署", scope="acme/ana")[0].id == receipt.id


def test_two_threads_may_open_the_same_empty_database(postgres_url: str) -> None:
    told = list[str]()
    threads = [threading.Thread(target=lambda: told.append(opened(postgres_url))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["open", "open"]
