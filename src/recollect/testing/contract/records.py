"""Contract: records, which have a level and a time and are not duplicates of plain memories."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model import validation
from recollect.model.archive import ArchivedMemory
from recollect.model.context import Use
from recollect.model.enums import Kind, Level, Status
from recollect.model.memory import MAX_RECORD_ORIGINS, Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.retrieval.eligibility import Barrier
from recollect.testing.builders import (
    NOW,
    SCOPE,
    ManualClock,
    a_note,
    a_probe,
    a_query,
    candidates,
    count_uses,
    eligible_ids,
    find_duplicate,
    gather,
    ids,
    list_duplicates,
    list_same_subject,
    put,
    set_checkpoint,
    visible_ids,
    write_together,
)
from recollect.testing.contract import Variant, affected_by
from recollect.testing.contract.archives import export_items, import_items

PARENT_SCOPE, CHILD_SCOPE, SIBLING_SCOPE, SIMILAR_SCOPE = map(
    Scope.parse, ("acme", "acme/ana/below", "acme/ben", "acme/an")
)
DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
EVENT_LEVELS = (Level.EVENT,)


def an_event(id: str, after: timedelta = timedelta(0), **given: Any) -> Memory:
    """Return a record of an event that happened this long after `NOW`."""
    return a_note(id, **{"level": Level.EVENT, "kind": Kind.EVENT, "created_at": NOW + after, **given})


def find_levels(store: Store, **given: Any) -> dict[str, Level | None]:
    """Return the level of each memory that may be recalled.

    Each is found by asking for one level at a time.
    """
    found = [(level, visible_ids(store, SCOPE, levels=frozenset({level}), **given)) for level in (None, *Level)]
    told = {str(id): level for level, ids in found for id in ids}
    assert (
        sorted(told)
        == visible_ids(store, SCOPE, **given)
        == visible_ids(store, SCOPE, levels=frozenset({None, *Level}), **given)
    )
    return told


def list_ids(records: list[Memory]) -> list[str]:
    """Return the ids of these records, in their order."""
    return [one.id for one in records]


class RecordLevelContract:
    """A memory is stored with its level and found by it."""

    def test_every_level_is_kept_as_it_was_put_and_so_is_none(self, store: Store, writer: Store) -> None:
        kept = put(writer, a_note("plain"), *(a_note(level, level=level) for level in Level))
        assert [one.level for one in kept] == [None, *Level]
        assert store.get(SCOPE, [one.id for one in kept]) == kept
        assert [store.history(SCOPE, one.id) for one in kept] == [[one] for one in kept]
        listed = list(store.memories(SCOPE, below=True, statuses=[Status.ACTIVE]))
        assert listed == sorted(kept, key=lambda one: one.id)

    @affected_by(Variant.SMALL_CACHE)
    def test_each_version_has_the_level_that_it_had(self, store: Store, writer: Store, clock: ManualClock) -> None:
        versions = []
        for level in (None, Level.EVENT, Level.DAY, None):
            versions += put(writer, a_note("a", level=level, text=f"of {level}"))
            clock.move(DAY)
        assert store.history(SCOPE, MemoryId("a")) == versions
        assert [one.level for one in versions] == [None, Level.EVENT, Level.DAY, None]
        for days, version in enumerate(versions):
            known_at = NOW + days * DAY
            assert store.get(SCOPE, ids("a"), known_at=known_at) == [version]
            assert find_levels(store, known_at=known_at) == {"a": version.level}
        assert find_levels(store) == {"a": None}

    def test_what_was_said_before_is_shown_as_what_stands_in_for_nothing(self, store: Store, writer: Store) -> None:
        day = a_note("day", level=Level.DAY, text="before", created_at=NOW - 3 * DAY, stands_for=EVENT_LEVELS)
        put(writer, day)
        put(writer, day.with_changes(text="now", updated_at=NOW - DAY, revisions=2))
        found = gather(store, a_probe(at=NOW - 2 * DAY))
        (shown,) = store.load(found.snapshot, found.rows.tolist())
        assert shown is not None
        assert (shown.text, shown.stands_for, shown.left, shown.indexed) == ("before", (), (), True)

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_what_is_of_another_level_than_is_asked_for_is_not_recalled(self, store: Store, writer: Store) -> None:
        put(writer, a_note("plain"), an_event("event"), a_note("day", level=Level.DAY, scope=PARENT_SCOPE, shared=True))
        expected = {"plain": None, "event": Level.EVENT, "day": Level.DAY}
        assert find_levels(store) == expected
        put(writer, a_note("year", level=Level.YEAR), a_note("away", level=Level.YEAR, status=Status.FORGOTTEN))
        assert find_levels(store) == {**expected, "year": Level.YEAR}
        found = gather(store, a_probe("what does day say?", levels=frozenset({None, Level.DAY})))
        assert eligible_ids(found) == ["day", "plain"]
        assert found.barred == {Barrier.LEVEL: 2, Barrier.STATUS: 1}
        assert gather(store, a_probe(levels=frozenset())).barred == {Barrier.LEVEL: 4, Barrier.STATUS: 1}

    @affected_by(Variant.SECOND_WRITER)
    def test_what_is_of_another_level_has_no_part_in_what_is_found(self, store: Store, writer: Store) -> None:
        notes = [a_note("a", text="deploys on Friday", speaker="ana"), a_note("b", text="Friday is a day off")]
        put(writer, *notes)
        question, wanted = "deploys on Friday", frozenset({None})
        alone = candidates(gather(store, a_probe(question, levels=wanted)))
        assert alone == candidates(gather(store, a_probe(question)))
        put(writer, an_event("e", text="deploys, deploys, deploys", speaker="ben", session="s", pinned=True))
        found = gather(store, a_probe(question, levels=wanted, in_turns=True))
        assert candidates(found) == alone
        assert found.pinned.tolist() == []
        assert store.snapshot(a_probe(levels=wanted).view).speakers == {"ana"}
        assert sorted(store.snapshot(a_probe(levels=wanted).view).mentions()) == ["a", "b"]

    def test_a_record_that_was_retold_since_has_the_level_that_it_had_then(self, store: Store, writer: Store) -> None:
        first = a_note("a", level=Level.SEGMENT, created_at=NOW - DAY, updated_at=NOW - DAY)
        put(writer, first)
        put(writer, first.with_changes(text="retold", level=Level.GRIP, updated_at=NOW + DAY, revisions=2))
        assert find_levels(store, at=NOW) == {"a": Level.SEGMENT}
        assert find_levels(store, at=NOW + DAY) == {"a": Level.GRIP}

    def test_a_record_may_be_made_of_many(self, store: Store, writer: Store) -> None:
        parts = tuple(f"{number:032x}" for number in range(MAX_RECORD_ORIGINS))
        (kept,) = put(writer, a_note("year", level=Level.YEAR, derived_from=parts))
        assert store.get(SCOPE, ids("year")) == [kept]
        (told,) = writer.write(lambda writing: writing.lineage(SCOPE))
        assert told.derived_from == parts

    def test_levels_are_given_away_and_taken_in(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("plain"), an_event("event"), an_event("retold"))
        clock.move(DAY)
        put(writer, a_note("retold", level=Level.DAY, text="retold"))
        encoder, items = export_items(store)
        told = {
            item.current.id: [one.level for one, _ in item.versions]
            for item in items
            if isinstance(item, ArchivedMemory)
        }
        assert told == {"plain": [None], "event": [Level.EVENT], "retold": [Level.EVENT, Level.DAY]}
        writer.write(lambda writing: writing.erase_all(SCOPE))
        assert import_items(writer, items, encoder).memories == 3
        assert [one.level for one in store.history(SCOPE, MemoryId("retold"))] == [Level.EVENT, Level.DAY]
        assert find_levels(store, at=clock.now) == {"plain": None, "event": Level.EVENT, "retold": Level.DAY}
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["event"]
        assert import_items(writer, items, encoder).skipped == 3

    def test_a_record_without_a_session_parts_no_turns(self, store: Store, writer: Store) -> None:
        said = [
            an_event(id, number * TICK, text=text, session="s")
            for number, (id, text) in enumerate([("a", "where shall we meet?"), ("b", "at the pier")])
        ]
        put(writer, *said)
        probe = a_probe("where do we meet?", at=NOW + DAY, in_turns=True)
        before = {str(id): one.similarity for id, one in candidates(gather(store, probe)).items()}
        coarse = [level for level in Level if level is not Level.EVENT]
        put(writer, *(a_note(one, level=one, created_at=NOW, text=f"of {one}") for one in coarse))
        after = {str(id): one.similarity for id, one in candidates(gather(store, probe)).items()}
        assert {id: after[id] for id in before} == before
        assert sorted(after) == sorted([*before, *coarse])


class RecordDuplicateContract:
    """A record is never a duplicate, neither of a plain memory nor of another record."""

    def test_two_records_that_say_the_same_are_both_active(self, store: Store, writer: Store) -> None:
        put(writer, *(an_event(id, text="good morning", speaker="ana") for id in "abc"))
        put(writer, a_note("day", text="good morning", level=Level.DAY))
        put(writer, an_event("b", text="good  morning", speaker="ana"))
        assert visible_ids(store, SCOPE) == ["a", "b", "c", "day"]
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["a", "b", "c"]

    @pytest.mark.parametrize("kind", [Kind.EVENT, Kind.OBSERVATION])
    def test_a_plain_memory_and_a_record_never_say_the_same(self, store: Store, writer: Store, kind: Kind) -> None:
        text = "Ana lives in Rome"
        record, plain = an_event("event", text=text, kind=kind), a_note("plain", text=text, kind=kind)

        def find_sayings(writing: WriteTransaction) -> list[object]:
            found: list[object] = [list_duplicates(writing, one) for one in (record, plain)]
            return [*found, find_duplicate(writing, record), find_duplicate(writing, plain)]

        (kept,) = put(writer, record)
        assert writer.write(find_sayings) == [[], [], None, None]
        (said,) = put(writer, plain)
        assert writer.write(find_sayings) == [[], [said], None, said]
        assert store.get(SCOPE, ids("event", "plain")) == [kept, said]

    @pytest.mark.parametrize("text", ["event a", "event\na", "eventa", "event:a"])
    def test_no_text_of_a_plain_memory_has_the_sum_of_a_record(self, store: Store, writer: Store, text: str) -> None:
        record, plain = put(writer, an_event("a"), a_note("plain", text=text))
        assert record.hash != plain.hash
        put(writer, plain.with_changes(status=Status.FORGOTTEN), record.with_changes(text="again"), plain)
        assert visible_ids(store, SCOPE) == ["a", "plain"]

    def test_what_is_heard_of_many_is_heard_of_plain_ones_alone(self, writer: Store) -> None:
        records = [an_event(f"e{number}", text=f"it rained {number} times") for number in range(40)]
        plain = [one.with_changes(id=MemoryId(f"p{one.id}"), level=None, kind=Kind.FACT) for one in records]

        def change(writing: WriteTransaction) -> list[list[Memory]]:
            for one in records:
                writing.put(one, None)
            found = []
            for one in plain:
                found.append(list_duplicates(writing, one))
                writing.put(one, None)
            return found + [list_duplicates(writing, one) for one in plain]

        found = writer.write(change)
        assert found[: len(plain)] == [[]] * len(plain)
        assert [[one.id for one in some] for some in found[len(plain) :]] == [[one.id] for one in plain]

    def test_a_record_is_not_among_what_was_said_before_or_what_is_known_of_a_subject(self, writer: Store) -> None:
        plain = a_note("a", text="Ana lives in Rome", subject="ana: lives in")
        put(writer, plain)
        put(writer, plain.with_changes(text="Ana moved to Oslo"))

        def list_former(writing: WriteTransaction, memory: Memory) -> list[Memory]:
            return list(writing.neighbors(a_query(memory, former=True)).former_duplicates)

        def find_like_plain(writing: WriteTransaction) -> list[list[Memory]]:
            return [list_former(writing, plain), list_same_subject(writing, plain, NOW - DAY)]

        assert [list_ids(found) for found in writer.write(find_like_plain)] == [["a"], ["a"]]
        (record,) = put(writer, plain.with_changes(text="Ana moved to Oslo", level=Level.EVENT))
        assert writer.write(find_like_plain) == [[], []]
        assert writer.write(lambda writing: list_former(writing, record)) == []
        put(writer, plain.with_changes(text="Ana lives in Rome", level=None))
        assert writer.write(lambda writing: list_former(writing, record)) == []

    def test_a_record_has_no_place_that_it_must_leave_to_say_something_else(self, store: Store, writer: Store) -> None:
        put(writer, an_event("a", text="one"), an_event("b", text="two"))
        put(writer, an_event("a", text="two"), an_event("b", text="two", status=Status.FORGOTTEN))
        put(writer, an_event("b", text="two"))
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["a", "b"]


class TimelineContract:
    """A timeline lists a scope's records by time, and those changed since a commit."""

    def test_records_come_in_the_order_of_time_and_then_of_ids(self, store: Store, writer: Store) -> None:
        when = {"late": 2 * DAY, "b": DAY, "a": DAY, "B": DAY, "ä": DAY, "first": -TICK, "second": timedelta(0)}
        kept = {one.id: one for one in put(writer, *(an_event(id, after) for id, after in when.items()))}
        found = store.timeline(SCOPE, EVENT_LEVELS)
        assert list_ids(found) == ["first", "second", "B", "a", "b", "ä", "late"]
        assert found == [kept[one.id] for one in found]

    def test_a_time_begins_with_its_first_moment_and_ends_before_its_last(self, store: Store, writer: Store) -> None:
        put(writer, *(an_event(str(number), number * TICK) for number in range(4)))

        def between(since: datetime | None, before: datetime | None) -> list[str]:
            return list_ids(store.timeline(SCOPE, EVENT_LEVELS, since=since, before=before))

        assert between(NOW + TICK, NOW + 3 * TICK) == ["1", "2"]
        assert between(NOW + TICK, None) == ["1", "2", "3"]
        assert between(None, NOW + TICK) == ["0"]
        assert between(NOW + TICK, NOW + TICK) == between(NOW + 2 * TICK, NOW + TICK) == []
        assert between(None, None) == ["0", "1", "2", "3"]

    def test_the_first_and_the_last_moment_that_there_is_are_in_it(self, store: Store, writer: Store) -> None:
        ends = [validation.EARLIEST_DATETIME, validation.LATEST_DATETIME - TICK]
        put(writer, *(an_event(f"{at.year}", created_at=at) for at in ends))
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["1900", "2199"]
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS, since=ends[1])) == ["2199"]
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS, before=ends[1])) == ["1900"]

    def test_only_the_levels_and_statuses_that_are_asked_for_are_in_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("plain", kind=Kind.EVENT), *(a_note(level, level=level) for level in Level))
        put(writer, *(an_event(status, status=status) for status in Status if status is not Status.ACTIVE))
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["event"]
        assert list_ids(store.timeline(SCOPE, (Level.YEAR, Level.DAY, Level.DAY))) == ["day", "year"]
        assert list_ids(store.timeline(SCOPE, tuple(Level))) == sorted(Level)
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS, statuses=(Status.ARCHIVED, Status.FORGOTTEN))) == [
            "archived",
            "forgotten",
        ]
        assert store.timeline(SCOPE, ()) == store.timeline(SCOPE, EVENT_LEVELS, statuses=()) == []

    def test_only_the_scopes_own_records_are_in_it(self, store: Store, writer: Store) -> None:
        scopes = (SCOPE, PARENT_SCOPE, CHILD_SCOPE, SIBLING_SCOPE, SIMILAR_SCOPE)
        put(writer, *(an_event(str(scope), scope=scope, shared=True) for scope in scopes))
        for scope in scopes:
            assert list_ids(store.timeline(scope, EVENT_LEVELS)) == [str(scope)]
            assert store.changed_dates(scope, Level.EVENT, 0)[0] == [NOW]
        assert store.timeline(Scope.parse("missing"), EVENT_LEVELS) == []
        assert store.changed_dates(Scope.parse("missing"), Level.EVENT, 7) == ([], 7)

    @affected_by(Variant.SECOND_WRITER)
    def test_a_record_that_changed_is_in_it_as_it_is_now(self, store: Store, writer: Store) -> None:
        put(writer, an_event("a"), an_event("b", DAY), an_event("c", 2 * DAY))
        put(writer, an_event("a", 3 * DAY), an_event("b", DAY, status=Status.FORGOTTEN), a_note("c"))
        assert list_ids(store.timeline(SCOPE, EVENT_LEVELS)) == ["a"]
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert store.timeline(SCOPE, EVENT_LEVELS) == []

    @affected_by(Variant.SECOND_WRITER)
    def test_what_was_touched_are_the_moments_of_what_later_commits_wrote(self, store: Store, writer: Store) -> None:
        first, *_ = put(writer, an_event("a", DAY), an_event("b"), an_event("c", DAY), a_note("plain"))
        commit = first.commit or 0
        assert store.changed_dates(SCOPE, Level.EVENT, 0) == ([NOW, NOW + DAY], commit)
        assert store.changed_dates(SCOPE, Level.EVENT, commit - 1) == ([NOW, NOW + DAY], commit)
        assert store.changed_dates(SCOPE, Level.EVENT, commit) == ([], commit)
        put(writer, an_event("d", 2 * DAY))
        put(writer, a_note("day", level=Level.DAY), a_note("plain", text="another"))
        put(writer, an_event("theirs", scope=PARENT_SCOPE, shared=True))
        assert store.changed_dates(SCOPE, Level.EVENT, commit) == ([NOW + 2 * DAY], commit + 1)
        assert store.changed_dates(SCOPE, Level.DAY, 0) == ([NOW], commit + 2)

    def test_what_was_forgotten_was_touched_and_so_was_what_came_back(self, store: Store, writer: Store) -> None:
        (kept,) = put(writer, an_event("a"))
        commit = kept.commit or 0
        for number, status in enumerate((Status.FORGOTTEN, Status.ACTIVE, Status.ARCHIVED), start=1):
            writer.write(lambda writing, status=status: writing.put(kept.with_changes(status=status), None))  # type: ignore[misc]
            assert store.changed_dates(SCOPE, Level.EVENT, commit + number - 1) == ([NOW], commit + number)
            assert store.changed_dates(SCOPE, Level.EVENT, commit + number) == ([], commit + number)

    def test_a_change_is_told_what_was_touched_and_what_it_touches_itself(self, writer: Store) -> None:
        (kept,) = put(writer, an_event("a"))
        commit = kept.commit or 0

        def change(writing: WriteTransaction) -> list[object]:
            before = writing.changed_dates(SCOPE, Level.EVENT, 0)
            writing.put(an_event("b", DAY), None)
            return [
                before,
                writing.changed_dates(SCOPE, Level.EVENT, commit),
                writing.changed_dates(SIBLING_SCOPE, Level.EVENT, 3),
            ]

        assert writer.write(change) == [([NOW], commit), ([NOW + DAY], commit + 1), ([], 3)]

    def test_what_was_only_used_was_not_touched(self, store: Store, writer: Store) -> None:
        (kept,) = put(writer, an_event("a"))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
        writer.write(lambda writing: set_checkpoint(writing, SCOPE, "how far", "here"))
        assert store.changed_dates(SCOPE, Level.EVENT, kept.commit or 0) == ([], kept.commit)


class CheckpointContract:
    """A scope's checkpoint is stored, and deleted when any memory of the scope is erased."""

    @affected_by(Variant.SECOND_WRITER)
    def test_a_checkpoint_is_what_was_noted_last(self, store: Store, writer: Store) -> None:
        assert store.checkpoint(SCOPE, "how far") is None
        for value in ("7", "", "9" * 10_000, "’; DROP TABLE checkpoints; -- %s :value"):
            writer.write(lambda writing, value=value: set_checkpoint(writing, SCOPE, "how far", value))  # type: ignore[misc]
            assert store.checkpoint(SCOPE, "how far") == value
        write_together(
            writer, *(lambda writing, value=value: set_checkpoint(writing, SCOPE, "how far", value) for value in "abc")
        )
        assert store.checkpoint(SCOPE, "how far") == "c"

    def test_a_change_is_told_a_checkpoint_and_the_one_that_it_sets_itself(self, writer: Store) -> None:
        writer.write(lambda writing: set_checkpoint(writing, SCOPE, "how far", "here"))

        def change(writing: WriteTransaction) -> list[str | None]:
            before = writing.checkpoint(SCOPE, "how far")
            set_checkpoint(writing, SCOPE, "how far", "there")
            others = [writing.checkpoint(SIBLING_SCOPE, "how far"), writing.checkpoint(SCOPE, "how long")]
            return [before, *others, writing.checkpoint(SCOPE, "how far")]

        assert writer.write(change) == ["here", None, None, "there"]

    def test_a_checkpoint_is_of_its_scope_and_its_name(self, store: Store, writer: Store) -> None:
        scopes, called = (SCOPE, PARENT_SCOPE, CHILD_SCOPE, SIBLING_SCOPE), ("events", "Events", "days")
        places = [(scope, name) for scope in scopes for name in called]
        write_together(
            writer,
            *(
                lambda writing, scope=scope, name=name: set_checkpoint(writing, scope, name, f"{scope} {name}")
                for scope, name in places
            ),
        )
        assert [store.checkpoint(*place) for place in places] == [f"{scope} {name}" for scope, name in places]
        assert [store.checkpoint(SIMILAR_SCOPE, "events"), store.checkpoint(SCOPE, "weeks")] == [None, None]

    def test_a_checkpoint_is_kept_with_what_else_the_change_writes_or_not_at_all(
        self, store: Store, writer: Store
    ) -> None:
        def change(writing: WriteTransaction) -> None:
            writing.put(an_event("a"), None)
            set_checkpoint(writing, SCOPE, "how far", "too far")
            raise LookupError("in the middle")

        with pytest.raises(LookupError):
            writer.write(change)
        assert store.checkpoint(SCOPE, "how far") is None
        (kept,) = put(writer, an_event("a"))
        writer.write(lambda writing: set_checkpoint(writing, SCOPE, "how far", "here"))
        assert gather(store, a_probe()).snapshot.commit == (kept.commit or 0) + 1

    @pytest.mark.parametrize(
        ("name", "value"), [("", "x"), (" padded", "x"), ("n" * 257, "x"), ("name", "\ud800"), ("name", "a\0b")]
    )
    def test_what_cannot_be_kept_is_refused(self, store: Store, writer: Store, name: str, value: str) -> None:
        with pytest.raises(FieldError):
            writer.write(lambda writing: set_checkpoint(writing, SCOPE, name, value))
        assert store.checkpoint(SCOPE, "name") is None

    @affected_by(Variant.SECOND_WRITER)
    def test_the_checkpoints_of_a_scope_are_gone_once_any_memory_of_it_is_erased(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"), a_note("b"), an_event("theirs", scope=PARENT_SCOPE, shared=True))
        for scope in (SCOPE, PARENT_SCOPE, CHILD_SCOPE):
            writer.write(lambda writing, scope=scope: set_checkpoint(writing, scope, "how far", "here"))  # type: ignore[misc]
        writer.write(lambda writing: writing.erase(SCOPE, ids("missing", "theirs")))
        assert store.checkpoint(SCOPE, "how far") == "here"
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert [store.checkpoint(scope, "how far") for scope in (SCOPE, PARENT_SCOPE, CHILD_SCOPE)] == [
            None,
            "here",
            "here",
        ]
        writer.write(lambda writing: set_checkpoint(writing, SCOPE, "how far", "again"))
        assert store.checkpoint(SCOPE, "how far") == "again"

    @pytest.mark.parametrize("remembers", [True, False])
    def test_the_checkpoints_of_a_scope_are_gone_once_it_is_erased(
        self, store: Store, writer: Store, remembers: bool
    ) -> None:
        if remembers:
            put(writer, an_event("a"))
        for scope in (SCOPE, PARENT_SCOPE, CHILD_SCOPE):
            writer.write(lambda writing, scope=scope: set_checkpoint(writing, scope, "how far", "here"))  # type: ignore[misc]
        erased = writer.write(lambda writing: writing.erase_all(SCOPE))
        assert erased.ids == (("a",) if remembers else ())
        assert [store.checkpoint(scope, "how far") for scope in (SCOPE, PARENT_SCOPE, CHILD_SCOPE)] == [
            None,
            "here",
            "here",
        ]
        put(writer, an_event("b"))
        assert store.checkpoint(SCOPE, "how far") is None

    @affected_by(Variant.SECOND_WRITER)
    def test_a_checkpoint_is_neither_counted_nor_given_away(self, store: Store, writer: Store) -> None:
        put(writer, an_event("a"))
        before, told = store.stats(None, below=True), export_items(store)
        writer.write(lambda writing: set_checkpoint(writing, SCOPE, "how far", "here"))
        after = store.stats(None, below=True)
        assert (after.memories, after.scopes, after.largest) == (before.memories, before.scopes, before.largest)
        assert export_items(store) == told
