"""A forked child goes on with connections of its own, and its parent notices nothing."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count

import pytest

import recollect
from recollect.errors import RecollectError
from recollect.model.changeset import Changeset
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql import deferred
from recollect.testing.builders import ManualClock, a_note, put, puts, visible_ids
from tests.faults import acting
from tests.integration.postgres.scene import an_engine, until
from tests.postgres import Server

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # there are threads, and that is the point
]

ANA = "acme/ana"
CHILDREN = 12


@pytest.fixture
def engine(postgres_store_url: str) -> Iterator[recollect.Engine]:
    """An engine that has a connection, and columns in memory."""
    with an_engine(postgres_store_url) as engine:
        engine.remember("a seat by the window", scope=ANA)
        engine.search("a seat", scope=ANA)
        yield engine


def forked(act: Callable[[], object]) -> str:
    """What `act` returns in a forked child, or what it is told there."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)  # instead of waiting for ever
        try:
            said = str(act())
        except RecollectError as error:
            said = f"{type(error).__name__} {error}"
        except BaseException as error:
            said = f"unforeseen: {error!r}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as heard:
        said = heard.read()
    os.waitpid(child, 0)
    return said


def backends(server: Server) -> set[object]:
    """The server's ends of all connections of ours."""
    with server.admin() as admin:
        return {pid for (pid,) in admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'recollect'")}


def test_parent_and_child_write_and_read_with_connections_of_their_own(
    engine: recollect.Engine, postgres_server: Server
) -> None:
    before = backends(postgres_server)

    def act() -> str:
        receipt = engine.remember("a seat of the child", scope=ANA)
        found = engine.search("a seat of the child", scope=ANA)[0].id == receipt.id
        theirs = len(backends(postgres_server) - before)
        engine.close()
        return f"{found} {theirs > 0}"

    assert before
    assert forked(act) == "True True"
    engine.remember("a seat of the parent", scope=ANA)
    assert {one.memory.text for one in engine.search("a seat", scope=ANA)} == {
        "a seat by the window",
        "a seat of the child",
        "a seat of the parent",
    }
    until(lambda: backends(postgres_server) <= before)  # once the child's are gone: it has closed none of the parent's


@pytest.mark.thorough
def test_children_that_are_forked_while_an_engine_is_in_full_use_use_it_too(engine: recollect.Engine) -> None:
    over, written = threading.Event(), list[str]()

    def use(thread: int) -> None:
        for number in count():
            written.append(engine.remember(f"of the parent {thread} {number}", scope=ANA).id)
            engine.recall("a seat", scope=ANA)
            if over.is_set():
                return

    def act(child: int) -> str:
        receipt = engine.remember(f"of the child {child}", scope=f"{ANA}/child")
        engine.recall("a seat", scope=ANA)
        found = engine.search("the child", scope=f"{ANA}/child", limit=200)
        engine.close()
        return str(any(one.id == receipt.id for one in found))

    threads = [threading.Thread(target=use, args=(thread,)) for thread in range(3)]
    for thread in threads:
        thread.start()
    said = [forked(partial(act, child)) for child in range(CHILDREN)]
    over.set()
    for thread in threads:
        thread.join()
    assert said == ["True"] * CHILDREN
    assert {memory.id for memory in engine.memories(scope=ANA)} >= set(written)
    assert len(engine.memories(scope=f"{ANA}/child")) == CHILDREN


def test_what_waits_in_the_parent_is_written_once_and_by_the_parent(postgres_store_url: str) -> None:
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        go_on = threading.Event()
        put(store, a_note("first"))
        store.defer(acting(Changeset(), lambda: go_on.wait(60)))
        store.defer(puts(a_note("put off")))

        def act() -> list[str]:
            store.defer(puts(a_note("of the child", scope=recollect.Scope.parse("b"))))
            store.flush()
            return list(visible_ids(store, a_note("first").scope))

        assert forked(act) == "['first']"
        go_on.set()
        store.flush()
        assert visible_ids(store, a_note("first").scope) == ["first", "put off"]
        assert visible_ids(store, "b") == ["of the child"]
        assert len(store.history(a_note("first").scope, a_note("put off").id)) == 1


PROCESSES = {
    "fork": multiprocessing.get_context("fork").Process,
    "spawn": multiprocessing.get_context("spawn").Process,
}


@pytest.mark.parametrize("way", PROCESSES)
def test_a_process_that_closes_nothing_keeps_what_it_put_off(
    engine: recollect.Engine, postgres_store_url: str, way: str
) -> None:
    child = PROCESSES[way](target=_recall_and_end, args=(postgres_store_url,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert engine.stats().contexts == 1


def _recall_and_end(url: str) -> None:
    deferred.EXIT_FLUSH_SECONDS = 60.0
    an_engine(url).recall("a seat", scope=ANA)
