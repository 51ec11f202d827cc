"""Vectors that stay in the database: the same best as if all were read, and what is said of how that is known."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg import sql

import recollect
from recollect.errors import EmbedderMismatch, StoreBusy
from recollect.factory import drop_index, index_scope, re_embed
from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.ranking import bound_pruning
from recollect.ranking.result import Ranking, StopReason
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.transaction import ALL_SCOPES, RlsScope, read_with_retry
from recollect.testing.builders import Probe, gather
from tests.integration.postgres.scene import AGENT, a_role, grant, named
from tests.postgres import Server

AT = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSIONS, MANY = 24, 300
ANA, TEAM, ALONE = "acme/ana", "acme", "stranger/ana"
FEW = 30
PROFILES = ("three-signal", "five-signal", "salience", "salience-hybrid", "assistant")


@dataclass
class Told:
    """An embedder that gives the direction it was told to."""

    name: str = "told"
    dimensions: int = DIMENSIONS
    next: list[float] = field(default_factory=lambda: [1.0] * DIMENSIONS)

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float64]:
        return np.repeat(np.array([self.next]), len(texts), axis=0)


def topics() -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(size=(8, DIMENSIONS))


def drafts(scope: str, count: int, *, shared: bool = False) -> list[dict[str, Any]]:
    """Memories of a few topics, more and less important, older and newer."""
    dice, noise = Random(scope), np.random.default_rng(count).normal(size=(count, DIMENSIONS))
    return [
        {
            "text": f"note {number} of {scope}, about {number % 8}",
            "id": f"{scope.replace('/', '-')}-{number:04}",
            "scope": scope,
            "shared": shared,
            "vector": None if number % 50 == 7 else (topics()[number % 8] + 0.7 * noise[number]).tolist(),
            "at": AT - timedelta(hours=dice.uniform(0, 5_000)),
            "importance": dice.choice([None, dice.random()]),
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def filled(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database whose scope has an index and many memories, beside others."""
    with postgres_server.database(like=postgres_template) as name:
        url = postgres_server.url(name)
        with an_engine(url) as engine:
            engine.remember_all([*drafts(ANA, MANY), *drafts(TEAM, 60, shared=True), *drafts(ALONE, FEW)])
        index_scope(url, ANA)
        yield name


@pytest.fixture
def url(postgres_server: Server, filled: str) -> Iterator[str]:
    """A copy of it, to do with what one likes."""
    with postgres_server.database(like=filled) as name:
        yield postgres_server.url(name)


def an_engine(url: str, told: Told | None = None, **given: Any) -> recollect.Engine:
    return recollect.open(url, embedder=told or Told(), clock=lambda: AT, **given)


def without_room(url: str, told: Told) -> recollect.Engine:
    """An engine that has no room for the vectors of a scope."""
    return an_engine(url, told, settings={"cache_bytes": 1_000})


def ask(engine: recollect.Engine, told: Told, topic: int, profile: str = "three-signal", **given: Any) -> Ranking:
    told.next = (topics()[topic] + 0.4 * np.random.default_rng(topic + 100).normal(size=DIMENSIONS)).tolist()
    return engine.search(f"note about {topic}", **{"scope": ANA, "profile": profile, **given})


def facts(ranking: Ranking) -> object:
    """All that is shown, to the last bit."""
    return [(one.id, float(one.score).hex(), one.explanation, one.memory) for one in ranking]


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are found by the index and asked about at first, so that there is a second time, and some are passed over."""
    monkeypatch.setattr(vector_index, "MAX_NEAREST", 40)
    monkeypatch.setattr(bound_pruning, "FIRST_BATCH_ROWS", 5)


@pytest.mark.parametrize("profile", PROFILES)
def test_by_the_index_the_best_are_those_of_a_scan(url: str, profile: str) -> None:
    told = Told()
    with an_engine(url, told) as engine, an_engine(url, told) as scanning:
        for topic in range(8):
            every = ask(scanning, told, topic, profile)
            found = ask(engine, told, topic, profile, exact="preferred")
            assert facts(found) == facts(every)
            assert found.proof.stopped in (StopReason.INDEX, StopReason.BOUND)
            assert found.proof.scanned < found.proof.eligible == every.proof.eligible
            assert found.excluded["unseen"] == found.proof.eligible - found.proof.scanned
            assert sum(found.excluded.values()) == sum(every.excluded.values())


@pytest.mark.parametrize("profile", PROFILES)
def test_where_the_vectors_have_no_room_the_answer_is_exact_all_the_same(url: str, profile: str) -> None:
    told = Told()
    drop_index(url, ANA)
    with an_engine(url, told) as engine, without_room(url, told) as narrow:
        for topic in range(8):
            every, found = ask(engine, told, topic, profile), ask(narrow, told, topic, profile)
            assert facts(found) == facts(every)
            assert found.exact
            assert found.proof.eligible == MANY + 60
            assert ask(narrow, told, topic, profile, exact="preferred").exact


def test_a_bound_leaves_some_of_them_unread(url: str) -> None:
    told = Told()
    with without_room(url, told) as narrow:
        found = ask(narrow, told, 3, kinds=["observation"], limit=2)
    assert found.proof.stopped is StopReason.BOUND
    assert found.proof.scanned < found.proof.eligible


def test_without_an_index_of_the_scope_all_are_read(url: str) -> None:
    told = Told()
    drop_index(url, ANA)
    with an_engine(url, told) as engine:
        found = ask(engine, told, 2, exact="preferred")
    assert found.exact
    assert found.proof.stopped is StopReason.EVERY


@pytest.mark.parametrize(
    "given",
    [{"profile": "default"}, {"profile": "search"}, {"as_of": AT - timedelta(days=3)}, {"known_at": AT}],
    ids=["set signals", "no similarity", "as of", "known at"],
)
def test_what_no_bound_can_answer_is_answered_by_a_scan(url: str, given: dict[str, Any]) -> None:
    told = Told()
    with an_engine(url, told) as engine:
        preferred = ask(engine, told, 1, **given, exact="preferred")
        assert facts(preferred) == facts(ask(engine, told, 1, **given))
    assert preferred.proof.stopped is StopReason.EVERY


def test_what_others_write_is_seen_at_once(url: str) -> None:
    told = Told()
    with an_engine(url, told) as engine, an_engine(url, told) as other:
        first = ask(engine, told, 4, exact="preferred")[0]
        new = {"text": "newer", "scope": ANA, "id": "newer", "vector": told.next, "importance": 1.0}
        other.remember_all([new])
        assert ask(engine, told, 4, exact="preferred")[0].id == "newer"
        other.forget("newer", scope=ANA)
        assert ask(engine, told, 4, exact="preferred")[0].id == first.id
        away = (-np.array(told.next)).tolist()
        other.revise(first.id, "it says something else now", scope=ANA, vector=away)
        found = ask(engine, told, 4, exact="preferred")
        assert facts(found) == facts(ask(other, told, 4))
        assert found[0].id != first.id


def test_what_a_scope_above_shares_is_among_the_best(url: str) -> None:
    told = Told()
    with an_engine(url, told) as engine, an_engine(url, told) as scanning:
        found = [ask(engine, told, topic, exact="preferred", limit=30) for topic in range(8)]
        assert all(any(one.memory.scope == Scope.parse(TEAM) for one in ranking) for ranking in found)
        assert all(facts(ask(scanning, told, topic, limit=30)) == facts(found[topic]) for topic in range(8))


def test_what_a_scope_above_does_not_share_cannot_be_told_from_the_proof(url: str) -> None:
    told = Told()
    index_scope(url, TEAM)
    with an_engine(url, told) as engine, an_engine(url, told) as other:
        before = ask(engine, told, 3, exact="preferred")
        unshared = [{**one, "id": f"secret-{one['id']}", "shared": False} for one in drafts(TEAM, 50)]
        other.remember_all([{**one, "text": f"secret {one['text']}", "vector": told.next} for one in unshared])
        after = ask(engine, told, 3, exact="preferred")
    assert (facts(after), after.proof, after.excluded) == (facts(before), before.proof, before.excluded)


def rows_read(url: str, told: Told, room: int, asked: Sequence[dict[str, Any]]) -> list[bool]:
    """Whether each of these questions made the engine read its columns anew."""
    with an_engine(url, told, settings={"cache_bytes": room}) as engine:
        cache = engine._open_deps.store._column_cache  # type: ignore[attr-defined]
        read = []
        for topic, given in enumerate(asked):
            before = set(map(id, cache._columns.values()))
            ask(engine, told, topic, scope=ALONE, **given)
            read.append(not before >= set(map(id, cache._columns.values())))
        return read


def test_a_scope_that_hardly_fits_is_not_read_anew_with_every_question(url: str) -> None:
    vectors = FEW * DIMENSIONS * 4
    assert rows_read(url, Told(), vectors + 1_000, [{}] * 4)[1:] == [False] * 3
    turns = [{"profile": "default"}, {}, {"profile": "default"}, {}]
    assert rows_read(url, Told(), 100, turns)[2:] == [False, False]


def test_vectors_that_are_here_already_are_made_use_of(url: str) -> None:
    told = Told()
    with an_engine(url, told) as engine:
        assert ask(engine, told, 1, exact="preferred").proof.stopped is not StopReason.EVERY
        ask(engine, told, 1, profile="default")
        assert ask(engine, told, 1, exact="preferred").proof.stopped is StopReason.EVERY


def test_a_role_that_owns_nothing_goes_by_the_index_too(postgres_server: Server, url: str) -> None:
    a_role(postgres_server, AGENT)
    grant(postgres_server, named(url))
    told = Told()
    with an_engine(postgres_server.url(named(url), AGENT), told) as engine:
        assert ask(engine, told, 5, exact="preferred").proof.stopped is not StopReason.EVERY


def test_with_a_new_model_the_index_is_not_asked_and_the_former_model_is_refused(url: str) -> None:
    told = Told()
    with an_engine(url, told) as engine:
        ask(engine, told, 6, exact="preferred")
        re_embed(url, embedder=Told("another"))
        with pytest.raises(EmbedderMismatch):
            ask(engine, told, 6, exact="preferred")
    another = Told("another")
    with an_engine(url, another) as engine:
        assert ask(engine, another, 6, exact="preferred").proof.stopped is StopReason.EVERY


def test_a_model_that_went_and_came_back_meanwhile_has_other_vectors(url: str) -> None:
    with closing(PostgresStore(url, lambda: AT)) as store:
        found = gather(store, a_probe())
        re_embed(url, embedder=Told("another"))
        re_embed(url, embedder=Told())
        for use in (store.similarities, store.exact_similarities):
            with pytest.raises(StoreBusy):
                use(found.snapshot, VECTOR, found.remote_rows)
        with pytest.raises(StoreBusy):
            store.nearest(found.snapshot, VECTOR)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, lambda: AT)) as store:
        yield store


VECTOR = (topics()[0] / np.linalg.norm(topics()[0])).astype(np.float32)


def a_probe() -> Probe:
    return Probe(
        scope=Scope.parse(ANA),
        at=AT,
        present=True,
        vectors=VECTOR[None, :],
        encoder=Encoder("told", DIMENSIONS),
        remote_vectors=True,
        use_index=True,
    )


def test_one_that_is_erased_meanwhile_has_no_similarity(store: PostgresStore, url: str) -> None:
    found = gather(store, a_probe())
    gone, other = found.remote_rows[:2]
    with an_engine(url) as engine:
        engine.erase(scope=ANA, id=MemoryId(found.table.ids[gone]))
    for find in (store.similarities, store.exact_similarities):
        assert np.isnan(find(found.snapshot, VECTOR, np.array([gone, other]))).tolist() == [True, False]
    assert store.load(found.snapshot, [int(gone)]) == [None]


def test_the_similarities_are_within_the_error_that_is_said(store: PostgresStore) -> None:
    found = gather(store, a_probe())
    whole = gather(store, replace(a_probe(), remote_vectors=False))
    rows, error = found.remote_rows, found.table.similarity_error
    ids = [found.table.ids[row] for row in rows.tolist()]
    places = {id: row for row, id in enumerate(whole.table.ids)}
    true = np.array([one.similarity for one in whole.candidates([places[id] for id in ids])])
    assert np.abs(store.similarities(found.snapshot, VECTOR, rows) - true).max() <= error
    assert store.exact_similarities(found.snapshot, VECTOR, rows).tolist() == true.tolist()
    nearest = store.nearest(found.snapshot, VECTOR)
    rest = np.setdiff1d(np.arange(len(rows)), np.searchsorted(rows, nearest.rows))
    assert true[rest].max() <= nearest.ceiling


def test_nobody_else_is_near(store: PostgresStore) -> None:
    """With the conditions of the statements taken out, row-level security still shows no one else's."""
    question = sql.Literal(f"[{','.join(['1'] * DIMENSIONS)}]")
    marks = {"vectors": sql.Identifier(store._database.vectors), "vector": question}
    statement = sql.SQL(vector_index._SELECT_SIMILARITIES.partition(" WHERE ")[0]).format(**marks)

    def shown(reach: RlsScope) -> set[int]:
        return {
            content for content, _ in read_with_retry(store._database, reach, lambda db: db.fetch_composed(statement))
        }

    ours, team = shown(RlsScope.of(Scope.parse(ANA))), shown(RlsScope.of(Scope.parse(TEAM)))
    theirs = shown(RlsScope.of(Scope.parse(ALONE)))
    assert theirs
    assert team
    assert team < ours
    assert not theirs & ours
    assert ours | theirs == shown(ALL_SCOPES)
