"""What a commit wrote can be found again, and what was there before it."""

from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.retrieval.evidence import Vector
from recollect.testing.builders import SCOPE
from recollect.testing.store_builders import ENCODER, a_note, a_vector, ids, put

SIBLING_SCOPE = Scope.parse("acme/ben")


def list_written(store: Store, commit: int | None, scope: Scope = SCOPE) -> list[MemoryId]:
    """The scope's memories that the commit wrote."""
    return store.write(lambda writing: writing.written_by(scope, commit or 0))


def get_previous(store: Store, memory: Memory, scope: Scope = SCOPE) -> tuple[Memory, Vector | None] | None:
    """What the memory was before the commit of this version."""
    return store.write(lambda writing: writing.before(scope, memory.id, memory.commit or 0))


def get_all_previous(store: Store, *versions: Memory) -> list[Memory | None]:
    """The same without directions, for each of these."""
    found = [get_previous(store, one) for one in versions]
    return [None if one is None else one[0] for one in found]


class CommitHistoryContract:
    """A commit is known by the memories it wrote, and each of them by what it was before."""

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
        put(writer, theirs.changed(text="changed"))
        assert get_previous(writer, theirs.changed(commit=(theirs.commit or 0) + 1)) is None

    def test_a_commit_that_only_counted_a_use_wrote_no_memory(self, writer: Store) -> None:
        (note,) = put(writer, a_note("a"))
        writer.write(lambda writing: writing.adopt(ENCODER))
        assert list_written(writer, (note.commit or 0) + 1) == []

    def test_each_version_is_known_by_the_one_before_it(self, writer: Store) -> None:
        versions = [put(writer, a_note("a", text=f"version {number}"))[0] for number in range(4)]
        put(writer, a_note("b"))
        assert get_all_previous(writer, *versions) == [None, *versions[:-1]]
        later = versions[-1].changed(commit=(versions[-1].commit or 0) + 9)
        assert get_all_previous(writer, later) == versions[-1:]
        assert get_all_previous(writer, a_note("nobody", commit=9)) == [None]

    def test_of_several_versions_of_one_commit_the_last_one_is_what_was_before_the_next(self, writer: Store) -> None:
        versions = put(writer, *(a_note("a", text=f"version {number}") for number in range(3)))
        (after,) = put(writer, a_note("a", text="after"))
        assert get_all_previous(writer, versions[-1], after) == [None, versions[-1]]

    def test_a_former_version_comes_with_the_direction_it_had(self, writer: Store) -> None:
        (first,) = put(writer, a_note("a", text="first"))
        second = writer.write(lambda writing: writing.put(first.changed(text="second"), None))
        third = writer.write(lambda writing: writing.put(second.changed(status=Status.FORGOTTEN), a_vector("third")))
        directions = [found[1] for one in (second, third) if (found := get_previous(writer, one)) is not None]
        assert directions[0] is not None
        assert directions[0].tolist() == a_vector("first").tolist()
        assert directions[1] is None

    def test_of_what_is_erased_nothing_is_told(self, writer: Store) -> None:
        first, stays = put(writer, a_note("a"), a_note("b"))
        (second,) = put(writer, first.changed(pinned=True))
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert get_previous(writer, second) is None
        assert list_written(writer, second.commit) == []
        assert list_written(writer, stays.commit) == ids("b")
