"""Contract: a memory is stored as it was put, in every version, in numbered commits.

Readers can look up what a commit wrote, and what was there before it.
"""

from datetime import timedelta

import pytest

from recollect.errors import Conflict, EmbedderMismatch, FieldError, InvalidInput, StoreError
from recollect.model import changeset
from recollect.model.context import Use
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Level, Provenance, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.retrieval.vectors import Vector
from recollect.testing.builders import (
    ENCODER,
    NOW,
    SCOPE,
    ManualClock,
    a_note,
    a_probe,
    a_query,
    a_vector,
    adopt,
    count_uses,
    find_candidate,
    find_duplicate,
    gather,
    ids,
    put,
    puts,
    vector_similarity,
    visible_ids,
)
from recollect.testing.contract import Variant, affected_by
from recollect.text.index_entry import index_memory

SIBLING_SCOPE = Scope.parse("acme/ben")
DAY = timedelta(days=1)

FULL_MEMORY = a_note(
    "full",
    kind=Kind.DECISION,
    level=Level.GRIP,
    title="Friday ✓",
    tags=("ops", "ci"),
    session="s-1",
    speaker="ana",
    topic_key="deploys",
    shared=True,
    pinned=True,
    importance=0.1 + 0.2,
    confidence=1 / 3,
    salience=5e-324,
    observed_at=NOW + timedelta(microseconds=1),
    updated_at=NOW - timedelta(microseconds=1),
    valid_from=NOW.replace(year=1900),
    valid_until=NOW.replace(year=2199),
    provenance=Provenance.DIRECT_USER,
    source="handbook",
    evidence=('they said: "always"', "twice"),
    derived_from=("x", "y"),
    metadata={"deep": {"list": [1, 2.5, None, "é", True]}, "a": ""},
    revisions=7,
    status=Status.SUPERSEDED,
    superseded_by=MemoryId("next"),
    remark="a later one says otherwise",
)


class VersionContract:
    """A memory put under an existing id becomes a new version; no version is lost."""

    @pytest.mark.parametrize("memory", [a_note("plain"), FULL_MEMORY], ids=["plain", "full"])
    @affected_by(Variant.IN_MEMORY)
    def test_a_memory_is_kept_as_it_was_put_with_the_stores_date_and_commit(
        self, store: Store, writer: Store, clock: ManualClock, memory: Memory
    ) -> None:
        (kept,) = put(writer, memory)
        assert kept == memory.with_changes(recorded_at=clock.now, commit=kept.commit)
        assert kept.commit is not None
        assert store.get(SCOPE, [memory.id]) == store.history(SCOPE, memory.id) == [kept]

    def test_what_a_memory_says_of_its_date_and_commit_is_the_stores_to_say(
        self, writer: Store, clock: ManualClock
    ) -> None:
        (kept,) = put(writer, a_note("a", recorded_at=NOW - DAY, commit=999))
        assert (kept.recorded_at, kept.commit) != (NOW - DAY, 999)
        assert kept.recorded_at == clock.now

    def test_every_version_is_in_the_history_the_oldest_first(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        versions = []
        for number in range(4):
            versions += put(writer, a_note("a", text=f"version {number}", revisions=number + 1))
            clock.move(DAY)
        assert store.history(SCOPE, MemoryId("a")) == versions
        assert store.get(SCOPE, ids("a")) == versions[-1:]
        assert [one.recorded_at for one in versions] == [NOW + number * DAY for number in range(4)]

    def test_versions_of_one_commit_are_all_in_the_history_and_the_last_one_holds(
        self, store: Store, writer: Store
    ) -> None:
        versions = put(writer, *(a_note("a", text=f"version {number}") for number in range(3)))
        assert store.history(SCOPE, MemoryId("a")) == versions
        assert store.get(SCOPE, ids("a")) == versions[-1:]
        assert len({one.commit for one in versions}) == 1

    def test_a_memory_nobody_put_has_no_history(self, store: Store) -> None:
        assert store.history(SCOPE, MemoryId("missing")) == []

    def test_an_id_that_another_scope_has_is_refused_and_stays_theirs(self, store: Store, writer: Store) -> None:
        (theirs,) = put(writer, a_note("a", scope=SIBLING_SCOPE))
        with pytest.raises(Conflict, match="'a' is already taken"):
            put(writer, a_note("a", scope=SCOPE))
        assert store.get(SIBLING_SCOPE, ids("a")) == [theirs]
        assert store.get(SCOPE, ids("a")) == []

    def test_a_version_with_the_same_words_keeps_its_direction(self, store: Store, writer: Store) -> None:
        note = a_note("a", title="Friday")
        put(writer, note)
        writer.write(lambda writing: writing.put(note.with_changes(pinned=True, importance=0.9), None))
        expected = vector_similarity(note.searched_text, "why?")
        assert find_candidate(gather(store, a_probe("why?")), "a").similarity == expected

    @pytest.mark.parametrize("change", [{"text": "something else"}, {"title": "Monday"}], ids=["text", "title"])
    def test_a_version_with_other_words_does_not_keep_a_direction_that_is_no_longer_its_own(
        self, store: Store, writer: Store, change: dict[str, str]
    ) -> None:
        note = a_note("a", title="Friday")
        put(writer, note)
        writer.write(lambda writing: writing.put(note.with_changes(**change), None))
        assert find_candidate(gather(store, a_probe("why?")), "a").similarity is None

    def test_a_version_may_bring_another_direction_for_the_same_words(self, store: Store, writer: Store) -> None:
        (note,) = put(writer, a_note("a"))
        writer.write(lambda writing: writing.put(note, a_vector("elsewhere")))
        expected = vector_similarity("elsewhere", "why?")
        assert find_candidate(gather(store, a_probe("why?")), "a").similarity == expected

    @affected_by(Variant.SECOND_WRITER)
    def test_the_first_model_is_adopted_and_another_one_refused(self, store: Store, writer: Store) -> None:
        assert store.encoder() is None
        writer.write(lambda writing: adopt(writing, ENCODER))
        assert store.encoder() == ENCODER
        for other in (Encoder("another", ENCODER.dimensions), Encoder(ENCODER.name, ENCODER.dimensions + 1)):
            with pytest.raises(EmbedderMismatch, match="come from test"):
                writer.write(lambda writing, other=other: adopt(writing, other))  # type: ignore[misc]
        writer.write(lambda writing: adopt(writing, ENCODER))
        assert store.encoder() == ENCODER

    @affected_by(Variant.SECOND_WRITER)
    def test_a_question_to_another_model_is_refused(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        with pytest.raises(EmbedderMismatch, match="come from test"):
            gather(store, a_probe("why?", encoder=Encoder("another", ENCODER.dimensions)))

    def test_a_vector_without_a_model_or_of_another_length_is_refused_and_nothing_is_kept(
        self, store: Store, writer: Store
    ) -> None:
        with pytest.raises(InvalidInput, match="adopt"):
            writer.write(lambda writing: writing.put(a_note("a"), a_vector("a")))
        writer.write(lambda writing: adopt(writing, ENCODER))
        with pytest.raises(FieldError, match="test"):
            writer.write(lambda writing: writing.put(a_note("a"), a_vector("a", ENCODER.dimensions + 1)))
        assert store.get(SCOPE, ids("a")) == []
        writer.write(lambda writing: writing.put(a_note("a"), a_vector("a")))
        assert find_candidate(gather(store, a_probe("a")), "a").similarity == vector_similarity("a", "a")

    def test_a_twin_is_the_scopes_active_memory_with_the_same_words(self, writer: Store) -> None:
        here, there = put(
            writer, a_note("here", text="same  words"), a_note("there", text="same words", scope=SIBLING_SCOPE)
        )

        def twin(scope: Scope) -> Memory | None:
            return writer.write(lambda writing: find_duplicate(writing, here.with_changes(scope=scope)))

        assert [twin(SCOPE), twin(SIBLING_SCOPE)] == [here, there]
        assert [twin(Scope.parse("acme")), twin(Scope.parse("acme/ana/below"))] == [None, None]
        put(writer, here.with_changes(status=Status.FORGOTTEN))
        assert [twin(SCOPE), twin(SIBLING_SCOPE)] == [None, there]
        (again,) = put(writer, a_note("again", text="same words"))
        assert twin(SCOPE) == again
        put(writer, again.with_changes(text="other words"))
        assert twin(SCOPE) is None

    def test_a_twin_is_of_the_same_topic_or_of_none(self, store: Store, writer: Store) -> None:
        smokes, drinks = put(
            writer, a_note("b", text="yes", topic_key="smokes"), a_note("a", text="yes", topic_key="drinks")
        )

        def twin(topic: str | None) -> Memory | None:
            return writer.write(lambda writing: find_duplicate(writing, smokes.with_changes(topic_key=topic)))

        assert [twin("smokes"), twin("drinks"), twin("votes"), twin(None)] == [smokes, drinks, None, smokes]
        (plain,) = put(writer, a_note("c", text="yes"))
        assert [twin("smokes"), twin("drinks"), twin("votes"), twin(None)] == [smokes, drinks, plain, plain]
        with pytest.raises(Conflict, match="'c' already has the same text"):
            put(writer, smokes.with_changes(topic_key=None))
        put(writer, smokes.with_changes(text="no"))
        assert [twin("smokes"), twin(None)] == [plain, plain]
        assert visible_ids(store, SCOPE) == ["a", "b", "c"]

    def test_only_an_active_memory_is_a_twin_or_has_a_topic(self, store: Store, writer: Store) -> None:
        idle = [one for one in Status if one is not Status.ACTIVE]
        kept = put(writer, *(a_note(one, topic_key="deploys", status=one) for one in idle))
        assert find_topic(store, writer, SCOPE, "deploys") is None
        for one in kept:
            assert writer.write(lambda writing, one=one: find_duplicate(writing, one)) is None  # type: ignore[misc]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_topic_is_the_scopes_active_memory_of_that_name(self, store: Store, writer: Store) -> None:
        here, there = put(
            writer, a_note("here", topic_key="deploys"), a_note("t", topic_key="deploys", scope=SIBLING_SCOPE)
        )

        def topic(scope: Scope, name: str = "deploys") -> Memory | None:
            return find_topic(store, writer, scope, name)

        assert [topic(SCOPE), topic(SIBLING_SCOPE), topic(Scope.parse("acme"))] == [here, there, None]
        assert [topic(SCOPE, name) for name in ("deploy", "Deploys", "deploys ")] == [None, None, None]
        put(writer, here.with_changes(topic_key="releases"))
        assert topic(SCOPE) is None

    def test_two_active_memories_of_a_scope_never_say_the_same(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", text="the same"), a_note("b", text="the same", status=Status.FORGOTTEN))
        put(writer, a_note("c", text="the same", scope=SIBLING_SCOPE))
        for twin in (a_note("d", text=" the  same"), a_note("b", text="the same")):
            with pytest.raises(Conflict, match="'a' already has the same text"):
                put(writer, twin)
        assert visible_ids(store, SCOPE) == ["a"]
        assert len(store.history(SCOPE, MemoryId("b"))) == 1

    def test_what_was_said_by_one_may_be_said_by_another_once_the_first_says_it_no_more(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a", text="this"), a_note("b", text="that"))
        put(writer, a_note("a", text="neither"), a_note("b", text="this"), a_note("a", text="that"))
        assert [one.text for one in store.get(SCOPE, ids("a", "b"))] == ["that", "this"]


class TransactionContract:
    """A write is stored as a whole or not at all; commit numbers and times never go down."""

    def test_a_write_gives_what_its_change_gives(self, writer: Store) -> None:
        assert writer.write(lambda writing: ("found", writing.get(SCOPE, MemoryId("a")))) == ("found", None)

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_a_change_that_fails_leaves_nothing(self, store: Store, writer: Store) -> None:
        (before,) = put(writer, a_note("a", topic_key="topic"))
        commit = gather(store, a_probe()).snapshot.commit

        def change(writing: WriteTransaction) -> None:
            writing.put(before.with_changes(text="changed", status=Status.FORGOTTEN), a_vector("changed"))
            writing.put(a_note("b", scope=SIBLING_SCOPE), a_vector("b"))
            writing.erase(SCOPE, ids("a"))
            raise LookupError("in the middle")

        with pytest.raises(LookupError, match="in the middle"):
            writer.write(change)
        assert store.get(SCOPE, ids("a")) == store.history(SCOPE, MemoryId("a")) == [before]
        assert [visible_ids(store, SCOPE), visible_ids(store, SIBLING_SCOPE)] == [["a"], []]
        assert find_topic(store, writer, SCOPE, "topic") == before
        assert gather(store, a_probe()).snapshot.commit == commit

    @affected_by(Variant.IN_MEMORY)
    def test_a_model_adopted_in_a_change_that_fails_is_not_adopted(self, store: Store, writer: Store) -> None:
        def change(writing: WriteTransaction) -> None:
            adopt(writing, Encoder("another", 3))
            raise LookupError("in the middle")

        with pytest.raises(LookupError):
            writer.write(change)
        put(writer, a_note("a"))
        assert store.encoder() == ENCODER

    @affected_by(Variant.IN_MEMORY)
    def test_a_write_after_one_that_failed_is_like_any_other(self, store: Store, writer: Store) -> None:
        def change(writing: WriteTransaction) -> None:
            writing.put(a_note("lost"), None)
            raise LookupError("in the middle")

        for _ in range(3):
            with pytest.raises(LookupError):
                writer.write(change)
        put(writer, a_note("kept"))
        assert visible_ids(store, SCOPE) == ["kept"]

    def test_a_change_sees_what_it_has_written(self, store: Store, writer: Store) -> None:
        def find_topic_in(writing: WriteTransaction) -> Memory | None:
            return writing.neighbors(changeset.NeighborQuery(scope=SCOPE, topic_key="t")).topic

        def change(writing: WriteTransaction) -> list[Memory | None]:
            kept = writing.put(a_note("a", topic_key="t"), None)
            return [kept, writing.get(SCOPE, kept.id), find_topic_in(writing), find_duplicate(writing, kept)]

        found = writer.write(change)
        assert found == 4 * store.get(SCOPE, ids("a"))

    def test_an_index_entry_of_another_text_is_not_used(self, store: Store, writer: Store) -> None:
        stale = index_memory(a_note("a", text="trains leave on Mondays"))
        for text in ("deploys run on Fridays", "lunch is at noon"):
            note, reworded = a_note("a", text=text), f"{text.capitalize()}."
            stored = writer.write(lambda writing, note=note: writing.put(note, None, stale))  # type: ignore[misc]
            queries = [a_query(a_note("b", text=one)) for one in (text, reworded, "trains leave on Mondays")]
            assert [found.duplicates for found in store.neighbors(queries)] == [(stored,), (stored,), ()]

    def test_the_same_text_of_another_speaker_keeps_its_vector(self, writer: Store) -> None:
        (note,) = put(writer, a_note("a", text="deploys run on Fridays"))
        writer.write(lambda writing: writing.put(note.with_changes(speaker="ben")))
        version = writer.write(lambda writing: writing.version(SCOPE, note.id))
        assert version is not None
        assert version[1] is not None
        (found,) = writer.write(lambda writing: [writing.neighbors(a_query(note.with_changes(speaker="ben")))])
        assert [one.id for one in found.duplicates] == [note.id]

    def test_neighbors_tell_what_became_of_duplicates(self, store: Store, writer: Store) -> None:
        text, other = "deploys run on Fridays", "deploys run on Mondays"
        merged = a_note("merged", text=other, status=Status.FORGOTTEN)
        put(
            writer,
            merged.with_changes(status=Status.QUARANTINED),
            a_note("gone", text=text, topic_key="deploys", status=Status.FORGOTTEN),
            a_note("here", text=other, topic_key="deploys"),
            a_note("part", text=text, status=Status.CONSOLIDATED, superseded_by=MemoryId("merged")),
            a_note("above", text=text, scope=Scope.parse("acme"), shared=True),
            a_note("hidden", text=text, scope=Scope.parse("acme"), status=Status.FORGOTTEN),
        )
        put(writer, merged)
        query = a_query(a_note("new", text=text), shared=True, origins=("here", "above", "hidden", "nothing"))
        (found,) = store.neighbors([query])
        assert writer.write(lambda writing: writing.neighbors(query)) == found
        assert [one.id for one in found.duplicates] == ["part", "gone"]
        assert [one.id for one in found.shared_duplicates] == ["above"]
        assert {id: one.id for id, one in found.merged_into.items()} == {"part": "merged"}
        assert {id: one.status for id, one in found.before_forgotten.items()} == {"merged": Status.QUARANTINED}
        assert sorted(found.status_since) == ["gone", "merged", "part"]
        assert found.taken_topics == {"deploys"}
        assert sorted(found.origins) == ["above", "here"]

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_every_commit_has_a_higher_number_and_knows_itself(self, store: Store, writer: Store) -> None:
        commits: list[int | None] = []
        for name in "abc":
            commits += [one.commit for one in put(writer, a_note(name))]
            assert gather(store, a_probe()).snapshot.commit == commits[-1]
        first = commits[0] or 0
        assert commits == [first, first + 1, first + 2]

    def test_a_change_that_only_reads_is_no_commit(self, store: Store, writer: Store, clock: ManualClock) -> None:
        (first,) = put(writer, a_note("a"))
        clock.move(DAY)
        writer.write(lambda writing: [writing.get(SCOPE, first.id), writing.erase(SCOPE, ids("missing"))])
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("missing"), Use.SERVED, NOW, None))
        assert gather(store, a_probe()).snapshot.commit == first.commit
        clock.move(-DAY)
        (second,) = put(writer, a_note("b"))
        assert (second.recorded_at, second.commit) == (first.recorded_at, (first.commit or 0) + 1)

    def test_dates_of_commits_do_not_decrease_although_the_clock_does(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        steps = [timedelta(0), DAY, -DAY, timedelta(microseconds=1), 2 * DAY]
        dates = []
        for number, step in enumerate(steps):
            clock.move(step)
            (kept,) = put(writer, a_note(f"{number}"))
            assert kept.recorded_at is not None
            dates.append(kept.recorded_at)
        assert dates == [NOW, NOW + DAY, NOW + DAY, NOW + DAY, NOW + 2 * DAY + timedelta(microseconds=1)]
        assert [one.recorded_at for one in store.get(SCOPE, ids(*"01234"))] == dates

    def test_a_writing_tells_of_a_memory_whichever_scope_it_was_asked_about_last(
        self, store: Store, writer: Store
    ) -> None:
        (kept,) = put(writer, a_note("a"))
        writer.write(lambda writing: count_uses(writing, SCOPE, [kept.id], Use.ECHOED, NOW, None))

        def look_up(writing: WriteTransaction) -> tuple[object, ...]:
            for scope in (SIBLING_SCOPE, Scope.parse("acme"), Scope.parse("others")):
                writing.get(scope, MemoryId("nothing"))
            found = writing.neighbors(a_query(kept, former=True, stated_at=NOW))
            version = writing.version(kept.scope, kept.id)
            assert version is not None
            return found.status_since, found.echoed, version[1] is not None

        assert writer.write(look_up) == ({kept.id: kept.recorded_at}, {kept.id}, True)

    def test_a_writing_knows_its_date_and_commit_before_it_writes(self, writer: Store, clock: ManualClock) -> None:
        (before,) = put(writer, a_note("a"))
        clock.move(DAY)

        def change(writing: WriteTransaction) -> tuple[object, ...]:
            writing.get(SCOPE, MemoryId("b"))
            at, commit = writing.at, writing.commit
            kept = writing.put(a_note("b"), None)
            return at, commit, kept.recorded_at, kept.commit

        at, commit, recorded_at, kept_commit = writer.write(change)
        assert (at, commit) == (recorded_at, kept_commit)
        assert (at, commit) == (NOW + DAY, (before.commit or 0) + 1)

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_what_is_done_later_is_done_when_it_was_waited_for(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for number in range(20):
            writer.defer(puts(a_note(f"{number:02}")))
        writer.flush()
        assert visible_ids(store, SCOPE) == [*(f"{number:02}" for number in range(20)), "a"]

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_one_of_several_to_be_done_later_may_fail_without_harm_to_the_others(
        self, store: Store, writer: Store
    ) -> None:
        sign = changeset.MemoryUses(SCOPE, tuple(ids("lost")), Use.QUOTED, NOW)
        refused = changeset.Changeset(puts=(changeset.Put(a_note("lost")),), uses=(sign,))
        writer.defer(puts(a_note("a")))
        with pytest.raises((InvalidInput, StoreError), match="context"):
            fail_later(writer, refused)
        writer.defer(puts(a_note("b")))
        writer.flush()
        assert visible_ids(store, SCOPE) == ["a", "b"]


def fail_later(writer: Store, changes: changeset.Changeset) -> None:
    """Queue changes that fail, and wait for them.

    A store may raise the error at once or when it is waited for.
    """
    writer.defer(changes)
    writer.flush()


def find_topic(store: Store, writer: Store, scope: Scope, topic_key: str) -> Memory | None:
    """Return the active memory of a topic; readers and writers must see the same one."""
    query = changeset.NeighborQuery(scope=scope, topic_key=topic_key)
    inside = writer.write(lambda writing: writing.neighbors(query)).topic
    assert store.neighbors([query])[0].topic == inside
    return inside


def list_written(store: Store, commit: int | None, scope: Scope = SCOPE) -> list[MemoryId]:
    """Return the ids of the scope's memories that the commit wrote."""
    return store.write(lambda writing: writing.written_by(scope, commit or 0))


def get_previous(store: Store, memory: Memory, scope: Scope = SCOPE) -> tuple[Memory, Vector | None] | None:
    """Return the memory as it was before the commit of this version, with its vector."""
    return store.write(lambda writing: writing.version(scope, memory.id, before=memory.commit or 0))


def get_all_previous(store: Store, *versions: Memory) -> list[Memory | None]:
    """Return what each of these memories was before, without vectors."""
    found = [get_previous(store, one) for one in versions]
    return [None if one is None else one[0] for one in found]


class CommitHistoryContract:
    """A commit lists the memories it wrote, and each of them as it was before."""

    def test_a_commit_wrote_what_was_put_in_it_and_nothing_else(self, writer: Store) -> None:
        first, *_ = put(writer, a_note("b"), a_note("a"))
        (second,) = put(writer, a_note("c"))
        (third,) = put(writer, a_note("b", text="another text"))
        assert list_written(writer, first.commit) == ids("a", "b")
        assert list_written(writer, second.commit) == ids("c")
        assert list_written(writer, third.commit) == ids("b")
        assert list_written(writer, (third.commit or 0) + 1) == list_written(writer, 0) == []

    def test_a_memory_that_a_commit_wrote_twice_is_named_once(self, writer: Store) -> None:
        versions = put(writer, a_note("a", text="first"), a_note("a", text="second"))
        assert list_written(writer, versions[0].commit) == ids("a")

    def test_what_a_commit_wrote_in_another_scope_is_not_told(self, writer: Store) -> None:
        ours, theirs = put(writer, a_note("ours"), a_note("theirs", scope=SIBLING_SCOPE, shared=True))
        assert list_written(writer, ours.commit) == ids("ours")
        assert list_written(writer, ours.commit, SIBLING_SCOPE) == ids("theirs")
        assert list_written(writer, ours.commit, Scope.parse("acme")) == []
        put(writer, theirs.with_changes(text="changed"))
        assert get_previous(writer, theirs.with_changes(commit=(theirs.commit or 0) + 1)) is None

    def test_a_commit_that_only_counted_a_use_wrote_no_memory(self, writer: Store) -> None:
        (note,) = put(writer, a_note("a"))
        writer.write(lambda writing: adopt(writing, ENCODER))
        assert list_written(writer, (note.commit or 0) + 1) == []

    def test_each_version_is_known_by_the_one_before_it(self, writer: Store) -> None:
        versions = [put(writer, a_note("a", text=f"version {number}"))[0] for number in range(4)]
        put(writer, a_note("b"))
        assert get_all_previous(writer, *versions) == [None, *versions[:-1]]
        later = versions[-1].with_changes(commit=(versions[-1].commit or 0) + 9)
        assert get_all_previous(writer, later) == versions[-1:]
        assert get_all_previous(writer, a_note("missing", commit=9)) == [None]

    def test_of_several_versions_of_one_commit_the_last_one_is_what_was_before_the_next(self, writer: Store) -> None:
        versions = put(writer, *(a_note("a", text=f"version {number}") for number in range(3)))
        (after,) = put(writer, a_note("a", text="after"))
        assert get_all_previous(writer, versions[-1], after) == [None, versions[-1]]

    def test_a_former_version_comes_with_the_direction_it_had(self, writer: Store) -> None:
        (first,) = put(writer, a_note("a", text="first"))
        second = writer.write(lambda writing: writing.put(first.with_changes(text="second"), None))
        third = writer.write(
            lambda writing: writing.put(second.with_changes(status=Status.FORGOTTEN), a_vector("third"))
        )
        directions = [found[1] for one in (second, third) if (found := get_previous(writer, one)) is not None]
        assert directions[0] is not None
        assert directions[0].tolist() == a_vector("first").tolist()
        assert directions[1] is None

    def test_of_what_is_erased_nothing_is_told(self, writer: Store) -> None:
        first, stays = put(writer, a_note("a"), a_note("b"))
        (second,) = put(writer, first.with_changes(pinned=True))
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert get_previous(writer, second) is None
        assert list_written(writer, second.commit) == []
        assert list_written(writer, stays.commit) == ids("b")
