"""A database whose settings and neighbours are not kind: nothing of theirs gets into our transactions."""

from contextlib import closing

import psycopg
import pytest
from psycopg import sql

import recollect
from recollect.errors import ScopeError
from recollect.factory import index_scope
from recollect.model.memory import MemoryId
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import SCOPE, ManualClock, a_note, put
from tests.postgres import admin_url

SEAT = "Ana prefers window seats."
THEIRS = "CREATE FUNCTION {} LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'theirs was called'; END $$"


def filled(url: str) -> list[str]:
    """What a store finds that is made, written, recalled, counted and exported."""
    with recollect.open(url, embedder="hashing") as memory:
        memory.remember(SEAT, scope="acme/ana")
        memory.recall("which seat?", scope="acme/ana")
        memory.stats()
        list(memory.export())
        return [one.memory.text for one in memory.search("which seat?", scope="acme/ana")]


def test_functions_that_others_made_beside_pgvector_are_never_called(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
    with psycopg.connect(admin_url(postgres_url), autocommit=True) as db:
        for name in ("array_append(bigint[], bigint) RETURNS bigint[]", "format(text, text) RETURNS text"):
            db.execute(THEIRS.format(name).encode())
        db.execute(THEIRS.format("step(bigint[], bigint) RETURNS bigint[]").encode())
        db.execute("CREATE AGGREGATE array_agg(bigint) (SFUNC = step, STYPE = bigint[], INITCOND = '{}')")
    assert filled(postgres_url) == [SEAT]


@pytest.mark.parametrize("schema", ['100% "ours"', "%s", "%(root)s {}"])
def test_pgvector_may_be_in_a_schema_of_any_name(schema: str, postgres_url: str) -> None:
    name = sql.Identifier(schema)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        db.execute(sql.SQL("CREATE EXTENSION vector SCHEMA {}").format(name))
    assert filled(postgres_url) == [SEAT]
    index_scope(postgres_url, "acme/ana")
    with recollect.open(postgres_url, embedder="hashing") as memory:
        found = memory.search("which seat?", scope="acme/ana", profile="three-signal", exact="preferred")
    assert [one.memory.text for one in found] == [SEAT]


@pytest.mark.parametrize(
    "setting",
    [
        "parallel_setup_cost = 0",
        "debug_parallel_query = on",
        "default_transaction_isolation = 'serializable'",
        "client_encoding = 'LATIN1'",
        "standard_conforming_strings = off",
    ],
)
def test_odd_settings_of_a_database_change_nothing(setting: str, postgres_store_url: str) -> None:
    with psycopg.connect(admin_url(postgres_store_url), autocommit=True) as db:
        db.execute(f"ALTER DATABASE {db.info.dbname} SET {setting}".encode())
    assert filled(postgres_store_url) == [SEAT]


def test_a_scope_that_no_index_can_hold_is_refused_as_one(postgres_store_url: str) -> None:
    long = "/".join(["部" * 128] * 8)
    with recollect.open(postgres_store_url, embedder="hashing") as memory:
        assert list(memory.search("anything", scope=long)) == []
        with pytest.raises(ScopeError, match="too long for PostgreSQL"):
            memory.remember("It is deep down here.", scope=long)


def test_counts_as_large_as_the_model_allows_are_kept(postgres_store_url: str) -> None:
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        put(store, a_note("often", revisions=2**53))
        put(store, a_note("often", revisions=2**53, text="said otherwise"))
        assert [one.revisions for one in store.history(SCOPE, MemoryId("often"))] == [2**53, 2**53]
