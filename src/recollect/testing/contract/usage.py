"""What happened to a memory is counted beside it: uses, votes, keys and contexts."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from recollect.errors import FieldError
from recollect.model.idempotency import IDEMPOTENCY_KEY_LIFETIME, IdempotencyRecord
from recollect.model.memory import Kind, MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import MAX_COUNTED_VOTES, NO_USAGE, SIGN_USES, Usage, Use, Vote
from recollect.model.verdict import Changed, Created, Reinforced, Unchanged, Updated, Verdict
from recollect.protocols import Store
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.store_builders import (
    a_context_record,
    a_note,
    a_probe,
    a_vote,
    an_omitted_memory,
    find_candidate,
    ids,
    put,
    some_replay_inputs,
    write_together,
)
from recollect.testing.variants import Variant, affected_by

DAY = timedelta(days=1)
MEMORY_ID = MemoryId("a")


def record_use(writer: Store, use: Use, *names: str, at: datetime = NOW) -> None:
    """Count a use of each of these."""
    writer.write(lambda writing: writing.record(SCOPE, ids(*names), use, at, "context"))


def cast_votes(writer: Store, *votes: Vote) -> None:
    """Cast these votes at once."""
    writer.write(lambda writing: writing.vote(SCOPE, votes))


class UseContract:
    """Every use counts once, for the memory it was of, and the memory itself stays as it is."""

    def test_a_memory_that_was_never_used_has_no_usage(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        assert store.usage(SCOPE, ids("a", "nobody")) == [NO_USAGE, NO_USAGE]

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
        record_use(writer, Use.SERVED, "a", "nobody", "a")
        assert store.usage(SCOPE, ids("a")) == [Usage(served=2, last_served_at=NOW)]

    def test_a_use_changes_nothing_of_the_memory(self, store: Store, writer: Store) -> None:
        kept = put(writer, a_note("a"))
        record_use(writer, Use.SERVED, "a")
        cast_votes(writer, a_vote("a"))
        assert store.get(SCOPE, ids("a")) == store.history(SCOPE, MEMORY_ID) == kept

    def test_a_new_version_keeps_the_usage(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        record_use(writer, Use.SERVED, "a")
        put(writer, a_note("a", text="in other words"))
        assert store.usage(SCOPE, ids("a")) == [Usage(served=1, last_served_at=NOW)]
        assert find_candidate(store.gather(a_probe()), "a").served == 1

    @affected_by(Variant.SECOND_WRITER)
    def test_a_use_and_a_new_version_in_one_commit_are_both_found(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        record_use(writer, Use.SERVED, "a", "b")
        store.gather(a_probe())
        write_together(
            writer,
            lambda writing: writing.record(SCOPE, ids("a", "b"), Use.SERVED, NOW + DAY, None),
            lambda writing: writing.put(a_note("a", text="changed", importance=0.75), None),
            lambda writing: writing.vote(SCOPE, [a_vote("a")]),
        )
        found = store.gather(a_probe())
        a, b = find_candidate(found, "a"), find_candidate(found, "b")
        assert (a.served, a.importance, a.usefulness, a.last_accessed_at) == (2, 0.75, 2 / 3, NOW + DAY)
        assert (b.served, b.importance, b.usefulness, b.last_accessed_at) == (2, None, None, NOW + DAY)

    @affected_by(Variant.SECOND_WRITER)
    def test_uses_are_found_by_the_next_question(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for times in range(1, 4):
            record_use(writer, Use.SERVED, "a", at=NOW + times * DAY)
            found = store.gather(a_probe("what a says"))
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
                cast_votes(writer, a_vote("a", use))
        assert store.usage(SCOPE, ids("a")) == [NO_USAGE]


class VoteContract:
    """One vote per principal, context and memory; of one principal's the newest few count."""

    def test_votes_are_counted_by_what_they_say(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        cast_votes(
            writer, a_vote("a"), a_vote("a", by="ben"), a_vote("a", Use.MISLED, by="cleo"), a_vote("b", Use.MISLED)
        )
        assert store.usage(SCOPE, ids("a", "b")) == [Usage(helped=2, misled=1), Usage(misled=1)]
        found = store.gather(a_probe())
        assert [find_candidate(found, id).usefulness for id in "ab"] == [(2 + 1) / (2 + 1 + 2), (0 + 1) / (0 + 1 + 2)]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_vote_again_in_the_same_context_replaces_the_first(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        cast_votes(writer, a_vote("a"))
        cast_votes(writer, a_vote("a", Use.MISLED, at=NOW + DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(misled=1)]
        cast_votes(writer, a_vote("a", at=NOW - DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=1)]

    def test_votes_in_other_contexts_and_by_others_stand_beside_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        cast_votes(writer, a_vote("a"), a_vote("a", context="another"), a_vote("a", by="ben"))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=3)]

    def test_of_one_principal_only_the_newest_few_votes_on_a_memory_count(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for number in range(MAX_COUNTED_VOTES + 2):
            use = Use.MISLED if number < 3 else Use.HELPED
            cast_votes(
                writer, a_vote("a", use, context=f"{number}", at=NOW + number * DAY), a_vote("b", context=f"{number}")
            )
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 1, misled=1)]
        assert store.usage(SCOPE, ids("b")) == [Usage(helped=MAX_COUNTED_VOTES)]
        cast_votes(writer, a_vote("a", by="ben"))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES, misled=1)]

    @affected_by(Variant.SECOND_WRITER)
    def test_the_newest_votes_are_those_taken_in_last_whatever_clock_they_were_cast_by(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        ahead = NOW + 365 * DAY
        cast_votes(writer, *(a_vote("a", context=f"{number}", at=ahead) for number in range(MAX_COUNTED_VOTES)))
        cast_votes(writer, a_vote("a", Use.MISLED, context="after", at=NOW))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 1, misled=1)]
        cast_votes(writer, a_vote("a", Use.MISLED, context="0", at=NOW), a_vote("a", context="before", at=NOW - DAY))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=MAX_COUNTED_VOTES - 2, misled=2)]

    def test_a_principal_has_no_more_say_by_repeating_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"), a_note("c"))
        cast_votes(writer, *(a_vote("a", at=NOW + number * DAY) for number in range(200)))
        assert store.usage(SCOPE, ids("a")) == [Usage(helped=1)]
        cast_votes(writer, *(a_vote("b", context=f"{number}", at=NOW + number * DAY) for number in range(50)))
        assert store.usage(SCOPE, ids("b")) == [Usage(helped=MAX_COUNTED_VOTES)]
        cast_votes(writer, *(a_vote("c", use, by=name) for use, name in ((Use.HELPED, "ana"), (Use.MISLED, "ben"))))
        found = store.gather(a_probe())
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
            writer.write(lambda writing, trace=trace: writing.trace(trace))  # type: ignore[misc]
        first, second = a_vote("b", Use.MISLED, context="one"), a_vote("b", context="one", at=NOW + DAY)
        others = [a_vote("b", context="one", by="ben"), a_vote("a", context="one"), a_vote("a", context="two")]
        cast_votes(writer, first, *others, second, a_vote("a", context="unknown"))
        theirs = a_vote("a", context="theirs", by="below")
        writer.write(lambda writing: writing.vote(below, [theirs, a_vote("mine", context="theirs")]))
        ben, on_a, in_two = others
        assert store.votes(SCOPE, ["two", "one", "one", "nowhere", "theirs"]) == [on_a, second, ben, in_two]
        assert store.votes(SCOPE, ["two"]) == [in_two]
        assert store.votes(SCOPE, []) == []
        assert store.votes(below, ["one", "theirs"]) == [theirs, a_vote("mine", context="theirs")]
        put(writer, a_note("a", shared=False))
        assert store.votes(below, ["theirs"]) == [a_vote("mine", context="theirs")], "not shared any more"


SAMPLE_VERDICTS: list[Verdict] = [Created(), Updated(3), Reinforced(MEMORY_ID), Changed("pinned"), Unchanged()]


class IdempotencyKeyContract:
    """What was said under a key is known for thirty days, in its scope."""

    @affected_by(Variant.SECOND_WRITER)
    def test_a_key_is_known_in_its_scope_with_all_that_became_of_it(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for verdict in SAMPLE_VERDICTS:
            kept = a_key("key", verdict=verdict)
            writer.write(lambda writing, kept=kept: writing.keep(kept))  # type: ignore[misc]
            assert find_key(store, writer, "key") == kept
        elsewhere = [find_key(store, writer, "key", path) for path in ("acme", "acme/ana/below", "acme/ben")]
        assert elsewhere == [None, None, None]
        assert [find_key(store, writer, key) for key in ("Key", "ke", "other")] == [None, None, None]

    def test_a_key_used_again_is_known_by_what_was_said_last(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        second = a_key("key", body="else", memory=MemoryId("b"), at=NOW + DAY)
        write_together(writer, lambda writing: writing.keep(a_key("key")), lambda writing: writing.keep(second))
        assert find_key(store, writer, "key") == second

    def test_a_key_is_forgotten_when_another_of_its_scope_is_kept_more_than_thirty_days_later(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a"))
        first = a_key("first")
        writer.write(lambda writing: writing.keep(first))
        writer.write(lambda writing: writing.keep(a_key("second", at=NOW + IDEMPOTENCY_KEY_LIFETIME)))
        assert find_key(store, writer, "first") == first
        later = NOW + IDEMPOTENCY_KEY_LIFETIME + timedelta(microseconds=1)
        put(writer, a_note("b", scope=Scope.parse("acme/ben")))
        of_ben = a_key("third", memory=MemoryId("b"), at=later, scope=Scope.parse("acme/ben"))
        writer.write(lambda writing: writing.keep(of_ben))
        assert find_key(store, writer, "first") == first, "another's clock says nothing here"
        writer.write(lambda writing: writing.keep(a_key("third", at=later)))
        assert find_key(store, writer, "first") is None
        assert find_key(store, writer, "second") is not None


def a_key(key: str, **given: object) -> IdempotencyRecord:
    """A key under which the memory `a` was created."""
    fields: dict[str, object] = {"scope": SCOPE, "body": "said", "memory": MEMORY_ID, "verdict": Created(), "at": NOW}
    return IdempotencyRecord(key=key, **{**fields, **given})  # type: ignore[arg-type]


def find_key(store: Store, writer: Store, key: str, path: str = str(SCOPE)) -> IdempotencyRecord | None:
    """What is known of the key in a scope: the same to who writes and to who only reads."""
    scope = Scope.parse(path)
    inside = writer.write(lambda writing: writing.kept(scope, key))
    assert store.kept(scope, key) == inside
    return inside


class ContextRecordContract:
    """What a context was made of is kept whole."""

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
        writer.write(lambda writing: writing.trace(trace))
        assert store.context(SCOPE, "context") == trace

    def test_many_traces_are_told_apart(self, store: Store, writer: Store) -> None:
        for number in range(5):
            writer.later(lambda writing, number=number: writing.trace(a_context_record(f"{number}", f"m{number}")))  # type: ignore[misc]
        writer.flush()
        assert [store.context(SCOPE, f"{number}") for number in range(5)] == [
            a_context_record(f"{number}", f"m{number}") for number in range(5)
        ]

    def test_with_what_a_context_was_made_is_kept_with_it(self, store: Store, writer: Store) -> None:
        made = a_context_record(
            "context", "a", making=some_replay_inputs(items=3, reserves={"fact": 40}), elsewhere=True
        )
        bare = a_context_record("bare", making=some_replay_inputs(encoder=None, directions=None, text=None))
        write_together(writer, lambda writing: writing.trace(made), lambda writing: writing.trace(bare))
        assert [store.context(SCOPE, one.id) for one in (made, bare)] == [made, bare]

    def test_the_contexts_of_a_scope_are_given_by_when_they_were_made(self, store: Store, writer: Store) -> None:
        below = a_context_record("below", scope=Scope.parse("acme/ana/x"))
        kept = [
            a_context_record(f"{id}", made_at=NOW + days * DAY)
            for id, days in (("c", 1), ("b", 0), ("a", 1), ("d", -1))
        ]
        for trace in (below, *kept, a_context_record("above", scope=Scope.parse("acme"))):
            writer.write(lambda writing, trace=trace: writing.trace(trace))  # type: ignore[misc]
        assert [one.id for one in store.contexts(SCOPE)] == ["d", "b", "a", "c"]
        assert list(store.contexts(below.scope)) == [below]
        assert list(store.contexts(Scope.parse("acme/an"))) == []

    @affected_by(Variant.IN_MEMORY)
    def test_however_many_contexts_there_are_each_is_given_once(self, store: Store, writer: Store) -> None:
        names = [f"{number:04}" for number in range(1_201)]
        write_together(writer, *(lambda writing, id=id: writing.trace(a_context_record(id)) for id in names))
        assert [one.id for one in store.contexts(SCOPE)] == names

    @affected_by(Variant.SECOND_WRITER)
    def test_what_is_erased_is_in_no_context_any_more_nor_in_a_sum(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"), a_note("c"))
        trace = a_context_record("context", "a", "b", omitted=(an_omitted_memory("c"),), making=some_replay_inputs())
        writer.write(lambda writing: writing.trace(trace))
        writer.write(lambda writing: writing.erase(SCOPE, ids("c")))
        assert store.context(SCOPE, "context") == replace(trace, omitted=())
        writer.write(lambda writing: writing.erase(SCOPE, ids("a")))
        left = a_context_record("context", "b", making=some_replay_inputs(text=None))
        assert store.context(SCOPE, "context") == left
