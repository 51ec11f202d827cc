"""What speaks for a memory without anybody saying so is noted once for a context, and moves nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.errors import FieldError
from recollect.model.archive import ArchivedMemory
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import NO_USAGE, SIGN_USES, Sign, Usage, Use
from recollect.protocols import Store, WriteTransaction
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.store_builders import (
    ManualClock,
    a_context_record,
    a_note,
    a_probe,
    a_vote,
    candidates,
    ids,
    put,
    write_together,
)
from recollect.testing.variants import Variant, affected_by

PARENT_SCOPE, SIBLING_SCOPE, CHILD_SCOPE = Scope.parse("acme"), Scope.parse("acme/ben"), Scope.parse("acme/ana/below")
ONE_DAY = timedelta(days=1)
FIRST_ID, SECOND_ID = MemoryId("a"), MemoryId("b")


def record_context(writer: Store, id: str, *packed: str, scope: Scope = SCOPE) -> None:
    """Keep what a context was made of."""
    writer.write(lambda writing: writing.trace(a_context_record(id, *packed, scope=scope)))


def record_sign(writer: Store, use: Use, *names: str, context: str = "context", scope: Scope = SCOPE) -> None:
    """Note a sign of each of these in a context."""
    writer.write(lambda writing: writing.record(scope, ids(*names), use, NOW, context))


class ImplicitFeedbackContract:
    """A sign is of a context, a memory and a use, however often and by whomever it is noted."""

    def test_a_sign_is_counted_once_for_a_context(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for _ in range(3):
            record_sign(writer, Use.QUOTED, "a", "a", "nobody")
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
        writer.write(lambda writing: writing.vote(SCOPE, [a_vote("a")]))
        before = candidates(store.gather(a_probe("what a says")))
        for use in sorted(SIGN_USES):
            record_sign(writer, use, "a", "b")
        assert candidates(store.gather(a_probe("what a says"))) == before
        assert [one.usefulness for one in store.usage(SCOPE, ids("a", "b"))] == [2 / 3, None]
        assert store.votes(SCOPE, ["context"]) == []

    def test_a_sign_of_no_context_is_refused(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for use in sorted(SIGN_USES):
            with pytest.raises(FieldError, match=f"'context': is missing; what was {use.value}"):
                writer.write(lambda writing, use=use: writing.record(SCOPE, ids("a"), use, NOW, None))  # type: ignore[misc]
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
            writing.trace(a_context_record("new", "a"))
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
            writer.write(lambda writing: writing.retract(scope, ids(*names), use, "context"))

        retract(Use.FOLLOWED, "a", "b", scope=SIBLING_SCOPE)
        retract(Use.QUOTED, "b", "nobody")
        before = [Usage(followed=2), Usage(quoted=1, followed=2), Usage(followed=2)]
        assert store.usage(SCOPE, ids("team", "a", "b")) == before
        for _ in range(2):
            retract(Use.FOLLOWED, "team", "a", "nobody")
            after = [Usage(followed=1), Usage(quoted=1, followed=1), Usage(followed=2)]
            assert store.usage(SCOPE, ids("team", "a", "b")) == after
        record_sign(writer, Use.FOLLOWED, "a")
        assert store.usage(SCOPE, ids("a")) == [Usage(quoted=1, followed=2)], "it may be noted again"

    def test_only_a_sign_is_taken_back(self, writer: Store) -> None:
        put(writer, a_note("a"))
        with pytest.raises(FieldError, match="'served' is said elsewhere; here it is followed or quoted"):
            writer.write(lambda writing: writing.retract(SCOPE, [FIRST_ID], Use.SERVED, "context"))

    def test_a_use_beside_a_sign_is_counted_each_time(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        write_together(
            writer,
            lambda writing: writing.record(SCOPE, [FIRST_ID, FIRST_ID], Use.SERVED, NOW, "context"),
            lambda writing: writing.record(SCOPE, [FIRST_ID, FIRST_ID], Use.QUOTED, NOW, "context"),
        )
        (usage,) = store.usage(SCOPE, [FIRST_ID])
        assert usage == replace(NO_USAGE, served=2, quoted=1, last_served_at=NOW)
