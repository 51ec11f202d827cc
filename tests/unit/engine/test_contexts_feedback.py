"""Feedback: what is noted of a context is noted of one that is there, when it is written down."""

from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

import pytest

import recollect
from recollect.engine.contexts import record_success
from recollect.engine.dependencies import Dependencies
from recollect.errors import NotFound
from recollect.model.context import NO_USAGE, Sign, Usage, Use
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.testing.builders import NOW, SCOPE, ManualClock, a_context_record, a_note, add_context, ids, put
from recollect.testing.reference_store import ReferenceStore
from tests.tables import table

T = TypeVar("T")
BELOW = Scope.parse("acme/ana/below")


@pytest.fixture
def store() -> ReferenceStore:
    """Two contexts of a scope, and one below it that has a memory of it too."""
    store = ReferenceStore(ManualClock())
    put(store, a_note("a", shared=True), a_note("b"), a_note("left out"))
    for trace in (
        a_context_record("one", "a", "b"),
        a_context_record("two", "b", "gone"),
        a_context_record("theirs", "a", scope=BELOW),
    ):
        store.write(lambda writing, trace=trace: add_context(writing, trace))  # type: ignore[misc]
    return store


def test_success_speaks_for_all_that_was_handed_over_once_for_each_context(store: ReferenceStore) -> None:
    for contexts in (["one"], ["two", "one", "one"], []):
        store.write(lambda writing, contexts=contexts: record_success(writing, SCOPE, contexts, NOW))  # type: ignore[misc]
    assert store.usage(SCOPE, ids("a", "b", "left out")) == [Usage(followed=1), Usage(followed=2), NO_USAGE]
    store.write(lambda writing: record_success(writing, BELOW, ["theirs"], NOW))
    assert store.signs(BELOW, ["theirs"]) == [Sign("theirs", MemoryId("a"), Use.FOLLOWED)]
    assert store.usage(SCOPE, ids("a")) == [Usage(followed=2)]


@table("context", ["theirs", "nowhere", "\ud800", ""])
def test_success_of_a_context_that_is_not_the_scopes_is_refused_and_nothing_is_noted(
    store: ReferenceStore, context: str
) -> None:
    with pytest.raises(NotFound, match=r"there is no context .* in acme/ana"):
        store.write(lambda writing: record_success(writing, SCOPE, ["one", context], NOW))
    assert store.usage(SCOPE, ids("a", "b")) == [NO_USAGE, NO_USAGE]


class Erasing(ReferenceStore):
    """A store of which somebody erases a scope just before the next thing is written."""

    erased: Scope | None = None

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        scope, self.erased = self.erased, None
        if scope is not None:
            super().write(lambda writing: writing.erase_all(scope))
        return super().write(change)


def test_nothing_is_noted_of_a_context_that_is_erased_meanwhile() -> None:
    clock, text = ManualClock(), "tea is at four in the kitchen"
    with recollect.open(":memory:", embedder="hashing", clock=clock) as engine:
        parts = {one.name: getattr(engine._deps, one.name) for one in fields(Dependencies)}
    store = Erasing(clock)
    engine = recollect.Engine(Dependencies(**{**parts, "store": store}))
    shared = engine.remember(text, scope="acme", shared=True)
    context = engine.recall("when is tea?", scope="acme/ana")
    store.erased = Scope.parse("acme/ana")
    with pytest.raises(NotFound, match="there is no context"):
        engine.feedback(context.id or "", scope="acme/ana", helped=[shared.id], answer=text)
    assert engine.contexts.usage(shared.id, scope="acme") == Usage(served=1, last_served_at=clock.now)
