"""What a store knew: its versions, uses and votes as they were at any moment since."""

from datetime import datetime, timedelta

from recollect.model.eligibility import Barrier
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.usage import Use
from recollect.ports import Store
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.keeping import (
    Clock,
    a_note,
    a_probe,
    a_vote,
    candidates,
    ids,
    nearness,
    put,
    seen,
    the_candidate,
)
from recollect.testing.promises.gathering import expected_shares, shares

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
TEAM = Scope.parse("acme")
A = MemoryId("a")


class KnownAt:
    """`known_at` is the store as it was: what came later is not known, and what is gone since was there."""

    def test_versions_are_given_as_they_were_known(self, store: Store, writer: Store, clock: Clock) -> None:
        moments: list[tuple[datetime, list[Memory]]] = [(NOW - TICK, [])]
        for number in range(4):
            kept = put(writer, a_note("a", text=f"version {number}"))
            moments += [(clock.now, kept), (clock.now + DAY - TICK, kept)]
            clock.move(DAY)
        for known_at, expected in moments:
            assert store.get(SCOPE, ids("a", "nobody"), known_at=known_at) == expected
            found = store.gather(a_probe(known_at=known_at))
            assert list(found.memories(found.rows.tolist())) == expected

    def test_of_several_versions_in_one_commit_the_last_was_known(
        self, store: Store, writer: Store, clock: Clock
    ) -> None:
        (first,) = put(writer, a_note("a", text="first"))
        clock.move(DAY)
        *_, third = put(writer, a_note("a", text="second"), a_note("a", text="third"))
        clock.move(DAY)
        *_, fifth = put(writer, a_note("a", text="fourth"), a_note("a", text="fifth"))
        for days, expected in enumerate([first, third, fifth]):
            known_at = NOW + days * DAY
            assert store.get(SCOPE, ids("a"), known_at=known_at) == [expected]
            found = store.gather(a_probe(expected.text, known_at=known_at))
            assert list(found.memories(found.rows.tolist())) == [expected]
            assert the_candidate(found, "a").similarity == nearness(expected.text, expected.text)

    def test_commits_of_one_moment_were_all_known_then(self, store: Store, writer: Store, clock: Clock) -> None:
        put(writer, a_note("a"))
        clock.move(-DAY)
        put(writer, a_note("b"))
        clock.move(3 * DAY)
        put(writer, a_note("c"))
        assert seen(store, SCOPE, known_at=NOW - TICK) == []
        assert seen(store, SCOPE, known_at=NOW) == ["a", "b"]
        assert seen(store, SCOPE, known_at=NOW + 2 * DAY) == ["a", "b", "c"]

    def test_the_commit_is_the_last_that_was_known(self, store: Store, writer: Store, clock: Clock) -> None:
        commits = []
        for id in "abc":
            (kept,) = put(writer, a_note(id))
            commits.append(kept.commit)
            clock.move(DAY)
        assert [store.gather(a_probe(known_at=NOW + days * DAY)).commit for days in range(3)] == commits
        assert store.gather(a_probe()).commit == commits[-1]
        assert store.gather(a_probe(known_at=NOW - TICK)).commit == 0

    def test_status_sharing_pins_and_words_are_those_known_then(
        self, store: Store, writer: Store, clock: Clock
    ) -> None:
        team = a_note("team", scope=TEAM, text="deploys")
        put(writer, a_note("a", text="deploys on Friday", pinned=True), team)
        clock.move(DAY)
        put(writer, a_note("a", text="deploys on Monday", status=Status.FORGOTTEN), team.changed(shared=True))
        clock.move(DAY)
        put(writer, a_note("a", text="deploys on Sunday"), team.changed(text="nothing"))
        clock.move(DAY)

        def found_at(days: int) -> tuple[list[str], int, dict[Barrier, int]]:
            found = store.gather(a_probe("deploys", known_at=NOW + days * DAY))
            return sorted(candidates(found)), len(found.pinned), dict(found.barred)

        assert found_at(0) == (["a"], 1, {})
        assert found_at(1) == (["team"], 0, {Barrier.STATUS: 1})
        assert found_at(2) == (["a"], 0, {})
        for days, id, texts in ((0, "a", ["deploys on Friday"]), (1, "team", ["deploys"])):
            found = store.gather(a_probe("deploys", known_at=NOW + days * DAY))
            assert shares(found, [id]) == expected_shares("deploys", texts)
        assert [len(store.get(SCOPE, ids("team"), known_at=NOW + days * DAY)) for days in range(3)] == [0, 1, 0]

    def test_uses_are_those_taken_in_until_then(self, store: Store, writer: Store, clock: Clock) -> None:
        put(writer, a_note("a"), a_note("b"))
        for number in range(1, 4):
            clock.move(DAY)
            at = NOW - number * DAY
            writer.write(lambda writing, at=at: writing.record(SCOPE, ids("a"), Use.ECHOED, at, None))  # type: ignore[misc]
            writer.write(lambda writing, at=at: writing.record(SCOPE, ids("a"), Use.SERVED, at, None))  # type: ignore[misc]
        for number in range(4):
            found = store.gather(a_probe(known_at=NOW + number * DAY))
            a, b = the_candidate(found, "a"), the_candidate(found, "b")
            assert (a.served, a.last_accessed_at) == (number, NOW - DAY if number else None)
            assert (b.served, b.last_accessed_at) == (0, None)

    def test_votes_are_those_that_stood_then(self, store: Store, writer: Store, clock: Clock) -> None:
        put(writer, a_note("a"))
        cast = [a_vote("a"), a_vote("a", by="ben"), a_vote("a", Use.MISLED), a_vote("a", Use.MISLED, context="other")]
        for vote in cast:
            clock.move(DAY)
            writer.write(lambda writing, vote=vote: writing.vote(SCOPE, [vote]))  # type: ignore[misc]
        expected = [None, (1 + 1) / (1 + 2), (2 + 1) / (2 + 2), (1 + 1) / (2 + 2), (1 + 1) / (3 + 2)]
        found = [store.gather(a_probe(known_at=NOW + days * DAY)) for days in range(5)]
        assert [the_candidate(one, "a").usefulness for one in found] == expected

    def test_the_present_and_what_is_known_now_are_the_same(self, store: Store, writer: Store, clock: Clock) -> None:
        team = [a_note(f"team {number}", scope=TEAM, shared=number % 2 == 0) for number in range(6)]
        put(writer, *(a_note(id, importance=0.5) for id in "abc"), *team)
        clock.move(DAY)
        put(writer, a_note("a", text="changed"), team[0].changed(shared=False), team[1].changed(shared=True))
        writer.write(lambda writing: writing.record(SCOPE, ids("b", "team 2"), Use.SERVED, NOW, None))
        writer.write(lambda writing: writing.vote(SCOPE, [a_vote("c"), a_vote("team 2", Use.MISLED)]))
        present, known = (store.gather(a_probe("what b says", known_at=moment)) for moment in (None, clock.now))
        assert candidates(present) == candidates(known)
        assert present.commit == known.commit

    def test_the_two_clocks_are_moved_apart(self, store: Store, writer: Store, clock: Clock) -> None:
        put(writer, a_note("a", created_at=NOW - 5 * DAY, valid_until=NOW - DAY), a_note("b", created_at=NOW - 2 * DAY))
        clock.move(DAY)
        put(writer, a_note("a", created_at=NOW - 5 * DAY))
        as_of = NOW - 3 * DAY
        assert seen(store, SCOPE, at=as_of) == seen(store, SCOPE, at=as_of, known_at=NOW) == ["a"]
        assert seen(store, SCOPE, at=NOW, known_at=NOW) == ["b"]
        assert seen(store, SCOPE, at=NOW) == ["a", "b"]
