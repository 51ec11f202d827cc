"""Contract: no read finds anything of an erased memory."""

from dataclasses import replace
from datetime import timedelta

from recollect.model import changeset
from recollect.model.archive import ArchivedMemory, ErasedRows, Lineage
from recollect.model.context import MAX_COUNTED_VOTES, NO_USAGE, Usage, Use
from recollect.model.draft import Created, IdempotencyRecord
from recollect.model.enums import Status
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.testing.builders import (
    NOW,
    SCOPE,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vector,
    a_vote,
    add_context,
    add_key,
    an_omitted_memory,
    candidates,
    cast_votes,
    count_uses,
    find_candidate,
    find_duplicate,
    gather,
    ids,
    put,
    set_checkpoint,
    vector_similarity,
    visible_ids,
    write_together,
)
from recollect.testing.contract import Variant, affected_by

PARENT_SCOPE, CHILD_SCOPE, SIBLING_SCOPE = map(Scope.parse, ("acme", "acme/ana/below", "acme/ben"))


def erase(writer: Store, *names: str) -> ErasedRows:
    """Erase these memories of the scope."""
    return writer.write(lambda writing: writing.erase(SCOPE, ids(*names)))


def expected_erasure(*names: str, versions: int, contexts: int = 0) -> ErasedRows:
    """Return the expected counts of an erasure whose versions each have a vector and no more.

    The bytes to search for are left out.
    """
    return ErasedRows(ids=tuple(ids(*names)), versions=versions, vectors=versions, contexts=contexts)


class ErasureContract:
    """No read returns an erased memory, and all other memories stay as they were."""

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_nothing_of_an_erased_memory_is_found(self, store: Store, writer: Store, clock: ManualClock) -> None:
        note = a_note("gone", text="first", shared=True, topic_key="topic", pinned=True)
        put(writer, note, a_note("stays"))
        put(writer, note.with_changes(text="second"))
        before = clock.now
        clock.move(timedelta(days=1))
        kept = IdempotencyRecord(scope=SCOPE, key="key", body="first", memory=note.id, verdict=Created(), at=NOW)
        write_together(
            writer,
            lambda writing: count_uses(writing, SCOPE, [note.id], Use.SERVED, NOW, "context"),
            lambda writing: cast_votes(writing, SCOPE, [a_vote("gone")]),
            lambda writing: add_key(writing, kept),
        )
        assert [visible_ids(store, SCOPE), visible_ids(store, CHILD_SCOPE)] == [["gone", "stays"], ["gone"]]

        assert erase(writer, "gone") == replace(expected_erasure("gone", versions=2), uses=1, votes=1, keys=1)

        assert [visible_ids(store, SCOPE), visible_ids(store, CHILD_SCOPE)] == [["stays"], []]
        assert visible_ids(store, SCOPE, known_at=before) == ["stays"]
        assert store.get(SCOPE, [note.id]) == store.get(SCOPE, [note.id], known_at=before) == []
        assert store.history(SCOPE, note.id) == []
        assert store.usage(SCOPE, [note.id]) == [NO_USAGE]
        assert [one.id for one in store.memories(SCOPE, below=True, statuses=tuple(Status))] == ["stays"]
        assert gather(store, a_probe("first second")).pinned.tolist() == []

        def find_traces(writing: WriteTransaction) -> list[object]:
            found: list[object] = [find_duplicate(writing, a_note("x", text=text)) for text in ("first", "second")]
            neighbors = writing.neighbors(changeset.NeighborQuery(scope=SCOPE, topic_key="topic", retry_key="key"))
            return [*found, neighbors.topic, writing.get(SCOPE, note.id), neighbors.retried]

        assert writer.write(find_traces) == [None, None, None, None, None]

    @affected_by(Variant.SECOND_WRITER)
    def test_no_context_mentions_an_erased_memory_whosever_context_it_is(self, store: Store, writer: Store) -> None:
        for number, name in enumerate(["gone", 'quo"te', "back\\slash", "é", "%", "a'b"]):
            put(writer, a_note(name, shared=True), a_note(f"{name}-not"))
            mine = a_context_record(f"mine {number}", name, "stays", f"{name}-not")
            theirs = a_context_record(
                f"theirs {number}",
                "stays",
                scope=CHILD_SCOPE,
                omitted=(an_omitted_memory(name), an_omitted_memory("other")),
            )
            for trace in (mine, theirs):
                writer.write(lambda writing, trace=trace: add_context(writing, trace))  # type: ignore[misc]
            assert erase(writer, name) == expected_erasure(name, versions=1, contexts=2)
            assert store.context(SCOPE, mine.id) == a_context_record(mine.id, "stays", f"{name}-not")
            assert store.context(CHILD_SCOPE, theirs.id) == replace(theirs, omitted=(an_omitted_memory("other"),))

    @affected_by(Variant.SMALL_CACHE)
    def test_only_the_scopes_own_memories_are_erased_and_counted_once(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"), a_note("theirs", scope=SIBLING_SCOPE), a_note("c", scope=CHILD_SCOPE))
        put(writer, a_note("above", scope=Scope.parse("acme"), shared=True))
        assert erase(writer, "a", "a", "theirs", "c", "above", "missing") == expected_erasure("a", versions=1)
        assert erase(writer, "a") == expected_erasure(versions=0)
        assert [visible_ids(store, scope) for scope in (SCOPE, SIBLING_SCOPE, CHILD_SCOPE)] == [
            ["above", "b"],
            ["above", "theirs"],
            ["above", "c"],
        ]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_the_others_keep_their_rows_their_usage_and_their_words(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(id, text=f"deploys of {id}", importance=0.5) for id in "abc"))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("c"), Use.SERVED, NOW, None))
        gather(store, a_probe("deploys"))
        erase(writer, "b")
        put(
            writer,
            a_note("alone", scope=SIBLING_SCOPE, text="deploys of a"),
            a_note("d", scope=SIBLING_SCOPE, text="deploys of c"),
        )
        here, there = (candidates(gather(store, a_probe("deploys", scope=scope))) for scope in (SCOPE, SIBLING_SCOPE))
        assert sorted(here) == ["a", "c"]
        assert here[MemoryId("a")].lexical == there[MemoryId("alone")].lexical
        assert (here[MemoryId("c")].served, here[MemoryId("a")].served) == (1, 0)

    @affected_by(Variant.SECOND_WRITER)
    def test_what_was_found_before_says_that_it_is_gone(self, store: Store, writer: Store) -> None:
        kept = put(writer, a_note("a"), a_note("b"), a_note("c"))
        found = gather(store, a_probe("why?"))
        by_id = {found.table.ids[row]: row for row in found.rows.tolist()}
        rows = [by_id[one.id] for one in kept]
        erase(writer, "b")
        put(writer, a_note("b", text="another"))
        assert list(store.load(found.snapshot, rows)) == [kept[0], None, kept[2]]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_an_id_that_was_erased_may_be_used_again_and_begins_anew(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", text="old"), a_note("b"))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
        assert visible_ids(store, SCOPE) == ["a", "b"]
        erase(writer, "a")
        (stored,) = put(writer, a_note("a", text="old", scope=SIBLING_SCOPE))
        assert store.history(SIBLING_SCOPE, MemoryId("a")) == [stored]
        assert store.usage(SIBLING_SCOPE, ids("a")) == [NO_USAGE]
        assert [visible_ids(store, SCOPE), visible_ids(store, SIBLING_SCOPE)] == [["b"], ["a"]]

    def test_what_is_put_after_an_erasure_has_nothing_of_what_was_erased(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", pinned=True, importance=0.5))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW, None))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("a")]))
        erase(writer, "a")
        writer.write(lambda writing: writing.put(a_note("b"), None))
        b = find_candidate(gather(store, a_probe("what a says")), "b")
        assert (b.similarity, b.served, b.usefulness, b.importance) == (None, 0, None, None)
        assert store.usage(SCOPE, ids("b")) == [NO_USAGE]

    @affected_by(Variant.SECOND_WRITER)
    def test_erased_and_put_again_in_one_commit_it_is_there_once(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", text="old"), a_note("b"))
        gather(store, a_probe("old"))

        def change(writing: WriteTransaction) -> None:
            writing.erase(SCOPE, ids("a"))
            writing.put(a_note("a", text="new"), a_vector("new"))

        writer.write(change)
        found = gather(store, a_probe("new"))
        assert sorted(candidates(found)) == ["a", "b"]
        assert find_candidate(found, "a").similarity == vector_similarity("new", "new")
        assert [one.text for one in store.history(SCOPE, MemoryId("a"))] == ["new"]

    @affected_by(Variant.SECOND_WRITER)
    def test_all_of_a_scope_can_be_erased(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(id) for id in "abc"))
        assert visible_ids(store, SCOPE) == ["a", "b", "c"]
        assert erase(writer, *"cab") == expected_erasure(*"abc", versions=3)
        found = gather(store, a_probe("what a says"))
        assert (found.rows.tolist(), dict(found.barred)) == ([], {})
        put(writer, a_note("d"))
        assert visible_ids(store, SCOPE) == ["d"]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_all_of_exactly_one_scope_goes_with_its_contexts(self, store: Store, writer: Store) -> None:
        put(
            writer,
            a_note("a", shared=True),
            a_note("b", status=Status.FORGOTTEN),
            a_note("a", text="again", shared=True),
        )
        put(
            writer,
            a_note("below", scope=CHILD_SCOPE),
            a_note("team", scope=PARENT_SCOPE, shared=True),
            a_note("x", scope=SIBLING_SCOPE),
        )
        mine, theirs = a_context_record("mine", "team"), a_context_record("theirs", "a", "below", scope=CHILD_SCOPE)
        write_together(writer, lambda writing: add_context(writing, mine), lambda writing: add_context(writing, theirs))
        assert [visible_ids(store, scope) for scope in (SCOPE, CHILD_SCOPE)] == [["a", "team"], ["a", "below", "team"]]

        gone = writer.write(lambda writing: writing.erase_all(SCOPE))

        assert gone == expected_erasure("a", "b", versions=3, contexts=2)
        assert [visible_ids(store, scope) for scope in (SCOPE, CHILD_SCOPE, SIBLING_SCOPE)] == [
            ["team"],
            ["below", "team"],
            ["team", "x"],
        ]
        assert store.context(SCOPE, "mine") is None
        assert store.context(CHILD_SCOPE, "theirs") == a_context_record("theirs", "below", scope=CHILD_SCOPE)
        assert list(store.memories(SCOPE, below=False, statuses=tuple(Status))) == []
        assert writer.write(lambda writing: writing.erase_all(SCOPE)) == expected_erasure(versions=0)
        (stored,) = put(writer, a_note("a", text="again"))
        assert store.history(SCOPE, stored.id) == [stored]
        assert [visible_ids(store, scope) for scope in (SCOPE, CHILD_SCOPE)] == [["a", "team"], ["below", "team"]]

    @affected_by(Variant.SECOND_WRITER)
    def test_what_an_erased_scope_used_and_voted_on_stays_so_and_no_longer_says_by_whom(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True), a_note("mine"))
        cast = [("mine", str(SCOPE)), ("theirs", "ben"), ("mine", "ben"), ("mine", str(SCOPE))]
        write_together(
            writer,
            lambda writing: add_context(writing, a_context_record("mine", "team")),
            lambda writing: add_context(writing, a_context_record("theirs", "team", scope=SIBLING_SCOPE)),
            lambda writing: count_uses(writing, SCOPE, ids("team"), Use.SERVED, NOW, "mine"),
            lambda writing: count_uses(writing, SIBLING_SCOPE, ids("team"), Use.SERVED, NOW, "theirs"),
            lambda writing: cast_votes(
                writing, SCOPE, [a_vote("team", context=context, by=by) for context, by in cast]
            ),
        )
        before = store.usage(SIBLING_SCOPE, ids("team"))

        writer.write(lambda writing: writing.erase_all(SCOPE))

        assert store.usage(SIBLING_SCOPE, ids("team")) == before
        (team,) = [one for one in store.export(None)[1] if isinstance(one, ArchivedMemory)]
        assert [one.context for one in team.uses] == [None, "theirs"]
        said = [(one.vote.context, one.vote.by) for one in team.votes]
        unknown = "erased 1", "erased 1"
        assert said == [unknown, ("theirs", "ben"), ("erased 1", "erased 2"), unknown]

    @affected_by(Variant.SECOND_WRITER)
    def test_who_votes_for_several_scopes_is_several_once_one_of_them_is_erased(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True))
        names = [f"mine {number}" for number in range(MAX_COUNTED_VOTES)]
        for name in names:
            writer.write(lambda writing, name=name: add_context(writing, a_context_record(name, "team")))  # type: ignore[misc]
        votes = [a_vote("team", context=name) for name in (*names, "theirs 1", "theirs 2")]
        writer.write(lambda writing: cast_votes(writing, SCOPE, votes))
        judged = find_candidate(gather(store, a_probe(scope=SIBLING_SCOPE)), "team").usefulness
        assert judged == (MAX_COUNTED_VOTES + 1) / (MAX_COUNTED_VOTES + 2)
        writer.write(lambda writing: writing.erase_all(SCOPE))
        assert [one.helped for one in store.usage(SIBLING_SCOPE, ids("team"))] == [len(votes)]
        judged = find_candidate(gather(store, a_probe(scope=SIBLING_SCOPE)), "team").usefulness
        assert judged == (len(votes) + 1) / (len(votes) + 2)

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_all_whose_names_were_erased_count_for_no_more_than_one_principal_and_the_newest_do(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True))
        counted = []
        for number in range(3):
            child = Scope.parse(f"acme/child-{number}")
            contexts = [f"{number}, {each}" for each in range(MAX_COUNTED_VOTES + 1)]
            use = Use.HELPED if number < 2 else Use.MISLED
            votes = [a_vote("team", use, context=one, by=by) for one in contexts for by in ("ana", "ben")]
            traces = [a_context_record(one, "team", scope=child) for one in contexts]
            write_together(writer, *(lambda writing, trace=trace: add_context(writing, trace) for trace in traces))
            writer.write(lambda writing, child=child, votes=votes: cast_votes(writing, child, votes))  # type: ignore[misc]
            clock.move(timedelta(days=1))
            gather(store, a_probe(scope=SIBLING_SCOPE, known_at=NOW))
            writer.write(lambda writing, child=child: writing.erase_all(child))  # type: ignore[misc]
            counted += store.usage(SIBLING_SCOPE, ids("team"))
            known = [gather(store, a_probe(scope=SIBLING_SCOPE, known_at=moment)) for moment in (None, NOW)]
            judged = [find_candidate(one, "team").usefulness for one in known]
            assert judged == [counted[-1].usefulness, (MAX_COUNTED_VOTES + 1) / (MAX_COUNTED_VOTES + 2)]
        assert counted == [*2 * [Usage(helped=MAX_COUNTED_VOTES)], Usage(misled=MAX_COUNTED_VOTES)]
        vote = a_vote("team", by="eva")
        writer.write(lambda writing: cast_votes(writing, SIBLING_SCOPE, [vote]))
        assert store.usage(SIBLING_SCOPE, ids("team")) == [Usage(helped=1, misled=MAX_COUNTED_VOTES)], (
            "others are heard beside"
        )

    def test_what_is_noted_of_a_scope_goes_with_what_is_erased_of_it_and_is_counted(self, writer: Store) -> None:
        put(writer, a_note("a"), a_note("theirs", scope=SIBLING_SCOPE))
        write_together(
            writer,
            lambda writing: set_checkpoint(writing, SCOPE, "how far", "up to a"),
            lambda writing: set_checkpoint(writing, SCOPE, "topics", "of a"),
            lambda writing: set_checkpoint(writing, SIBLING_SCOPE, "how far", "up to theirs"),
        )
        assert erase(writer, "missing") == expected_erasure(versions=0)
        assert erase(writer, "a") == replace(expected_erasure("a", versions=1), checkpoints=2)
        assert writer.write(lambda writing: writing.checkpoint(SIBLING_SCOPE, "how far")) == "up to theirs"
        gone = writer.write(lambda writing: writing.erase_all(SIBLING_SCOPE))
        assert gone == replace(expected_erasure("theirs", versions=1), checkpoints=1)

    def test_where_memories_come_from_is_told_of_every_version_of_the_scopes_own(self, writer: Store) -> None:
        put(writer, a_note("a", source="handbook"), a_note("b", derived_from=("a", "x")), a_note("plain"))
        put(writer, a_note("a", text="again", source="wiki", derived_from=("b",)), a_note("b", text="on its own"))
        put(
            writer,
            a_note("theirs", scope=SIBLING_SCOPE, source="handbook"),
            a_note("below", scope=CHILD_SCOPE, source="handbook"),
        )
        told = writer.write(lambda writing: writing.lineage(SCOPE))
        assert sorted(told, key=lambda one: (one.id, one.source or "")) == [
            Lineage(MemoryId("a"), "handbook", ()),
            Lineage(MemoryId("a"), "wiki", ("b",)),
            Lineage(MemoryId("b"), None, ("a", "x")),
        ]

    @affected_by(Variant.SECOND_WRITER)
    def test_where_memories_come_from_is_told_to_who_only_reads_also_of_those_that_come_from_nowhere(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a", source="handbook"), a_note("b", derived_from=("a", "x")), a_note("plain"))
        put(writer, a_note("b", text="on its own"), a_note("away", status=Status.FORGOTTEN))
        put(
            writer,
            a_note("theirs", scope=SIBLING_SCOPE, source="handbook"),
            a_note("below", scope=CHILD_SCOPE, source="handbook"),
        )
        assert sorted(store.lineage(SCOPE), key=lambda one: (one.id, one.derived_from)) == [
            Lineage(MemoryId("a"), "handbook", ()),
            Lineage(MemoryId("away"), None, ()),
            Lineage(MemoryId("b"), None, ()),
            Lineage(MemoryId("b"), None, ("a", "x")),
            Lineage(MemoryId("plain"), None, ()),
        ]
        erase(writer, "b")
        assert {one.id for one in store.lineage(SCOPE)} == {"a", "away", "plain"}
        assert store.lineage(Scope.parse("acme/missing")) == []

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_looking_for_what_was_erased_changes_nothing_for_the_others(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        found = gather(store, a_probe("why?"))
        before = candidates(found)
        pieces = erase(writer, "a").pieces
        assert store.scrub(SCOPE, pieces).remains == ()
        assert candidates(found) == before
        assert visible_ids(store, SCOPE) == ["b"]
