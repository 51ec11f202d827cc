"""A connection that breaks at the worst moment: what was written is there once, and its writer hears of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

import recollect
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.stores.postgres import writer
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ENCODER, ManualClock, a_note, a_vector, adopt
from tests.integration.postgres.proxy import PATIENCE, Proxy, a_proxy
from tests.integration.postgres.scene import an_engine, until
from tests.postgres import Server

ANA = "acme/ana"
SEAT = "Ana asked for a window seat"  # about no subject, so that nothing is read before the transaction

Fault = Callable[[Proxy], None]


@pytest.fixture
def database(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    with postgres_server.database(like=postgres_template) as name:
        yield name


@pytest.fixture
def proxy(postgres_server: Server) -> Iterator[Proxy]:
    with a_proxy(postgres_server.port) as proxy:
        yield proxy


@pytest.fixture
def engine(postgres_server: Server, database: str, proxy: Proxy) -> Iterator[recollect.Engine]:
    """An engine that has connected already, through the proxy."""
    with an_engine(proxy.url(postgres_server.network_url(database))) as engine:
        engine.remember("Ana drinks tea", scope=ANA)
        yield engine


def assert_said_once(engine: recollect.Engine, receipt: recollect.Receipt, scope: str = ANA) -> None:
    """Whoever remembered it was told that it is new, and nobody said it a second time."""
    assert isinstance(receipt.verdict, recollect.types.Created)
    (memory,) = [one for one in engine.memories(scope=scope) if one.text == receipt.memory.text]
    assert (memory.id, memory.revisions, len(engine.history(memory.id, scope=scope))) == (receipt.id, 1, 1)
    assert engine.contexts.usage(memory.id, scope=scope).echoed == 0


@pytest.mark.parametrize("fault", [Proxy.lose_the_answer, Proxy.lose_the_question], ids=["answer", "question"])
def test_a_commit_whose_answer_is_lost_is_made_once_and_its_writer_hears_of_it(
    engine: recollect.Engine, proxy: Proxy, fault: Fault
) -> None:
    fault(proxy)
    receipt = engine.remember(SEAT, scope=ANA)
    assert proxy.lost == 1
    assert_said_once(engine, receipt)


def test_without_looking_for_the_token_it_would_be_made_twice(
    engine: recollect.Engine, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_was_committed", lambda *_: False)
    proxy.lose_the_answer()
    receipt = engine.remember(SEAT, scope=ANA)
    assert isinstance(receipt.verdict, recollect.types.Reinforced)
    assert engine.contexts.usage(receipt.id, scope=ANA).echoed == 1


def test_a_commit_that_the_server_is_still_at_is_waited_for(
    engine: recollect.Engine, proxy: Proxy, postgres_server: Server, database: str
) -> None:
    go_on, receipts = threading.Event(), list[recollect.Receipt]()
    proxy.hold_the_question(go_on)
    writing = threading.Thread(target=lambda: receipts.append(engine.remember(SEAT, scope=ANA)))
    writing.start()
    with postgres_server.admin() as admin:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
        until(lambda: admin.execute(waiting, [database]).fetchone() == (1,))
    go_on.set()
    writing.join(PATIENCE)
    assert_said_once(engine, receipts[0])


def test_it_is_made_once_also_if_the_first_of_several_roots_is_only_read(
    postgres_server: Server, database: str, proxy: Proxy
) -> None:
    made = []

    def change(writing: WriteTransaction) -> int:
        made.append(1)
        adopt(writing, ENCODER)
        writing.get(Scope.parse("a"), a_note("x").id)
        memory = a_note(f"{len(made)}", scope=Scope.parse("z"))
        writing.put(memory, a_vector(memory.text))
        return len(made)

    with closing(PostgresStore(proxy.url(postgres_server.network_url(database)), ManualClock())) as store:
        store.encoder()
        proxy.lose_the_answer()
        assert store.write(change) == 1
        assert [one.id for one in store.memories(Scope.parse("z"), below=True, statuses=list(recollect.Status))] == [
            "1"
        ]


@pytest.mark.parametrize("asked", [b"BEGIN", b"emptied FROM scopes", b"COMMIT\x00", b"FROM memories m"])
def test_a_connection_that_is_lost_while_reading_is_made_anew(
    engine: recollect.Engine, proxy: Proxy, asked: bytes
) -> None:
    receipt = engine.remember(SEAT, scope=ANA)
    proxy.lose_the_question(asked)
    assert engine.search("which seat?", scope=ANA)[0].id == receipt.id
    assert proxy.lost == 1


def test_an_export_that_loses_its_connection_says_so(engine: recollect.Engine, proxy: Proxy) -> None:
    proxy.lose_the_question(b"FROM contents c")
    with pytest.raises(recollect.StoreBusy, match="cannot be reached"):
        list(engine.export())
    assert len(list(engine.export())) > 1
