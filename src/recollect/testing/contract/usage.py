"""Contract: uses, votes, idempotency keys and contexts, which are stored beside a memory.

Implicit feedback (signs) is stored once for each context, and changes no score.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from recollect.errors import FieldError
from recollect.model import changeset
from recollect.model.archive import ArchivedMemory
from recollect.model.context import MAX_COUNTED_VOTES, NO_USAGE, SIGN_USES, Sign, Usage, Use, Vote
from recollect.model.draft import (
    IDEMPOTENCY_KEY_LIFETIME,
    Changed,
    Created,
    IdempotencyRecord,
    Reinforced,
    Unchanged,
    Updated,
    Verdict,
)
from recollect.model.enums import Kind
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
    a_vote,
    add_context,
    add_key,
    an_omitted_memory,
    candidates,
    cast_votes,
    count_uses,
    find_candidate,
    gather,
    ids,
    put,
    retract_signs,
    some_replay_inputs,
    write_together,
)
from recollect.testing.contract import Variant, affected_by

DAY = timedelta(days=1)
MEMORY_ID = MemoryId("a")


def record_use(writer: Store, use: Use, *names: str, at: datetime = NOW) -> None:
    """Record a use of each of these memories."""
    writer.write(lambda writing: count_uses(writing, SCOPE, ids(*names), use, at, "context"))


def vote(writer: Store, *votes: Vote) -> None:
    """Cast these votes in one write."""
    writer.write(lambda writing: cast_votes(writing, SCOPE, votes))


class UseContract:
    """Each use counts once, for the memory that was used; the memory itself does not change."""

    def test_a_memory_that_was_never_used_has_no_usage(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        assert store.usage(SCOPE, ids("a", "missing")) == [NO_USAGE, NO_USAGE]

    def test_uses_are_counted_by_sort_and_the_latest_of_each_is_known(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        record_use(writer, Use.SERVED, "a", "b", at=NOW + 2 * DAY)
        record_use(writer, Use.SERVED, "a", at=NOW + DAY)
        record_use(writer, Use.ECHOED, "a", at=NOW)
        assert store.usage(SCOPE, ids("b", "a")) == [
            Usage(served=1, last_served_at=NOW + 2 * DAY),
            Usage(served=2, echoed=1, last_served_at=NOW + 2 * DAY, last_echoed_at=NOW),
        ]

    def test_one_call_counts_a_memory_as_often_as_it_is_named(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        record_use(writer, Use.SERVED, "a", "missing", "a")
        assert store.usage(SCOPE, ids("a")) == [Usage(served=2, last_served_at=NOW)]

    def test_a_use_changes_nothing_of_the_memory(self, store: Store, writer: Store) -> None:
        kept = put(writer, a_note("a"))
        record_use(writer, Use.SERVED, "a")
        vote(writer, a_vote("a"))
        assert store.get(SCOPE, ids("a")) == store.history(SCOPE, MEMORY_ID) == kept

    def test_a_new_version_keeps_the_usage(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        record_use(writer, Use.SERVED, "a")
        put(writer, a_note("a", text="in other words"))
        assert store.usage(SCOPE, ids("a")) == [Usage(served=1, last_served_at=NOW)]
        assert find_candidate(gather(store, a_probe()), "a").served == 1

    @affected_by(Variant.SECOND_WRITER)
    def test_a_use_and_a_new_version_in_one_commit_are_both_found(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        record_use(writer, Use.SERVED, "a", "b")
        gather(store, a_probe())
        write_together(
            writer,
            lambda writing: count_uses(writing, SCOPE, ids("a", "b"), Use.SERVED, NOW + DAY, None),
            lambda writing: writing.put(a_note("a", text="changed", importance=0.75), None),
            lambda writing: cast_votes(writing, SCOPE, [a_vote("a")]),
        )
        found = gather(store, a_probe())
        a, b = find_candidate(found, "a"), find_candidate(found, "b")
        assert (a.served, a.importance, a.usefulness, a.last_accessed_at) == (2, 0.75, 2 / 3, NOW + DAY)
        assert (b.served, b.importance, b.usefulness, b.last_accessed_at) == (2, None, None, NOW + DAY)

    @affected_by(Variant.SECOND_WRITER)
    def test_uses_are_found_by_the_next_question(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for times in range(1, 4):
            record_use(writer, Use.SERVED, "a", at=NOW + times * DAY)
            found = gather(store, a_probe("what a says"))
            a, b = find_candidate(found, "a"), find_candidate(found, "b")
            assert [(one.served, one.last_accessed_at) for one in (a, b)] == [(times, NOW + times * DAY), (0, None)]

    def test_a_judgement_is_no_use_to_be_counted_and_a_use_no_judgement_to_be_cast(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        for use in (Use.HELPED, Use.MISLED):
            with pytest.raises(FieldError, match="served"):
                record_use(writer, use, "a")
        for use in (Use.SERVED, Use.ECHOED, *SIGN_USES):
            with pytest.raises(FieldError, match="helped"):
                vote(writer, a_vote("a", use))
        assert store.usage(SCOPE, ids("a")) == [NO_USAGE]


class VoteContract:
    """A principal has one vote per context and memory; only the newest few on a memory count."""

    def test_votes_are_counted_by_what_they_say(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        vote(writer, a_vote("a"), a_vote("a", by="ben"), a_vote("a", Use.MISLED, by="cleo"), a_vote("b", Use.MISLED))
        assert store.usage(SCOPE, ids("a", "b")) == [Usage(helped=2, misled=1), Usage(misled=1)]
        found = gather(store, a_probe())
        assert [find_candidate(found, id).usefulness for id in "ab"] == [(2 + 1) / (2 + 1 + 2), (0 + 1) / (0 + 1 + 2)]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_vote_again_in_the_same_context_replaces_the_first(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        vote(writer, a_vote("a"))
        vote(writer, a_vote("a", Use.MISLED, at=NOW + DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(misled=1)]
        vote(writer, a_vote("a", at=NOW - DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=1)]

    def test_votes_in_other_contexts_and_by_others_stand_beside_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        vote(writer, a_vote("a"), a_vote("a", context="another"), a_vote("a", by="ben"))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=3)]

    def test_of_one_principal_only_the_newest_few_votes_on_a_memory_count(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for number in range(MAX_COUNTED_VOTES + 2):
            use = Use.MISLED if number < 3 else Use.HELPED
            vote(writer, a_vote("a", use, context=f"{number}", at=NOW + number * DAY), a_vote("b", context=f"{number}"))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 1, misled=1)]
        assert store.usage(SCOPE, ids("b")) == [Usage(helped=MAX_COUNTED_VOTES)]
        vote(writer, a_vote("a", by="ben"))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES, misled=1)]

    @affected_by(Variant.SECOND_WRITER)
    def test_the_newest_votes_are_those_taken_in_last_whatever_clock_they_were_cast_by(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        ahead = NOW + 365 * DAY
        vote(writer, *(a_vote("a", context=f"{number}", at=ahead) for number in range(MAX_COUNTED_VOTES)))
        vote(writer, a_vote("a", Use.MISLED, context="after", at=NOW))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 1, misled=1)]
        vote(writer, a_vote("a", Use.MISLED, context="0", at=NOW), a_vote("a", context="before", at=NOW - DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 2, misled=2)]

    def test_a_principal_has_no_more_say_by_repeating_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"), a_note("c"))
        vote(writer, *(a_vote("a", at=NOW + number * DAY) for number in range(200)))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=1)]
        vote(writer, *(a_vote("b", context=f"{number}", at=NOW + number * DAY) for number in range(50)))
        assert store.usage(SCOPE, ids("b")) == [Usage(helped=MAX_COUNTED_VOTES)]
        vote(writer, *(a_vote("c", use, by=name) for use, name in ((Use.HELPED, "ana"), (Use.MISLED, "ben"))))
        found = gather(store, a_probe())
        assert [find_candidate(found, id).usefulness for id in "abc"] == [2 / 3, 6 / 7, 2 / 4]

    @affected_by(Variant.SECOND_WRITER)
    def test_the_votes_of_contexts_are_told_as_they_stand(self, store: Store, writer: Store) -> None:
        below = Scope.parse("acme/ana/below")
        put(writer, a_note("b"), a_note("a", shared=True), a_note("mine", scope=below), a_note("hidden"))
        for trace in (
            a_context_record("one", "a", "b"),
            a_context_record("two", "a"),
            a_context_record("theirs", "a", scope=below),
        ):
            writer.write(lambda writing, trace=trace: add_context(writing, trace))  # type: ignore[misc]
        first, second = a_vote("b", Use.MISLED, context="one"), a_vote("b", context="one", at=NOW + DAY)
        others = [a_vote("b", context="one", by="ben"), a_vote("a", context="one"), a_vote("a", context="two")]
        vote(writer, first, *others, second, a_vote("a", context="unknown"))
        theirs = a_vote("a", context="theirs", by="below")
        writer.write(lambda writing: cast_votes(writing, below, [theirs, a_vote("mine", context="theirs")]))
        ben, on_a, in_two = others
        assert store.votes(SCOPE, ["two", "one", "one", "nowhere", "theirs"]) == [on_a, second, ben, in_two]
        assert store.votes(SCOPE, ["two"]) == [in_two]
        assert store.votes(SCOPE, []) == []
        assert store.votes(below, ["one", "theirs"]) == [theirs, a_vote("mine", context="theirs")]
        put(writer, a_note("a", shared=False))
        assert store.votes(below, ["theirs"]) == [a_vote("mine", context="theirs")], "not shared any more"


SAMPLE_VERDICTS: list[Verdict] = [Created(), Updated(3), Reinforced(MEMORY_ID), Changed("pinned"), Unchanged()]


class IdempotencyKeyContract:
    """The result of a write under a key is remembered for thirty days, in its scope."""

    @affected_by(Variant.SECOND_WRITER)
    def test_a_key_is_known_in_its_scope_with_all_that_became_of_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for verdict in SAMPLE_VERDICTS:
            kept = a_key("key", verdict=verdict)
            writer.write(lambda writing, kept=kept: add_key(writing, kept))  # type: ignore[misc]
            assert find_key(store, writer, "key") == kept
        elsewhere = [find_key(store, writer, "key", path) for path in ("acme", "acme/ana/below", "acme/ben")]
        assert elsewhere == [None, None, None]
        assert [find_key(store, writer, key) for key in ("Key", "ke", "other")] == [None, None, None]

    def test_a_key_used_again_is_known_by_what_was_said_last(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        second = a_key("key", body="else", memory=MemoryId("b"), at=NOW + DAY)
        write_together(writer, lambda writing: add_key(writing, a_key("key")), lambda writing: add_key(writing, second))
        assert find_key(store, writer, "key") == second

    def test_a_key_is_forgotten_when_another_of_its_scope_is_kept_more_than_thirty_days_later(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        first = a_key("first")
        writer.write(lambda writing: add_key(writing, first))
        writer.write(lambda writing: add_key(writing, a_key("second", at=NOW + IDEMPOTENCY_KEY_LIFETIME)))
        assert find_key(store, writer, "first") == first
        later = NOW + IDEMPOTENCY_KEY_LIFETIME + timedelta(microseconds=1)
        put(writer, a_note("b", scope=Scope.parse("acme/ben")))
        of_ben = a_key("third", memory=MemoryId("b"), at=later, scope=Scope.parse("acme/ben"))
        writer.write(lambda writing: add_key(writing, of_ben))
        assert find_key(store, writer, "first") == first, "another's clock says nothing here"
        writer.write(lambda writing: add_key(writing, a_key("third", at=later)))
        assert find_key(store, writer, "first") is None
        assert find_key(store, writer, "second") is not None


def a_key(key: str, **given: object) -> IdempotencyRecord:
    """Return a record of a key under which the memory `a` was created."""
    fields: dict[str, object] = {"scope": SCOPE, "body": "said", "memory": MEMORY_ID, "verdict": Created(), "at": NOW}
    return IdempotencyRecord(key=key, **{**fields, **given})  # type: ignore[arg-type]


def find_key(store: Store, writer: Store, key: str, path: str = str(SCOPE)) -> IdempotencyRecord | None:
    """Return the record of a key in a scope; readers and writers must see the same one."""
    scope = Scope.parse(path)
    query = changeset.NeighborQuery(scope=scope, retry_key=key)
    inside = writer.write(lambda writing: writing.neighbors(query)).retried
    assert store.neighbors([query])[0].retried == inside
    return inside


class ContextRecordContract:
    """The record of a context is stored whole."""

    def test_a_trace_is_kept_whole(self, store: Store, writer: Store) -> None:
        trace = a_context_record(
            "context",
            *("a", 'quo"te', "b\\c", "é–✓"),
            made_at=NOW + timedelta(microseconds=1),
            at=NOW - DAY,
            known_at=NOW - 2 * DAY,
            question=("first turn\nof two lines", "second ✓"),
            kinds=tuple(kind.value for kind in Kind),
            omitted=(an_omitted_memory("c"), an_omitted_memory("d")),
            excluded={"gate:relevance": 3, "limit": 9},
            marker="m-1",
        )
        writer.write(lambda writing: add_context(writing, trace))
        assert store.context(SCOPE, "context") == trace

    def test_many_traces_are_told_apart(self, store: Store, writer: Store) -> None:
        for number in range(5):
            writer.defer(changeset.Changeset(contexts=(a_context_record(f"{number}", f"m{number}"),)))
        writer.flush()
        assert [store.context(SCOPE, f"{number}") for number in range(5)] == [
            a_context_record(f"{number}", f"m{number}") for number in range(5)
        ]

    def test_with_what_a_context_was_made_is_kept_with_it(self, store: Store, writer: Store) -> None:
        made = a_context_record(
            "context", "a", making=some_replay_inputs(items=3, reserves={"fact": 40}), elsewhere=True
        )
        bare = a_context_record("bare", making=some_replay_inputs(encoder=None, directions=None, text=None))
        write_together(writer, lambda writing: add_context(writing, made), lambda writing: add_context(writing, bare))
        assert [store.context(SCOPE, one.id) for one in (made, bare)] == [made, bare]

    def test_the_contexts_of_a_scope_are_given_by_when_they_were_made(self, store: Store, writer: Store) -> None:
        below = a_context_record("below", scope=Scope.parse("acme/ana/x"))
        kept = [
            a_context_record(f"{id}", made_at=NOW + days * DAY)
            for id, days in (("c", 1), ("b", 0), ("a", 1), ("d", -1))
        ]
        for trace in (below, *kept, a_context_record("above", scope=Scope.parse("acme"))):
            writer.write(lambda writing, trace=trace: add_context(writing, trace))  # type: ignore[misc]
        assert [one.id for one in store.contexts(SCOPE)] == ["d", "b", "a", "c"]
        assert list(store.contexts(below.scope)) == [below]
        assert list(store.contexts(Scope.parse("acme/an"))) == []

    @affected_by(Variant.IN_MEMORY)
    def test_however_many_contexts_there_are_each_is_given_once(self, store: Store, writer: Store) -> None:
        names = [f"{number:04}" for number in range(1_201)]
        write_together(writer, *(lambda writing, id=id: add_context(writing, a_context_record(id)) for id in names))
        assert [one.id for one in store.contexts(SCOPE)] == names

    @affected_by(Variant.SECOND_WRITER)
    def test_what_is_erased_is_in_no_context_any_more_nor_in_a_sum(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"), a_note("c"))
        trace = a_context_record("context", "a", "b", omitted=(an_omitted_memory("c"),), making=some_replay_inputs())
        writer.write(lambda writing: add_context(writing, trace))
        writer.write(lambda writing: writing.erase(SCOPE, ids("c")))
        assert store.context(SCOPE, "context") == replace(trace, omitted=())
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        left = a_context_record("context", "b", making=some_replay_inputs(text=None))
        assert store.context(SCOPE, "context") == left


PARENT_SCOPE, SIBLING_SCOPE, CHILD_SCOPE = Scope.parse("acme"), Scope.parse("acme/ben"), Scope.parse("acme/ana/below")
ONE_DAY = timedelta(days=1)
FIRST_ID, SECOND_ID = MemoryId("a"), MemoryId("b")


def record_context(writer: Store, id: str, *packed: str, scope: Scope = SCOPE) -> None:
    """Store the record of a context."""
    writer.write(lambda writing: add_context(writing, a_context_record(id, *packed, scope=scope)))


def record_sign(writer: Store, use: Use, *names: str, context: str = "context", scope: Scope = SCOPE) -> None:
    """Record a sign for each of these memories in a context."""
    writer.write(lambda writing: count_uses(writing, scope, ids(*names), use, NOW, context))


class ImplicitFeedbackContract:
    """A sign is stored once per context, memory and use, however often it is recorded."""

    def test_a_sign_is_counted_once_for_a_context(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for _ in range(3):
            record_sign(writer, Use.QUOTED, "a", "a", "missing")
            record_sign(writer, Use.FOLLOWED, "a", "b")
        record_sign(writer, Use.QUOTED, "a", context="another")
        assert store.usage(SCOPE, ids("a", "b")) == [Usage(quoted=2, followed=1), Usage(followed=1)]

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_of_several_that_note_it_at_once_one_does(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        with ThreadPoolExecutor(8) as many:
            list(many.map(lambda at: record_sign(writer if at % 2 else store, Use.QUOTED, "a"), range(16)))
        assert store.usage(SCOPE, ids("a")) == [Usage(quoted=1)]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_sign_moves_nothing_that_is_ranked_by(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        writer.write(lambda writing: cast_votes(writing, SCOPE, [a_vote("a")]))
        before = candidates(gather(store, a_probe("what a says")))
        for use in sorted(SIGN_USES):
            record_sign(writer, use, "a", "b")
        assert candidates(gather(store, a_probe("what a says"))) == before
        assert [one.usefulness for one in store.usage(SCOPE, ids("a", "b"))] == [2 / 3, None]
        assert store.votes(SCOPE, ["context"]) == []

    def test_a_sign_of_no_context_is_refused(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for use in sorted(SIGN_USES):
            with pytest.raises(FieldError, match=f"'context': is missing; '{use.value}' is counted once per context"):
                writer.write(lambda writing, use=use: count_uses(writing, SCOPE, ids("a"), use, NOW, None))  # type: ignore[misc]
        assert store.usage(SCOPE, ids("a")) == [NO_USAGE]

    @affected_by(Variant.SECOND_WRITER)
    def test_signs_are_told_by_context_as_far_as_the_scope_may_see(self, store: Store, writer: Store) -> None:
        put(writer, a_note("b"), a_note("a", shared=True), a_note("mine", scope=CHILD_SCOPE))
        record_context(writer, "two", "a", "b")
        record_context(writer, "one", "a")
        record_context(writer, "theirs", "a", "mine", scope=CHILD_SCOPE)
        record_sign(writer, Use.QUOTED, "b", "a", context="two")
        record_sign(writer, Use.FOLLOWED, "a", context="two")
        record_sign(writer, Use.QUOTED, "a", context="one")
        record_sign(writer, Use.QUOTED, "a", context="unknown")
        record_sign(writer, Use.QUOTED, "a", "mine", "b", context="theirs", scope=CHILD_SCOPE)
        told = [
            Sign("two", FIRST_ID, Use.FOLLOWED),
            Sign("two", FIRST_ID, Use.QUOTED),
            Sign("two", SECOND_ID, Use.QUOTED),
        ]
        assert store.signs(SCOPE, ["two", "one", "two", "theirs", "unknown"]) == [
            Sign("one", FIRST_ID, Use.QUOTED),
            *told,
        ]
        assert store.signs(SCOPE, []) == store.signs(SIBLING_SCOPE, ["one", "two"]) == []
        below = [Sign("theirs", FIRST_ID, Use.QUOTED), Sign("theirs", MemoryId("mine"), Use.QUOTED)]
        assert store.signs(CHILD_SCOPE, ["theirs", "two"]) == below
        put(writer, a_note("a", shared=False))
        assert store.signs(CHILD_SCOPE, ["theirs"]) == below[1:], "not shared any more"

    def test_a_sign_is_known_from_when_it_was_noted(self, store: Store, writer: Store, clock: ManualClock) -> None:
        put(writer, a_note("a"))
        clock.move(ONE_DAY)
        record_sign(writer, Use.QUOTED, "a")
        clock.move(ONE_DAY)
        record_sign(writer, Use.QUOTED, "a")
        (saved,) = (one for one in store.export(None)[1] if isinstance(one, ArchivedMemory))
        assert [(one.use, one.context, one.recorded_at) for one in saved.uses] == [
            (Use.QUOTED, "context", NOW + ONE_DAY)
        ]

    def test_what_a_context_was_made_of_is_known_to_who_writes(self, store: Store, writer: Store) -> None:
        def look(writing: WriteTransaction) -> list[object]:
            known = [writing.context(scope, "new") for scope in (SCOPE, SIBLING_SCOPE)]
            return [writing.context(SCOPE, "context"), writing.context(CHILD_SCOPE, "context"), *known]

        def change(writing: WriteTransaction) -> list[object]:
            add_context(writing, a_context_record("new", "a"))
            return look(writing)

        record_context(writer, "context", "a")
        assert writer.write(look) == [a_context_record("context", "a"), None, None, None]
        assert writer.write(change) == [a_context_record("context", "a"), None, a_context_record("new", "a"), None]

    def test_no_sign_of_an_erased_memory_stays(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        record_context(writer, "context", "a", "b")
        record_sign(writer, Use.QUOTED, "a", "b")
        record_sign(writer, Use.FOLLOWED, "a")
        assert writer.write(lambda writing: writing.erase(SCOPE, [FIRST_ID])).uses == 2
        assert store.signs(SCOPE, ["context"]) == [Sign("context", SECOND_ID, Use.QUOTED)]
        put(writer, a_note("a"))
        assert store.usage(SCOPE, ids("a", "b")) == [NO_USAGE, Usage(quoted=1)]

    def test_no_sign_stays_of_the_contexts_of_an_erased_scope(self, store: Store, writer: Store) -> None:
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True), a_note("mine"))
        for context, scope in (("mine", SCOPE), ("theirs", SIBLING_SCOPE)):
            record_context(writer, context, "team", scope=scope)
            for use in (Use.SERVED, *sorted(SIGN_USES)):
                record_sign(writer, use, "team", context=context, scope=scope)
        record_sign(writer, Use.QUOTED, "mine", context="mine")
        assert writer.write(lambda writing: writing.erase_all(SCOPE)).uses == 1
        assert store.usage(PARENT_SCOPE, ids("team")) == [Usage(served=2, quoted=1, followed=1, last_served_at=NOW)]
        (team,) = (one for one in store.export(None)[1] if isinstance(one, ArchivedMemory))
        assert [(one.use, one.context) for one in team.uses] == [
            (Use.SERVED, None),
            *((use, "theirs") for use in (Use.SERVED, *sorted(SIGN_USES))),
        ]
        assert store.signs(SIBLING_SCOPE, ["mine", "theirs"]) == [
            Sign("theirs", MemoryId("team"), use) for use in (Use.FOLLOWED, Use.QUOTED)
        ]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_sign_can_be_taken_back_and_noted_again(self, store: Store, writer: Store) -> None:
        put(writer, a_note("team", scope=PARENT_SCOPE, shared=True), a_note("a"), a_note("b"))
        for context in ("context", "another"):
            record_sign(writer, Use.FOLLOWED, "team", "a", "b", context=context)
        record_sign(writer, Use.QUOTED, "a")

        def retract(use: Use, *names: str, scope: Scope = SCOPE) -> None:
            writer.write(lambda writing: retract_signs(writing, scope, ids(*names), use, "context"))

        retract(Use.FOLLOWED, "a", "b", scope=SIBLING_SCOPE)
        retract(Use.QUOTED, "b", "missing")
        before = [Usage(followed=2), Usage(quoted=1, followed=2), Usage(followed=2)]
        assert store.usage(SCOPE, ids("team", "a", "b")) == before
        for _ in range(2):
            retract(Use.FOLLOWED, "team", "a", "missing")
            after = [Usage(followed=1), Usage(quoted=1, followed=1), Usage(followed=2)]
            assert store.usage(SCOPE, ids("team", "a", "b")) == after
        record_sign(writer, Use.FOLLOWED, "a")
        assert store.usage(SCOPE, ids("a")) == [Usage(quoted=1, followed=2)], "it may be noted again"

    def test_only_a_sign_is_taken_back(self, writer: Store) -> None:
        put(writer, a_note("a"))
        with pytest.raises(FieldError, match="'served' is not allowed here; use followed or quoted"):
            writer.write(lambda writing: retract_signs(writing, SCOPE, [FIRST_ID], Use.SERVED, "context"))

    def test_a_use_beside_a_sign_is_counted_each_time(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        write_together(
            writer,
            lambda writing: count_uses(writing, SCOPE, [FIRST_ID, FIRST_ID], Use.SERVED, NOW, "context"),
            lambda writing: count_uses(writing, SCOPE, [FIRST_ID, FIRST_ID], Use.QUOTED, NOW, "context"),
        )
        (usage,) = store.usage(SCOPE, [FIRST_ID])
        assert usage == replace(NO_USAGE, served=2, quoted=1, last_served_at=NOW)
