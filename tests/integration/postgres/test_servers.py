"""Many processes on one server, and a server that is killed and started again: nothing is lost, nothing is doubled."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

import recollect
from recollect.errors import StoreBusy, StoreError
from recollect.model.memory import MemoryId
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ManualClock, a_note, put, puts, visible_ids
from tests.integration.postgres import writers_rig as rig
from tests.integration.postgres.processes import Process
from tests.integration.postgres.scene import AGENT, Db, a_role, an_engine, grant, named, until
from tests.postgres import Server, a_server

ANA, BEN = "acme/ana", "rival/ben"
SEAT = "Ana prefers window seats"
SHORT = {"busy_timeout": 2.0}
"""Long enough for a slow machine to connect."""
DEFAULT_CALLS, THOROUGH_CALLS = 60, 300
"""How often two processes say the same, by default and in a thorough run."""


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    """A server of our own, to be killed."""
    with a_server() as server:
        yield server


@pytest.fixture
def killed_url(mortal: Server) -> Iterator[str]:
    """An empty database on the server that is killed."""
    with mortal.database() as name:
        mortal.trust_vector(name)
        PostgresStore(mortal.url(name), ManualClock()).close()
        yield mortal.url(name)


# many at once


def test_the_same_text_from_two_processes_is_one_memory_and_all_hear_of_it(
    postgres_store_url: str, thorough: bool
) -> None:
    times = THOROUGH_CALLS if thorough else DEFAULT_CALLS
    an_engine(postgres_store_url).close()
    processes = [Process(rig.says_the_same, postgres_store_url, ANA, SEAT, times) for _ in range(2)]
    assert [one.hear() for one in processes] == [("ready",)] * 2
    for one in processes:
        one.tell()
    heard = [said for one in processes for said in one.end()]
    assert len({id for _, id in heard}) == 1
    assert Counter(verdict for verdict, _ in heard) == {"Created": 1, "Reinforced": 2 * times - 1}
    with an_engine(postgres_store_url) as engine:
        (memory,) = engine.memories(scope=ANA, statuses=list(recollect.Status))
        assert (memory.text, memory.revisions) == (SEAT, 1)
        assert engine.contexts.usage(memory.id, scope=ANA).echoed == 2 * times - 1


def test_two_stores_whose_columns_are_in_memory_see_each_other_at_the_next_search(postgres_store_url: str) -> None:
    with an_engine(postgres_store_url) as one, an_engine(postgres_store_url) as other:
        for number in range(12):
            writer, reader = (one, other) if number % 2 else (other, one)
            receipt = writer.remember(f"Ana has seat number {number}", scope=ANA)
            assert reader.search(f"seat number {number}", scope=ANA, limit=1)[0].id == receipt.id
            writer.revise(receipt.id, f"Ana gave up seat number {number}", scope=ANA)
            (found,) = [hit for hit in reader.search("seat", scope=ANA, limit=99) if hit.id == receipt.id]
            assert found.memory.text == f"Ana gave up seat number {number}"
            if number % 3 == 0:
                writer.erase(scope=ANA, id=receipt.id)
                assert receipt.id not in [hit.id for hit in reader.search("seat", scope=ANA, limit=99)]


@pytest.fixture
def held(postgres_server: Server, postgres_store_url: str) -> Iterator[Db]:
    """A transaction of somebody else that has the turn of a root."""
    with an_engine(postgres_store_url) as engine:
        engine.remember("Ana drinks tea", scope=ANA)
    database = named(postgres_store_url)
    with postgres_server.admin(database) as admin, admin.transaction():
        admin.execute("SELECT FROM recollect.roots WHERE root = 'acme' FOR UPDATE")
        yield admin


@pytest.mark.usefixtures("held")
def test_who_writes_into_another_root_does_not_wait(postgres_store_url: str) -> None:
    with an_engine(postgres_store_url) as engine:
        assert isinstance(engine.remember(SEAT, scope=BEN).verdict, recollect.types.Created)
        assert isinstance(engine.remember(SEAT, scope="third").verdict, recollect.types.Created)
        assert engine.search("tea", scope=ANA)[0].memory.text == "Ana drinks tea"  # and readers wait for nobody


@pytest.mark.usefixtures("held")
def test_a_root_that_somebody_holds_for_too_long_is_busy(postgres_store_url: str) -> None:
    with an_engine(postgres_store_url, settings=SHORT) as engine:
        with pytest.raises(StoreBusy, match="another process is writing") as refusal:
            engine.remember(SEAT, scope=ANA)
        assert refusal.value.retryable
        assert isinstance(engine.remember(SEAT, scope=BEN).verdict, recollect.types.Created)


def test_many_threads_write_into_several_roots_at_once(postgres_store_url: str) -> None:
    roots = [f"root-{number}/ana" for number in range(6)]
    with an_engine(postgres_store_url) as engine:
        receipts: list[recollect.Receipt] = []

        def write(scope: str, name: int) -> None:
            receipts.extend(engine.remember(f"seat {number} of {name}", scope=scope) for number in range(5))

        threads = [threading.Thread(target=write, args=(scope, name)) for scope in roots for name in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {type(one.verdict) for one in receipts} == {recollect.types.Created}
        for scope in roots:
            found = engine.memories(scope=scope)
            assert len(found) == 15
            assert sorted(one.commit or 0 for one in found) == list(range(1, 16))


def test_changes_that_want_two_roots_in_either_order_both_come_through(postgres_store_url: str) -> None:
    turns = threading.Barrier(2)
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        put(store, a_note("first"))

        def change(*order: str) -> None:
            waited = list[int]()

            def act(writing: recollect.protocols.WriteTransaction) -> None:
                for place, root in enumerate(order):
                    writing.put(a_note(f"{root} of {order[0]}", scope=recollect.Scope.parse(root)), None)
                    if place == 0 and not waited:
                        waited.append(turns.wait(60))

            store.write(act)

        threads = [threading.Thread(target=change, args=order) for order in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert visible_ids(store, "a") == ["a of a", "a of b"]
        assert visible_ids(store, "b") == ["b of a", "b of b"]


# a server that goes away


class Writers:
    """Processes that write all the time, and what they were told."""

    def __init__(self, url: str, *names: str, patience: float) -> None:
        self._processes = [Process(rig.goes_on, url, ANA, name, patience) for name in names]
        self._told: list[list[tuple[str, str]]] = [[] for _ in names]
        self._readers = [
            threading.Thread(target=self._read, args=one) for one in zip(self._processes, self._told, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    def wait_for_more(self, many: int = 10) -> None:
        """Wait until each has been told that so much more is kept."""
        wanted = [self._kept(told) + many for told in self._told]
        until(lambda: all(self._kept(told) >= most for told, most in zip(self._told, wanted, strict=True)))

    def end(self) -> dict[str, str]:
        """Let all of them end; what each text came to."""
        for process in self._processes:
            process.tell()
        for reader in self._readers:
            reader.join()
        for process in self._processes:
            process.end()
        return {text: verdict for told in self._told for verdict, text in told}

    def kill(self) -> None:
        """End those that have not ended."""
        for process in self._processes:
            process.kill()
        for reader in self._readers:
            reader.join()

    @staticmethod
    def _read(process: Process, told: list[tuple[str, str]]) -> None:
        while (said := process.hear()) is not None:
            told.append((said[0], said[1]))

    @staticmethod
    def _kept(told: Sequence[tuple[str, str]]) -> int:
        return sum(verdict == "Created" for verdict, _ in told)


@contextmanager
def writers_on(url: str, *, patience: float) -> Iterator[Writers]:
    """Two processes that write, and do not outlive the test."""
    writers = Writers(url, "Ana", "Ben", patience=patience)
    try:
        yield writers
    finally:
        writers.kill()


def assert_once(url: str, outcomes: dict[str, str]) -> None:
    """What was acknowledged is there once, what was not at most once, and nothing else is; nor is anything torn."""
    assert set(outcomes.values()) <= {"Created", "busy"}
    with an_engine(url) as engine:
        texts = Counter(memory.text for memory in engine.memories(scope=ANA))
        assert set(texts.values()) == {1}
        assert {text for text, verdict in outcomes.items() if verdict == "Created"} <= set(texts) <= set(outcomes)
        for memory in engine.memories(scope=ANA):
            assert engine.contexts.usage(memory.id, scope=ANA).echoed == 0
            assert len(engine.history(memory.id, scope=ANA)) == 1
        assert len(engine.search("seat", scope=ANA, limit=len(texts) + 1)) == len(texts)


def test_a_server_that_is_killed_under_two_processes_loses_and_doubles_nothing(mortal: Server, killed_url: str) -> None:
    with writers_on(killed_url, patience=30) as writers:
        for _ in range(3):
            writers.wait_for_more()
            mortal.kill()
            mortal.start()
        writers.wait_for_more()
        outcomes = writers.end()
    assert set(outcomes.values()) == {"Created"}  # they went on by themselves
    assert_once(killed_url, outcomes)


def test_who_waits_for_a_killed_server_no_longer_is_told_to_try_again(mortal: Server, killed_url: str) -> None:
    with writers_on(killed_url, patience=0.05) as writers:
        for _ in range(2):
            writers.wait_for_more()
            mortal.kill()
            mortal.start()
        writers.wait_for_more()
        outcomes = writers.end()
    assert "busy" in outcomes.values()
    assert_once(killed_url, outcomes)


def test_backends_that_are_ended_at_random_lose_and_double_nothing(
    mortal: Server, killed_url: str, thorough: bool
) -> None:
    dice = random.Random(0)
    with writers_on(killed_url, patience=30) as writers, mortal.admin() as admin:
        for _ in range(40 if thorough else 15):
            writers.wait_for_more(1)
            ours = admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'recollect'").fetchall()
            if ours:
                admin.execute("SELECT pg_terminate_backend(%s)", dice.choice(ours))
        outcomes = writers.end()
    assert set(outcomes.values()) == {"Created"}
    assert_once(killed_url, outcomes)


def test_a_server_that_is_away_is_waited_for_and_then_busy_and_later_used_again(
    mortal: Server, killed_url: str
) -> None:
    with an_engine(killed_url, settings=SHORT) as engine:
        receipt = engine.remember(SEAT, scope=ANA)
        mortal.stop()
        for _ in range(2):  # long enough for whoever waits longer each time to wait too long afterwards
            for act in (lambda: engine.search("seat", scope=ANA), lambda: engine.remember("Ana drinks tea", scope=ANA)):
                with pytest.raises(StoreBusy) as refusal:
                    act()
                assert refusal.value.retryable
                assert "another process is writing" not in str(refusal.value)
        mortal.start()
        assert engine.search("seat", scope=ANA)[0].id == receipt.id
        assert isinstance(engine.remember("Ana drinks tea", scope=ANA).verdict, recollect.types.Created)


def test_a_server_that_is_away_cannot_be_opened(mortal: Server, killed_url: str) -> None:
    mortal.stop()
    try:
        with pytest.raises(StoreError, match="cannot be reached"):
            an_engine(killed_url)
    finally:
        mortal.start()


def test_what_was_put_off_is_written_once_the_server_is_back(mortal: Server, killed_url: str) -> None:
    with closing(PostgresStore(killed_url, ManualClock())) as store:
        put(store, a_note("first"))
        for round in range(2):
            mortal.kill()
            for number in range(5):
                store.defer(puts(a_note(f"{round} {number}")))
            mortal.start()
            store.flush()
    with closing(PostgresStore(killed_url, ManualClock())) as store:
        assert visible_ids(store, a_note("first").scope) == [
            *(f"{round} {number}" for round in range(2) for number in range(5)),
            MemoryId("first"),
        ]


def test_what_was_put_off_for_too_long_is_told_when_it_is_waited_for(mortal: Server, killed_url: str) -> None:
    with closing(PostgresStore(killed_url, ManualClock())) as patient:
        put(patient, a_note("first"))
    with closing(PostgresStore(killed_url, ManualClock(), timeout=0.1)) as store:
        mortal.stop()
        store.defer(puts(a_note("lost")))
        with pytest.raises(StoreError, match="1 deferred writes failed"):
            store.flush()
        mortal.start()


def test_a_server_that_ends_idle_connections_goes_unnoticed(mortal: Server, killed_url: str) -> None:
    ours = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'recollect'"
    with mortal.admin() as admin, an_engine(killed_url) as engine:  # who opens is slow, and would be ended meanwhile
        admin.execute("ALTER ROLE recollect SET idle_session_timeout = '500ms'")
        try:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'recollect'")
            receipt = engine.remember(SEAT, scope=ANA)
            until(lambda: admin.execute(ours).fetchone() == (0,))
            assert engine.search("seat", scope=ANA)[0].id == receipt.id
            until(lambda: admin.execute(ours).fetchone() == (0,))
            assert engine.remember(SEAT, scope=ANA).id == receipt.id
        finally:
            admin.execute("ALTER ROLE recollect RESET idle_session_timeout")


def test_who_may_only_read_recalls_and_is_refused_when_writing(
    postgres_server: Server, postgres_store_url: str
) -> None:
    a_role(postgres_server, AGENT)
    database = named(postgres_store_url)
    grant(postgres_server, database)
    with an_engine(postgres_store_url) as engine:
        receipt = engine.remember(SEAT, scope=ANA)
    with postgres_server.admin() as admin:
        admin.execute(f"ALTER ROLE {AGENT} IN DATABASE {database} SET default_transaction_read_only = on")
    with an_engine(postgres_server.url(database, AGENT)) as engine:
        assert engine._deps.store.read_only
        assert SEAT in engine.recall("which seat?", scope=ANA).text
        assert engine.search("seat", scope=ANA)[0].id == receipt.id
        for act in (
            lambda: engine.remember(SEAT, scope=ANA),
            lambda: engine.forget(receipt.id, scope=ANA),
            lambda: engine.erase(scope=ANA, id=receipt.id),
        ):
            with pytest.raises(
                StoreError, match="is read-only for this role, or is a replica; connect to the primary server as"
            ):
                act()
