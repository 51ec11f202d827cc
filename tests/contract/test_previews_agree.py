"""What is read ahead agrees: a preview names what an erasure removes, and pages put together are the list."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.engine.dependencies import Dependencies
from recollect.errors import NotFound
from recollect.model.enums import Status
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.testing.builders import SCOPE, ManualClock, a_note, put
from tests.contract.sorts import Sort

NAMES = "abcdef"
ABOVE, BELOW = Scope.parse("acme"), Scope.parse("acme/ana/below")
HOMES = {"e": ABOVE, "f": BELOW}
"""The names of which the memories are not the scope's own, though it sees one of them."""


def a_version(name: str, number: int, status: Status, source: str | None, origins: Sequence[str]) -> Memory:
    """A memory of that name as it is written once; written again, the name has another version."""
    home, text = HOMES.get(name, SCOPE), f"what {name} says for the {number}th time"
    return a_note(name, text=text, scope=home, shared=True, status=status, source=source, derived_from=tuple(origins))


written = st.lists(
    st.builds(
        a_version,
        st.sampled_from(NAMES),
        st.integers(0, 99),
        st.sampled_from([Status.ACTIVE, Status.ACTIVE, Status.FORGOTTEN, Status.SUPERSEDED]),
        st.sampled_from([None, "handbook", "wiki", "a"]),
        st.lists(st.sampled_from([*NAMES[:4], *NAMES, "nobody", "handbook"]), min_size=1, max_size=2, unique=True),
    ),
    min_size=5,
    max_size=12,
)
wanted = st.one_of(
    st.sampled_from([*NAMES[:4], *NAMES]).map(lambda name: {"id": name}),
    st.sampled_from(["handbook", "wiki", "a", "nobody"]).map(lambda name: {"source": name}),
    st.just({"everything": True}),
)


def an_engine(store: Store, clock: ManualClock) -> recollect.Engine:
    with recollect.open(":memory:", embedder="hashing", clock=clock) as engine:
        parts = {one.name: getattr(engine._deps, one.name) for one in fields(Dependencies)}
    return recollect.Engine(Dependencies(**{**parts, "store": store}))


def removed(engine: recollect.Engine, asked: dict[str, Any]) -> list[str]:
    """The ids that are gone afterwards, as the receipt and the store both tell."""
    before = everything(engine)
    try:
        told: list[str] = list(engine.erase(scope=SCOPE, **asked).ids)
    except NotFound:
        told = []
    assert sorted(before - everything(engine)) == told
    return told


def foretold(engine: recollect.Engine, asked: dict[str, Any]) -> list[str]:
    """The ids that are to go; none if there is no such memory."""
    try:
        return list(engine.admin.erasable(scope=SCOPE, **asked))
    except NotFound:
        return []


def everything(engine: recollect.Engine) -> set[str]:
    return {one.id for one in engine.memories(scope=ABOVE, below=True, statuses=Status)}


def test_what_goes_is_what_was_foretold(sort: Sort) -> None:
    @sort.looking
    @given(written, wanted)
    def holds(kept: list[Memory], asked: dict[str, Any]) -> None:
        clock = ManualClock()
        with sort.both(clock) as stores:
            told = []
            for store in stores:
                for one in kept:
                    put(store, one)
                engine = an_engine(store, clock)
                ahead, before = foretold(engine, asked), everything(engine)
                assert foretold(engine, asked) == ahead
                assert everything(engine) == before
                assert removed(engine, asked) == ahead
                told.append(ahead)
            assert told[0] == told[1]

    holds()


def test_pages_of_a_list_are_those_of_the_oracle(sort: Sort) -> None:
    @sort.looking
    @given(written, st.sets(st.sampled_from(Status)), st.booleans(), st.integers(1, 4))
    def holds(kept: list[Memory], statuses: set[Status], below: bool, limit: int) -> None:
        clock = ManualClock()
        with sort.both(clock) as stores:
            told = []
            for store in stores:
                for one in kept:
                    put(store, one)
                found = list(store.memories(SCOPE, below=below, statuses=list(statuses)))
                pages = [list(store.memories(SCOPE, below=below, statuses=list(statuses), limit=limit))]
                while pages[-1]:
                    last = pages[-1][-1].id
                    pages.append(
                        list(store.memories(SCOPE, below=below, statuses=list(statuses), after=last, limit=limit))
                    )
                assert list(chain.from_iterable(pages)) == found
                assert all(len(page) == limit for page in pages[:-2])
                told.append(found)
            assert told[0] == told[1]

    holds()
