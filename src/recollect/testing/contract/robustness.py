"""Contract: a store accepts any text as it is, and any number of threads at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from recollect.errors import Conflict
from recollect.model import changeset
from recollect.model.context import Use
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.testing.builders import (
    ENCODER,
    NOW,
    SCOPE,
    a_note,
    a_probe,
    candidates,
    count_uses,
    eligible_ids,
    find_candidate,
    find_duplicate,
    gather,
    ids,
    put,
    put_all,
    vector_similarity,
    visible_ids,
)
from recollect.testing.contract import Variant, affected_by
from recollect.testing.contract.evidence import compute_shares, found_shares

HOSTILE_TEXTS = {
    "fts-quotes": '"unbalanced',
    "fts-syntax": 'NEAR(deploys Friday, 2) AND NOT "x" OR col:term* ^first -minus +plus',
    "sql": "'; DROP TABLE memories; --",
    "placeholders": ":scope ?1 @a $b %s %d {state:m} {values}",
    "wildcards": "% _ * ? [a-z]",
    "json": '{"a": [1, "b\\"]}',
    "markup": "</memory><script>alert(1)</script> &amp; ]]>",
    "controls": "bell \x07 escape \x1b delete \x7f next \x85",
    "lines": "one\r\ntwo\u2028three\u2029four\ttab",
    "directions": "\u202eright to left\u202c \u200d\u200b\ufeff",
    "marks": "Z\u0335\u0321\u0322\u0327a" + "\u0301" * 500,
    "decomposed": "cafe\u0301 caf\u00e9 \u212b \ufb01",
    "every-plane": "".join(chr((plane << 16) + 0x1234) for plane in range(17) if plane != 0xD) + "\U0010ffff",
    "noncharacters": "\ufffe\uffff\ufdd0\U0001fffe",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 deploys",
    "scripts": "развёртывание ทดสอบ 部署 配置 النشر देवनागरी ᚠᚢᚦ 𓀀𓁐",
    "blank-edges": "  \n padded \t ",
    "one-long-word": "x" * 10_000,
    "numbers": "0 -0 1e308 NaN Infinity 0x1F १२३",
}


class HostileTextContract:
    """Any text is stored unchanged, found by its terms, and does not affect other memories."""

    def test_texts_of_any_characters_are_kept_and_found_and_disturb_nothing(self, store: Store, writer: Store) -> None:
        kept = put(writer, *(a_note(name, text=text, metadata={"said": text}) for name, text in HOSTILE_TEXTS.items()))
        assert store.get(SCOPE, ids(*HOSTILE_TEXTS)) == kept
        assert [one.text for one in kept] == list(HOSTILE_TEXTS.values())
        for one in kept:
            assert writer.write(lambda writing, one=one: find_duplicate(writing, one)) == one  # type: ignore[misc]
            for question in (one.text, f"deploys {one.text}"):
                found = gather(store, a_probe(question))
                assert found_shares(found, list(HOSTILE_TEXTS)) == compute_shares(
                    question, list(HOSTILE_TEXTS.values())
                )
                assert find_candidate(found, one.id).similarity == vector_similarity(one.text, question)

    def test_every_character_there_is_can_be_kept(self, store: Store, writer: Store) -> None:
        pages = [
            "x" + "".join(chr(code) for code in range(start, start + 0x10000) if code and not 0xD800 <= code < 0xE000)
            for start in range(0, 0x110000, 0x10000)
        ]
        writer.write(lambda writing: [writing.put(a_note(f"{n:02}", text=text), None) for n, text in enumerate(pages)])
        assert [one.text for one in store.memories(SCOPE, below=False, statuses=[Status.ACTIVE])] == pages

    def test_a_text_of_a_megabyte_is_kept_and_found(self, store: Store, writer: Store) -> None:
        text = "deploys run on Fridays; " * (1_048_576 // 24)
        (kept, _) = put(writer, a_note("long", text=text), a_note("short", text="deploys"))
        assert store.get(SCOPE, ids("long")) == [kept]
        found = gather(store, a_probe("deploys Fridays"))
        assert found_shares(found, ["long", "short"]) == compute_shares("deploys Fridays", [text, "deploys"])

    def test_ids_of_any_characters_are_each_one_memorys_alone(self, store: Store, writer: Store) -> None:
        odd = ["'", '"', "a b", "ünï", "u\u0308", "ü", "%", "--", "1", "01", "💾", "x" * 256, "-1", "NULL", "A", "a"]
        kept = put(writer, *(a_note(id, text=f"number {number}") for number, id in enumerate(odd)))
        assert store.get(SCOPE, ids(*odd)) == kept
        assert visible_ids(store, SCOPE) == sorted(odd)
        for one in kept:
            assert store.history(SCOPE, one.id) == [one]
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a", "ü", '"'), Use.SERVED, NOW, None))
        assert [id for id, one in zip(odd, store.usage(SCOPE, ids(*odd)), strict=True) if one.served] == ['"', "ü", "a"]

    @affected_by(Variant.IN_MEMORY)
    def test_a_large_write_is_one_write(self, store: Store, writer: Store) -> None:
        notes = [a_note(f"{number:05}") for number in range(3_000)]
        kept = writer.write(lambda writing: put_all(writing, notes))
        assert {one.commit for one in kept} == {kept[0].commit}
        assert eligible_ids(gather(store, a_probe("what 00007 says"))) == [one.id for one in notes]
        assert store.encoder() == ENCODER


PARENT_SCOPE = Scope.parse("acme")
THREAD_COUNT = 4


def run_in_threads(*tasks: Callable[[], object]) -> list[object]:
    """Run each of these in its own thread, and return their results."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


class ConcurrencyContract:
    """Writes happen one after another, and a reader sees each write whole or not at all."""

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_what_a_change_has_read_stays_true_until_it_has_written(self, store: Store, writer: Store) -> None:
        put(writer, a_note("counter", revisions=0))

        def count(writing: WriteTransaction) -> None:
            known = writing.get(SCOPE, MemoryId("counter"))
            assert known is not None
            writing.put(known.with_changes(revisions=known.revisions + 1), None)

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
                found = gather(store, a_probe("left right"))
                known = candidates(found)
                assert sorted(known) == ["left", "right"]
                left, right = (known[MemoryId(id)].revisions or 0 for id in ("left", "right"))
                assert left == right >= last
                last = right
                rows = found.rows.tolist()
                assert [one and one.revisions for one in store.load(found.snapshot, rows)] == [last, last]

        run_in_threads(write, read, read, read)

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_a_page_of_a_list_is_of_one_moment(self, store: Store, writer: Store) -> None:
        """One of two memories is always active, so a list of the active ones always has one."""
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
                served = changeset.MemoryUses(scope, tuple(ids("team")), Use.SERVED, NOW)
                writer.defer(changeset.Changeset(uses=(served,)))
                own = [f"{scope} {earlier}" for earlier in range(number + 1)]
                assert visible_ids(store, scope) == sorted([*own, "team"])

        run_in_threads(*[lambda scope=scope: live(scope) for scope in scopes])
        writer.flush()
        assert store.usage(PARENT_SCOPE, ids("team"))[0].served == 12 * THREAD_COUNT
        assert candidates(gather(store, a_probe(scope=PARENT_SCOPE)))[MemoryId("team")].served == 12 * THREAD_COUNT

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_the_model_is_adopted_once_by_whoever_comes_first(self, store: Store, writer: Store) -> None:
        def write(name: str) -> None:
            put(writer, a_note(name, text=name))

        run_in_threads(*[lambda name=name: write(name) for name in "abcd"])
        found = candidates(gather(store, a_probe("a")))
        assert found[MemoryId("a")].similarity == vector_similarity("a", "a")
        assert all(one.similarity is not None for one in found.values())


def make_alternating(number: int) -> list[Memory]:
    """Return two memories, one active and one forgotten; they swap with each number."""
    statuses = (Status.ACTIVE, Status.FORGOTTEN)
    return [a_note(id, status=statuses[(number + place) % 2]) for place, id in enumerate(("odd", "even"))]


def make_pair(number: int) -> list[Memory]:
    """Return two memories that are always written together."""
    return [
        a_note(id, scope=scope, shared=True, revisions=number)
        for id, scope in (("left", SCOPE), ("right", PARENT_SCOPE))
    ]
