"""A store as it was after any of its commits, however many share a moment, and whichever way clocks went."""

from dataclasses import replace
from datetime import timedelta

from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchiveItem
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.usage import Use
from recollect.protocols import Store
from recollect.retrieval.evidence import RecallEvidence
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.store_builders import (
    ENCODER,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vector,
    a_vote,
    candidates,
    find_candidate,
    ids,
    put,
    vector_similarity,
    visible_ids,
)
from recollect.testing.variants import Variant, affected_by

ONE_DAY = timedelta(days=1)
PARENT_SCOPE = Scope.parse("acme")
ALL_LEVELS = frozenset({None, *Level})


class AfterCommitContract:
    """What is known after a commit stays what it was, as long as nothing of it is erased."""

    @affected_by(Variant.SMALL_CACHE)
    def test_commits_of_one_moment_are_told_apart(self, store: Store, writer: Store, clock: ManualClock) -> None:
        commits = []
        for step, text in ((0, "first"), (0, "second"), (-1, "third"), (5, "fourth")):
            clock.move(step * ONE_DAY)
            (kept,) = put(writer, a_note("a", text=text))
            commits.append((kept.commit, kept))
        for commit, kept in (*commits, *reversed(commits)):
            found = store.gather(a_probe(kept.text, commit=commit))
            assert list(found.memories(found.rows.tolist())) == [kept]
            assert find_candidate(found, "a").similarity == vector_similarity(kept.text, kept.text)
            assert found.commit == commit
        assert visible_ids(store, SCOPE, commit=0) == []

    def test_a_commit_goes_before_a_moment(self, store: Store, writer: Store, clock: ManualClock) -> None:
        (first,) = put(writer, a_note("a"))
        clock.move(ONE_DAY)
        put(writer, a_note("b"))
        assert visible_ids(store, SCOPE, commit=first.commit, known_at=clock.now) == ["a"]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_all_that_was_found_is_found_again_in_any_order(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        then: dict[int, object] = {}

        def note() -> None:
            found = store.gather(a_probe("what b says"))
            then[found.commit] = describe_evidence(found)

        team = [a_note(f"team {number}", scope=PARENT_SCOPE, shared=number % 2 == 0) for number in range(4)]
        put(writer, *(a_note(id, importance=0.5) for id in "abc"), *team)
        note()
        writer.write(lambda writing: writing.record(SCOPE, ids("b", "team 2"), Use.SERVED, NOW, "context"))
        note()
        put(
            writer,
            a_note("a", text="changed", pinned=True),
            team[0].changed(shared=False),
            team[1].changed(shared=True),
        )
        note()
        clock.move(-ONE_DAY)
        writer.write(lambda writing: writing.vote(SCOPE, [a_vote("c"), a_vote("team 2", Use.MISLED)]))
        note()
        put(writer, a_note("b", status=Status.FORGOTTEN), a_note("d"), team[0].changed(shared=True))
        writer.write(lambda writing: writing.record(SCOPE, ids("b", "c"), Use.SERVED, NOW + ONE_DAY, None))
        note()
        writer.write(lambda writing: writing.vote(SCOPE, [a_vote("c", Use.MISLED), a_vote("a", by="ben")]))
        note()
        put(writer, a_note("b", text="back again"))
        for commit in (*then, *reversed(then), *sorted(then, key=lambda one: one % 3)):
            assert describe_evidence(store.gather(a_probe("what b says", commit=commit))) == then[commit]

    def test_what_was_so_at_a_moment_is_told_by_what_was_known(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        window = a_note("a", text="window", created_at=NOW - 3 * ONE_DAY, updated_at=NOW - 3 * ONE_DAY)
        (first,) = put(writer, window)
        (second,) = put(writer, window.changed(text="aisle", updated_at=NOW - ONE_DAY))
        put(writer, window.changed(text="standing", updated_at=NOW))
        shown = {
            commit: [one and one.text for one in load_memories(store.gather(a_probe(at=at, commit=commit)))]
            for at in (NOW - 2 * ONE_DAY, NOW)
            for commit in (first.commit, second.commit)
        }
        assert shown == {first.commit: ["window"], second.commit: ["aisle"]}

    @affected_by(Variant.SECOND_WRITER)
    def test_what_is_erased_was_never_known(self, store: Store, writer: Store) -> None:
        (kept, _) = put(writer, a_note("a"), a_note("b"))
        put(writer, a_note("a", text="changed"))
        assert visible_ids(store, SCOPE, commit=kept.commit) == ["a", "b"]
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert visible_ids(store, SCOPE, commit=kept.commit) == ["b"]


class DroppedVectorContract:
    """A direction that has left its index is missed only by those who ask for what was known before."""

    EVENT = a_note("a", level=Level.EVENT)

    @affected_by(Variant.SMALL_CACHE)
    def test_what_left_the_index_since_is_named_and_can_be_given_again(self, store: Store, writer: Store) -> None:
        came, left = _get_commit(put(writer, self.EVENT)[0]), _drop_vector(writer, self.EVENT)
        back, left_again = _get_commit(put(writer, self.EVENT)[0]), _drop_vector(writer, self.EVENT)
        question = "what a says"
        for commit in (came, back):
            found = _gather(store, question, commit)
            assert _list_dropped_vectors(found) == ["a"]
            assert find_candidate(found, "a").similarity is None
            given = {MemoryId("a"): a_vector(self.EVENT.embedded_text)}
            found = store.gather(a_probe(question, commit=commit, levels=ALL_LEVELS, directions=given))
            assert find_candidate(found, "a").similarity == vector_similarity(question, question)
            assert found.similarity_count == 1
        for outside in (left, left_again, None):
            assert _list_dropped_vectors(_gather(store, question, outside)) == []

    @affected_by(Variant.SMALL_CACHE)
    def test_a_moment_that_was_known_misses_it_as_a_commit_does(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        put(writer, self.EVENT)
        clock.move(ONE_DAY)
        _drop_vector(writer, self.EVENT)
        asked = a_probe("what a says", levels=ALL_LEVELS, known_at=NOW)
        assert _list_dropped_vectors(store.gather(asked)) == ["a"]
        assert _list_dropped_vectors(store.gather(replace(asked, known_at=clock.now))) == []
        assert _list_dropped_vectors(store.gather(replace(asked, vectors=None))) == []

    @affected_by(Variant.SMALL_CACHE)
    def test_a_former_text_misses_what_left_after_what_is_known(self, store: Store, writer: Store) -> None:
        said = self.EVENT.changed(created_at=NOW - 3 * ONE_DAY, updated_at=NOW - 3 * ONE_DAY)
        came, left = _get_commit(put(writer, said)[0]), _drop_vector(writer, said)
        (revised,) = put(writer, said.changed(text="in other words", updated_at=NOW - ONE_DAY))
        found = {
            commit: _list_dropped_vectors(
                store.gather(a_probe("what a says", at=NOW - 2 * ONE_DAY, commit=commit, levels=ALL_LEVELS))
            )
            for commit in (came, left, _get_commit(revised))
        }
        assert found == {came: ["a"], left: [], _get_commit(revised): []}


class ImportedContextContract:
    """A context that comes from another store names a commit of that one: it is kept, or said to be elsewhere."""

    def test_a_new_store_counts_on_from_the_last_commit_that_a_context_knew(self, store: Store, writer: Store) -> None:
        memory = a_note("a", commit=3, recorded_at=NOW)
        content = ArchivedContent(None, memory.text, a_vector(memory.embedded_text).astype("<f4").tobytes())
        items: list[ArchiveItem] = [
            ArchivedMemory(contents=(content,), versions=((memory, 0),)),
            a_context_record("context", "a", commit=7),
        ]
        writer.write(lambda writing: writing.load(items, ENCODER))
        kept = store.context(SCOPE, "context")
        assert kept == items[1]
        (later,) = put(writer, a_note("b"))
        assert (later.commit or 0) > 7
        assert (visible_ids(store, SCOPE, commit=7), visible_ids(store, SCOPE)) == (["a"], ["a", "b"])

    def test_a_context_alone_keeps_its_commit_too(self, store: Store, writer: Store) -> None:
        writer.write(lambda writing: writing.load([a_context_record(commit=4)], ENCODER))
        put(writer, a_note("a"))
        assert visible_ids(store, SCOPE, commit=4) == []

    def test_a_store_with_commits_of_its_own_says_that_it_came_from_elsewhere(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        trace = a_context_record("context", "a", commit=7)
        writer.write(lambda writing: writing.load([trace], ENCODER))
        assert store.context(SCOPE, "context") == replace(trace, elsewhere=True)
        assert writer.write(lambda writing: writing.load([trace], ENCODER)).skipped == 1
        _, items = store.export(None)
        assert replace(trace, elsewhere=True) in list(items)


def describe_evidence(found: RecallEvidence) -> object:
    """All that is found, by id."""
    rows, names = found.rows.tolist(), found.table.ids
    shown = {names[row]: one for row, one in zip(rows, found.memories(rows), strict=True)}
    return candidates(found), shown, {names[row] for row in found.pinned.tolist()}, dict(found.barred)


def load_memories(found: RecallEvidence) -> list[Memory | None]:
    """The memories that are found."""
    return list(found.memories(found.rows.tolist()))


def _drop_vector(writer: Store, event: Memory) -> int:
    """Let the event leave the index of directions; gives the commit."""
    return _get_commit(writer.write(lambda writing: writing.put(event.changed(left=(Index.VECTOR,)), None)))


def _get_commit(memory: Memory) -> int:
    assert memory.commit is not None
    return memory.commit


def _gather(store: Store, question: str, commit: int | None) -> RecallEvidence:
    return store.gather(a_probe(question, commit=commit, levels=ALL_LEVELS))


def _list_dropped_vectors(found: RecallEvidence) -> list[str]:
    return [found.table.ids[row] for row in found.dropped_vectors]
