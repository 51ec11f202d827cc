"""Contract: a scope sees its own memories and what its ancestors share, and nothing else."""

from recollect.model.context import NO_USAGE, Usage, Use
from recollect.model.enums import Status
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.testing.builders import (
    NOW,
    a_context_record,
    a_note,
    a_vote,
    add_context,
    cast_votes,
    count_uses,
    ids,
    put,
    visible_ids,
)
from recollect.testing.contract import Variant, affected_by

ROOT, TEAM, ANA, BEN = map(Scope.parse, ("acme", "acme/team", "acme/team/ana", "acme/team/ben"))

SIMILAR_SCOPES = [
    *("acme", "acme-labs", "acm", "Acme", "acme0", "acme.", "a_me", "ac", "acme/acme", "acme/acme/acme", "é", "e"),
    *("acme/ana", "acme/ana0", "acme/an", "acme/Ana", "acme-labs/ana", "ana", "ana/acme", "acme/ana/acme"),
    *("a.b", "a", "b", "a/b", "a:b", "a-b", "a_b", "axb", "a/b/c", "a/b-c", "a/b.c", "a#b", "a@b", "a+b", "a=b", "a~b"),
]
"""Scopes with similar names; only whole parts decide which is an ancestor of another."""


class ScopeContract:
    """Visibility depends on whole parts of a scope, and is the same for every kind of read."""

    def test_a_scope_sees_its_own_memories(self, store: Store, writer: Store) -> None:
        put(writer, a_note("mine", scope=ANA), a_note("mine-too", scope=ANA, shared=True))
        assert visible_ids(store, ANA) == ["mine", "mine-too"]

    @affected_by(Variant.SMALL_CACHE)
    def test_scopes_that_only_look_alike_have_nothing_to_do_with_each_other(self, store: Store, writer: Store) -> None:
        scopes = [Scope.parse(path) for path in SIMILAR_SCOPES]
        own = [a_note(f"own {path}", scope=Scope.parse(path)) for path in SIMILAR_SCOPES]
        shared = [a_note(f"shared {path}", scope=Scope.parse(path), shared=True) for path in SIMILAR_SCOPES]
        put(writer, *own, *shared)
        for scope in scopes:
            expected = [one.id for one in own if one.scope == scope]
            expected += [one.id for one in shared if one.scope.parts == scope.parts[: len(one.scope.parts)]]
            assert visible_ids(store, scope) == sorted(expected)
            everyone = [one.id for one in (*own, *shared)]
            assert sorted(one.id for one in store.get(scope, everyone)) == sorted(expected)
            below = [one.id for one in (*own, *shared) if one.scope.parts[: len(scope.parts)] == scope.parts]
            listed = store.memories(scope, below=True, statuses=[Status.ACTIVE])
            assert [one.id for one in listed] == sorted(below)
            inside = [one for one in scopes if one.parts[: len(scope.parts)] == scope.parts]
            assert store.scopes(scope) == sorted(inside, key=str)
        assert store.scopes(None) == sorted(scopes, key=str)

    @affected_by(Variant.SECOND_WRITER)
    def test_a_scope_is_known_as_long_as_it_has_a_memory_whatever_its_standing(
        self, store: Store, writer: Store
    ) -> None:
        assert store.scopes(None) == store.scopes(ROOT) == []
        put(writer, a_note("ana", scope=ANA, status=Status.FORGOTTEN), a_note("ben", scope=BEN, shared=True))
        writer.write(lambda writing: add_context(writing, a_context_record("context", scope=TEAM)))
        assert store.scopes(None) == store.scopes(TEAM) == [ANA, BEN]
        assert (store.scopes(ANA), store.scopes(Scope.parse("acme/team/an"))) == ([ANA], [])
        writer.write(lambda writing: writing.erase(ANA, ids("ana")))
        assert store.scopes(ROOT) == [BEN]

    @affected_by(Variant.SMALL_CACHE)
    def test_what_an_ancestor_shares_is_seen_below_and_what_it_does_not_share_is_not(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("root-shared", scope=ROOT, shared=True), a_note("root-own", scope=ROOT))
        put(writer, a_note("team-shared", scope=TEAM, shared=True), a_note("team-own", scope=TEAM))
        put(writer, a_note("ana", scope=ANA))
        assert visible_ids(store, ANA) == ["ana", "root-shared", "team-shared"]
        assert visible_ids(store, TEAM) == ["root-shared", "team-own", "team-shared"]
        assert visible_ids(store, "acme/other") == ["root-shared"]
        assert [one.id for one in store.get(ANA, ids("root-own", "team-own", "root-shared"))] == ["root-shared"]

    def test_siblings_see_nothing_of_each_other_whether_shared_or_not(self, store: Store, writer: Store) -> None:
        put(writer, a_note("ana", scope=ANA), a_note("ana-shared", scope=ANA, shared=True), a_note("ben", scope=BEN))
        assert visible_ids(store, BEN) == ["ben"]
        assert store.get(BEN, ids("ana", "ana-shared")) == []

    def test_what_is_below_is_never_seen_whether_shared_or_not(self, store: Store, writer: Store) -> None:
        put(writer, a_note("ana", scope=ANA), a_note("ana-shared", scope=ANA, shared=True))
        assert visible_ids(store, TEAM) == visible_ids(store, ROOT) == []
        assert store.get(TEAM, ids("ana", "ana-shared")) == store.get(ROOT, ids("ana", "ana-shared")) == []

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_a_memory_is_seen_below_from_when_it_is_shared_until_it_no_longer_is(
        self, store: Store, writer: Store
    ) -> None:
        note = a_note("note", scope=TEAM)
        put(writer, note, a_note("other", scope=TEAM, shared=True))
        assert [visible_ids(store, ANA), visible_ids(store, TEAM)] == [["other"], ["note", "other"]]
        put(writer, note.with_changes(shared=True))
        assert [visible_ids(store, ANA), visible_ids(store, TEAM)] == [["note", "other"], ["note", "other"]]
        put(writer, note)
        assert [visible_ids(store, ANA), visible_ids(store, TEAM)] == [["other"], ["note", "other"]]
        put(writer, note.with_changes(status=Status.FORGOTTEN), a_note("third", scope=TEAM, shared=True))
        assert [visible_ids(store, ANA), visible_ids(store, TEAM)] == [["other", "third"], ["other", "third"]]
        put(writer, note.with_changes(shared=True))
        assert visible_ids(store, ANA) == ["note", "other", "third"]

    def test_memories_come_in_the_order_asked_and_those_not_seen_are_skipped(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(id, scope=ANA) for id in "abc"), a_note("theirs", scope=BEN))
        found = store.get(ANA, ids("c", "theirs", "a", "missing", "c"))
        assert [one.id for one in found] == ["c", "a", "c"]
        assert store.get(ANA, []) == []

    def test_the_usage_of_what_is_not_seen_is_that_of_what_does_not_exist(self, store: Store, writer: Store) -> None:
        put(writer, a_note("theirs", scope=BEN), a_note("team", scope=TEAM, shared=True))
        writer.write(lambda writing: count_uses(writing, BEN, ids("theirs", "team"), Use.SERVED, NOW, None))
        used = Usage(served=1, last_served_at=NOW)
        assert store.usage(ANA, ids("theirs", "missing", "team")) == [NO_USAGE, NO_USAGE, used]

    def test_uses_and_votes_count_only_for_what_the_scope_may_see(self, store: Store, writer: Store) -> None:
        put(writer, a_note("theirs", scope=BEN), a_note("team", scope=TEAM, shared=True), a_note("own", scope=TEAM))
        named = ids("theirs", "team", "own", "missing")
        writer.write(lambda writing: count_uses(writing, ANA, named, Use.SERVED, NOW, None))
        writer.write(lambda writing: cast_votes(writing, ANA, [a_vote(one) for one in named]))
        assert store.usage(BEN, ids("theirs")) == [NO_USAGE]
        assert store.usage(TEAM, ids("own", "team")) == [NO_USAGE, Usage(served=1, helped=1, last_served_at=NOW)]

    @affected_by(Variant.SECOND_WRITER)
    def test_the_history_of_a_memory_is_its_own_scopes_and_below_what_of_it_was_shared(
        self, store: Store, writer: Store
    ) -> None:
        note = a_note("note", scope=TEAM, text="between us")
        (first,) = put(writer, note)
        (second,) = put(writer, note.with_changes(text="for everyone", shared=True))
        assert store.history(TEAM, note.id) == [first, second]
        assert store.history(ANA, note.id) == [second]
        assert store.history(ROOT, note.id) == store.history(Scope.parse("acme-labs"), note.id) == []
        put(writer, note.with_changes(text="between us again"))
        assert store.history(ANA, note.id) == []

    def test_a_writing_gives_the_scopes_own_memory_alone(self, writer: Store) -> None:
        (kept,) = put(writer, a_note("team", scope=TEAM, shared=True))
        assert writer.write(lambda writing: writing.get(TEAM, kept.id)) == kept
        for scope in (ROOT, ANA, Scope.parse("acme-labs")):
            assert writer.write(lambda writing, scope=scope: writing.get(scope, kept.id)) is None  # type: ignore[misc]

    def test_a_context_is_its_own_scopes_alone(self, store: Store, writer: Store) -> None:
        trace = a_context_record("context", scope=TEAM)
        writer.write(lambda writing: add_context(writing, trace))
        assert store.context(TEAM, "context") == trace
        assert [store.context(scope, "context") for scope in (ROOT, ANA, BEN)] == [None, None, None]
        assert store.context(TEAM, "another") is None

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_a_scope_that_only_has_contexts_sees_what_is_shared_with_it_and_later_its_own(
        self, store: Store, writer: Store
    ) -> None:
        for trace in (a_context_record("ana", scope=ANA), a_context_record("team", scope=TEAM)):
            writer.write(lambda writing, trace=trace: add_context(writing, trace))  # type: ignore[misc]
        assert visible_ids(store, ANA) == []
        put(writer, a_note("root", scope=ROOT, shared=True))
        assert visible_ids(store, ANA) == ["root"]
        put(writer, a_note("ana", scope=ANA), a_note("team", scope=TEAM, shared=True))
        assert visible_ids(store, ANA) == ["ana", "root", "team"]

    def test_memories_are_listed_for_a_scope_or_for_all_below_it_by_id_and_status(
        self, store: Store, writer: Store
    ) -> None:
        forgotten = a_note("d", scope=ANA, status=Status.FORGOTTEN)
        put(writer, a_note("b", scope=TEAM, shared=True), a_note("c", scope=ANA), a_note("a", scope=BEN), forgotten)
        put(writer, *(a_note(f"not-{n}", scope=Scope.parse(p)) for n, p in enumerate(["acme/team-2", "acme", "acme0"])))

        def list_ids(scope: Scope, *statuses: Status, below: bool) -> list[str]:
            return [one.id for one in store.memories(scope, below=below, statuses=statuses)]

        assert list_ids(TEAM, Status.ACTIVE, below=False) == ["b"]
        assert list_ids(TEAM, Status.ACTIVE, below=True) == ["a", "b", "c"]
        assert list_ids(ANA, Status.ACTIVE, Status.FORGOTTEN, below=False) == ["c", "d"]
        assert list_ids(TEAM, *Status, below=True) == ["a", "b", "c", "d"]
        assert list_ids(TEAM, below=True) == []
        assert list_ids(Scope.parse("acm"), *Status, below=True) == []

    def test_a_list_goes_on_after_an_id_and_ends_where_it_is_told_to(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(id, scope=ANA) for id in "bdf"), *(a_note(id, scope=BEN) for id in "ac"))
        put(writer, a_note("e", scope=TEAM, status=Status.FORGOTTEN), a_note("é", scope=TEAM))
        put(writer, *(a_note(id, scope=Scope.parse("acme/team-2")) for id in ("bb", "cc")))

        def list_ids(scope: Scope, *statuses: Status, after: str | None = None, limit: int | None = None) -> list[str]:
            last = None if after is None else MemoryId(after)
            found = store.memories(scope, below=scope == TEAM, statuses=statuses, after=last, limit=limit)
            return [one.id for one in found]

        known = ["a", "b", "c", "d", "e", "f", "é"]
        for limit in range(1, len(known) + 2):
            assert list_ids(TEAM, *Status, limit=limit) == known[:limit]
            for place, after in enumerate(known, start=1):
                assert list_ids(TEAM, *Status, after=after, limit=limit) == known[place : place + limit]
        assert list_ids(TEAM, *Status, after="d") == ["e", "f", "é"]
        assert list_ids(TEAM, Status.ACTIVE, after="d", limit=2) == ["f", "é"]
        assert list_ids(TEAM, Status.FORGOTTEN, Status.FORGOTTEN, limit=2) == ["e"]
        assert list_ids(TEAM, limit=2) == []
        assert list_ids(ANA, Status.ACTIVE, after="c", limit=1) == ["d"]
        assert list_ids(ANA, Status.ACTIVE, after="cc, which is missing", limit=9) == ["d", "f"]
        assert list_ids(ANA, Status.ACTIVE, after="f", limit=9) == []

    @affected_by(Variant.IN_MEMORY)
    def test_a_list_has_every_memory_however_many_there_are(self, store: Store, writer: Store) -> None:
        kept = put(writer, *(a_note(f"{number:04}", scope=ANA) for number in range(1_234)))
        assert list(store.memories(TEAM, below=True, statuses=[Status.ACTIVE])) == kept
        assert list(store.memories(ANA, below=False, statuses=[Status.ACTIVE], limit=1_001)) == kept[:1_001]
