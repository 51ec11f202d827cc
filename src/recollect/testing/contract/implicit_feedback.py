"""What speaks for a memory without anybody saying so is noted once for a context, and moves nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.errors import FieldError
from recollect.model.archive import Saved
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import SIGNS, UNUSED, Sign, Usage, Use
from recollect.protocols import Store, Writing
from recollect.testing.builders import NOW, SCOPE
from recollect.testing.store_builders import Clock, a_note, a_probe, a_trace, a_vote, candidates, ids, put, together
from recollect.testing.variants import Variant, affected_by

TEAM, OTHER, BELOW = Scope.parse("acme"), Scope.parse("acme/ben"), Scope.parse("acme/ana/below")
DAY = timedelta(days=1)
A, B = MemoryId("a"), MemoryId("b")


def trace(writer: Store, id: str, *packed: str, scope: Scope = SCOPE) -> None:
    """Keep what a context was made of."""
    writer.write(lambda writing: writing.trace(a_trace(id, *packed, scope=scope)))


def sign(writer: Store, use: Use, *names: str, context: str = "context", scope: Scope = SCOPE) -> None:
    """Note a sign of each of these in a context."""
    writer.write(lambda writing: writing.record(scope, ids(*names), use, NOW, context))


class Signs:
    """A sign is of a context, a memory and a use, however often and by whomever it is noted."""

    def test_a_sign_is_counted_once_for_a_context(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        for _ in range(3):
            sign(writer, Use.QUOTED, "a", "a", "nobody")
            sign(writer, Use.FOLLOWED, "a", "b")
        sign(writer, Use.QUOTED, "a", context="another")
        assert store.usage(SCOPE, ids("a", "b")) == [Usage(quoted=2, followed=1), Usage(followed=1)]

    @affected_by(Variant.SECOND_WRITER, Variant.IN_MEMORY)
    def test_of_several_that_note_it_at_once_one_does(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        with ThreadPoolExecutor(8) as many:
            list(many.map(lambda at: sign(writer if at % 2 else store, Use.QUOTED, "a"), range(16)))
        assert store.usage(SCOPE, ids("a")) == [Usage(quoted=1)]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_sign_moves_nothing_that_is_ranked_by(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        writer.write(lambda writing: writing.vote(SCOPE, [a_vote("a")]))
        before = candidates(store.gather(a_probe("what a says")))
        for use in sorted(SIGNS):
            sign(writer, use, "a", "b")
        assert candidates(store.gather(a_probe("what a says"))) == before
        assert [one.usefulness for one in store.usage(SCOPE, ids("a", "b"))] == [2 / 3, None]
        assert store.votes(SCOPE, ["context"]) == []

    def test_a_sign_of_no_context_is_refused(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        for use in sorted(SIGNS):
            with pytest.raises(FieldError, match=f"'context': is missing; what was {use.value}"):
                writer.write(lambda writing, use=use: writing.record(SCOPE, ids("a"), use, NOW, None))  # type: ignore[misc]
        assert store.usage(SCOPE, ids("a")) == [UNUSED]

    @affected_by(Variant.SECOND_WRITER)
    def test_signs_are_told_by_context_as_far_as_the_scope_may_see(self, store: Store, writer: Store) -> None:
        put(writer, a_note("b"), a_note("a", shared=True), a_note("mine", scope=BELOW))
        trace(writer, "two", "a", "b")
        trace(writer, "one", "a")
        trace(writer, "theirs", "a", "mine", scope=BELOW)
        sign(writer, Use.QUOTED, "b", "a", context="two")
        sign(writer, Use.FOLLOWED, "a", context="two")
        sign(writer, Use.QUOTED, "a", context="one")
        sign(writer, Use.QUOTED, "a", context="unknown")
        sign(writer, Use.QUOTED, "a", "mine", "b", context="theirs", scope=BELOW)
        told = [Sign("two", A, Use.FOLLOWED), Sign("two", A, Use.QUOTED), Sign("two", B, Use.QUOTED)]
        assert store.signs(SCOPE, ["two", "one", "two", "theirs", "unknown"]) == [Sign("one", A, Use.QUOTED), *told]
        assert store.signs(SCOPE, []) == store.signs(OTHER, ["one", "two"]) == []
        below = [Sign("theirs", A, Use.QUOTED), Sign("theirs", MemoryId("mine"), Use.QUOTED)]
        assert store.signs(BELOW, ["theirs", "two"]) == below
        put(writer, a_note("a", shared=False))
        assert store.signs(BELOW, ["theirs"]) == below[1:], "not shared any more"

    def test_a_sign_is_known_from_when_it_was_noted(self, store: Store, writer: Store, clock: Clock) -> None:
        put(writer, a_note("a"))
        clock.move(DAY)
        sign(writer, Use.QUOTED, "a")
        clock.move(DAY)
        sign(writer, Use.QUOTED, "a")
        (saved,) = (one for one in store.export(None)[1] if isinstance(one, Saved))
        assert [(one.use, one.context, one.recorded_at) for one in saved.uses] == [(Use.QUOTED, "context", NOW + DAY)]

    def test_what_a_context_was_made_of_is_known_to_who_writes(self, store: Store, writer: Store) -> None:
        def look(writing: Writing) -> list[object]:
            known = [writing.context(scope, "new") for scope in (SCOPE, OTHER)]
            return [writing.context(SCOPE, "context"), writing.context(BELOW, "context"), *known]

        def change(writing: Writing) -> list[object]:
            writing.trace(a_trace("new", "a"))
            return look(writing)

        trace(writer, "context", "a")
        assert writer.write(look) == [a_trace("context", "a"), None, None, None]
        assert writer.write(change) == [a_trace("context", "a"), None, a_trace("new", "a"), None]

    def test_no_sign_of_an_erased_memory_stays(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"), a_note("b"))
        trace(writer, "context", "a", "b")
        sign(writer, Use.QUOTED, "a", "b")
        sign(writer, Use.FOLLOWED, "a")
        assert writer.write(lambda writing: writing.erase(SCOPE, [A])).uses == 2
        assert store.signs(SCOPE, ["context"]) == [Sign("context", B, Use.QUOTED)]
        put(writer, a_note("a"))
        assert store.usage(SCOPE, ids("a", "b")) == [UNUSED, Usage(quoted=1)]

    def test_no_sign_stays_of_the_contexts_of_an_erased_scope(self, store: Store, writer: Store) -> None:
        put(writer, a_note("team", scope=TEAM, shared=True), a_note("mine"))
        for context, scope in (("mine", SCOPE), ("theirs", OTHER)):
            trace(writer, context, "team", scope=scope)
            for use in (Use.SERVED, *sorted(SIGNS)):
                sign(writer, use, "team", context=context, scope=scope)
        sign(writer, Use.QUOTED, "mine", context="mine")
        assert writer.write(lambda writing: writing.erase_all(SCOPE)).uses == 1
        assert store.usage(TEAM, ids("team")) == [Usage(served=2, quoted=1, followed=1, last_served_at=NOW)]
        (team,) = (one for one in store.export(None)[1] if isinstance(one, Saved))
        assert [(one.use, one.context) for one in team.uses] == [
            (Use.SERVED, None),
            *((use, "theirs") for use in (Use.SERVED, *sorted(SIGNS))),
        ]
        assert store.signs(OTHER, ["mine", "theirs"]) == [
            Sign("theirs", MemoryId("team"), use) for use in (Use.FOLLOWED, Use.QUOTED)
        ]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_sign_can_be_taken_back_and_noted_again(self, store: Store, writer: Store) -> None:
        put(writer, a_note("team", scope=TEAM, shared=True), a_note("a"), a_note("b"))
        for context in ("context", "another"):
            sign(writer, Use.FOLLOWED, "team", "a", "b", context=context)
        sign(writer, Use.QUOTED, "a")

        def retract(use: Use, *names: str, scope: Scope = SCOPE) -> None:
            writer.write(lambda writing: writing.retract(scope, ids(*names), use, "context"))

        retract(Use.FOLLOWED, "a", "b", scope=OTHER)
        retract(Use.QUOTED, "b", "nobody")
        before = [Usage(followed=2), Usage(quoted=1, followed=2), Usage(followed=2)]
        assert store.usage(SCOPE, ids("team", "a", "b")) == before
        for _ in range(2):
            retract(Use.FOLLOWED, "team", "a", "nobody")
            after = [Usage(followed=1), Usage(quoted=1, followed=1), Usage(followed=2)]
            assert store.usage(SCOPE, ids("team", "a", "b")) == after
        sign(writer, Use.FOLLOWED, "a")
        assert store.usage(SCOPE, ids("a")) == [Usage(quoted=1, followed=2)], "it may be noted again"

    def test_only_a_sign_is_taken_back(self, writer: Store) -> None:
        put(writer, a_note("a"))
        with pytest.raises(FieldError, match="'served' is said elsewhere; here it is followed or quoted"):
            writer.write(lambda writing: writing.retract(SCOPE, [A], Use.SERVED, "context"))

    def test_a_use_beside_a_sign_is_counted_each_time(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        together(
            writer,
            lambda writing: writing.record(SCOPE, [A, A], Use.SERVED, NOW, "context"),
            lambda writing: writing.record(SCOPE, [A, A], Use.QUOTED, NOW, "context"),
        )
        (usage,) = store.usage(SCOPE, [A])
        assert usage == replace(UNUSED, served=2, quoted=1, last_served_at=NOW)
