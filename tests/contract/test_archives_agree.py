"""Whatever happened, each store and the plain dictionary export the same, and each takes in what the other gave."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.archive_format import encode_header, encode_item
from recollect.errors import RecollectError
from recollect.model.archive import Stats
from recollect.model.context import ContextRecord
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.testing.builders import ManualClock, a_context_record
from recollect.testing.reference_store import ReferenceStore
from tests.contract.histories import Land, Look, Write, histories, looks, traces, tracing
from tests.contract.sorts import Sort
from tests.contract.test_stores_agree import found, live


def contexts(land: Land) -> Write:
    """Some of the contexts that votes are cast in, each of another scope."""
    made = (a_context_record(id, scope=scope) for id, scope in zip("abcde", land.scopes, strict=True))
    return Write(land, timedelta(0), tuple(("trace", one) for one in made))


def but_for_commit(found: tuple[object, ...]) -> list[object]:
    """What a store says, without the last commit: who took nothing of it has none."""
    return [one for place, one in enumerate(found) if place != 4]


def parts(land: Land) -> st.SearchStrategy[Scope | None]:
    """What may be exported: all, or what is of a scope."""
    return st.sampled_from([None, *land.scopes, land.nobody])


def exported(store: Store, scope: Scope | None = None) -> str:
    """An export without its last line."""
    inventory, items = store.export(scope)
    return encode_header(inventory) + "".join(map(encode_item, items))


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


def test_both_count_and_export_the_same(sort: Sort) -> None:
    @sort.looking
    @given(histories(sort.land), st.lists(traces(sort.land), max_size=3), parts(sort.land), st.booleans())
    def holds(history: Sequence[Write | Look], kept: list[ContextRecord], scope: Scope | None, below: bool) -> None:
        clock = ManualClock()
        with sort.both(clock) as (plain, tried):
            live([*history, *tracing(sort.land, kept)], clock, plain, tried)
            assert counted(tried.stats(scope, below=below)) == counted(plain.stats(scope, below=below))
            assert exported(tried, scope) == exported(plain, scope)

    holds()


def test_a_new_store_that_takes_in_an_export_is_the_store_it_came_from(sort: Sort) -> None:
    @sort.looking
    @given(
        histories(sort.land),
        st.lists(traces(sort.land), max_size=3),
        st.lists(looks(sort.land), min_size=1, max_size=4),
    )
    def holds(history: Sequence[Write | Look], kept: list[ContextRecord], asked: list[Look]) -> None:
        clock = ManualClock()
        with sort.both(clock) as (plain, tried), sort.both(clock) as copies:
            live([*map(forward, history), *tracing(sort.land, kept)], clock, plain, tried)
            for copy in copies:
                load(copy, tried)
                assert exported(copy) == exported(tried)
                for look in asked:
                    probe = look.probe(clock)
                    assert but_for_commit(found(copy, probe)) == but_for_commit(found(tried, probe))
                assert load(copy, plain) == load(copy, tried)
                assert exported(copy) == exported(tried)

    holds()


def test_both_take_in_the_same_into_what_they_have(sort: Sort) -> None:
    @sort.looking
    @given(histories(sort.land), histories(sort.land), parts(sort.land))
    def holds(history: Sequence[Write | Look], elsewhere: Sequence[Write | Look], scope: Scope | None) -> None:
        clock = ManualClock()
        source = ReferenceStore(clock)
        for event in elsewhere:
            if isinstance(event, Write):
                event.apply(source, clock)
        clock = ManualClock()
        with sort.both(clock) as (plain, tried):
            live([*history, contexts(sort.land)], clock, plain, tried)
            assert outcome(tried, source, scope) == outcome(plain, source, scope)
            assert exported(tried) == exported(plain)
            lineages, erased = zip(*(apart(store, sort.land) for store in (plain, tried)), strict=True)
            assert lineages[1] == lineages[0]
            assert erased[1] == erased[0]
            assert exported(tried) == exported(plain)

    holds()


def apart(store: Store, land: Land) -> tuple[object, object]:
    """What each scope has a hand in, and what comes of erasing one after the other."""
    lineages = store.write(lambda writing: [writing.lineage(scope) for scope in land.scopes])
    erased = [store.write(lambda writing, scope=scope: writing.erase_all(scope)) for scope in land.scopes]  # type: ignore[misc]
    return lineages, erased


def outcome(store: Store, source: Store, scope: Scope | None) -> object:
    """What comes of taking it in, be it a refusal."""
    try:
        return load(store, source, scope)
    except RecollectError as error:
        return type(error), str(error)
