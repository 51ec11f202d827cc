"""Who waits for whom in PostgreSQL: a root that is held keeps nobody from reading, or from writing again later."""

import threading
from contextlib import closing

import psycopg

import recollect
from recollect.stores.postgres import pool
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ManualClock, a_note, put, visible_ids
from tests.postgres import admin_url

HELD, FREE = recollect.Scope.parse("held/ana"), recollect.Scope.parse("free/ana")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def test_writers_who_wait_for_a_root_keep_nobody_from_reading_another(postgres_store_url: str) -> None:
    with (
        closing(PostgresStore(postgres_store_url, ManualClock())) as store,
        psycopg.connect(admin_url(postgres_store_url)) as holder,
        psycopg.connect(admin_url(postgres_store_url), autocommit=True) as watcher,
    ):
        put(store, a_note("held", scope=HELD))
        put(store, a_note("free", scope=FREE))
        holder.execute("SELECT FROM recollect.roots WHERE root = 'held' FOR UPDATE")
        writers = [
            threading.Thread(target=put, args=(store, a_note(f"{n}", text=f"number {n}", scope=HELD)))
            for n in range(pool.MAX_CONNECTIONS)
        ]
        for writer in writers:
            writer.start()
        while watcher.execute(WAITING).fetchone() != (len(writers),):
            pass
        assert visible_ids(store, FREE) == ["free"]
        assert visible_ids(store, HELD) == ["held"]
        holder.rollback()
        for writer in writers:
            writer.join()
        assert len(visible_ids(store, HELD)) == 1 + len(writers)


def test_a_follower_that_becomes_the_primary_is_written_to_without_opening_it_again(postgres_store_url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(postgres_store_url)["dbname"]
    with psycopg.connect(admin_url(postgres_store_url), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
            before = store.read_only
            admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
            put(store, a_note("a"))
            assert (before, store.read_only) == (True, False)
            assert visible_ids(store, "acme/ana") == ["a"]
