"""A recorded context comes back as it was, to the last bit, or what is not so any more is named."""

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect import factory
from recollect.errors import Conflict, FieldError, NotFound
from recollect.model.context import DifferenceKind
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.protocols import Purpose
from recollect.providers.hashing import HashingEmbedder
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import ManualClock, a_context_record, add_context

from .shell import Shell
from .stores import on_both_stores

ANA, TEAM, BEN, STRANGER = "acme/ana", "acme", "acme/ben", "globex/zoe"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
SEATS = "Ana prefers window seats", "Ana dislikes seats near the exit", "The seats in front are for the crew"
WHICH = "which seats should I book for Ana?"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGAN)


@pytest.fixture
def memory(target: str, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing-64", clock=clock) as engine:
        yield engine


def fill(engine: recollect.Engine, scope: str = ANA, texts: Sequence[str] = SEATS, **more: Any) -> list[str]:
    return [str(one.id) for one in engine.remember_all([{"text": text, **more} for text in texts], scope=scope)]


def asked(engine: recollect.Engine, question: str = WHICH, scope: str = ANA, **given: Any) -> recollect.Context:
    context = engine.recall(question, scope=scope, **given)
    engine.admin.flush()
    return context


def replayed(engine: recollect.Engine, context: recollect.Context, scope: str = ANA) -> recollect.Replay:
    assert context.id is not None
    return engine.contexts.replay(context.id, scope=scope)


def same(engine: recollect.Engine, context: recollect.Context, scope: str = ANA) -> bool:
    """Whether the context comes back, and is what it was in every respect."""
    again = replayed(engine, context, scope)
    assert again.identical == (again.differences == ())
    whole = [
        (one.id, one.text, one.packed, one.omitted, one.tokens, one.estimated, one.budget, one.marker)
        for one in (again.context, context)
    ]
    assert (whole[0] == whole[1]) == again.identical
    return again.identical


def whats(engine: recollect.Engine, context: recollect.Context, scope: str = ANA) -> set[DifferenceKind]:
    return {one.what for one in replayed(engine, context, scope).differences}


def edited(engine: recollect.Engine, change: Callable[[dict[str, Any]], object]) -> list[str]:
    """An export of which every context was changed, as another version would have written it."""
    *lines, _ = engine.export()
    for place, line in enumerate(lines):
        value = json.loads(line)
        if "context" in value:
            change(value["context"])
            lines[place] = json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"
    sum = hashlib.sha256("".join(lines).encode()).hexdigest()
    return [*lines, json.dumps({"lines": len(lines), "sha256": sum}) + "\n"]


class TestIdentical:
    @on_both_stores
    def test_whatever_is_written_later_the_context_stays_what_it_was(
        self, memory: recollect.Engine, clock: ManualClock
    ) -> None:
        window, exit, crew = fill(memory)
        (shared,) = fill(memory, TEAM, ["The team books seats on Mondays"], shared=True)
        context = asked(memory)
        memory.feedback(context.id or "", scope=ANA, helped=[window], misled=[exit])
        clock.move(-DAY)
        memory.revise(window, "Ana prefers aisle seats", scope=ANA)
        memory.forget(exit, scope=ANA)
        memory.pin(crew, scope=ANA)
        memory.revise(shared, "The team books seats on Fridays", scope=TEAM)
        fill(memory, texts=["Ana asks for seats with a table"], speaker="Zoe")
        assert len(context.packed) == 4
        assert same(memory, context)

    @on_both_stores
    def test_a_memory_that_was_forgotten_for_a_while_has_its_votes_whichever_is_replayed_first(
        self, memory: recollect.Engine, clock: ManualClock
    ) -> None:
        window, *_ = fill(memory)
        contexts = [asked(memory)]
        memory.feedback(contexts[0].id or "", scope=ANA, helped=[window])
        for change in (memory.forget, memory.restore):
            clock.move(DAY)
            change(window, scope=ANA)
            contexts.append(asked(memory))
        fill(memory, texts=["Ana asks for seats with a table"])
        assert all(same(memory, one) for one in (*reversed(contexts), *contexts))

    @on_both_stores
    def test_commits_of_one_moment_are_told_apart(self, memory: recollect.Engine, clock: ManualClock) -> None:
        contexts = []
        for number in range(6):
            fill(memory, texts=[f"Ana likes seat {number}"])
            contexts.append(asked(memory, profile="five-signal", tokens=Budget(200, items=3)))
            clock.move(timedelta(0) if number % 2 else -MINUTE)
        assert all(same(memory, one) for one in (*contexts, *reversed(contexts)))

    @on_both_stores
    def test_what_counts_as_use_does_not_count_backwards(self, memory: recollect.Engine) -> None:
        fill(memory)
        first = asked(memory, profile="salience")
        second = asked(memory, profile="salience")
        assert [float(one.score) for one in first.packed] != [float(one.score) for one in second.packed]
        assert same(memory, first)
        assert same(memory, second)

    @on_both_stores
    def test_both_clocks_kinds_levels_and_the_whole_budget_are_as_they_were(
        self, memory: recollect.Engine, clock: ManualClock
    ) -> None:
        window, *_ = fill(memory, kind="preference", at=BEGAN - 5 * DAY)
        fill(memory, texts=["Flights are booked by Ben", "Trains are booked by Ana"], kind="fact", pinned=True)
        memory.observe(["Ana asked for a seat", "Ben booked a seat for Ana"], scope=ANA)
        clock.move(DAY)
        memory.revise(window, "Ana prefers aisle seats now", scope=ANA)
        clock.move(DAY)
        budget = Budget(260, reserves={recollect.Kind.PREFERENCE: 90}, items=3, pinned_share=0.7)
        contexts = [
            asked(memory, as_of=BEGAN),
            asked(memory, known_at=BEGAN),
            asked(memory, known_at=BEGAN + DAY, as_of=BEGAN - DAY),
            asked(memory, past=True, tokens=budget),
            asked(memory, kinds=["fact"], depth=1),
            asked(memory, levels=["event"]),
            asked(memory, levels=[]),
            asked(memory, overrides={"min_score": 0.3}),
            memory.brief(scope=ANA, tokens=budget),
            memory.brief(scope=ANA, as_of=BEGAN, levels=["plain", "event"]),
        ]
        clock.move(-3 * DAY)
        memory.forget(window, scope=ANA)
        memory.admin.flush()
        assert all(same(memory, one) for one in contexts)
        assert any(one.omitted for one in contexts)

    @on_both_stores
    def test_it_counts_as_no_use_and_nothing_is_written(self, memory: recollect.Engine) -> None:
        ids = fill(memory)
        context = asked(memory)
        before = list(memory.export()), [memory.contexts.usage(id, scope=ANA) for id in ids]
        assert same(memory, context)
        memory.admin.flush()
        assert (list(memory.export()), [memory.contexts.usage(id, scope=ANA) for id in ids]) == before

    @on_both_stores
    def test_another_scope_learns_no_more_than_of_a_context_that_never_was(self, memory: recollect.Engine) -> None:
        fill(memory)
        context = asked(memory)
        for scope in (TEAM, BEN, f"{ANA}/x", STRANGER):
            for id in (context.id or "", "nobody", "", "\0", "\ud800"):
                with pytest.raises(NotFound) as refused:
                    memory.contexts.replay(id, scope=scope)
                assert str(refused.value) == f"there is no context {id!r} in {scope}"
        with pytest.raises(FieldError, match="None is not an id"):
            memory.contexts.replay(None, scope=ANA)  # type: ignore[arg-type]

    @on_both_stores
    def test_somebody_who_spoke_for_the_first_time_while_the_question_was_embedded_is_heard_the_next_time(
        self, target: str, clock: ManualClock
    ) -> None:
        with recollect.open(target, embedder=HashingEmbedder(64), clock=clock) as other:
            fill(other, speaker="Ana")

            def meanwhile() -> None:
                fill(other, texts=["I sleep by the window"], speaker="Zoe")

            with recollect.open(target, embedder=Interrupting(meanwhile), clock=clock) as engine:
                context = asked(engine, "where does Zoe sleep?")
            assert "Zoe" not in {one.memory.speaker for one in context.packed}
            assert same(other, context)
            assert next(one.memory.speaker for one in asked(other, "where does Zoe sleep?").packed) == "Zoe"


class TestElsewhere:
    @on_both_stores
    def test_a_new_store_that_takes_in_an_export_has_the_contexts_as_they_were(
        self, memory: recollect.Engine, target: str, clock: ManualClock, tmp_path: Path
    ) -> None:
        contexts = several(memory)
        with recollect.open(tmp_path / "other.db", embedder="hashing-64", clock=clock) as other:
            other.import_(list(memory.export()))
            several(other)
            assert all(same(other, context, scope) for scope, context in contexts)

    def test_a_store_that_is_moved_has_them_too_and_goes_on_from_there(
        self, postgres_store_url: str, clock: ManualClock, tmp_path: Path
    ) -> None:
        with recollect.open(tmp_path / "agent.db", embedder="hashing-64", clock=clock) as engine:
            contexts = several(engine)
        factory.migrate_store(tmp_path / "agent.db", postgres_store_url)
        with recollect.open(postgres_store_url, clock=clock) as moved:
            several(moved)
            assert all(same(moved, context, scope) for scope, context in contexts)
            with recollect.open(tmp_path / "back.db", embedder="hashing-64", clock=clock) as back:
                back.import_(list(moved.export()))
                several(back)
                assert all(same(back, context, scope) for scope, context in contexts)

    def test_a_store_that_has_its_own_says_that_the_context_came_from_elsewhere(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        fill(memory)
        context = asked(memory)
        with recollect.open(tmp_path / "other.db", embedder="hashing-64", clock=clock) as other:
            fill(other, texts=["Ana likes seats upstairs"])
            other.import_(list(memory.export()))
            again = replayed(other, context)
        assert (again.identical, again.differences[0].what) == (False, DifferenceKind.ELSEWHERE)
        assert again.context.id == context.id

    @on_both_stores
    def test_memories_that_did_not_come_along_are_named(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        fill(memory)
        (shared,) = fill(memory, TEAM, ["The team books seats on Mondays"], shared=True)
        context = asked(memory)
        with recollect.open(tmp_path / "other.db", embedder="hashing-64", clock=clock) as other:
            other.import_(list(memory.export(scope=ANA)))
            found = replayed(other, context).differences
        assert [one.name for one in found if one.what is DifferenceKind.MISSING] == [shared]
        assert DifferenceKind.ERASED not in {one.what for one in found}


def several(engine: recollect.Engine) -> list[tuple[str, recollect.Context]]:
    """Contexts of two roots; some served nothing, so that after them nothing was written but in the other root."""
    contexts = []
    for scope in (ANA, STRANGER, BEN, ANA, STRANGER):
        fill(engine, scope, [f"Seat {len(engine.memories(scope=scope))} of {scope} is by the window"])
        contexts += [(scope, asked(engine, scope=scope)), (scope, asked(engine, scope=scope, kinds=["task"]))]
    return contexts


class TestErased:
    @on_both_stores
    def test_a_memory_that_was_packed_cannot_be_named_any_more(self, memory: recollect.Engine) -> None:
        window, *others = fill(memory)
        context = asked(memory)
        memory.erase(scope=ANA, id=window)
        again = replayed(memory, context)
        erased = next(one for one in again.differences if one.what is DifferenceKind.ERASED)
        assert (erased.name, erased.was, erased.again) == (None, "3", "2")
        assert window not in str(again.differences) + again.context.text
        assert {one.id for one in again.context.packed} == {*others}
        text = next(one for one in again.differences if one.what is DifferenceKind.TEXT)
        assert text.was is None
        assert not any(SEATS[0] in line or window in line for line in memory.export())

    @on_both_stores
    def test_one_that_was_only_counted_is_counted(self, memory: recollect.Engine) -> None:
        fill(memory)
        context = memory.brief(scope=ANA, depth=2)
        memory.admin.flush()
        packed = {one.id for one in context.packed}
        (left,) = (one.id for one in memory.memories(scope=ANA) if one.id not in packed)
        memory.erase(scope=ANA, id=left)
        found = replayed(memory, context).differences
        assert [(one.what, one.was, one.again) for one in found] == [
            (DifferenceKind.ERASED, "3", "2"),
            (DifferenceKind.EXCLUDED, "1", None),
        ]

    @on_both_stores
    def test_one_that_was_omitted_leaves_the_text_as_it_was(self, memory: recollect.Engine) -> None:
        fill(memory)
        context = memory.brief(scope=ANA, tokens=Budget(1_200, items=2))
        memory.admin.flush()
        (omitted,) = context.omitted
        memory.erase(scope=ANA, id=omitted.scored.id)
        again = replayed(memory, context)
        assert again.context.text == context.text
        assert [(one.what, one.name, one.was, one.again) for one in again.differences] == [
            (DifferenceKind.ERASED, None, "3", "2"),
            (DifferenceKind.OMITTED, None, "1", "0"),
        ]

    @on_both_stores
    def test_all_of_a_source_and_what_an_ancestor_shared_are_counted(self, memory: recollect.Engine) -> None:
        fill(memory)
        fill(memory, texts=["Seats are blue", "Seats are wide"], source="mail-7")
        (shared,) = fill(memory, TEAM, ["The team books seats on Mondays"], shared=True)
        context = asked(memory)
        memory.erase(scope=ANA, source="mail-7")
        memory.erase(scope=TEAM, id=shared)
        found = replayed(memory, context).differences
        assert [(one.was, one.again) for one in found if one.what is DifferenceKind.ERASED] == [("6", "3")]

    @on_both_stores
    def test_what_another_scope_had_erased_makes_no_difference(self, memory: recollect.Engine) -> None:
        fill(memory)
        fill(memory, BEN)
        context = asked(memory)
        memory.erase(scope=BEN, everything=True)
        assert same(memory, context)

    @on_both_stores
    def test_with_the_scope_of_the_question_its_contexts_are_gone(self, memory: recollect.Engine) -> None:
        fill(memory)
        context = asked(memory)
        memory.erase(scope=ANA, everything=True)
        with pytest.raises(NotFound, match="there is no context"):
            memory.contexts.replay(context.id or "", scope=ANA)

    def test_a_question_that_named_whom_nobody_knows_any_more_is_asked_otherwise(
        self, memory: recollect.Engine
    ) -> None:
        fill(memory, texts=["I sleep by the window", "I work at night"], speaker="Ana")
        (ben,) = fill(memory, texts=["I sleep on the aisle"], speaker="Ben")
        context = asked(memory, "where do Ana and Ben sleep?")
        memory.erase(scope=ANA, id=ben)
        assert {DifferenceKind.ERASED, DifferenceKind.QUESTION} <= whats(memory, context)


class TestAnotherModel:
    @on_both_stores
    def test_a_store_that_was_embedded_anew_names_both_models(
        self, memory: recollect.Engine, target: str, clock: ManualClock
    ) -> None:
        fill(memory)
        context, brief = asked(memory), memory.brief(scope=ANA)
        memory.close()
        recollect.re_embed(target, embedder="hashing-32")
        with recollect.open(target, clock=clock) as engine:
            (found,) = (one for one in replayed(engine, context).differences if one.what is DifferenceKind.ENCODER)
            assert (found.was, found.again) == ("hashing-64 (64 dimensions)", "hashing-32 (32 dimensions)")
            assert same(engine, brief)  # which asked nobody
        recollect.re_embed(target, embedder="hashing-64")
        with recollect.open(target, clock=clock) as engine:
            assert same(engine, context)

    def test_a_model_that_answers_otherwise_today_is_not_asked_again(self, target: str, clock: ManualClock) -> None:
        model = Moody()
        with recollect.open(target, embedder=model, clock=clock) as engine:
            fill(engine)
            context = asked(engine)
        model.mood = "another"
        with recollect.open(target, embedder=model, clock=clock) as engine:
            assert asked(engine).packed != context.packed
            assert same(engine, context)


class TestDeparted:
    LEVELS = ("segment", "grip")

    def lived(self, engine: recollect.Engine, clock: ManualClock) -> recollect.Context:
        """A context of records that leave the index of directions afterwards."""
        engine.observe([{"text": text, "at": BEGAN - n * MINUTE} for n, text in enumerate(SEATS)], scope=ANA)
        clock.move(2 * DAY)
        engine.timeline.rollup(scope=ANA)
        context = asked(engine, levels=self.LEVELS)
        clock.move(60 * DAY)
        (run,) = engine.admin.run("prune-vectors", scope=ANA)
        assert run.memories
        return context

    @on_both_stores
    def test_what_left_the_index_is_embedded_again(self, memory: recollect.Engine, clock: ManualClock) -> None:
        context = self.lived(memory, clock)
        assert context.packed
        assert same(memory, context)

    @on_both_stores
    def test_so_it_is_for_whoever_asks_by_what_was_known(self, memory: recollect.Engine, clock: ManualClock) -> None:
        context = self.lived(memory, clock)
        known = context.ranking.at
        then = asked(memory, levels=self.LEVELS, known_at=known, as_of=known)
        assert [(one.id, one.score) for one in then.packed] == [(one.id, one.score) for one in context.packed]
        assert same(memory, then)

    def test_a_model_that_gives_it_another_direction_is_named(self, target: str, clock: ManualClock) -> None:
        model = Moody()
        with recollect.open(target, embedder=model, clock=clock) as engine:
            context = self.lived(engine, clock)
        model.mood = "another"
        with recollect.open(target, embedder=model, clock=clock) as engine:
            assert DifferenceKind.RESTORED_VECTORS in whats(engine, context)


class TestOtherVersions:
    @pytest.mark.parametrize("what", [DifferenceKind.ANALYZER, DifferenceKind.NAMING, DifferenceKind.COUNTER])
    def test_with_what_it_was_made_is_named_if_it_is_another(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path, what: DifferenceKind
    ) -> None:
        fill(memory)
        context = asked(memory)

        def change(trace: dict[str, Any]) -> None:
            trace["making"][what.value] = "of old"
            trace["tokens"] += 1

        with taken(memory, change, clock, tmp_path) as other:
            found = replayed(other, context).differences
        assert [(one.what, one.was) for one in found] == [
            (what, "of old"),
            (DifferenceKind.TOKENS, str(context.tokens + 1)),
        ]

    def test_how_many_memories_had_a_direction_is_named(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        fill(memory)
        context = asked(memory)

        def change(trace: dict[str, Any]) -> None:
            trace["making"]["directed"] = 2
            trace["packed"][0]["score"] = 0.125

        with taken(memory, change, clock, tmp_path) as other:
            found = replayed(other, context).differences
        first = context.packed[0]
        assert [(one.what, one.name, one.was, one.again) for one in found] == [
            (DifferenceKind.VECTOR_COUNT, None, "2", "3"),
            (DifferenceKind.PACKED, first.id, "0.125", repr(float(first.score))),
        ]

    def test_a_formula_that_is_read_otherwise_is_named(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        fill(memory)
        context = asked(memory)

        def change(trace: dict[str, Any]) -> None:
            formula = json.loads(trace["formula"])
            del formula["question"]  # which this version spells out
            trace["formula"] = json.dumps({**formula, "max_items": 1})

        with taken(memory, change, clock, tmp_path) as other:
            found = whats(other, context)
        assert {DifferenceKind.FORMULA, DifferenceKind.PACKED, DifferenceKind.OMITTED, DifferenceKind.TEXT} <= found

    @pytest.mark.parametrize("formula", ['{"terms": {"vibes": {"weight": 1.0}}}', "{}", '{"hearing": 5}'])
    def test_a_formula_that_cannot_be_read_is_refused(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path, formula: str
    ) -> None:
        fill(memory)
        context = asked(memory)
        with (
            taken(memory, lambda trace: trace.update(formula=formula), clock, tmp_path) as other,
            pytest.raises(Conflict, match="ranked by a formula that this version cannot read"),
        ):
            replayed(other, context)

    @pytest.mark.parametrize("formula", ["[]", "no JSON", "[" * 100_000])
    def test_a_formula_that_is_none_is_refused_where_a_store_has_one_all_the_same(
        self, clock: ManualClock, tmp_path: Path, formula: str
    ) -> None:
        with closing(SqliteStore(tmp_path / "agent.db", clock)) as store:
            store.write(
                lambda writing: add_context(writing, a_context_record("odd", scope=Scope.parse(ANA), formula=formula))
            )
        with (
            recollect.open(tmp_path / "agent.db", embedder="hashing-64", clock=clock) as memory,
            pytest.raises(Conflict, match="ranked by a formula that this version cannot read"),
        ):
            memory.contexts.replay("odd", scope=ANA)

    def test_of_a_context_of_an_older_version_the_text_cannot_be_told(
        self, memory: recollect.Engine, clock: ManualClock, tmp_path: Path
    ) -> None:
        fill(memory)
        contexts = [asked(memory), asked(memory, as_of=BEGAN - DAY), memory.brief(scope=ANA)]
        memory.admin.flush()

        def change(trace: dict[str, Any]) -> None:
            for name in ("making", "past", "levels"):
                del trace[name]

        with taken(memory, change, clock, tmp_path) as other:
            for context in contexts:
                again = replayed(other, context)
                assert [one.what for one in again.differences] == [DifferenceKind.NOT_RECORDED, DifferenceKind.TEXT]
                assert again.context.text == context.text


def taken(
    engine: recollect.Engine, change: Callable[[dict[str, Any]], object], clock: ManualClock, folder: Path
) -> recollect.Engine:
    """Another store that took in all of it, with its contexts changed."""
    other = recollect.open(folder / "other.db", embedder="hashing-64", clock=clock)
    other.import_(edited(engine, change))
    return other


class TestAtATerminal:
    def recalled(self, shell: Shell) -> str:
        for text in SEATS:
            shell("remember", text, "--scope", ANA)
        context: str = shell.json("recall", WHICH, "--scope", ANA)["id"]
        return context

    def test_it_prints_what_recall_printed_and_says_that_it_is_identical(self, shell: Shell) -> None:
        context = self.recalled(shell)
        shell("remember", "Ana prefers aisle seats", "--scope", ANA)
        again = shell.json("replay", context, "--scope", ANA)
        assert (again["id"], again["identical"], again["differences"]) == (context, True, [])
        plain = shell("replay", context, "--scope", ANA)
        assert plain.stdout == again["text"]
        *_, last = plain.stderr.splitlines()
        assert last == "identical to the recorded context, bit for bit"
        assert "relevance" in shell("replay", context, "--scope", ANA, "--explain").stdout

    def test_it_says_what_is_gone_and_the_exit_code_tells_scripts(self, shell: Shell) -> None:
        context = self.recalled(shell)
        gone = shell.json("recall", WHICH, "--scope", ANA)["packed"][0]["id"]
        shell("erase", "--id", gone, "--scope", ANA, "--yes")
        told = shell("replay", context, "--scope", ANA, code=1).stderr
        assert "not identical: packed in" in told
        assert "because only 2 of the 3 memories that were visible still exist; the others were erased" in told
        explained = shell("replay", context, "--scope", ANA, "--explain", code=1).stdout
        assert "text: the recorded text is unknown because part of it was erased" in explained
        found = json.loads(shell("replay", context, "--scope", ANA, "--json", code=1).stdout)
        assert found["identical"] is False
        assert found["differences"][0] == {"what": "erased", "name": None, "was": "3", "again": "2"}

    def test_where_no_text_is_left_no_blank_line_stands_in_its_place(self, shell: Shell) -> None:
        context = self.recalled(shell)
        for one in shell.json("list", "--scope", ANA)["memories"]:
            shell("erase", "--id", one["id"], "--scope", ANA, "--yes")
        explained = shell("replay", context, "--scope", ANA, "--explain", code=1).stdout
        assert explained.splitlines()[0].startswith("packed: was 3, is ")

    def test_a_context_that_is_not_there_is_not_found(self, shell: Shell) -> None:
        context = self.recalled(shell)
        assert f"there is no context '{context}' in {BEN}" in shell("replay", context, "--scope", BEN, code=3).stderr
        assert "there is no context 'x' in" in shell("replay", "x", "--scope", ANA, code=3).stderr


class Interrupting:
    """Hashes texts, and lets something happen once while a question is on its way."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._hashing = HashingEmbedder(64)
        self._meanwhile: Callable[[], object] | None = meanwhile
        self.name, self.dimensions = self._hashing.name, self._hashing.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        if purpose == "query" and self._meanwhile is not None:
            happens, self._meanwhile = self._meanwhile, None
            happens()
        return self._hashing.embed(texts, purpose)


class Moody:
    """Hashes texts with a word of its own in front, which changes with its mood."""

    name, dimensions = "moody", 64
    mood = "good"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        return HashingEmbedder(64).embed([f"{self.mood} {self.mood} {text}" for text in texts], purpose)


def _write_on(pipe: Connection, target: str) -> None:
    """Write until told to stop, and tell how much that was; who is told too soon to have begun writes once."""
    with recollect.open(target, embedder="hashing-64") as engine:
        pipe.send("ready")
        written = 0
        while not (written and pipe.poll()):
            (id,) = fill(engine, texts=[f"Ana likes seat {written}"])
            engine.recall(WHICH, scope=ANA)
            engine.forget(id, scope=ANA)
            written += 1
        pipe.send(written)


@on_both_stores
def test_while_another_process_writes_each_context_comes_back_as_it_was(target: str) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    other = context.Process(target=_write_on, args=(theirs, target), daemon=True)
    with recollect.open(target, embedder="hashing-64") as engine:
        fill(engine)
        made = [asked(engine)]
        other.start()
        theirs.close()
        assert ours.recv() == "ready"
        for _ in range(20):
            made.append(asked(engine))
            assert same(engine, made[-1])
        assert all(same(engine, one) for one in made)
        ours.send("stop")
        assert ours.recv() > 0
        other.join()
