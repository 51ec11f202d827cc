"""What is written is sent without waiting for the answer; what goes wrong meanwhile is heard of all the same."""

import logging
from contextlib import closing

import psycopg
import pytest

from recollect.errors import Conflict, StoreError
from recollect.model.archive import ArchivedMemory
from recollect.model.changeset import NeighborQuery
from recollect.model.draft import Created, IdempotencyRecord
from recollect.model.enums import Status
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import (
    ENCODER,
    NOW,
    ManualClock,
    a_note,
    a_vector,
    add_key,
    adopt,
    list_duplicates,
    put,
    visible_ids,
)
from tests.integration.postgres.scene import named
from tests.postgres import Server, admin_url

ANA = Scope.parse("acme/ana")
MANY = 40


def write(writing: WriteTransaction, *names: str) -> None:
    adopt(writing, ENCODER)
    for name in names:
        memory = a_note(name, scope=ANA)
        assert list_duplicates(writing, memory) == []
        writing.put(memory, a_vector(memory.text))


def test_nobody_waits_until_a_memory_is_written_before_the_next_thing_is_asked(postgres_store_url: str) -> None:
    with (
        closing(PostgresStore(postgres_store_url, ManualClock())) as store,
        psycopg.connect(admin_url(postgres_store_url)) as holder,
    ):
        put(store, a_note("first", scope=ANA))
        holder.execute("LOCK TABLE recollect.vectors IN ACCESS EXCLUSIVE MODE")

        def change(writing: WriteTransaction) -> None:
            write(writing, "second")  # whose vector the server cannot write yet
            holder.rollback()
            write(writing, "third")

        store.write(change)
        assert visible_ids(store, ANA) == ["first", "second", "third"]


def test_a_connection_that_ends_while_answers_are_out_is_made_anew_and_nothing_is_logged(
    postgres_server: Server, postgres_store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    attempts = list[int]()

    def change(writing: WriteTransaction) -> None:
        attempts.append(1)
        write(writing, *(f"{number}" for number in range(MANY)))
        if len(attempts) == 1:
            with postgres_server.admin() as admin:
                ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
                assert admin.execute(ended, [named(postgres_store_url)]).fetchall()
        writing.put(a_note("last", scope=ANA), None)

    with caplog.at_level(logging.INFO), closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        store.write(change)
        assert len(attempts) == 2
        assert len(visible_ids(store, ANA)) == MANY + 1
        assert {one.commit for one in store.memories(ANA, below=False, statuses=[Status.ACTIVE])} == {1}
    assert [record.getMessage() for record in caplog.records if record.name == "psycopg"] == []


def test_memories_are_numbered_as_they_come_to_a_root_though_their_writer_came_from_another(
    postgres_store_url: str,
) -> None:
    there = Scope.parse("rival/ana")
    with (
        closing(PostgresStore(postgres_store_url, ManualClock())) as store,
        closing(PostgresStore(postgres_store_url, ManualClock())) as other,
    ):

        def change(writing: WriteTransaction) -> None:
            write(writing, "1", "2")  # after which there is a number left
            put(other, a_note("before", scope=there))
            writing.put(a_note("after", scope=there), None)

        put(store, a_note("0", scope=ANA))  # by which the model is known to both
        store.write(change)
        _, items = store.export(there)
        assert [item.current.id for item in items if isinstance(item, ArchivedMemory)] == ["before", "after"]


def test_a_key_of_nothing_is_refused(postgres_store_url: str) -> None:
    kept = IdempotencyRecord(scope=ANA, key="key", body="body", memory=a_note("nobody").id, verdict=Created(), at=NOW)
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        with pytest.raises(StoreError, match="the memory 'nobody' does not exist"):
            store.write(lambda writing: add_key(writing, kept))
        assert store.neighbors([NeighborQuery(scope=ANA, retry_key="key")])[0].retried is None


def test_what_is_refused_is_not_logged_and_the_connection_is_of_use(
    postgres_store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def change(writing: WriteTransaction) -> None:
        write(writing, *(f"{number}" for number in range(MANY)))
        writing.put(a_note("twin", text="what 0 says", scope=ANA), None)
        writing.put(a_note("after it", scope=ANA), None)

    with caplog.at_level(logging.INFO), closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        for _ in range(3):
            with pytest.raises(Conflict, match="the memory '0' already has the same text"):
                store.write(change)
        put(store, a_note("later", scope=ANA))
        assert visible_ids(store, ANA) == ["later"]
    assert [record.getMessage() for record in caplog.records if record.name == "psycopg"] == []
