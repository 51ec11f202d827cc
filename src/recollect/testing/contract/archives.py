"""Contract: statistics, export and import of a store."""

from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.errors import Conflict, EmbedderMismatch
from recollect.model.archive import ArchivedMemory, ArchiveItem, ImportReport
from recollect.model.context import MAX_COUNTED_VOTES, ContextRecord, Usage, Use
from recollect.model.draft import Created, IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Status
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.testing.builders import (
    ENCODER,
    NOW,
    SCOPE,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vote,
    add_context,
    add_key,
    candidates,
    cast_votes,
    count_uses,
    gather,
    ids,
    put,
    visible_ids,
    write_together,
)
from recollect.testing.contract import Variant, affected_by

CHILD_SCOPE, PARENT_SCOPE, OTHER_SCOPE = Scope.parse("acme/ana/below"), Scope.parse("acme"), Scope.parse("acme-labs")


def fill_store(writer: Store, clock: ManualClock) -> None:
    """Write some of everything: several scopes, versions, uses, votes, a key and contexts."""
    put(writer, a_note("a", kind=Kind.FACT), a_note("b", shared=True), a_note("c", scope=CHILD_SCOPE))
    clock.move(timedelta(hours=1))
    put(writer, a_note("a", text="another", kind=Kind.FACT), a_note("x", scope=OTHER_SCOPE, status=Status.FORGOTTEN))
    clock.move(timedelta(hours=1))
    kept = IdempotencyRecord(scope=SCOPE, key="key", body="body", memory=MemoryId("b"), verdict=Created(), at=clock.now)
    write_together(
        writer,
        lambda writing: count_uses(writing, SCOPE, ids("a", "b"), Use.SERVED, clock.now, "context"),
        lambda writing: count_uses(writing, CHILD_SCOPE, ids("b"), Use.ECHOED, NOW, None),
        lambda writing: count_uses(writing, SCOPE, ids("a", "b"), Use.QUOTED, NOW, "context"),
        lambda writing: count_uses(writing, SCOPE, ids("b"), Use.FOLLOWED, NOW, "context"),
        lambda writing: cast_votes(writing, SCOPE, [a_vote("b"), a_vote("a", Use.MISLED)]),
        lambda writing: add_key(writing, kept),
        lambda writing: add_context(writing, a_context_record("context", "a", "b")),
        lambda writing: add_context(writing, a_context_record("theirs", "x", scope=OTHER_SCOPE)),
    )
    clock.move(timedelta(hours=1))
    writer.write(lambda writing: writing.put(a_note("b", shared=True, pinned=True), None))


def export_items(store: Store, scope: Scope | None = None) -> tuple[Encoder | None, list[ArchiveItem]]:
    """Return all items that a store exports, with the model of its vectors."""
    inventory, items = store.export(scope)
    held = list(items)
    memories = [item for item in held if isinstance(item, ArchivedMemory)]
    assert (inventory.memories, inventory.contexts) == (len(memories), len(held) - len(memories))
    assert inventory.scope == scope
    return inventory.encoder, held


def import_items(writer: Store, items: list[ArchiveItem], encoder: Encoder | None = ENCODER) -> ImportReport:
    """Import items that another store exported."""
    return writer.write(lambda writing: writing.load(items, encoder))


class StatsContract:
    """A store counts its contents: of one scope, with the scopes below it, or of all scopes."""

    @affected_by(Variant.IN_MEMORY)
    def test_what_there_is_is_counted(self, store: Store, writer: Store, clock: ManualClock) -> None:
        fill_store(writer, clock)
        stats = store.stats(None, below=True)
        assert stats.memories == 4
        assert stats.statuses == {Status.ACTIVE: 3, Status.FORGOTTEN: 1}
        assert stats.kinds == {Kind.FACT: 1, Kind.OBSERVATION: 3}
        assert (stats.scopes, stats.largest) == (3, ((SCOPE, 2), (OTHER_SCOPE, 1), (CHILD_SCOPE, 1)))
        assert (stats.versions, stats.contexts) == (6, 2)
        voted = {Use.HELPED: 1, Use.MISLED: 1}
        assert stats.uses == {**voted, Use.SERVED: 2, Use.ECHOED: 1, Use.QUOTED: 2, Use.FOLLOWED: 1}
        assert (stats.unembedded, stats.encoder) == (0, ENCODER)

    def test_a_scope_is_counted_with_those_below_it_or_alone(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        counted = [(store.stats(scope, below=below)) for scope in (PARENT_SCOPE, SCOPE) for below in (True, False)]
        assert [one.memories for one in counted] == [3, 0, 3, 2]
        assert [one.contexts for one in counted] == [1, 0, 1, 1]

    def test_an_empty_store_has_nothing_to_count(self, store: Store) -> None:
        stats = store.stats(None, below=True)
        assert (stats.memories, stats.scopes, stats.versions, stats.contexts) == (0, 0, 0, 0)
        assert (stats.statuses, stats.kinds, stats.largest, stats.encoder) == ({}, {}, (), None)

    def test_an_active_memory_without_a_vector_is_counted_as_such(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        writer.write(lambda writing: writing.put(a_note("b"), None))
        writer.write(lambda writing: writing.put(a_note("c", status=Status.ARCHIVED), None))
        assert store.stats(None, below=True).unembedded == 1


class ArchiveContract:
    """An export is complete, and an import restores exactly what was exported."""

    @affected_by(Variant.IN_MEMORY)
    def test_all_that_is_known_is_given_away_in_the_order_it_came(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        encoder, items = export_items(store)
        memories = [item for item in items if isinstance(item, ArchivedMemory)]
        assert encoder == ENCODER
        assert [one.current.id for one in memories] == ["a", "b", "c", "x"]
        assert [item.id for item in items if isinstance(item, ContextRecord)] == ["context", "theirs"]
        a, b, *_ = memories
        assert [one for one, _ in a.versions] == store.history(SCOPE, MemoryId("a"))
        assert [one.text for one in a.contents] == ["what a says", "another"]
        assert ([place for _, place in a.versions], [place for _, place in b.versions]) == ([0, 1], [0, 0])
        assert [(one.use, one.context, one.recorded_at) for one in b.uses] == [
            (Use.SERVED, "context", NOW + timedelta(hours=2)),
            (Use.ECHOED, None, NOW + timedelta(hours=2)),
            (Use.QUOTED, "context", NOW + timedelta(hours=2)),
            (Use.FOLLOWED, "context", NOW + timedelta(hours=2)),
        ]
        assert [one.vote for one in a.votes] == [a_vote("a", Use.MISLED)]
        assert [one.key for one in b.keys] == ["key"]

    def test_a_scope_is_given_away_with_those_below_it(self, store: Store, writer: Store, clock: ManualClock) -> None:
        fill_store(writer, clock)
        _, items = export_items(store, SCOPE)
        assert [one.id if isinstance(one, ContextRecord) else one.current.id for one in items] == [
            "a",
            "b",
            "c",
            "context",
        ]
        assert export_items(store, Scope.parse("acme/an"))[1] == []

    def test_what_is_erased_is_not_given_away(self, store: Store, writer: Store, clock: ManualClock) -> None:
        fill_store(writer, clock)
        writer.write(lambda writing: writing.erase_all(SCOPE))
        _, items = export_items(store)
        assert [one.id if isinstance(one, ContextRecord) else one.current.id for one in items] == ["c", "x", "theirs"]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_a_store_that_was_used_before_knows_what_it_takes_in_from_now_on(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        _, items = export_items(store)
        before = clock.now
        found = candidates(gather(store, a_probe("what does a say?")))
        for scope in (SCOPE, CHILD_SCOPE, OTHER_SCOPE):
            writer.write(lambda writing, scope=scope: writing.erase_all(scope))  # type: ignore[misc]
        clock.move(timedelta(days=1))
        assert import_items(writer, items) == ImportReport(memories=4, contexts=2, skipped=0)
        assert candidates(gather(store, a_probe("what does a say?"))) == found
        assert (visible_ids(store, SCOPE, known_at=before), visible_ids(store, SCOPE)) == ([], ["a", "b"])
        assert [one.recorded_at for one in store.history(SCOPE, MemoryId("a"))] == [clock.now] * 2

    def test_votes_that_are_taken_in_are_as_new_as_they_were_whatever_clock_they_were_cast_by(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        put(writer, a_note("a"))
        ahead = NOW + timedelta(days=365)
        votes = [a_vote("a", context=f"{number}", at=ahead) for number in range(MAX_COUNTED_VOTES)]
        for cast in (votes, [a_vote("a", Use.MISLED, context="z")], [a_vote("a", Use.MISLED, context="0")]):
            clock.move(timedelta(hours=1))
            writer.write(lambda writing, cast=cast: cast_votes(writing, SCOPE, cast))  # type: ignore[misc]
        before, (_, items) = store.usage(SCOPE, ids("a")), export_items(store)
        assert before == [Usage(helped=MAX_COUNTED_VOTES - 2, misled=2)]
        writer.write(lambda writing: writing.erase_all(SCOPE))
        import_items(writer, items)
        assert store.usage(SCOPE, ids("a")) == before
        vote = a_vote("a", Use.MISLED, context="later", at=NOW - timedelta(days=1))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [vote]))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 3, misled=3)]

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_what_is_there_already_is_skipped_and_what_says_something_else_is_a_conflict(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        encoder, items = export_items(store)
        assert import_items(writer, items) == ImportReport(memories=0, contexts=0, skipped=6)
        put(writer, a_note("c", scope=CHILD_SCOPE, text="changed"))
        before = export_items(store)
        with pytest.raises(Conflict, match="'c'"):
            import_items(writer, [_rename_memory(items[3]), *items], encoder)
        assert export_items(store) == before

    def test_a_context_that_was_made_of_something_else_is_a_conflict(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        with pytest.raises(Conflict, match="'context'"):
            import_items(writer, [a_context_record("context", "b")])

    def test_an_id_of_another_scope_and_an_active_twin_are_conflicts(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        fill_store(writer, clock)
        _, items = export_items(store)
        with pytest.raises(Conflict, match="'a' already has the same text"):
            import_items(writer, [_rename_memory(items[0])])
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        put(writer, a_note("a", scope=PARENT_SCOPE))
        with pytest.raises(Conflict, match="'a' is already taken"):
            import_items(writer, items)

    def test_vectors_of_another_model_are_refused(self, store: Store, writer: Store, clock: ManualClock) -> None:
        fill_store(writer, clock)
        with pytest.raises(EmbedderMismatch):
            import_items(writer, [], Encoder("another", 8))


def _rename_memory(item: ArchiveItem) -> ArchiveItem:
    """Return the same memory under another id."""
    assert isinstance(item, ArchivedMemory)
    versions = tuple((memory.with_changes(id=MemoryId(f"{memory.id}-2")), place) for memory, place in item.versions)
    return replace(item, versions=versions, keys=())
