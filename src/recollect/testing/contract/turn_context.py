"""Contract: sessions and speakers, where a memory is a turn with the turns before it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import NO_LABEL, CandidateTable
from recollect.protocols import Store
from recollect.retrieval import bm25, turn_context
from recollect.testing.builders import NOW, SCOPE, a_note, a_probe, a_vector, candidates, gather, put, vector_similarity
from recollect.testing.contract import Variant, affected_by
from recollect.testing.contract.evidence import DAY, PARENT_SCOPE, SIBLING_SCOPE, TICK, compute_shares
from recollect.text import questions, tokenizer


class TurnContextContract:
    """A turn is scored together with the turns before it, as far as these may be recalled."""

    LONG_TEXT = " ".join(f"word{number}" for number in range(90))
    TURN_TEXTS = ("where shall we meet?", LONG_TEXT, "at noon", "on Friday at the pier", "fine")

    def make_conversation(self) -> list[Memory]:
        """Return the turns of one session, a minute apart; their ids are in no order."""
        ids = ("d", "a", "e", "b", "c")
        return [
            a_note(id, text=text, session="s", created_at=NOW - (9 - place) * TICK)
            for place, (id, text) in enumerate(zip(ids, self.TURN_TEXTS, strict=True))
        ]

    def make_shared_conversation(self) -> list[Memory]:
        """Return the same turns, but every other one is shared by the scope above.

        Those belong to a session with the same name in that scope.
        """
        return [
            one.with_changes(scope=PARENT_SCOPE, shared=True) if place % 2 else one
            for place, one in enumerate(self.make_conversation())
        ]

    def find_scores(self, store: Store, question: str, **given: Any) -> dict[str, tuple[float | None, float | None]]:
        found = candidates(gather(store, a_probe(question, in_turns=True, **given)))
        return {id: (one.lexical, one.similarity) for id, one in found.items()}

    def compute_scores(
        self, question: str, notes: Sequence[Memory], before: Mapping[str, str]
    ) -> dict[str, tuple[float | None, float | None]]:
        """Return the scores of these turns as the formulas define them.

        `before` maps each turn to the one before it.
        """
        terms = list(dict.fromkeys(tokenizer.tokenize(question)))
        counts: dict[str, dict[str, int]] = {one.id: tokenizer.count_terms(one.searched_text) for one in notes}
        earlier = {id: [one for one in (before.get(id), before.get(before.get(id, ""))) if one] for id in counts}
        asks = {str(one.id): questions.is_question(one.text) for one in notes}
        heard = {
            id: turn_context.count_with_context(counts[id], [(counts[one], asks[one]) for one in earlier[id]])
            for id in counts
        }
        statistics = bm25.count_terms(terms, counts.values(), sum(length for _, length in heard.values()))
        near = {str(one.id): vector_similarity(one.embedded_text, question) for one in notes}
        return {
            id: (
                bm25.score_terms(terms, times, statistics, length),
                turn_context.lend_similarity(near[id], near[before[id]] if id in before else None),
            )
            for id, (times, length) in heard.items()
        }

    def test_a_turn_is_heard_with_the_two_before_it(self, store: Store, writer: Store) -> None:
        notes = self.make_conversation()
        put(writer, *reversed(notes))
        before = {"a": "d", "e": "a", "b": "e", "c": "b"}
        for question in ("where do we meet?", "Friday noon", "word7 pier", "unheard-of"):
            assert self.find_scores(store, question) == self.compute_scores(question, notes, before)

    def test_alone_nothing_is_lent(self, store: Store, writer: Store) -> None:
        notes = self.make_conversation()
        put(writer, *notes)
        found = candidates(gather(store, a_probe("where do we meet?")))
        assert [found[one.id].lexical for one in notes] == compute_shares("where do we meet?", self.TURN_TEXTS)
        assert found[MemoryId("a")].similarity == vector_similarity(self.LONG_TEXT, "where do we meet?")

    def test_without_a_session_a_memory_is_heard_alone(self, store: Store, writer: Store) -> None:
        notes = [one.with_changes(session=None) for one in self.make_conversation()]
        put(writer, *notes)
        alone = candidates(gather(store, a_probe("Friday noon")))
        assert self.find_scores(store, "Friday noon") == {
            id: (one.lexical, one.similarity) for id, one in alone.items()
        }
        added = [a_note("x", text="Friday", session="s"), a_note("y", text="noon", session="t")]
        put(writer, *added)
        assert self.find_scores(store, "Friday noon") == self.compute_scores("Friday noon", [*notes, *added], {})

    def test_what_may_not_be_recalled_lends_nothing_and_does_not_part_its_neighbours(
        self, store: Store, writer: Store
    ) -> None:
        notes = self.make_conversation()
        put(writer, *notes)
        put(
            writer,
            notes[2].with_changes(status=Status.FORGOTTEN),
            a_note("z", text="noon", scope=PARENT_SCOPE, session="s"),
        )
        left = [one for one in notes if one.id != "e"]
        before = {"a": "d", "b": "a", "c": "b"}
        assert self.find_scores(store, "noon on Friday") == self.compute_scores("noon on Friday", left, before)

    def test_what_was_said_later_is_not_heard_before(self, store: Store, writer: Store) -> None:
        notes = self.make_conversation()
        put(writer, *notes)
        then = notes[2].created_at
        expected = self.compute_scores("where at noon", notes[:3], {"a": "d", "e": "a"})
        assert self.find_scores(store, "where at noon", at=then) == expected

    def test_a_revised_turn_is_heard_as_it_was_by_the_turn_after_it(self, store: Store, writer: Store) -> None:
        notes = self.make_conversation()
        put(writer, *notes)
        put(writer, notes[3].with_changes(text="on Monday", updated_at=NOW + DAY, revisions=2))
        before = {"a": "d", "e": "a", "b": "e", "c": "b"}
        assert self.find_scores(store, "Friday or Monday") == self.compute_scores("Friday or Monday", notes, before)
        now = [*notes[:3], notes[3].with_changes(text="on Monday"), notes[4]]
        expected = self.compute_scores("Friday or Monday", now, before)
        assert self.find_scores(store, "Friday or Monday", at=NOW + DAY) == expected

    def test_at_one_moment_the_ids_say_what_came_first(self, store: Store, writer: Store) -> None:
        notes = [a_note(id, text=f"say {id}x", session="s") for id in ("c", "a", "b")]
        put(writer, *notes)
        assert self.find_scores(store, "ax bx") == self.compute_scores("ax bx", notes, {"b": "a", "c": "b"})

    @affected_by(Variant.SECOND_WRITER)
    def test_of_a_text_that_asks_near_its_end_no_word_tells_anything_also_of_one_revised_since(
        self, store: Store, writer: Store
    ) -> None:
        asking_ends, telling_ends = (
            ("?", "？ ", "?" + " " * (questions.QUESTION_END_CHARS - 1)),
            ("?" + " " * questions.QUESTION_END_CHARS, "? yes", "."),
        )
        notes = [
            a_note(f"{place}", text=f"über {place} Uhr{end}") for place, end in enumerate((*asking_ends, *telling_ends))
        ]
        put(writer, *notes)
        words = {one.id: sum(tokenizer.count_terms(one.text).values()) for one in notes}
        told = {one.id: words[one.id] if place >= len(asking_ends) else 0 for place, one in enumerate(notes)}
        assert {id: one.words for id, one in candidates(gather(store, a_probe())).items()} == told
        put(writer, *(one.with_changes(text=f"um {one.id}", updated_at=NOW + DAY, revisions=2) for one in notes))
        assert {id: one.words for id, one in candidates(gather(store, a_probe())).items()} == told
        later = candidates(gather(store, a_probe(at=NOW + DAY))).values()
        assert [one.words for one in later] == [2] * len(notes)

    def test_what_an_ancestor_shares_of_a_session_is_heard_together(self, store: Store, writer: Store) -> None:
        notes = [one.with_changes(scope=PARENT_SCOPE, shared=True) for one in self.make_conversation()]
        put(writer, *notes, a_note("x", text="noon", scope=PARENT_SCOPE, session="s", created_at=NOW - 20 * TICK))
        before = {"a": "d", "e": "a", "b": "e", "c": "b"}
        assert self.find_scores(store, "noon on Friday") == self.compute_scores("noon on Friday", notes, before)

    @affected_by(Variant.SMALL_CACHE)
    def test_a_session_is_of_its_scope_and_one_of_the_same_name_that_an_ancestor_shares_is_another(
        self, store: Store, writer: Store
    ) -> None:
        notes = self.make_shared_conversation()
        put(writer, *notes)
        before = {"e": "d", "c": "e", "b": "a"}
        for question in ("noon on Friday", "where do we meet?", "word7 pier"):
            assert self.find_scores(store, question) == self.compute_scores(question, notes, before)
            own, shared = (
                "\n".join(one.text for one in notes if one.scope == whose) for whose in (SCOPE, PARENT_SCOPE)
            )
            first, second = compute_shares(question, [own, shared])
            found = candidates(gather(store, a_probe(question, in_turns=True)))
            assert [found[one.id].setting for one in notes] == [first, second, first, second, first]

    @affected_by(Variant.SMALL_CACHE)
    def test_a_turn_revised_since_stays_in_the_session_of_its_own_scope(self, store: Store, writer: Store) -> None:
        notes = self.make_shared_conversation()
        put(writer, *notes)
        put(
            writer, *(one.with_changes(text=f"not {one.text}", updated_at=NOW + DAY, revisions=2) for one in notes[1:3])
        )
        before = {"e": "d", "c": "e", "b": "a"}
        assert self.find_scores(store, "noon on Friday") == self.compute_scores("noon on Friday", notes, before)

    @affected_by(Variant.SMALL_CACHE)
    def test_columns_and_the_candidates_made_of_them_tell_sessions_of_one_name_apart_by_scope(
        self, store: Store, writer: Store
    ) -> None:
        below = Scope((*SCOPE.parts, "x"))
        said = {
            (scope, session): f"{scope} {session}"
            for scope in (PARENT_SCOPE, SCOPE, below)
            for session in (None, "s", "t")
        }
        for (scope, session), name in said.items():
            put(writer, *(a_note(f"{name} {n}", scope=scope, session=session, shared=True) for n in range(2)))
        found = gather(store, a_probe(scope=below))
        assert len(found.rows) == 2 * len(said)
        for table in (found.table.take(found.rows), CandidateTable.of(found.candidates(found.rows.tolist()))):
            numbers = dict(zip(table.ids, table.labels["session"].codes.tolist(), strict=True))
            for (_, session), name in said.items():
                one, other = (numbers[MemoryId(f"{name} {n}")] for n in range(2))
                assert one == other
                assert (one == NO_LABEL) == (session is None)
            assert len(set(numbers.values()) - {NO_LABEL}) == sum(session is not None for _, session in said)
            assert table.labels["session"].tolist() == [one.session for one in table.candidates(range(len(table)))]
        assert {one.id.rsplit(" ", 2)[0] == str(one.scope) for one in candidates(found).values()} == {True}

    @pytest.mark.parametrize("names", [("1", "2"), ("0", "None"), ("null", "-1"), ("s", "S")], ids=ascii)
    def test_sessions_may_have_any_two_names_and_none_is_taken_for_the_other_or_for_none(
        self, names: tuple[str, str], store: Store, writer: Store
    ) -> None:
        one, other = names
        sessions = [one, None, other, one, other, None, None]
        notes = [
            a_note(f"{place}", text=f"at noon {place}", session=session, created_at=NOW - (9 - place) * TICK)
            for place, session in enumerate(sessions)
        ]
        put(writer, *notes)
        assert self.find_scores(store, "noon 0 4") == self.compute_scores("noon 0 4", notes, {"3": "0", "4": "2"})
        found = candidates(gather(store, a_probe("noon 0 4", in_turns=True)))
        assert [found[note.id].session for note in notes] == sessions
        texts = [" ".join(notes[place].text for place in places) for places in ((0, 3), (2, 4), (1,), (5,), (6,))]
        first, second, *alone = compute_shares("noon 0 4", texts)
        expected = [first, alone[0], second, first, second, *alone[1:]]
        assert [found[note.id].setting for note in notes] == expected

    def test_a_scope_and_a_session_that_read_the_same_together_are_told_apart(
        self, store: Store, writer: Store
    ) -> None:
        names = {SCOPE: "s", PARENT_SCOPE: f"{SCOPE.parts[1]}/s"}
        notes = [
            a_note(f"{place}", scope=scope, shared=True, session=names[scope], created_at=NOW - (9 - place) * TICK)
            for place, scope in enumerate((SCOPE, PARENT_SCOPE, SCOPE, PARENT_SCOPE))
        ]
        put(writer, *notes)
        assert self.find_scores(store, "what 0 says") == self.compute_scores("what 0 says", notes, {"2": "0", "3": "1"})

    def test_similarities_in_columns_are_no_farther_off_with_what_is_lent(self, store: Store, writer: Store) -> None:
        notes = [a_note(f"{number:03}", session=f"{number % 7}") for number in range(200)]
        put(writer, *notes)
        found = gather(store, a_probe("what 007 says", in_turns=True))
        true = np.array([one.similarity for one in found.candidates(found.rows.tolist())])
        near = found.table.numbers["similarity"][found.rows]
        assert np.abs(near - true).max() <= found.table.similarity_error

    def test_of_several_ways_to_ask_the_nearest_counts(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(f"{number:02}") for number in range(20)))
        ways = ("why?", "what 07 says")
        found = candidates(gather(store, a_probe("why?", vectors=np.array([a_vector(one) for one in ways]))))
        for id, one in found.items():
            assert one.similarity == max(vector_similarity(f"what {id} says", way) for way in ways)

    @affected_by(Variant.SMALL_CACHE)
    def test_the_speakers_are_those_who_said_what_may_be_recalled(self, store: Store, writer: Store) -> None:
        put(
            writer,
            a_note("a", speaker="Ana"),
            a_note("b", speaker="Ben", created_at=NOW + DAY),
            a_note("c", speaker="Cem", status=Status.FORGOTTEN),
            a_note("d"),
            a_note("e", speaker="Eva", scope=PARENT_SCOPE, shared=True),
            a_note("f", speaker="Finn", scope=SIBLING_SCOPE),
        )
        assert store.snapshot(a_probe().view).speakers == {"Ana", "Eva"}
        assert store.snapshot(a_probe(at=NOW + DAY).view).speakers == {"Ana", "Ben", "Eva"}
        assert store.snapshot(a_probe(scope=Scope.parse("missing")).view).speakers == frozenset()
        found = candidates(gather(store, a_probe()))
        assert [found[MemoryId(id)].speaker for id in "ade"] == ["Ana", None, "Eva"]

    @affected_by(Variant.SECOND_WRITER)
    def test_a_memory_without_a_session_is_a_setting_by_itself_where_others_have_one(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, a_note("a", text="noon at the pier"), a_note("b", text="Friday", session="s"))
        found = candidates(gather(store, a_probe("pier", in_turns=True)))
        assert found[MemoryId("a")].setting == compute_shares("pier", ["noon at the pier", "Friday"])[0]
        put(writer, a_note("b", text="Friday", session="s", status=Status.FORGOTTEN))
        found = candidates(gather(store, a_probe("pier", in_turns=True)))
        assert found[MemoryId("a")].setting is None

    def test_a_setting_is_all_that_may_be_recalled_of_a_session_as_one_text(self, store: Store, writer: Store) -> None:
        notes = self.make_conversation()
        alone = a_note("x", text="Friday noon")
        put(writer, *notes, alone, a_note("y", text="Monday", session="t"))
        put(writer, notes[3].with_changes(status=Status.FORGOTTEN))
        texts = ["\n".join(text for place, text in enumerate(self.TURN_TEXTS) if place != 3), "Monday"]
        for question in ("where at noon?", "word7 word8 Monday", "pier", "unheard-of"):
            found = candidates(gather(store, a_probe(question, in_turns=True)))
            first, second, third = compute_shares(question, [*texts, alone.text])
            assert [found[MemoryId(id)].setting for id in "daecyx"] == [first] * 4 + [second, third]
            assert all(one.setting is None for one in candidates(gather(store, a_probe(question))).values())
