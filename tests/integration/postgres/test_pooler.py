"""Behind a pooler in transaction mode: many clients on two connections, and nothing of one reaches another."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import errors

import recollect
from tests.integration.postgres.scene import an_engine, until
from tests.postgres import Server, a_server
from tests.postgres.pooler import Pooler, a_pooler

CONNECTIONS = 2
THREADS = 12
OURS = ("recollect.reach", "recollect.root", "recollect.paths", "recollect.numbers")
"""What transactions say of themselves."""


@pytest.fixture(scope="module")
def pooler(postgres_server: Server) -> Iterator[Pooler]:
    with a_pooler(postgres_server, connections=CONNECTIONS) as pooler:
        yield pooler


@pytest.fixture
def database(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    with postgres_server.database(like=postgres_template) as name:
        yield name


def at_once(*acts: Callable[[], object]) -> None:
    """Do all of it, each in a thread; what one raises is raised here."""
    raised = list[BaseException]()

    def act(one: Callable[[], object]) -> None:
        try:
            one()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=act, args=(one,)) for one in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def life(engine: recollect.Engine, scope: str) -> None:
    """Whatever an agent does with its memory, and what it is told is its own."""
    kept = [engine.remember(f"seat {number} of {scope}", scope=scope, key=f"{number}") for number in range(4)]
    again = engine.remember(f"seat 0 of {scope}", scope=scope, key="0")
    assert again.id == kept[0].id
    engine.revise(kept[1].id, f"chair 1 of {scope}", scope=scope)
    context = engine.recall("which seat?", scope=scope)
    assert context.id is not None
    engine.feedback(context.id, scope=scope, helped=[kept[0].id])
    assert {str(one.memory.scope) for one in engine.search("seat", scope=scope, limit=99)} == {scope}
    assert [one.text for one in engine.history(kept[1].id, scope=scope)] == [
        f"seat 1 of {scope}",
        f"chair 1 of {scope}",
    ]
    assert engine.contexts.usage(kept[0].id, scope=scope).helped == 1
    engine.erase(scope=scope, id=kept[3].id)
    assert {one.id for one in engine.memories(scope=scope)} == {one.id for one in kept[:3]}
    assert len(list(engine.export(scope=scope))) == 6  # a header, three memories, a context, and the end


def test_an_empty_database_becomes_a_store_through_the_pooler(postgres_server: Server, pooler: Pooler) -> None:
    with postgres_server.database() as name:
        postgres_server.trust_vector(name)
        at_once(*[lambda: an_engine(pooler.url(name)).close()] * 4)
        with an_engine(pooler.url(name)) as engine:
            life(engine, "acme/ana")


def test_more_clients_than_connections_do_all_that_there_is_to_do(pooler: Pooler, database: str) -> None:
    with ExitStack() as stack:
        engines = [stack.enter_context(an_engine(pooler.url(database))) for _ in range(2)]
        at_once(
            *(
                lambda engine=engines[number % 2], scope=f"root-{number % 4}/agent-{number}": life(engine, scope)
                for number in range(THREADS)
            )
        )
        (pool,) = [one for one in pooler.shown("POOLS") if one["database"] == database]
        servers = [one for one in pooler.shown("SERVERS") if one["database"] == database]
        clients = [one for one in pooler.shown("CLIENTS") if one["database"] == database]
        assert len(servers) <= CONNECTIONS < len(clients)
        assert pool["pool_mode"] == "transaction"
        assert engines[0].stats().memories == 3 * THREADS


def test_nothing_of_a_transaction_is_left_for_the_next_client(pooler: Pooler, database: str) -> None:
    with an_engine(pooler.url(database)) as engine:
        at_once(*(lambda number=number: life(engine, f"acme/agent-{number}") for number in range(4)))
    with ExitStack() as stack:
        clients = [stack.enter_context(psycopg.connect(pooler.url(database))) for _ in range(CONNECTIONS)]
        backends = set()
        for client in clients:  # each in a transaction that is not ended, so that every connection is looked at
            (process,) = client.execute("SELECT pg_backend_pid()").fetchone() or (None,)
            backends.add(process)
            said = [client.execute("SELECT current_setting(%s, true)", [name]).fetchone() for name in OURS]
            assert {value for row in said for value in row or ()} <= {None, ""}
            assert client.execute("SHOW search_path").fetchone() == ('"$user", public',)
            assert client.execute("SHOW lock_timeout").fetchone() == ("0",)
            assert client.execute("SELECT count(*) FROM recollect.memories").fetchone() == (0,)
            assert client.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
            assert client.execute("SELECT count(*) FROM pg_cursors WHERE is_holdable").fetchone() == (0,)
            held = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'"
            assert client.execute(held).fetchone() == (0,)
        assert len(backends) == CONNECTIONS


@pytest.fixture
def narrow(postgres_server: Server) -> Iterator[Pooler]:
    """A pooler with one connection, which every client gets in its turn."""
    with a_pooler(postgres_server, connections=1) as pooler:
        yield pooler


def test_what_a_session_says_would_be_left_for_the_next_client(narrow: Pooler, database: str) -> None:
    with an_engine(narrow.url(database)) as engine:
        engine.remember("Ana prefers window seats", scope="acme/ana")
    one, other = (psycopg.connect(narrow.url(database), autocommit=True) for _ in range(2))
    with one, other:
        count = "SELECT count(*) FROM recollect.memories"
        assert other.execute(count).fetchone() == (0,)
        one.execute("SET recollect.reach = 'all'")
        assert other.execute(count).fetchone() == (1,)  # which is why ours end with a transaction
        one.execute("PREPARE seats AS SELECT 1")
        with pytest.raises(errors.DuplicatePreparedStatement):
            other.execute("PREPARE seats AS SELECT 1")


def test_a_store_is_right_though_others_leave_things_behind(narrow: Pooler, database: str) -> None:
    with psycopg.connect(narrow.url(database), autocommit=True) as other:
        other.execute("SET recollect.reach = 'all'")
        other.execute("SET recollect.numbers = '{1,2,3}'")
        other.execute("SET search_path = nowhere")
        with an_engine(narrow.url(database)) as engine:
            for scope in ("acme/ana", "acme/ben", "rival/ana"):
                life(engine, scope)
            for scope in ("acme/ana", "acme/ben", "rival/ana"):
                assert {str(one.memory.scope) for one in engine.search("seat", scope=scope, limit=99)} == {scope}


def test_what_is_erased_through_a_pooler_of_one_connection_says_at_once_who_is_to_sweep(
    narrow: Pooler, database: str
) -> None:
    with an_engine(narrow.url(database)) as engine:
        seat = engine.remember("Ana prefers window seats", scope="acme/ana")
        erased = engine.erase(scope="acme/ana", id=seat.id)
    assert erased.search.unfinished is not None
    assert (
        "which does not work through a pooler" in erased.search.unfinished
    )  # and not that a connection was waited for


def test_connections_that_end_behind_the_pooler_lose_and_double_nothing(
    postgres_server: Server, pooler: Pooler, database: str
) -> None:
    over = threading.Event()
    receipts = list[recollect.Receipt]()

    def end_some() -> None:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        try:
            with postgres_server.admin() as admin:
                until(lambda: len(receipts) > 2)
                for _ in range(12):
                    before = len(receipts)
                    admin.execute(ended, [database])
                    until(lambda before=before: len(receipts) > before + 2)  # type: ignore[misc]
        finally:
            over.set()

    def write(name: int) -> None:
        number = 0
        while not over.is_set():
            receipts.append(engine.remember(f"seat {number} of {name}", scope="acme/ana"))
            number += 1

    with an_engine(pooler.url(database)) as engine:
        at_once(end_some, *(lambda name=name: write(name) for name in range(3)))
        assert {type(one.verdict) for one in receipts} == {recollect.types.Created}
        found = engine.memories(scope="acme/ana")
        assert sorted(one.text for one in found) == sorted(one.memory.text for one in receipts)
        assert {engine.contexts.usage(one.id, scope="acme/ana").echoed for one in found} == {0}


def test_a_server_that_is_killed_behind_a_pooler_is_waited_for() -> None:
    with a_server() as server, server.database() as name, a_pooler(server, connections=CONNECTIONS) as pooler:
        server.trust_vector(name)
        with an_engine(pooler.url(name)) as engine:
            first = engine.remember("Ana prefers window seats", scope="acme/ana")
            for number in range(2):
                server.kill()
                server.start()
                assert engine.search("window seats", scope="acme/ana")[0].id == first.id
                receipt = engine.remember(f"seat {number} of Ana", scope="acme/ana")
                assert isinstance(receipt.verdict, recollect.types.Created)
            assert engine.stats().memories == 3
