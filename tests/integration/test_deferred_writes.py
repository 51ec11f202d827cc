"""What fails that nobody waited for is told to whoever looks after the store, and to no other caller."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import apsw
import psycopg
import pytest

import recollect
from recollect.errors import StoreError
from recollect.model.changeset import Changeset, Checkpoint
from recollect.model.scope import Scope
from tests.faults import acting

ANA = "acme/ana"
FAULTS: Mapping[str, type[Exception]] = {"sqlite": apsw.FullError, "postgres": psycopg.errors.DiskFull}


@pytest.fixture(params=FAULTS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[recollect.Engine]:
    target = str(tmp_path / "a.db") if request.param == "sqlite" else request.getfixturevalue("postgres_store_url")
    with suppress(StoreError), recollect.open(target, embedder="hashing") as engine:  # which tells what failed
        yield engine


@pytest.fixture
def break_off(request: pytest.FixtureRequest) -> Changeset:
    """A change that fails as on a disk without room, amid what it writes."""
    kind = request.node.callspec.params["engine"]

    def fail() -> None:
        raise FAULTS[kind]("no room")

    return acting(Changeset(checkpoints=(Checkpoint(Scope.parse(ANA), "half", "done"),)), fail)


def test_nobody_is_told_of_what_another_put_off_but_who_looks_after_the_store(
    engine: recollect.Engine, break_off: Changeset
) -> None:
    kept = engine.remember("Ana likes tea", scope=ANA).id
    engine._deps.store.defer(break_off)
    assert engine.stats(scope=ANA).memories == 1
    assert engine.contexts.usage(kept, scope=ANA).served == 0
    context = engine.recall("tea", scope=ANA).id
    assert context is not None
    engine.feedback(context, helped=[kept], scope=ANA)
    assert engine.contexts.replay(context, scope=ANA).context is not None
    assert list(engine.export(scope=ANA))
    assert engine.erase(scope=ANA, id=kept).memories == 1
    with pytest.raises(StoreError, match="1 deferred writes failed"):
        engine.admin.flush()
    engine.admin.flush()


@pytest.mark.parametrize("awaited", [True, False], ids=["awaited", "put off"])
def test_it_is_known_that_a_store_took_no_writes_until_it_has_taken_one(
    awaited: bool, engine: recollect.Engine, break_off: Changeset
) -> None:
    store, seen = engine._deps.store, [engine.admin.takes_writes]
    with suppress(StoreError):
        if awaited:
            store.write(lambda writing: writing.apply(break_off))
        else:
            store.defer(break_off)
    store.settle()
    seen.append(engine.admin.takes_writes)
    assert not list(engine.search("tea", scope=ANA))
    seen.append(engine.admin.takes_writes)
    engine.remember("Ana likes tea", scope=ANA)
    assert [*seen, engine.admin.takes_writes] == [True, False, False, True]
