"""Whatever happened, SQLite and the plain dictionary export the same, and each takes in what the other gave."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.archive import header, item_line
from recollect.errors import RecollectError
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.trace import Trace
from recollect.ports import Store
from recollect.stores.dictionary import DictionaryStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.keeping import Clock, a_trace
from tests.contract.histories import SCOPES, Look, Write, histories, looks, traces
from tests.contract.test_stores_agree import both, found, live

CONTEXTS = Write(
    timedelta(0), tuple(("trace", a_trace(id, scope=scope)) for id, scope in zip("abcde", SCOPES, strict=True))
)
"""Some of the contexts that votes are cast in, each of another scope."""

parts = st.sampled_from([None, *SCOPES, Scope.parse("nobody")])


def exported(store: Store, scope: Scope | None = None) -> str:
    """An export without its last line."""
    inventory, items = store.export(scope)
    return header(inventory) + "".join(map(item_line, items))


def load(store: Store, source: Store, scope: Scope | None = None) -> object:
    """Take in what another store has."""
    inventory, items = source.export(scope)
    held = list(items)
    return store.write(lambda writing: writing.load(held, inventory.encoder))


def forward(event: Write | Look) -> Write | Look:
    """The same, with a clock that never goes back: commits that took in nothing of an export are then not missed."""
    return replace(event, step=max(event.step, timedelta(0))) if isinstance(event, Write) else event


def counted(stats: Stats) -> Stats:
    """The figures that do not depend on how it is kept."""
    return replace(stats, schema=0, bytes=0)


@given(histories(), st.lists(traces, max_size=3), parts, st.booleans())
def test_both_count_and_export_the_same(
    history: Sequence[Write | Look], kept: list[Trace], scope: Scope | None, below: bool
) -> None:
    clock = Clock()
    with both(clock) as (plain, sqlite):
        live([*history, *(Write(timedelta(0), (("trace", one),)) for one in kept)], clock, plain, sqlite)
        assert counted(sqlite.stats(scope, below=below)) == counted(plain.stats(scope, below=below))
        assert exported(sqlite, scope) == exported(plain, scope)


@given(histories(), st.lists(traces, max_size=3), st.lists(looks, min_size=1, max_size=4))
def test_a_new_store_that_takes_in_an_export_is_the_store_it_came_from(
    history: Sequence[Write | Look], kept: list[Trace], asked: list[Look]
) -> None:
    clock = Clock()
    with both(clock) as (plain, sqlite):
        live([*map(forward, history), *(Write(timedelta(0), (("trace", one),)) for one in kept)], clock, plain, sqlite)
        copies: list[Store] = [DictionaryStore(clock), SqliteStore(":memory:", clock)]
        for copy in copies:
            load(copy, sqlite)
            assert exported(copy) == exported(sqlite)
            for look in asked:
                probe = look.probe(clock)
                expected = sqlite.gather(probe)
                got = replace(copy.gather(probe), commit=expected.commit)  # one that took in nothing of it is not there
                assert found(got) == found(expected)
            assert load(copy, plain) == load(copy, sqlite)
            assert exported(copy) == exported(sqlite)
            copy.close()


@given(histories(), histories(), parts)
def test_both_take_in_the_same_into_what_they_have(
    history: Sequence[Write | Look], elsewhere: Sequence[Write | Look], scope: Scope | None
) -> None:
    clock = Clock()
    source = DictionaryStore(clock)
    for event in elsewhere:
        if isinstance(event, Write):
            event.apply(source, clock)
    clock = Clock()
    with both(clock) as (plain, sqlite):
        live([*history, CONTEXTS], clock, plain, sqlite)
        assert outcome(sqlite, source, scope) == outcome(plain, source, scope)
        assert exported(sqlite) == exported(plain)
        assert plain.write(lambda writing: [writing.lineage(one) for one in SCOPES]) == sqlite.write(
            lambda writing: [writing.lineage(one) for one in SCOPES]
        )
        assert [plain.write(lambda writing, one=one: writing.erase_all(one)) for one in SCOPES] == [  # type: ignore[misc]
            sqlite.write(lambda writing, one=one: writing.erase_all(one))  # type: ignore[misc]
            for one in SCOPES
        ]
        assert exported(sqlite) == exported(plain)


def outcome(store: Store, source: Store, scope: Scope | None) -> object:
    """What comes of taking it in, be it a refusal."""
    try:
        return load(store, source, scope)
    except RecollectError as error:
        return type(error), str(error)
