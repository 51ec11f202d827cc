"""Going over to another model in PostgreSQL: nothing is missed, whoever writes meanwhile, in whichever root."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

import psycopg
import pytest

import recollect
from recollect.factory import re_embed
from recollect.model.encoder import Encoder, ReembeddingStage
from recollect.protocols import WriteTransaction
from recollect.providers.hashing import HashingEmbedder
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.writer import PostgresReembedding
from recollect.stores.sql.transaction import Transaction
from recollect.testing.builders import ENCODER, ManualClock, a_note, a_vector, adopt, put
from tests.postgres import admin_url

T = TypeVar("T")

NEW = HashingEmbedder(dimensions=64)
WAITING = (
    "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation"
    " WHERE c.relname = 'encoders' AND l.mode = 'AccessExclusiveLock' AND NOT l.granted"
)


@pytest.fixture
def store(postgres_store_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_store_url, ManualClock())
    yield store
    store.close()


def test_every_content_of_every_root_gets_a_vector_and_the_former_ones_go(
    store: PostgresStore, postgres_store_url: str
) -> None:
    notes = [a_note(f"{root}-{n}", scope=recollect.Scope.parse(f"{root}/ana")) for root in "abc" for n in range(5)]
    put(store, *notes)
    put(store, notes[0].with_changes(text="it says something else now"))
    stages: list[ReembeddingStage] = []
    done = re_embed(postgres_store_url, embedder=NEW, progress=lambda progress: stages.append(progress.stage))
    assert (done.former, done.embedded, done.removed) == (ENCODER, 16, 16)
    assert set(stages) == set(ReembeddingStage)
    with recollect.open(postgres_store_url, embedder=NEW) as engine:
        assert engine.stats().unembedded == 0
        assert [one.id for one in engine.search("it says something else", scope="a/ana")][:1] == ["a-0"]
    with pytest.raises(recollect.errors.EmbedderMismatch):
        put(store, a_note("late"))
    assert re_embed(postgres_store_url, embedder=NEW).embedded == 0


def test_who_is_writing_with_the_former_model_is_waited_for_and_what_it_wrote_is_embedded(
    store: PostgresStore, postgres_store_url: str
) -> None:
    put(store, a_note("a"), a_note("b"))
    written, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def slowly(writing: WriteTransaction) -> None:
        adopt(writing, ENCODER)
        writing.put(a_note("late", text="written meanwhile"), a_vector("written meanwhile"))
        written.set()
        go_on.wait(60)

    def until_it_is_waited_for() -> None:
        with psycopg.connect(admin_url(postgres_store_url), autocommit=True) as db:
            while not over.wait(0.02):
                row = db.execute(WAITING).fetchone()
                if row is not None and row[0]:
                    break
        go_on.set()

    writer = threading.Thread(target=lambda: store.write(slowly))
    watcher = threading.Thread(target=until_it_is_waited_for)
    writer.start()
    assert written.wait(60)
    watcher.start()
    embedded = re_embed(postgres_store_url, embedder=NEW).embedded
    over.set()
    for thread in (watcher, writer):
        thread.join()
    with recollect.open(postgres_store_url, embedder=NEW) as engine:
        stats = engine.stats()
    assert (embedded, stats.memories, stats.unembedded) == (3, 3, 0)


def test_a_database_without_a_store_is_not_made_one(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
    with pytest.raises(recollect.NotFound, match="there is no store"):
        re_embed(postgres_url, embedder=NEW)
    with psycopg.connect(postgres_url) as db:
        assert db.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


def test_what_is_removed_is_removed_also_if_an_answer_is_lost(store: PostgresStore, postgres_store_url: str) -> None:
    put(store, *(a_note(f"{n}", text=f"number {n}") for n in range(30)))
    with closing(PostgresReembedding(postgres_store_url)) as reembedding:
        reembedding.begin(Encoder(NEW.name, NEW.dimensions))
        contents = reembedding.lacking(100).contents
        reembedding.fill(contents, NEW.embed([one.embedded_text for one in contents], "memory"))
        assert reembedding.finish(lambda _: None, 0) == 0
        changed, cut = reembedding._run_write, list[str]()

        def lost(change: Callable[[Transaction], T]) -> T:
            def then_cut(db: Transaction) -> T:
                found = change(db)
                if not cut:
                    cut.append("the connection")
                    raise psycopg.OperationalError("cut before it was kept")
                return found

            return changed(then_cut)

        reembedding._run_write = lost  # type: ignore[method-assign]
        removed = [reembedding.remove(10).count for _ in range(4)]
    assert (cut, removed) == (["the connection"], [10, 10, 10, 0])
    with psycopg.connect(admin_url(postgres_store_url)) as db:
        assert db.execute("SELECT encoder, count(*) FROM recollect.vectors GROUP BY encoder").fetchall() == [(2, 30)]
