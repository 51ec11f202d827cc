"""What a recall asks of the store: everything that it may see, once, and then the memories that it considers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import recollect
from recollect.model.memory import Memory
from recollect.protocols import Store
from recollect.retrieval.snapshot import Snapshot

SCOPE = "acme/ana"


class Told:
    """A store that tells what was asked of it."""

    def __init__(self, store: Store, asked: list[str]) -> None:
        self._store = store
        self._asked = asked
        self.loaded: list[Sequence[int]] = []

    def __getattr__(self, name: str) -> Any:
        self._asked.append(name)
        return getattr(self._store, name)

    def load(self, snapshot: Snapshot, rows: Sequence[int]) -> Sequence[Memory | None]:
        self._asked.append("load")
        self.loaded.append(rows)
        return self._store.load(snapshot, rows)


@contextmanager
def asked() -> Iterator[tuple[recollect.Engine, Told, list[str]]]:
    """An engine with memories, and what is asked of its store."""
    calls: list[str] = []
    with recollect.open(":memory:", embedder="hashing-64") as engine:
        texts = [f"Ana deploys service {number} on Fridays" for number in range(20)]
        engine.remember_all([{"text": text, "scope": SCOPE, "speaker": "Ana"} for text in texts])
        engine.remember("Zoe dislikes olives", scope=SCOPE, pinned=True, speaker="Zoe")
        deps = engine._open_deps
        told = Told(deps.store, calls)
        object.__setattr__(deps, "store", told)
        try:
            yield engine, told, calls
        finally:
            object.__setattr__(deps, "store", told._store)


def test_a_recall_reads_once_what_there_is_and_once_what_it_considers() -> None:
    with asked() as (engine, told, calls):
        context = engine.recall("when does Ana deploy?", scope=SCOPE, depth=5)
        assert calls == ["snapshot", "load", "read_only", "defer"]
        (rows,) = told.loaded
        assert len(rows) == 6, "the best five, and the one that is pinned"
        assert {one.memory.speaker for one in context.ranking} == {"Ana", "Zoe"}


def test_a_brief_and_a_search_read_no_more_than_that() -> None:
    with asked() as (engine, _, calls):
        engine.brief(scope=SCOPE)
        assert calls == ["snapshot", "load", "read_only", "defer"]
        calls.clear()
        engine.search("when does Ana deploy?", scope=SCOPE, limit=3)
        assert calls == ["snapshot", "load"]


def test_a_search_below_reads_each_scope_once_however_deep_it_must_look() -> None:
    with asked() as (engine, told, calls):
        shared = [
            {"text": f"Ana deploys service on Fridays, says team {number}", "scope": "acme", "shared": True}
            for number in range(30)
        ]
        engine.remember_all(shared)
        calls.clear()
        found = engine.search("Ana deploys service on Fridays, says team", scope=SCOPE, below=True, limit=5)
        assert [one.memory.scope for one in found] == [recollect.Scope.parse(SCOPE)] * 5
        assert calls.count("snapshot") == 1
        assert len(told.loaded) > 1
