"""Contract: reads of the past, by what a store knew at a time and what was true at a time.

Both are also read as of any commit, even if several commits have the same time or a clock was set back.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchiveItem
from recollect.model.context import MAX_COUNTED_VOTES, Use
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.retrieval.eligibility import Barrier
from recollect.retrieval.evidence import Evidence
from recollect.testing.builders import (
    ENCODER,
    NOW,
    SCOPE,
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vector,
    a_vote,
    candidates,
    cast_votes,
    count_uses,
    find_candidate,
    gather,
    ids,
    put,
    vector_similarity,
    visible_ids,
)
from recollect.testing.contract import Variant, affected_by
from recollect.testing.contract.evidence import compute_shares, found_shares

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
PARENT_SCOPE = Scope.parse("acme")
MEMORY_ID = MemoryId("a")


class KnownAtContract:
    """`known_at` shows the store as it was: without later changes, with what is gone since."""

    @affected_by(Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_versions_are_given_as_they_were_known(self, store: Store, writer: Store, clock: ManualClock) -> None:
        moments: list[tuple[datetime, list[Memory]]] = [(NOW - TICK, [])]
        for number in range(4):
            kept = put(writer, a_note("a", text=f"version {number}"))
            moments += [(clock.now, kept), (clock.now + DAY - TICK, kept)]
            clock.move(DAY)
        for known_at, expected in moments:
            assert store.get(SCOPE, ids("a", "missing"), known_at=known_at) == expected
            found = gather(store, a_probe(known_at=known_at))
            assert list(store.load(found.snapshot, found.rows.tolist())) == expected

    def test_of_several_versions_in_one_commit_the_last_was_known(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        (first,) = put(writer, a_note("a", text="first"))
        clock.move(DAY)
        *_, third = put(writer, a_note("a", text="second"), a_note("a", text="third"))
        clock.move(DAY)
        *_, fifth = put(writer, a_note("a", text="fourth"), a_note("a", text="fifth"))
        for days, expected in enumerate([first, third, fifth]):
            known_at = NOW + days * DAY
            assert store.get(SCOPE, ids("a"), known_at=known_at) == [expected]
            found = gather(store, a_probe(expected.text, known_at=known_at))
            assert list(store.load(found.snapshot, found.rows.tolist())) == [expected]
            assert find_candidate(found, "a").similarity == vector_similarity(expected.text, expected.text)

    def test_commits_of_one_moment_were_all_known_then(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("a"))
        clock.move(-DAY)
        put(writer, a_note("b"))
        clock.move(3 * DAY)
        put(writer, a_note("c"))
        assert visible_ids(store, SCOPE, known_at=NOW - TICK) == []
        assert visible_ids(store, SCOPE, known_at=NOW) == ["a", "b"]
        assert visible_ids(store, SCOPE, known_at=NOW + 2 * DAY) == ["a", "b", "c"]

    def test_a_clock_far_ahead_is_followed_only_until_one_is_right(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        ages = 60_000 * DAY
        put(writer, a_note("a"))
        clock.move(ages)
        (wrong,) = put(writer, a_note("b"))
        clock.move(DAY - ages)
        (right,) = put(writer, a_note("c"))
        clock.move(DAY)
        assert (wrong.recorded_at, right.recorded_at) == (NOW + ages, NOW + DAY)
        assert visible_ids(store, SCOPE, known_at=NOW) == ["a"]
        assert visible_ids(store, SCOPE, known_at=clock.now) == ["a", "b", "c"]

    @affected_by(Variant.SMALL_CACHE)
    def test_the_commit_is_the_last_that_was_known(self, store: Store, writer: Store, clock: ManualClock) -> None:
        commits = []
        for id in "abc":
            (kept,) = put(writer, a_note(id))
            commits.append(kept.commit)
            clock.move(DAY)
        assert [gather(store, a_probe(known_at=NOW + days * DAY)).snapshot.commit for days in range(3)] == commits
        assert gather(store, a_probe()).snapshot.commit == commits[-1]
        assert gather(store, a_probe(known_at=NOW - TICK)).snapshot.commit == 0

    @affected_by(Variant.SMALL_CACHE)
    def test_status_sharing_pins_and_words_are_those_known_then(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        team = a_note("team", scope=PARENT_SCOPE, text="deploys")
        put(writer, a_note("a", text="deploys on Friday", pinned=True), team)
        clock.move(DAY)
        put(writer, a_note("a", text="deploys on Monday", status=Status.FORGOTTEN), team.with_changes(shared=True))
        clock.move(DAY)
        put(writer, a_note("a", text="deploys on Sunday"), team.with_changes(text="nothing"))
        clock.move(DAY)

        def found_at(days: int) -> tuple[list[str], int, dict[Barrier, int]]:
            found = gather(store, a_probe("deploys", known_at=NOW + days * DAY))
            return sorted(candidates(found)), len(found.pinned), dict(found.barred)

        assert found_at(0) == (["a"], 1, {})
        assert found_at(1) == (["team"], 0, {Barrier.STATUS: 1})
        assert found_at(2) == (["a"], 0, {})
        for days, id, texts in ((0, "a", ["deploys on Friday"]), (1, "team", ["deploys"])):
            found = gather(store, a_probe("deploys", known_at=NOW + days * DAY))
            assert found_shares(found, [id]) == compute_shares("deploys", texts)
        assert [len(store.get(SCOPE, ids("team"), known_at=NOW + days * DAY)) for days in range(3)] == [0, 1, 0]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_uses_are_those_taken_in_until_then(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("a"), a_note("b"))
        for number in range(1, 4):
            clock.move(DAY)
            at = NOW - number * DAY
            writer.write(lambda writing, at=at: count_uses(writing, SCOPE, ids("a"), Use.ECHOED, at, None))  # type: ignore[misc]
            writer.write(lambda writing, at=at: count_uses(writing, SCOPE, ids("a"), Use.SERVED, at, None))  # type: ignore[misc]
        for number in range(4):
            found = gather(store, a_probe(known_at=NOW + number * DAY))
            a, b = find_candidate(found, "a"), find_candidate(found, "b")
            assert (a.served, a.last_accessed_at) == (number, NOW - DAY if number else None)
            assert (b.served, b.last_accessed_at) == (0, None)

    @affected_by(Variant.SMALL_CACHE)
    def test_votes_are_those_that_stood_then(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("a"))
        cast = [a_vote("a"), a_vote("a", by="ben"), a_vote("a", Use.MISLED), a_vote("a", Use.MISLED, context="other")]
        for vote in cast:
            clock.move(DAY)
            writer.write(lambda writing, vote=vote: cast_votes(writing, SCOPE, [vote]))  # type: ignore[misc]
        expected = [None, (1 + 1) / (1 + 2), (2 + 1) / (2 + 2), (1 + 1) / (2 + 2), (1 + 1) / (3 + 2)]
        found = [gather(store, a_probe(known_at=NOW + days * DAY)) for days in range(5)]
        assert [find_candidate(one, "a").usefulness for one in found] == expected

    @affected_by(Variant.SMALL_CACHE)
    def test_what_was_away_for_a_while_comes_back_with_all_that_had_happened_to_it(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        mine, theirs = a_note("a"), a_note("team", scope=PARENT_SCOPE, shared=True)
        put(writer, mine, theirs, a_note("b"))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a", "team"), Use.SERVED, NOW, None))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("a"), a_vote("team", Use.MISLED)]))
        clock.move(DAY)
        put(writer, mine.with_changes(status=Status.FORGOTTEN), theirs.with_changes(shared=False))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("a", by="ben")]))
        clock.move(DAY)
        put(writer, mine, theirs, a_note("new"))
        clock.move(DAY)
        put(writer, a_note("b", text="later"), a_note("other", scope=PARENT_SCOPE))
        expected = {"a": (1, 3 / 4, NOW), "team": (1, 1 / 3, NOW), "b": (0, None, None), "new": (0, None, None)}

        def usage_after(days: int) -> dict[MemoryId, tuple[int | None, float | None, datetime | None]]:
            found = candidates(gather(store, a_probe(known_at=NOW + days * DAY)))
            return {id: (one.served, one.usefulness, one.last_accessed_at) for id, one in found.items()}

        assert usage_after(1) == {"b": (0, None, None)}
        assert usage_after(2) == expected
        assert usage_after(0) == {"a": (1, 2 / 3, NOW), "team": (1, 1 / 3, NOW), "b": (0, None, None)}
        assert usage_after(2) == expected

    def test_of_a_principals_votes_the_newest_few_are_those_taken_in_last_until_then(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        put(writer, a_note("a"))
        ahead = [a_vote("a", context=f"ahead {number}", at=NOW + 365 * DAY) for number in range(MAX_COUNTED_VOTES)]
        for votes in (ahead, [a_vote("a", Use.MISLED, context="x")], [a_vote("a", Use.MISLED, context="ahead 2")]):
            clock.move(DAY)
            writer.write(lambda writing, votes=votes: cast_votes(writing, SCOPE, votes))  # type: ignore[misc]
        clock.move(DAY)
        put(writer, a_note("b"))
        misled = [
            find_candidate(gather(store, a_probe(known_at=NOW + days * DAY)), "a").usefulness for days in (3, 1, 2, 3)
        ]
        assert misled == [(MAX_COUNTED_VOTES - count + 1) / (MAX_COUNTED_VOTES + 2) for count in (2, 0, 1, 2)]

    @affected_by(Variant.SMALL_CACHE)
    def test_the_present_and_what_is_known_now_are_the_same(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        team = [a_note(f"team {number}", scope=PARENT_SCOPE, shared=number % 2 == 0) for number in range(6)]
        put(writer, *(a_note(id, importance=0.5) for id in "abc"), *team)
        clock.move(DAY)
        put(writer, a_note("a", text="changed"), team[0].with_changes(shared=False), team[1].with_changes(shared=True))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("b", "team 2"), Use.SERVED, NOW, None))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("c"), a_vote("team 2", Use.MISLED)]))
        present, known = (gather(store, a_probe("what b says", known_at=moment)) for moment in (None, clock.now))
        assert candidates(present) == candidates(known)
        assert present.snapshot.commit == known.snapshot.commit

    @affected_by(Variant.SMALL_CACHE)
    def test_the_two_clocks_are_moved_apart(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("a", created_at=NOW - 5 * DAY, valid_until=NOW - DAY), a_note("b", created_at=NOW - 2 * DAY))
        clock.move(DAY)
        put(writer, a_note("a", created_at=NOW - 5 * DAY))
        as_of = NOW - 3 * DAY
        assert visible_ids(store, SCOPE, at=as_of) == visible_ids(store, SCOPE, at=as_of, known_at=NOW) == ["a"]
        assert visible_ids(store, SCOPE, at=NOW, known_at=NOW) == ["b"]
        assert visible_ids(store, SCOPE, at=NOW) == ["a", "b"]


class AsOfContract:
    """At a time before a revision, a memory has its text of then and its latest known status."""

    WINDOW = a_note("a", text="window", created_at=NOW - 3 * DAY, updated_at=NOW - 3 * DAY, importance=0.25)
    AISLE = WINDOW.with_changes(text="aisle", updated_at=NOW - DAY, importance=0.75, revisions=2)
    BETWEEN = NOW - 2 * DAY

    @affected_by(Variant.SECOND_WRITER)
    def test_a_memory_says_what_it_said_and_stands_where_it_stands(self, store: Store, writer: Store) -> None:
        end = NOW + DAY
        (window,) = put(writer, self.WINDOW)
        put(writer, self.AISLE)
        assert load_visible(store, self.BETWEEN) == [window]
        put(writer, self.AISLE.with_changes(pinned=True))
        found = gather(store, a_probe("window", at=self.BETWEEN))
        candidate = find_candidate(found, "a")
        assert (candidate.importance, candidate.revisions) == (0.25, 1)
        assert candidate.similarity == vector_similarity("window", "window")
        assert len(found.pinned) == 1
        assert load_visible(store, self.BETWEEN) == [window.with_changes(pinned=True)]
        put(writer, self.AISLE.with_changes(status=Status.SUPERSEDED, valid_until=end))
        assert load_visible(store, self.BETWEEN) == [window.with_changes(status=Status.SUPERSEDED, valid_until=end)]
        put(writer, self.AISLE.with_changes(status=Status.FORGOTTEN))
        assert load_visible(store, self.BETWEEN) == []
        assert gather(store, a_probe(at=self.BETWEEN)).barred == {Barrier.STATUS: 1}

    @affected_by(Variant.SMALL_CACHE)
    def test_its_standing_is_that_of_what_was_known(self, store: Store, writer: Store, clock: ManualClock) -> None:
        (window,) = put(writer, self.WINDOW)
        put(writer, self.AISLE.with_changes(pinned=True))
        clock.move(DAY)
        put(writer, self.AISLE.with_changes(status=Status.FORGOTTEN))
        assert load_visible(store, self.BETWEEN, known_at=NOW) == [window.with_changes(pinned=True)]
        assert load_visible(store, self.BETWEEN) == []

    def test_of_several_versions_in_one_commit_each_has_its_time(self, store: Store, writer: Store) -> None:
        later = self.AISLE.with_changes(text="standing", updated_at=NOW, revisions=3)
        window, aisle, standing = put(writer, self.WINDOW, self.AISLE, later)
        moments = {self.BETWEEN: window, NOW - DAY: aisle, NOW - TICK: aisle, NOW: standing}
        assert {at: load_visible(store, at) for at in moments} == {at: [one] for at, one in moments.items()}

    @affected_by(Variant.SECOND_WRITER)
    def test_what_was_erased_meanwhile_is_gone_in_every_version(self, store: Store, writer: Store) -> None:
        put(writer, self.WINDOW)
        put(writer, self.AISLE)
        found = gather(store, a_probe(at=self.BETWEEN))
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        assert list(store.load(found.snapshot, found.rows.tolist())) == [None]
        put(writer, a_note("b", text="another"), a_note("b", text="yet another"))
        assert list(store.load(found.snapshot, found.rows.tolist())) == [None]

    def test_a_text_that_was_not_shared_then_is_not_shown_below(self, store: Store, writer: Store) -> None:
        put(writer, self.WINDOW.with_changes(scope=PARENT_SCOPE))
        put(writer, self.AISLE.with_changes(scope=PARENT_SCOPE, shared=True))
        found = gather(store, a_probe(at=self.BETWEEN))
        assert (len(found.rows), dict(found.barred)) == (0, {Barrier.NOT_YET_KNOWN: 1})
        assert visible_ids(store, SCOPE, at=NOW) == ["a"]

    def test_a_former_text_that_begins_after_its_memory_ended_never_held(self, store: Store, writer: Store) -> None:
        put(writer, self.WINDOW.with_changes(valid_from=self.BETWEEN))
        put(writer, self.AISLE.with_changes(valid_until=NOW - 3 * DAY))
        assert gather(store, a_probe(at=self.BETWEEN)).barred == {Barrier.NO_LONGER_VALID: 1}


def load_visible(
    store: Store, at: datetime, *, known_at: datetime | None = None, commit: int | None = None
) -> list[Memory | None]:
    """Return the memories that a reader sees for a given time."""
    found = gather(store, a_probe(at=at, known_at=known_at, commit=commit))
    return list(store.load(found.snapshot, found.rows.tolist()))


ONE_DAY = timedelta(days=1)
ALL_LEVELS = frozenset({None, *Level})


class AfterCommitContract:
    """What was known after a commit never changes, unless some of it is erased."""

    @affected_by(Variant.SMALL_CACHE)
    def test_commits_of_one_moment_are_told_apart(self, store: Store, writer: Store, clock: ManualClock) -> None:
        commits = []
        for step, text in ((0, "first"), (0, "second"), (-1, "third"), (5, "fourth")):
            clock.move(step * ONE_DAY)
            (kept,) = put(writer, a_note("a", text=text))
            commits.append((kept.commit, kept))
        for commit, kept in (*commits, *reversed(commits)):
            found = gather(store, a_probe(kept.text, commit=commit))
            assert list(store.load(found.snapshot, found.rows.tolist())) == [kept]
            assert find_candidate(found, "a").similarity == vector_similarity(kept.text, kept.text)
            assert found.snapshot.commit == commit
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
            found = gather(store, a_probe("what b says"))
            then[found.snapshot.commit] = describe_evidence(store, found)

        team = [a_note(f"team {number}", scope=PARENT_SCOPE, shared=number % 2 == 0) for number in range(4)]
        put(writer, *(a_note(id, importance=0.5) for id in "abc"), *team)
        note()
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("b", "team 2"), Use.SERVED, NOW, "context"))
        note()
        put(
            writer,
            a_note("a", text="changed", pinned=True),
            team[0].with_changes(shared=False),
            team[1].with_changes(shared=True),
        )
        note()
        clock.move(-ONE_DAY)
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("c"), a_vote("team 2", Use.MISLED)]))
        note()
        put(writer, a_note("b", status=Status.FORGOTTEN), a_note("d"), team[0].with_changes(shared=True))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("b", "c"), Use.SERVED, NOW + ONE_DAY, None))
        note()
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("c", Use.MISLED), a_vote("a", by="ben")]))
        note()
        put(writer, a_note("b", text="back again"))
        for commit in (*then, *reversed(then), *sorted(then, key=lambda one: one % 3)):
            assert describe_evidence(store, gather(store, a_probe("what b says", commit=commit))) == then[commit]

    def test_what_was_so_at_a_moment_is_told_by_what_was_known(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        window = a_note("a", text="window", created_at=NOW - 3 * ONE_DAY, updated_at=NOW - 3 * ONE_DAY)
        (first,) = put(writer, window)
        (second,) = put(writer, window.with_changes(text="aisle", updated_at=NOW - ONE_DAY))
        put(writer, window.with_changes(text="standing", updated_at=NOW))
        shown = {
            commit: [one and one.text for one in load_visible(store, at, commit=commit)]
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
    """A vector removed from its index is missing only in reads of what was known before."""

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
            found = gather(store, a_probe(question, commit=commit, levels=ALL_LEVELS, restored=given))
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
        assert _list_dropped_vectors(gather(store, asked)) == ["a"]
        assert _list_dropped_vectors(gather(store, replace(asked, known_at=clock.now))) == []
        assert _list_dropped_vectors(gather(store, replace(asked, encoder=None))) == []

    @affected_by(Variant.SMALL_CACHE)
    def test_a_former_text_misses_what_left_after_what_is_known(self, store: Store, writer: Store) -> None:
        said = self.EVENT.with_changes(created_at=NOW - 3 * ONE_DAY, updated_at=NOW - 3 * ONE_DAY)
        came, left = _get_commit(put(writer, said)[0]), _drop_vector(writer, said)
        (revised,) = put(writer, said.with_changes(text="in other words", updated_at=NOW - ONE_DAY))
        found = {
            commit: _list_dropped_vectors(
                gather(store, a_probe("what a says", at=NOW - 2 * ONE_DAY, commit=commit, levels=ALL_LEVELS))
            )
            for commit in (came, left, _get_commit(revised))
        }
        assert found == {came: ["a"], left: [], _get_commit(revised): []}


class ImportedContextContract:
    """An imported context keeps the commit of its own store, or is marked as from elsewhere."""

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


def describe_evidence(store: Store, found: Evidence) -> object:
    """Return everything that was found, by id."""
    rows, names = found.rows.tolist(), found.table.ids
    shown = {names[row]: one for row, one in zip(rows, store.load(found.snapshot, rows), strict=True)}
    return candidates(found), shown, {names[row] for row in found.pinned.tolist()}, dict(found.barred)


def _drop_vector(writer: Store, event: Memory) -> int:
    """Remove the event from the vector index; return the commit."""
    return _get_commit(writer.write(lambda writing: writing.put(event.with_changes(left=(Index.VECTOR,)), None)))


def _get_commit(memory: Memory) -> int:
    assert memory.commit is not None
    return memory.commit


def _gather(store: Store, question: str, commit: int | None) -> Evidence:
    return gather(store, a_probe(question, commit=commit, levels=ALL_LEVELS))


def _list_dropped_vectors(found: Evidence) -> list[str]:
    return [found.table.ids[row] for row in found.snapshot.dropped_vectors]
