"""A store is used from many threads at once, and each sees a whole."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from recollect.errors import Conflict
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.usage import Use
from recollect.protocols import Store, WriteTransaction
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.store_builders import a_note, a_probe, candidates, ids, put, vector_similarity, visible_ids
from recollect.testing.variants import Variant, affected_by

PARENT_SCOPE = Scope.parse("acme")
THREAD_COUNT = 4


def run_in_threads(*tasks: Callable[[], object]) -> list[object]:
    """What these give, each run in a thread of its own."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


class ConcurrencyContract:
    """Writes come one after the other, and a reader sees all of each or nothing of it."""

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_what_a_change_has_read_stays_true_until_it_has_written(self, store: Store, writer: Store) -> None:
        put(writer, a_note("counter", revisions=0))

        def count(writing: WriteTransaction) -> None:
            known = writing.get(SCOPE, MemoryId("counter"))
            assert known is not None
            writing.put(known.changed(revisions=known.revisions + 1), None)

        def count_often() -> None:
            for _ in range(10):
                writer.write(count)

        run_in_threads(*[count_often] * THREAD_COUNT)
        assert store.get(SCOPE, ids("counter"))[0].revisions == 10 * THREAD_COUNT
        commits = [one.commit for one in store.history(SCOPE, MemoryId("counter"))]
        assert len(commits) == len(set(commits)) == 10 * THREAD_COUNT + 1

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_of_twins_written_at_once_one_is_kept(self, store: Store, writer: Store) -> None:
        def write(name: str) -> bool:
            try:
                put(writer, a_note(name, text="the same"))
            except Conflict:
                return False
            return True

        kept = run_in_threads(*[lambda name=name: write(name) for name in "abcd"])
        assert kept.count(True) == 1
        assert len(visible_ids(store, SCOPE)) == 1

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_readers_see_all_of_a_write_or_nothing_of_it(self, store: Store, writer: Store) -> None:
        put(writer, *(make_pair(0)))

        def write() -> None:
            for number in range(1, 30):
                put(writer, *make_pair(number))

        def read() -> None:
            last = 0
            for _ in range(60):
                found = store.gather(a_probe("left right"))
                known = candidates(found)
                assert sorted(known) == ["left", "right"]
                left, right = (known[MemoryId(id)].revisions or 0 for id in ("left", "right"))
                assert left == right >= last
                last = right
                rows = found.rows.tolist()
                assert [one and one.revisions for one in found.memories(rows)] == [last, last]

        run_in_threads(write, read, read, read)

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_a_page_of_a_list_is_of_one_moment(self, store: Store, writer: Store) -> None:
        """Of two memories one is always active, so whoever asks for one that is gets it."""
        put(writer, *make_alternating(0))

        def write() -> None:
            for number in range(1, 30):
                put(writer, *make_alternating(number))

        def read() -> None:
            for _ in range(60):
                assert len(list(store.memories(SCOPE, below=False, statuses=[Status.ACTIVE], limit=2))) == 1

        run_in_threads(write, read, read, read)

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_many_scopes_are_read_and_written_at_once(self, store: Store, writer: Store) -> None:
        scopes = [Scope.parse(f"acme/{number}") for number in range(THREAD_COUNT)]
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True))

        def live(scope: Scope) -> None:
            for number in range(12):
                put(writer, a_note(f"{scope} {number}", scope=scope))
                writer.later(lambda writing: writing.record(scope, ids("team"), Use.SERVED, NOW, None))
                own = [f"{scope} {earlier}" for earlier in range(number + 1)]
                assert visible_ids(store, scope) == sorted([*own, "team"])

        run_in_threads(*[lambda scope=scope: live(scope) for scope in scopes])
        writer.flush()
        assert store.usage(PARENT_SCOPE, ids("team"))[0].served == 12 * THREAD_COUNT
        assert candidates(store.gather(a_probe(scope=PARENT_SCOPE)))[MemoryId("team")].served == 12 * THREAD_COUNT

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_the_model_is_adopted_once_by_whoever_comes_first(self, store: Store, writer: Store) -> None:
        def write(name: str) -> None:
            put(writer, a_note(name, text=name))

        run_in_threads(*[lambda name=name: write(name) for name in "abcd"])
        found = candidates(store.gather(a_probe("a")))
        assert found[MemoryId("a")].similarity == vector_similarity("a", "a")
        assert all(one.similarity is not None for one in found.values())


def make_alternating(number: int) -> list[Memory]:
    """Two memories of which one is active and the other forgotten, each in its turn."""
    statuses = (Status.ACTIVE, Status.FORGOTTEN)
    return [a_note(id, status=statuses[(number + place) % 2]) for place, id in enumerate(("odd", "even"))]


def make_pair(number: int) -> list[Memory]:
    """Two memories that are always written together."""
    return [
        a_note(id, scope=scope, shared=True, revisions=number)
        for id, scope in (("left", SCOPE), ("right", PARENT_SCOPE))
    ]
