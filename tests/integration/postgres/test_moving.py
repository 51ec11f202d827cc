"""A store in a file moves to a database with all it knows; what is stopped goes on, and what is wrong is not used."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import recollect
from recollect.cli.main import cli
from recollect.engine import transfer
from recollect.errors import Conflict, InvalidInput, NotFound, StoreError
from recollect.factory import migrate_store
from recollect.model.context import ContextRecord, Use
from recollect.protocols import WriteTransaction
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import (
    NOW,
    SCOPE,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vote,
    add_context,
    candidates,
    cast_votes,
    count_uses,
    gather,
    ids,
    put,
)
from tests.contract.histories import TWO_ROOTS, Look, Write, histories, looks, traces, tracing
from tests.contract.test_archives_agree import exported, forward
from tests.integration.postgres import writers_rig as rig
from tests.integration.postgres.processes import Process
from tests.integration.postgres.proxy import a_proxy
from tests.integration.postgres.scene import named
from tests.postgres import Server, admin_url

BATCH = rig.BATCH
MANY = 4 * BATCH + 7
"""How many memories there are where a move is stopped in the middle."""


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MOVE_BATCH_ITEMS", BATCH)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file with more than goes in one transaction: memories with versions, uses, votes and keys, and contexts."""
    path, clock = tmp_path / "agent.db", ManualClock()
    names = [f"{number:04}" for number in range(MANY)]
    with closing(SqliteStore(path, clock)) as store:
        put(store, *(a_note(name, shared=True) for name in names))
        clock.move(timedelta(days=1))
        put(store, *(a_note(name, text=f"what {name} says now") for name in names[::10]))

        def use(writing: WriteTransaction) -> None:
            count_uses(writing, SCOPE, ids(*names[::3]), Use.SERVED, NOW, "context")
            cast_votes(writing, SCOPE, [a_vote(name) for name in names[::9]])
            count_uses(writing, SCOPE, ids(*names[:3]), Use.QUOTED, NOW, "context")
            count_uses(writing, SCOPE, ids(*names[:2]), Use.FOLLOWED, NOW, "context")
            add_context(writing, a_context_record("context", *names[:3]))

        store.write(use)
    return path


def assert_the_same(source: Path, target: str) -> None:
    """The database is a store, and exports and finds what the file does."""
    probes = [a_probe("what 0020 says"), a_probe("what 0020 says", known_at=NOW), a_probe(at=NOW - timedelta(days=1))]
    with closing(SqliteStore(source, ManualClock())) as there, closing(PostgresStore(target, ManualClock())) as here:
        assert exported(here) == exported(there)
        for probe in probes:
            assert candidates(gather(here, probe)) == candidates(gather(there, probe))


def test_whatever_happened_before_moves_with_its_rankings(
    postgres_server: Server, postgres_template: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    @settings(max_examples=6, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
    @given(
        histories(TWO_ROOTS),
        st.lists(traces(TWO_ROOTS), max_size=3),
        st.lists(looks(TWO_ROOTS), min_size=2, max_size=5),
    )
    def holds(history: Sequence[Write | Look], kept: list[ContextRecord], asked: list[Look]) -> None:
        path, clock = tmp_path_factory.mktemp("moved") / "agent.db", ManualClock()
        with postgres_server.database(like=postgres_template) as name:
            target = postgres_server.url(name)
            with closing(SqliteStore(path, clock)) as source:
                for event in [*map(forward, history), *tracing(TWO_ROOTS, kept)]:
                    if isinstance(event, Write):
                        event.apply(source, clock)
                moved = migrate_store(path, target)
                with closing(PostgresStore(target, clock)) as store:
                    assert exported(store) == exported(source)
                    assert store.stats(None, below=True).memories == moved.memories
                    for look in asked:
                        probe = look.probe(clock)
                        there, here = (candidates(gather(one, probe)) for one in (source, store))
                        assert here == there

    holds()


def ranked(engine: recollect.Engine, at: datetime) -> list[tuple[str, float, str]]:
    """Who comes where at a moment, with which score to the last bit, and why, by several profiles."""
    return [
        (one.id, float(one.score), str(one.explanation))
        for profile in ("default", "five-signal", "assistant")
        for one in engine.search("which window seat?", scope="acme/ana", profile=profile, as_of=at)
    ]


def test_an_engine_goes_on_where_the_file_was_left(tmp_path: Path, postgres_url: str) -> None:
    path, clock = tmp_path / "agent.db", ManualClock()
    with recollect.open(path, embedder="hashing", clock=clock) as engine:
        seat = engine.remember("Ana prefers window seats", scope="acme/ana", key="seat")
        for number in range(5):
            engine.remember(f"seat {number} of Ana", scope="acme/ana", importance=number / 5)
        engine.remember("Ben prefers the aisle", scope="rival/ben")
        context = engine.recall("which seat?", scope="acme/ana")
        engine.admin.flush()
        embedder, before = engine.admin.embedder, ranked(engine, NOW)
        assert len(before) == 18
    moved = migrate_store(path, postgres_url)
    assert (moved.memories, moved.contexts, moved.resumed) == (7, 1, 0)
    with recollect.open(postgres_url, clock=clock) as engine:
        assert (engine.admin.embedder, ranked(engine, NOW)) == (embedder, before)
        clock.move(timedelta(days=1))
        assert engine.remember("Ana prefers window seats", scope="acme/ana", key="seat").id == seat.id
        assert context.id is not None
        engine.feedback(context.id, scope="acme/ana", helped=[seat.id])
        assert engine.contexts.usage(seat.id, scope="acme/ana").helped == 1
        last = max(one.commit or 0 for one in engine.memories(scope="acme/ana"))
        assert (engine.remember("Ana drinks tea", scope="acme/ana").memory.commit or 0) > last


def test_a_context_of_a_root_without_memories_keeps_its_commit(tmp_path: Path, postgres_url: str) -> None:
    path, clock = tmp_path / "agent.db", ManualClock()
    with recollect.open(path, embedder="hashing", clock=clock) as engine:
        engine.remember("Ana prefers window seats", scope="acme/ana")
        clock.move(timedelta(days=1))
        engine.recall("which seat?", scope="rival/ben")
    migrate_store(path, postgres_url)
    with closing(SqliteStore(path, clock)) as there, closing(PostgresStore(postgres_url, clock)) as here:
        assert exported(here) == exported(there)


@pytest.fixture
def half_moved(source: Path, postgres_store_url: str) -> str:
    """A database to which the file was being moved when the mover was killed."""
    mover = Process(rig.moves, str(source), postgres_store_url)
    assert mover.hear() == (BATCH, MANY + 1)
    mover.tell()
    assert mover.hear() == (2 * BATCH, MANY + 1)
    mover.kill()
    return postgres_store_url


def test_a_move_that_was_killed_goes_on_where_it_was(source: Path, half_moved: str) -> None:
    told: list[tuple[int, int]] = []
    moved = migrate_store(source, half_moved, progress=lambda done, total: told.append((done, total)))
    assert (moved.memories, moved.contexts, moved.resumed) == (MANY, 1, 2 * BATCH)
    assert told == [(done, MANY + 1) for done in (3 * BATCH, 4 * BATCH, MANY + 1)]
    assert_the_same(source, half_moved)


def test_a_store_that_has_changed_since_is_moved_anew(source: Path, half_moved: str) -> None:
    with closing(SqliteStore(source, ManualClock(NOW + timedelta(days=2)))) as store:
        store.write(lambda writing: writing.erase(SCOPE, ids("0000", "0020")))
        put(store, a_note("0020", text="somebody else"), a_note("one more"))
    moved = migrate_store(source, half_moved)
    assert (moved.memories, moved.resumed) == (MANY, 0)
    assert_the_same(source, half_moved)


def test_a_store_that_has_changed_without_a_trace_is_moved_anew_by_the_run_after(source: Path, half_moved: str) -> None:
    with closing(SqliteStore(source, ManualClock())) as store:  # whose clock has gone back, so that nothing looks newer
        store.write(lambda writing: writing.erase(SCOPE, ids("0000", "0020")))
        put(store, a_note("0020", text="somebody else"), a_note("one more"))
    with pytest.raises(Conflict, match="run it again to start over"):
        migrate_store(source, half_moved)
    assert migrate_store(source, half_moved).resumed == 0
    assert_the_same(source, half_moved)


def test_another_store_is_not_moved_in_between(source: Path, tmp_path: Path, half_moved: str) -> None:
    other = tmp_path / "other.db"
    with closing(SqliteStore(other, ManualClock())) as store:
        put(store, a_note("alone"))
    with pytest.raises(Conflict, match=r"agent.db' is being moved into it; finish that first, or use another database"):
        migrate_store(other, half_moved)
    assert migrate_store(source, half_moved).resumed > 0
    assert_the_same(source, half_moved)


def test_what_has_not_come_whole_is_not_opened_and_says_what_to_do(half_moved: str) -> None:
    for act in (
        lambda: PostgresStore(half_moved, ManualClock()),
        lambda: recollect.open(half_moved, embedder="hashing"),
    ):
        with pytest.raises(
            StoreError, match=r"only part of a store that is being moved .*`recollect admin migrate-store`"
        ):
            act()


def test_who_had_the_database_open_before_does_not_write_into_it(source: Path, postgres_store_url: str) -> None:
    with closing(PostgresStore(postgres_store_url, ManualClock())) as early:
        early.encoder()
        mover = Process(rig.moves, str(source), postgres_store_url)
        assert mover.hear() == (BATCH, MANY + 1)
        mover.kill()
        with pytest.raises(StoreError, match="being moved"):
            put(early, a_note("in between"))
        migrate_store(source, postgres_store_url)
        assert len(list(early.memories(SCOPE, below=False, statuses=list(recollect.Status)))) == MANY
    assert_the_same(source, postgres_store_url)


def test_a_database_that_has_memories_is_refused_and_left_alone(source: Path, postgres_store_url: str) -> None:
    with closing(PostgresStore(postgres_store_url, ManualClock())) as store:
        put(store, a_note("mine"))
        before = exported(store)
        with pytest.raises(Conflict, match="already has memories; use an empty database, or import an export"):
            migrate_store(source, postgres_store_url)
        assert exported(store) == before
        put(store, a_note("mine too"))


def test_a_store_that_was_moved_is_not_moved_there_again(source: Path, postgres_store_url: str) -> None:
    migrate_store(source, postgres_store_url)
    with pytest.raises(Conflict, match="already has memories"):
        migrate_store(source, postgres_store_url)
    assert_the_same(source, postgres_store_url)


TAMPERING = {
    "a text": "UPDATE contents SET text = text || ' not' WHERE number = (SELECT min(number) FROM contents)",
    "a vector": "UPDATE vectors SET value = (SELECT value FROM vectors ORDER BY content DESC LIMIT 1)"
    " WHERE content = (SELECT min(content) FROM vectors)",
    "a use": "DELETE FROM uses WHERE number = (SELECT min(number) FROM uses)",
}


@pytest.mark.parametrize("what", TAMPERING)
def test_what_is_not_what_was_to_come_is_refused_and_stays_closed_until_it_is_moved_anew(
    source: Path, postgres_store_url: str, what: str
) -> None:
    def tamper(done: int, total: int) -> None:
        if done == total:
            with psycopg.connect(admin_url(postgres_store_url)) as db:
                db.execute("SET search_path = recollect, public")
                assert db.execute(TAMPERING[what]).rowcount == 1

    with pytest.raises(Conflict, match="the copy differs from the source"):
        migrate_store(source, postgres_store_url, progress=tamper)
    with pytest.raises(StoreError, match="being moved"):
        PostgresStore(postgres_store_url, ManualClock())
    assert migrate_store(source, postgres_store_url).resumed == 0
    assert_the_same(source, postgres_store_url)


def test_a_source_that_somebody_writes_to_meanwhile_is_not_taken_for_moved(
    source: Path, postgres_store_url: str
) -> None:
    with closing(SqliteStore(source, ManualClock())) as store:

        def write(done: int, _: int) -> None:
            if done == BATCH:
                put(store, a_note("in between"))

        with pytest.raises(Conflict, match="stop all writers of the source store"):
            migrate_store(source, postgres_store_url, progress=write)
    assert migrate_store(source, postgres_store_url).memories == MANY + 1
    assert_the_same(source, postgres_store_url)


def test_an_empty_store_moves_too(tmp_path: Path, postgres_url: str) -> None:
    path = tmp_path / "agent.db"
    SqliteStore(path, ManualClock()).close()
    moved = migrate_store(path, postgres_url)
    assert (moved.memories, moved.contexts) == (0, 0)
    assert_the_same(path, postgres_url)


def test_a_server_that_goes_away_in_the_middle_is_waited_for(
    source: Path, postgres_server: Server, postgres_store_url: str
) -> None:
    def end_ours(*_: int) -> None:
        with postgres_server.admin() as admin:
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            assert admin.execute(ended, [named(postgres_store_url)]).fetchall()

    assert migrate_store(source, postgres_store_url, progress=end_ours).memories == MANY
    assert_the_same(source, postgres_store_url)


def test_a_part_whose_answer_is_lost_comes_once(source: Path, postgres_server: Server, postgres_store_url: str) -> None:
    with a_proxy(postgres_server.port) as proxy:

        def lose(done: int, _: int) -> None:
            if done < 3 * BATCH:
                proxy.lose_the_answer()

        target = proxy.url(postgres_server.network_url(named(postgres_store_url)))
        assert migrate_store(source, target, progress=lose).memories == MANY
        assert proxy.lost == 2
    assert_the_same(source, postgres_store_url)


def test_what_cannot_be_moved_is_refused(source: Path, tmp_path: Path, postgres_url: str) -> None:
    acts: list[tuple[type[Exception], Callable[[], object]]] = [
        (NotFound, lambda: migrate_store(tmp_path / "nothing.db", postgres_url)),
        (InvalidInput, lambda: migrate_store(postgres_url, postgres_url)),
        (InvalidInput, lambda: migrate_store(source, str(tmp_path / "other.db"))),
    ]
    for refusal, act in acts:
        with pytest.raises(refusal):
            act()
    with psycopg.connect(admin_url(postgres_url)) as db:
        assert db.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


def test_the_command_moves_and_tells(source: Path, half_moved: str) -> None:
    command = ["admin", "migrate-store", str(source), half_moved, "--json"]
    outcome = CliRunner().invoke(cli, command, env={"RECOLLECT_CONFIG": ""}, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    told = json.loads(outcome.stdout)
    assert (told["memories"], told["contexts"]) == (MANY, 1)
    assert told["resumed"] == 2 * BATCH
    assert_the_same(source, half_moved)
    again = CliRunner().invoke(cli, command, env={"RECOLLECT_CONFIG": ""})
    assert again.exit_code != 0
    assert "already has memories" in again.stderr
