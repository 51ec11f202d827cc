"""What is erased is in no file of the server any more, and the receipt says so only when it is true."""

import json
import random
import string
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

import recollect
from recollect.errors import StoreBusy, StoreError
from recollect.factory import index_scope, re_embed, sweep
from recollect.model.archive import UNREACHABLE_SERVER_COPIES
from recollect.model.context import Use
from recollect.model.enums import Level
from recollect.model.scope import Scope
from recollect.stores.postgres import erasure as table_rewrite
from recollect.stores.postgres import pool as admin_connection
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql.transaction import load_statements
from recollect.testing.builders import ManualClock
from tests.integration.postgres.scene import AGENT, Db, a_role, grant, named, until
from tests.integration.postgres.scene import an_engine as any_engine
from tests.postgres import Server, admin_url
from tests.postgres.pooler import a_pooler

ANA, BEN, RIVAL = "acme/ana-of-the-long-name", "acme/ben", "stranger/ana"
ALLERGY = "Ana is allergic to peanuts, and nobody but her doctor may know"
NEIGHBOUR = "Ben takes the train to work, and everybody may know that"
DICE = random.Random(7)
LONG = " ".join("".join(DICE.choices(string.ascii_letters, k=16)) for _ in range(2_000))
"""A text too long for a row, and too random to be compressed."""

DIARY = " ".join(f"chapter {number} of her diary" for number in range(3_000))
"""One that is kept compressed, so that no search finds its words."""

NOTED: dict[str, Any] = {
    "title": "What the ward knows of her",
    "topic_key": "allergies-of-the-patient",
    "subject": "Ana | allergic to | peanuts and other nuts",
    "tags": ["ward-seven-of-the-clinic"],
    "session": "visit of the 7th of May",
    "speaker": "the nurse of the ward",
    "source": "letter-7-of-the-clinic",
    "evidence": ["as her doctor told the nurse"],
    "key": "proposal 8193 of the form",
    "metadata": {"number of the file": 8_193_746_205, "in": [{"Zimmer": "dreiundzwanzig"}]},
}
LABELS = (
    *("What the ward knows of her", "allergies-of-the-patient", "peanuts and other nuts", "ward-seven-of-the-clinic"),
    *("visit of the 7th of May", "the nurse of the ward", "letter-7-of-the-clinic", "as her doctor told the nurse"),
    *("proposal 8193 of the form", "number of the file", "8193746205", "dreiundzwanzig"),
)
SHORT = {"busy_timeout": 2.0}
"""Long enough for a slow machine to connect."""

OLDEST = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Files:
    """All that a server has of a database on its disk: rows, what is too long for one, indexes, and maps of them."""

    def __init__(self, server: Server, url: str) -> None:
        self._server = server
        self._name = named(url)

    def read(self) -> bytes:
        with self._server.admin(self._name) as admin:
            admin.execute("CHECKPOINT")
            (number,) = admin.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone() or (
                0,
            )
        folder = self._server.folder / "data" / "base" / str(number)
        return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())

    def has(self, *words: str | bytes) -> list[bool]:
        files = self.read()
        return [(word.encode() if isinstance(word, str) else word) in files for word in words]


def an_engine(url: str, **given: Any) -> recollect.Engine:
    """An engine of so few dimensions that a trace is short enough to be kept as it is, and its question found."""
    return any_engine(url, **{"embedder": "hashing-16", **given})


@pytest.fixture
def files(postgres_server: Server, fresh_store_url: str) -> Files:
    return Files(postgres_server, fresh_store_url)


@pytest.fixture
def engine(fresh_store_url: str) -> Iterator[recollect.Engine]:
    """An engine of the owner, beside whose memories others live."""
    with an_engine(fresh_store_url) as engine:
        for scope in (BEN, RIVAL):
            engine.remember(NEIGHBOUR, scope=scope)
        yield engine


@pytest.fixture
def admin(fresh_store_url: str) -> Iterator[Db]:
    """A connection of the superuser."""
    with psycopg.connect(admin_url(fresh_store_url), autocommit=True) as db:
        yield db


@contextmanager
def a_reader(url: str) -> Iterator[str]:
    """Somebody who sees the database as it is now for as long as it lasts; gives the number of their process."""
    with psycopg.connect(url) as db:
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        db.execute("SELECT")
        yield str(db.info.backend_pid)


def unswept(admin: Db) -> int:
    (count,) = admin.execute("SELECT count(*) FROM recollect.unswept").fetchone() or (0,)
    return int(count)


def waiting(admin: Db) -> int:
    """The part of the tables that is to be swept."""
    (part,) = admin.execute("SELECT part FROM recollect.unswept").fetchone() or (-1,)
    return int(part)


def held_by_a_reader(table: str, part: int) -> sql.Composed:
    """What somebody says who has that part of a table."""
    return sql.SQL("LOCK TABLE recollect.{} IN ACCESS SHARE MODE").format(sql.Identifier(f"{table}_{part}"))


def directions(admin: Db, scope: str) -> list[Any]:
    """The vectors of a scope."""
    found = admin.execute(
        "SELECT v.value::text FROM recollect.vectors v JOIN recollect.scopes s ON s.number = v.scope WHERE s.path = %s",
        [scope],
    )
    return [np.array(json.loads(value)) for (value,) in found]


def test_whatever_a_memory_had_is_in_the_files_before_and_nowhere_after(
    engine: recollect.Engine, files: Files, admin: Db
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA, **NOTED)
    engine.revise(secret.id, f"{ALLERGY} about her tablets", scope=ANA)
    context = engine.recall("is she allergic to tablets, perhaps?", scope=ANA)
    by, answer = "the-doctor-of-the-ward", f"She said: {ALLERGY}"
    assert engine.feedback(context.id or "", scope=ANA, helped=[secret.id], by=by, answer=answer).quoted == (secret.id,)
    engine.remember(LONG, scope=ANA, derived_from=[secret.id])
    admin.execute("ANALYZE")
    words = (ALLERGY, "about her tablets", *LABELS, "the-doctor-of-the-ward", LONG[:200], secret.id)
    vectors = [one.astype("<f4").tobytes() for one in directions(admin, ANA)]
    assert len(vectors) == 3
    assert files.has(*words, *vectors) == [True] * (len(words) + len(vectors))

    erasure = engine.erase(scope=ANA, id=secret.id)

    assert files.has(*words, *vectors) == [False] * (len(words) + len(vectors))
    assert files.has(NEIGHBOUR, "is she allergic to tablets, perhaps?") == [True, True]
    assert erasure.proven
    assert (erasure.memories, erasure.versions, erasure.vectors) == (2, 3, 3)
    assert (erasure.uses, erasure.votes, erasure.keys, erasure.contexts) == (2, 1, 1, 1)
    assert engine.stats().uses[Use.QUOTED] == 0
    assert erasure.out_of_reach == UNREACHABLE_SERVER_COPIES
    assert erasure.pieces == frozenset()
    assert unswept(admin) == 0
    assert [len(engine.memories(scope=scope)) for scope in (ANA, BEN, RIVAL)] == [0, 1, 1]


def test_everything_of_a_scope_goes_with_its_questions_and_its_name(
    engine: recollect.Engine, files: Files, admin: Db
) -> None:
    engine.remember(ALLERGY, scope=ANA, **NOTED)
    engine.remember(DIARY, scope=ANA)
    shared = engine.remember("tea is at four for all who work here", scope="acme", shared=True)
    mine = engine.recall("tea, and what about peanuts and her doctor?", scope=ANA, profile="search")
    engine.feedback(mine.id or "", scope=ANA, helped=[shared.id], answer="tea is at four for all who work here")
    assert engine.contexts.usage(shared.id, scope="acme").quoted == 1
    words = (ALLERGY, *LABELS, ANA, "what about peanuts and her doctor?", mine.id or "")
    admin.execute("ANALYZE")
    assert files.has(*words) == [True] * len(words)

    erasure = engine.erase(scope=ANA, everything=True)

    assert erasure.proven
    assert files.has(*words) == [False] * len(words)
    (kept,) = admin.execute("SELECT count(*) FROM recollect.contents WHERE length(text) > 8000").fetchone() or (1,)
    assert kept == 0
    usage = engine.contexts.usage(shared.id, scope="acme")
    assert (usage.helped, usage.quoted) == (1, 0)


def test_an_event_goes_with_the_records_of_its_time_and_what_is_noted_of_the_scope(
    fresh_store_url: str, files: Files, admin: Db
) -> None:
    clock = ManualClock()
    clock.now = OLDEST + timedelta(days=40)
    with an_engine(fresh_store_url, clock=clock) as engine:
        others = [
            {"text": f"Ben plants row {day} of the garden in the morning sun", "at": OLDEST + timedelta(days=day)}
            for day in range(6)
        ]
        engine.observe(others, scope=ANA)
        (secret,) = engine.observe([{"text": ALLERGY, "at": OLDEST + timedelta(days=2, hours=1)}], scope=ANA)
        engine.timeline.rollup(scope=ANA)
        records = [one for one in engine.memories(scope=ANA) if ALLERGY in one.text and one.level is not Level.EVENT]
        assert records
        (noted,) = admin.execute("SELECT count(*) FROM recollect.checkpoints").fetchone() or (0,)
        assert noted > 0

        erasure = engine.erase(scope=ANA, id=secret.id)

        assert erasure.proven
        assert {secret.id, *(one.id for one in records)} <= set(erasure.ids)
        assert erasure.checkpoints == noted
        assert files.has(ALLERGY, ALLERGY[:30], secret.id) == [False] * 3
        engine.timeline.rollup(scope=ANA)
        assert files.has(ALLERGY, ALLERGY[:30], secret.id, "row 2 of the garden") == [False, False, False, True]


def test_a_vector_goes_from_an_index_of_the_nearest_and_leaves_no_sample(
    engine: recollect.Engine, files: Files, admin: Db, fresh_store_url: str
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    engine.remember_all([{"text": f"{NEIGHBOUR} on day {day}"} for day in range(30)], scope=ANA)
    index_scope(fresh_store_url, ANA)
    admin.execute("ANALYZE")
    (sampled,) = admin.execute("SELECT count(*) FROM pg_stats WHERE tablename LIKE 'near%'").fetchone() or (1,)
    assert sampled == 0
    (found,) = admin.execute(
        "SELECT v.value::text FROM recollect.vectors v JOIN recollect.memories m USING (root, content) WHERE m.id = %s",
        [secret.id],
    )
    direction = np.array(json.loads(found[0]))
    both = direction.astype("<f4").tobytes(), direction.astype("<f2").tobytes()
    assert files.has(*both) == [True, True]

    assert engine.erase(scope=ANA, id=secret.id).proven

    assert files.has(*both) == [False, False]
    assert len(engine.search("train", scope=ANA, exact="preferred", limit=5)) == 5


def test_vectors_of_a_former_model_go_as_well(
    engine: recollect.Engine, files: Files, admin: Db, fresh_store_url: str
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    (former,) = directions(admin, ANA)
    engine.close()
    re_embed(fresh_store_url, embedder="wordllama")
    with recollect.open(fresh_store_url) as after:
        assert after.erase(scope=ANA, id=secret.id).proven
    assert files.has(former.astype("<f4").tobytes()) == [False]


def test_a_superuser_searches_the_files_and_others_are_told_who_may(
    engine: recollect.Engine, fresh_store_url: str, admin: Db
) -> None:
    first = engine.remember(ALLERGY, scope=ANA)
    erasure = engine.erase(scope=ANA, id=first.id)
    assert (erasure.proven, erasure.search.files) == (True, ())
    assert "that needs a superuser" in (erasure.search.unsearched or "")
    assert {name.rpartition("_")[0] for name in erasure.search.rewritten} >= {"contents", "memories", "vectors"}
    with an_engine(admin_url(fresh_store_url)) as superuser:
        second = superuser.remember(ALLERGY, scope=ANA)
        superuser.remember(ALLERGY, scope=BEN)
        erasure = superuser.erase(scope=ANA, id=second.id)
    assert (erasure.proven, erasure.search.unsearched) == (True, None)
    kinds = "SELECT count(*) FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'i'"
    (indexes,) = admin.execute(kinds).fetchone() or (0,)
    assert len(erasure.search.files) > len(erasure.search.rewritten) + indexes / 9
    assert {name.rpartition("_")[0] for name in erasure.search.elsewhere} == {"contents", "memories", "vectors"}


def test_what_a_superuser_finds_in_the_samples_of_columns_is_left(
    fresh_store_url: str, admin: Db, files: Files
) -> None:
    with an_engine(admin_url(fresh_store_url)) as engine:
        secret = engine.remember(ALLERGY, scope=ANA)
        engine.remember(NEIGHBOUR, scope=ANA)
        admin.execute("ALTER TABLE recollect.contents ALTER COLUMN text SET STATISTICS 100")
        admin.execute("ANALYZE recollect.contents")
        admin.execute("CHECKPOINT")
        erasure = engine.erase(scope=ANA, id=secret.id)
        assert not erasure.proven
        assert "pg_statistic" in erasure.search.remains[0]
        admin.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'recollect.%'")
        admin.execute("VACUUM FULL pg_statistic")
        assert engine.admin.prove_erased(erasure).proven
    assert files.has(ALLERGY) == [False]


def test_no_column_with_what_somebody_said_has_samples(engine: recollect.Engine, admin: Db) -> None:
    for number in range(3):
        engine.remember(f"{ALLERGY} {number}", scope=ANA, title=f"a title {number}", topic_key=f"topic {number}")
    admin.execute("ANALYZE")
    found = admin.execute(
        "SELECT DISTINCT s.tablename, s.attname FROM pg_stats s JOIN pg_class c ON c.relname = s.tablename"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = s.attname"
        " WHERE s.schemaname = 'recollect' AND (c.relispartition OR c.relkind <> 'r')"
        " AND a.atttypid IN ('text'::regtype, 'bytea'::regtype, 'vector'::regtype)"
    )
    words = {name for _, name in found}
    assert words <= {"kind", "status", "level", "use", "verdict", "analyser", "naming"}


def test_who_reads_as_it_was_before_keeps_it_and_the_receipt_says_so_until_they_end(
    fresh_store_url: str, files: Files, admin: Db
) -> None:
    with an_engine(fresh_store_url, settings=SHORT) as engine:
        secret = engine.remember(ALLERGY, scope=ANA)
        with a_reader(fresh_store_url) as process:
            erasure = engine.erase(scope=ANA, id=secret.id)
            assert (erasure.proven, erasure.retryable) == (False, True)
            assert f"process {process} may still see the erased rows" in (erasure.search.unfinished or "")
            assert files.has(ALLERGY) == [True]
            with pytest.raises(recollect.NotFound):
                engine.get(secret.id, scope=ANA)
            with pytest.raises(StoreBusy, match="end it and try again"):
                sweep(fresh_store_url, settings=SHORT)
            assert unswept(admin) == 1
        again = engine.admin.prove_erased(erasure)
        assert again.proven
        assert again.ids == erasure.ids
    assert files.has(ALLERGY) == [False]


def test_who_came_after_the_erasure_holds_nothing_up(fresh_store_url: str, files: Files) -> None:
    with (
        closing(PostgresStore(fresh_store_url, ManualClock())) as store,
        an_engine(fresh_store_url) as engine,
    ):
        secret = engine.remember(ALLERGY, scope=ANA)
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [secret.id]))
        with a_reader(fresh_store_url):
            swept = sweep(fresh_store_url)
        assert swept.erasures == 1
    assert files.has(ALLERGY) == [False]


def test_what_the_server_says_of_a_table_tells_whether_somebody_could_see_what_was_erased(
    engine: recollect.Engine, fresh_store_url: str, files: Files, admin: Db
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    asked = load_statements("recollect.stores.postgres", "sweeping.sql")["tables"]

    def since(part: int) -> int:
        admin.execute(sql.SQL("VACUUM FULL recollect.{}").format(sql.Identifier(f"contents_{part}")))
        admin.execute("SET search_path = recollect")
        (found,) = [row for row in admin.execute(asked.encode(), {"part": part}) if row[1] == f"contents_{part}"]
        return int(found[4])

    with closing(PostgresStore(fresh_store_url, ManualClock())) as store, a_reader(fresh_store_url):
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [secret.id]))
        part, erased_by = admin.execute("SELECT part, erased_by::text::bigint FROM recollect.unswept").fetchone() or (
            0,
            0,
        )
        assert since(part) <= erased_by
        assert files.has(ALLERGY) == [True]
    assert since(part) > erased_by
    assert files.has(ALLERGY) == [False]


def test_of_a_receipt_of_another_store_there_is_nothing_here(engine: recollect.Engine) -> None:
    with an_engine(":memory:") as other:
        secret = other.remember(ALLERGY, scope="elsewhere")
        erasure = replace(other.erase(scope="elsewhere", id=secret.id), pieces=frozenset({ALLERGY[:24].encode()}))
    assert engine.admin.prove_erased(erasure).proven


def test_a_sweep_goes_through_all_that_waits(engine: recollect.Engine, fresh_store_url: str, admin: Db) -> None:
    roots = [f"tenant-{number}" for number in range(4)]
    kept = {root: engine.remember(f"{ALLERGY} of {root}", scope=f"{root}/ana") for root in roots}
    with closing(PostgresStore(fresh_store_url, ManualClock())) as store:
        for root, one in kept.items():
            store.write(
                lambda writing, root=root, one=one: writing.erase(Scope.parse(f"{root}/ana"), [one.id])  # type: ignore[misc]
            )
    (parts,) = admin.execute("SELECT count(DISTINCT part) FROM recollect.unswept").fetchone() or (0,)
    assert parts > 1
    swept = sweep(fresh_store_url)
    assert (swept.erasures, unswept(admin)) == (len(roots), 0)
    assert len([name for name in swept.tables if name.startswith("contents_")]) == parts
    assert len(set(swept.tables)) == len(swept.tables)
    assert swept.before >= swept.after > 0


def test_a_run_that_was_killed_is_gone_on_with_by_the_next(
    engine: recollect.Engine, fresh_store_url: str, files: Files, admin: Db
) -> None:
    killed, last = (engine.remember(f"{ALLERGY} {name}", scope=ANA) for name in ("killed", "last"))
    with closing(PostgresStore(fresh_store_url, ManualClock())) as store:
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [killed.id]))  # and nothing more
    assert unswept(admin) == 1
    assert files.has(f"{ALLERGY} killed") == [True]
    assert engine.erase(scope=ANA, id=last.id).proven
    assert files.has(ALLERGY) == [False]
    assert unswept(admin) == 0
    assert sweep(fresh_store_url).erasures == 0


def test_a_sweep_that_is_ended_in_the_middle_leaves_it_to_the_next(
    engine: recollect.Engine, fresh_store_url: str, files: Files, admin: Db
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    with closing(PostgresStore(fresh_store_url, ManualClock())) as store:
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [secret.id]))
    part = waiting(admin)
    with psycopg.connect(fresh_store_url) as holding, ThreadPoolExecutor(1) as pool:
        holding.execute(held_by_a_reader("votes", part))
        sweeping_there = pool.submit(sweep, fresh_store_url)
        at_work = "FROM pg_stat_activity WHERE query LIKE 'VACUUM%votes%' AND wait_event_type = 'Lock'"
        until(lambda: admin.execute(f"SELECT pg_terminate_backend(pid) {at_work}").fetchone() is not None)
        with pytest.raises(StoreError):
            sweeping_there.result(60)
    assert unswept(admin) == 1
    assert sweep(fresh_store_url).erasures == 1
    assert files.has(ALLERGY) == [False]


def test_who_does_not_own_the_tables_is_told_who_sweeps_and_proves_it_afterwards(
    postgres_server: Server, fresh_store_url: str, files: Files, admin: Db
) -> None:
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(fresh_store_url))
    agent = postgres_server.url(named(fresh_store_url), AGENT)
    with an_engine(agent) as engine:
        secret = engine.remember(ALLERGY, scope=ANA)
        erasure = engine.erase(scope=ANA, id=secret.id)
        assert "run `recollect admin sweep` as recollect" in (erasure.search.unfinished or "")
        assert erasure.out_of_reach == UNREACHABLE_SERVER_COPIES
        with pytest.raises(StoreError, match="run it as recollect"):
            sweep(agent)
        assert files.has(ALLERGY) == [True]
        swept = sweep(fresh_store_url)
        assert swept.erasures == 1
        assert {"contents", "memories", "vectors"} <= {name.rpartition("_")[0] for name in swept.tables}
        assert files.has(ALLERGY) == [False]
        assert engine.admin.prove_erased(erasure).proven
    assert unswept(admin) == 0


def test_what_is_large_is_left_to_an_operator(
    engine: recollect.Engine, fresh_store_url: str, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    monkeypatch.setattr(table_rewrite, "MAX_IMMEDIATE_BYTES", 1)
    erasure = engine.erase(scope=ANA, id=secret.id)
    assert "run `recollect admin sweep` when that does no harm" in (erasure.search.unfinished or "")
    assert files.has(ALLERGY) == [True]
    assert sweep(fresh_store_url).erasures == 1
    assert engine.admin.prove_erased(erasure).proven
    assert files.has(ALLERGY) == [False]


def test_a_large_index_of_the_nearest_is_left_to_an_operator(
    engine: recollect.Engine, fresh_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    index_scope(fresh_store_url, ANA)
    monkeypatch.setattr(table_rewrite, "MAX_IMMEDIATE_INDEX_BYTES", 1)
    assert not engine.erase(scope=ANA, id=secret.id).proven
    assert sweep(fresh_store_url).erasures == 1


def test_through_a_pooler_it_is_told_how_to_sweep(postgres_server: Server, fresh_store_url: str) -> None:
    with (
        a_pooler(postgres_server, connections=5) as pooler,
        an_engine(pooler.url(named(fresh_store_url))) as engine,
    ):
        secret = engine.remember(ALLERGY, scope=ANA)
        erasure = engine.erase(scope=ANA, id=secret.id)
        assert "with the address of the server instead of a pooler" in (erasure.search.unfinished or "")
        assert sweep(fresh_store_url).erasures == 1
        assert engine.admin.prove_erased(erasure).proven


def test_tables_that_came_from_another_server_can_be_swept(
    engine: recollect.Engine, fresh_store_url: str, admin: Db
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    with closing(PostgresStore(fresh_store_url, ManualClock())) as store:
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [secret.id]))
    admin.execute("UPDATE recollect.unswept SET erased_by = '9000000000'")
    assert sweep(fresh_store_url).erasures == 1
    assert unswept(admin) == 0


def test_what_is_erased_while_another_sweeps_waits_for_its_own_turn(
    engine: recollect.Engine, fresh_store_url: str, admin: Db
) -> None:
    first, second = (engine.remember(f"{ALLERGY} {number}", scope=ANA) for number in range(2))
    with ThreadPoolExecutor(2) as pool, an_engine(fresh_store_url) as patient:
        with admin_connection.exclusive_connection(fresh_store_url, "a database", 5):
            both = [pool.submit(patient.erase, scope=ANA, id=one.id) for one in (first, second)]
            until(lambda: unswept(admin) == 2)
            assert not any(one.done() for one in both)
        assert [one.result(60).proven for one in both] == [True, True]
    assert unswept(admin) == 0


def test_others_go_on_reading_and_writing_beside_a_sweep(
    engine: recollect.Engine, fresh_store_url: str, files: Files, admin: Db
) -> None:
    over = threading.Event()

    def lives(scope: str) -> int:
        done = 0
        with an_engine(fresh_store_url) as other:
            while not over.is_set():
                other.remember(f"{NEIGHBOUR}, for the {done}th time", scope=scope)
                assert other.search("train", scope=scope)
                done += 1
        return done

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(lives, scope) for scope in (BEN, RIVAL)]
        try:
            for number in range(5):
                secret = engine.remember(f"{ALLERGY} {number}", scope=ANA)
                erasure = engine.erase(scope=ANA, id=secret.id)
                # A search that begins while a table is written anew may still see the old rows; the receipt says so.
                assert erasure.proven or "began to read the erased rows" in (erasure.search.unfinished or "")
        finally:
            over.set()
        done = [one.result(60) for one in others]
    assert min(done) > 0
    assert [len(engine.memories(scope=scope)) - 1 for scope in (BEN, RIVAL)] == done
    sweep(fresh_store_url)
    assert unswept(admin) == 0
    assert files.has(ALLERGY) == [False]


def test_who_has_to_wait_too_long_for_a_table_that_is_written_anew_is_told(
    engine: recollect.Engine, fresh_store_url: str
) -> None:
    assert engine.search("train", scope=BEN)
    with psycopg.connect(fresh_store_url) as rewriting:
        rewriting.execute("LOCK TABLE recollect.contents IN ACCESS EXCLUSIVE MODE")
        with an_engine(fresh_store_url, settings=SHORT) as hasty:
            with pytest.raises(StoreBusy):
                hasty.search("train", scope=BEN)
            with pytest.raises(StoreBusy):
                hasty.remember(NEIGHBOUR, scope=ANA)


def test_a_table_that_somebody_holds_is_waited_for_and_then_told(
    engine: recollect.Engine, fresh_store_url: str, admin: Db
) -> None:
    secret = engine.remember(ALLERGY, scope=ANA)
    with closing(PostgresStore(fresh_store_url, ManualClock())) as store:
        store.write(lambda writing: writing.erase(Scope.parse(ANA), [secret.id]))
    part = waiting(admin)
    with psycopg.connect(fresh_store_url) as holding:
        holding.execute(held_by_a_reader("usage", part))
        with pytest.raises(StoreBusy, match="try again"):
            sweep(fresh_store_url, settings=SHORT)
    assert unswept(admin) == 1
    assert sweep(fresh_store_url).erasures == 1
