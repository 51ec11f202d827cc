"""Contract: a store returns exact evidence for every memory that may be recalled.

The statistics behind it are those of the scope alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product

import numpy as np
import pytest

from recollect.model.candidate import Candidate
from recollect.model.context import Use
from recollect.model.enums import Kind, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.ranking.profile import QuestionPolicy
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import rank_evidence
from recollect.retrieval import bm25
from recollect.retrieval.eligibility import Barrier, find_barrier
from recollect.retrieval.evidence import Evidence
from recollect.retrieval.vectors import cosines
from recollect.testing.builders import (
    NOW,
    SCOPE,
    a_note,
    a_probe,
    a_vector,
    candidates,
    count_uses,
    eligible_ids,
    find_candidate,
    gather,
    ids,
    put,
    vector_similarity,
    visible_ids,
)
from recollect.testing.contract import Variant, affected_by
from recollect.text import tokenizer

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
PARENT_SCOPE, SIBLING_SCOPE = Scope.parse("acme"), Scope.parse("acme/ben")

SAMPLE_TEXTS = [
    "deploys run on Fridays at noon",
    "the deploy of last Friday failed, and so did the deploy before",
    "Ana prefers short meetings",
    "meetings are on Mondays",
    "!!!",
    "部署在星期五",
]


def compute_shares(question: str, texts: Sequence[str]) -> list[float | None]:
    """Return the lexical score of each text for a question, if these are all eligible texts."""
    terms = list(dict.fromkeys(tokenizer.tokenize(question)))
    counts = [tokenizer.count_terms(text) for text in texts]
    statistics = bm25.count_terms(terms, counts)
    return [bm25.score_terms(terms, one, statistics) for one in counts]


def found_shares(found: Evidence, names: Sequence[str]) -> list[float | None]:
    """Return the lexical score that the store found for each of these memories."""
    known = candidates(found)
    return [known[MemoryId(name)].lexical for name in names]


class EligibilityContract:
    """Each memory that the scope may see is found once, or excluded for one reason."""

    def test_an_empty_store_finds_nothing_whatever_is_asked(self, store: Store) -> None:
        for probe in (a_probe(), a_probe("why?"), a_probe("the of"), a_probe("why?", known_at=NOW)):
            found = gather(store, probe)
            assert (eligible_ids(found), found.pinned.tolist(), dict(found.barred)) == ([], [], {})
            assert (found.candidates([]), list(store.load(found.snapshot, []))) == ([], [])

    def test_an_empty_scope_of_a_store_that_is_not_finds_nothing(self, store: Store, writer: Store) -> None:
        put(writer, a_note("theirs", scope=SIBLING_SCOPE), a_note("above", scope=PARENT_SCOPE))
        for probe in (a_probe(), a_probe("what theirs says"), a_probe("what theirs says", known_at=NOW)):
            found = gather(store, probe)
            assert (eligible_ids(found), dict(found.barred)) == ([], {})

    def test_a_status_bars_all_but_the_active_and_those_that_held_until_they_were_replaced(
        self, store: Store, writer: Store
    ) -> None:
        ends = [None, DAY, TICK, timedelta(0), -TICK]
        notes = [
            a_note(
                f"{status} {end} {scope}",
                scope=scope,
                shared=True,
                created_at=NOW - DAY,
                status=status,
                valid_until=None if end is None else NOW + end,
            )
            for status, end, scope in product(Status, ends, (SCOPE, PARENT_SCOPE))
        ]
        put(writer, *notes)
        assert_barred(gather(store, a_probe()), notes, NOW)

    def test_a_memory_is_known_and_valid_from_its_dates_on_and_until_before_its_end(
        self, store: Store, writer: Store
    ) -> None:
        notes = [
            a_note("created", created_at=NOW),
            a_note("from", created_at=NOW - 9 * DAY, valid_from=NOW),
            a_note("until", created_at=NOW - 9 * DAY, valid_until=NOW),
            a_note("never", created_at=NOW - 9 * DAY, valid_from=NOW, valid_until=NOW),
        ]
        put(writer, *notes)
        for off, expected in (
            (-DAY, ["until"]),
            (-TICK, ["until"]),
            (timedelta(0), ["created", "from"]),
            (TICK, ["created", "from"]),
            (DAY, ["created", "from"]),
        ):
            found = gather(store, a_probe(at=NOW + off))
            assert eligible_ids(found) == expected
            assert_barred(found, notes, NOW + off)

    def test_a_memory_with_an_open_end_is_valid_for_ever(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        assert visible_ids(store, SCOPE, at=NOW.replace(year=2199)) == ["a"]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_all_that_the_scope_may_see_is_eligible_once_or_barred_once(self, store: Store, writer: Store) -> None:
        notes = [
            a_note(
                f"{number:03}",
                scope=SCOPE if number % 2 else PARENT_SCOPE,
                shared=True,
                status=list(Status)[number % 7],
                created_at=NOW + (number % 5 - 3) * DAY,
                valid_from=NOW + (number % 3 - 1) * DAY if number % 4 else None,
                valid_until=NOW + (number % 11 + 1) * DAY if number % 3 else None,
            )
            for number in range(231)
        ]
        put(writer, *notes[:100])
        gather(store, a_probe())
        put(writer, *notes[50:])
        hidden = [a_note("own", scope=PARENT_SCOPE), a_note("below", scope=Scope.parse("acme/ana/below"), shared=True)]
        put(writer, *hidden)
        for days in (-4, -1, 0, 1, 5, 20):
            assert_barred(gather(store, a_probe(at=NOW + days * DAY)), notes, NOW + days * DAY)

    @affected_by(Variant.SECOND_WRITER)
    def test_a_memory_that_changed_is_found_as_it_is_now_and_once(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", importance=0.25), a_note("b"))
        for number in range(30):
            put(writer, a_note("a", text=f"said for the {number}th time", importance=number / 30))
            found = gather(store, a_probe(f"{number}th"))
            assert eligible_ids(found) == ["a", "b"]
            one = find_candidate(found, "a")
            assert (one.importance, one.lexical is not None) == (number / 30, True)

    @affected_by(Variant.SECOND_WRITER)
    def test_a_memory_that_is_forgotten_and_brought_back_is_gone_and_there_again(
        self, store: Store, writer: Store
    ) -> None:
        notes = [a_note("a"), a_note("b")]
        put(writer, *notes)
        for status in (Status.FORGOTTEN, Status.ACTIVE, Status.ARCHIVED, Status.QUARANTINED, Status.ACTIVE):
            notes[0] = notes[0].with_changes(status=status)
            put(writer, notes[0])
            assert_barred(gather(store, a_probe()), notes, NOW)

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_the_pinned_rows_are_the_eligible_ones_that_are_pinned(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", pinned=True), a_note("b"), a_note("c", pinned=True, status=Status.FORGOTTEN))
        put(
            writer,
            a_note("d", pinned=True, created_at=NOW + DAY),
            a_note("e", pinned=True, scope=PARENT_SCOPE, shared=True),
        )
        put(writer, a_note("f", pinned=True), a_note("g", pinned=True, scope=SIBLING_SCOPE))
        assert list_pinned(gather(store, a_probe())) == ["a", "e", "f"]
        put(writer, a_note("f"), a_note("b", pinned=True))
        assert list_pinned(gather(store, a_probe())) == ["a", "b", "e"]
        assert list_pinned(gather(store, a_probe(at=NOW + DAY))) == ["a", "b", "d", "e"]

    def test_at_present_all_that_is_there_is_known_whatever_its_date(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", created_at=NOW + DAY), a_note("b"), a_note("c", valid_from=NOW + DAY))
        put(writer, a_note("b", text="again", updated_at=NOW + DAY))
        assert eligible_ids(gather(store, a_probe())) == ["b"]
        found = gather(store, a_probe(present=True))
        assert eligible_ids(found) == ["a", "b"]
        assert dict(found.barred) == {Barrier.NOT_YET_VALID: 1}
        texts = {one.id: one.text for one in store.load(found.snapshot, found.rows.tolist()) if one is not None}
        assert texts[MemoryId("b")] == "again"

    def test_rows_are_in_order_and_each_there_once(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(f"{number}", status=list(Status)[number % 2]) for number in range(20)))
        found = gather(store, a_probe())
        for rows in (found.rows, found.pinned):
            assert rows.tolist() == sorted(set(rows.tolist()))


def assert_barred(found: Evidence, visible: Sequence[Memory], at: datetime) -> None:
    """Check that each visible memory is eligible, or counted under the reason that excludes it."""
    barriers = {one.id: find_barrier(one, at) for one in visible}
    assert eligible_ids(found) == sorted(id for id, barred in barriers.items() if barred is None)
    assert dict(found.barred) == Counter[Barrier](barred for barred in barriers.values() if barred is not None)


def list_pinned(found: Evidence) -> list[MemoryId]:
    """Return the ids of the pinned rows."""
    return sorted(found.table.ids[row] for row in found.pinned.tolist())


class EvidenceContract:
    """Evidence is exact, and depends only on memories that the scope may recall."""

    def test_a_candidate_has_all_that_ranking_may_know(self, store: Store, writer: Store) -> None:
        note = a_note(
            "a",
            kind=Kind.DECISION,
            title="Friday",
            text="deploys run then",
            importance=1 / 3,
            confidence=0.1 + 0.2,
            salience=0.7,
            created_at=NOW - 3 * DAY,
            updated_at=NOW - 2 * DAY - TICK,
            valid_from=NOW.replace(year=1900),
            revisions=4,
            session="monday",
            speaker="Ana",
        )
        put(writer, note)
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a"), Use.SERVED, NOW - TICK, None))
        question = "which Friday?"
        assert find_candidate(gather(store, a_probe(question)), "a") == Candidate(
            id=note.id,
            kind=note.kind,
            similarity=vector_similarity(note.searched_text, question),
            lexical=compute_shares(question, [note.searched_text])[0],
            created_at=note.created_at,
            updated_at=note.updated_at,
            last_accessed_at=NOW - TICK,
            valid_from=note.valid_from,
            importance=note.importance,
            confidence=note.confidence,
            salience=note.salience,
            served=1,
            revisions=4,
            words=3,
            scope=SCOPE,
            session="monday",
            speaker="Ana",
        )

    def test_a_memory_that_asks_tells_nothing(self, store: Store, writer: Store) -> None:
        texts = {
            "a": "deploys on Friday?",
            "b": "deploys on Friday",
            "c": f"deploys on Monday?{' ' * 20}",
            "d": "on Friday? yes",
        }
        put(writer, *(a_note(id, text=text) for id, text in texts.items()))
        found = candidates(gather(store, a_probe()))
        assert [found[MemoryId(id)].words for id in texts] == [0, 2, 0, 2]

    def test_what_nobody_said_of_a_memory_is_unknown(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a"))
        assert find_candidate(gather(store, a_probe()), "a") == Candidate(
            id=MemoryId("a"), kind=Kind.OBSERVATION, created_at=NOW, served=0, revisions=1, words=1, scope=SCOPE
        )

    def test_without_a_question_there_is_no_evidence(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(f"{number}", text=text) for number, text in enumerate(SAMPLE_TEXTS)))
        assert not any(one.questioned for one in candidates(gather(store, a_probe())).values())

    @affected_by(Variant.SMALL_CACHE)
    def test_similarities_are_true_to_the_last_bit(self, store: Store, writer: Store) -> None:
        notes = [
            a_note(f"{number:03}", scope=SCOPE if number % 3 else PARENT_SCOPE, shared=True) for number in range(200)
        ]
        put(writer, *notes)
        directions = np.array([a_vector(one.searched_text) for one in notes])
        for question in ("what 007 says", "why?", "x"):
            found = candidates(gather(store, a_probe(question)))
            expected = cosines(directions, a_vector(question)).tolist()
            assert [found[one.id].similarity for one in notes] == expected
        assert candidates(gather(store, a_probe("what 007 says")))[MemoryId("007")].similarity == vector_similarity(
            "what 007 says", "what 007 says"
        )

    def test_similarities_in_columns_are_no_farther_off_than_they_are_said_to_be(
        self, store: Store, writer: Store
    ) -> None:
        put(writer, *(a_note(f"{number:03}") for number in range(200)))
        found = gather(store, a_probe("what 007 says"))
        true = np.array([one.similarity for one in found.candidates(found.rows.tolist())])
        near = found.table.numbers["similarity"][found.rows]
        assert np.abs(near - true).max() <= found.table.similarity_error

    def test_a_memory_without_a_direction_is_found_by_its_words(self, store: Store, writer: Store) -> None:
        put(writer, a_note("with", text="deploys on Friday"))
        writer.write(lambda writing: writing.put(a_note("without", text="deploys on Monday"), None))
        found = gather(store, a_probe("deploys"))
        assert find_candidate(found, "without").similarity is None
        assert find_candidate(found, "with").similarity is not None
        assert found_shares(found, ["with", "without"]) == compute_shares(
            "deploys", ["deploys on Friday", "deploys on Monday"]
        )

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_a_store_in_which_nothing_has_a_direction_finds_by_words_alone_and_later_by_both(
        self, store: Store, writer: Store
    ) -> None:
        texts = ["deploys on Friday", "meetings"]
        writer.write(lambda writing: [writing.put(a_note(text, text=text), None) for text in texts])
        for known_at in (None, NOW):
            found = gather(store, a_probe("deploys", known_at=known_at))
            assert [one.similarity for one in candidates(found).values()] == [None, None]
            assert found_shares(found, texts) == compute_shares("deploys", texts)
        put(writer, a_note("third"))
        found = gather(store, a_probe("why?"))
        similarities = [candidates(found)[MemoryId(id)].similarity for id in (*texts, "third")]
        assert similarities == [None, None, vector_similarity("what third says", "why?")]

    def test_words_can_be_asked_for_without_a_direction_and_the_other_way_round(
        self, store: Store, writer: Store
    ) -> None:
        texts = ["deploys on Friday", "meetings"]
        put(writer, *(a_note(text, text=text) for text in texts))
        words = gather(store, a_probe("deploys", vectors=None, encoder=None))
        assert found_shares(words, texts) == compute_shares("deploys", texts)
        assert [one.similarity for one in candidates(words).values()] == [None, None]
        way = gather(store, a_probe("deploys", terms=()))
        assert found_shares(way, texts) == [None, None]
        assert None not in [one.similarity for one in candidates(way).values()]

    def test_words_count_by_the_documented_formula_to_the_last_bit(self, store: Store, writer: Store) -> None:
        names = [f"{number}" for number in range(len(SAMPLE_TEXTS))]
        put(writer, *(a_note(name, text=text) for name, text in zip(names, SAMPLE_TEXTS, strict=True)))
        for question in ("Friday deploys", "deploy", "Ana meetings Monday", "the of and", "unheard-of", "星期五", "?!"):
            assert found_shares(gather(store, a_probe(question)), names) == compute_shares(question, SAMPLE_TEXTS)

    def test_the_words_of_a_title_count_as_its_texts_do(self, store: Store, writer: Store) -> None:
        put(writer, a_note("a", title="Friday deploys", text="at noon"), a_note("b", text="Friday\ndeploys at noon"))
        first, second = found_shares(gather(store, a_probe("Friday deploys")), ["a", "b"])
        assert first == second is not None

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_only_what_may_be_recalled_counts_in_the_statistics(self, store: Store, writer: Store) -> None:
        put(
            writer,
            *(a_note(text, text=text) for text in SAMPLE_TEXTS[:3]),
            a_note("team", scope=PARENT_SCOPE, shared=True, text="Friday"),
        )
        unseen = [
            a_note("forgotten", text="Friday deploys deploys", status=Status.FORGOTTEN),
            a_note("not-yet", text="Friday Friday", created_at=NOW + DAY),
            a_note("no-longer", text="deploys now", created_at=NOW - DAY, valid_until=NOW),
            a_note("not-valid", text="deploys then", valid_from=NOW + DAY),
            a_note("team-own", scope=PARENT_SCOPE, text="Friday deploys"),
            a_note("theirs", scope=SIBLING_SCOPE, text="Friday deploys", shared=True),
            a_note("below", scope=Scope.parse("acme/ana/x"), text="Friday deploys", shared=True),
        ]
        texts = [*SAMPLE_TEXTS[:3], "Friday"]
        expected = compute_shares("Friday deploys", texts)
        assert found_shares(gather(store, a_probe("Friday deploys")), [*SAMPLE_TEXTS[:3], "team"]) == expected
        put(writer, *unseen)
        assert found_shares(gather(store, a_probe("Friday deploys")), [*SAMPLE_TEXTS[:3], "team"]) == expected
        tomorrow = [*texts, "Friday Friday", "deploys then"]
        assert found_shares(
            gather(store, a_probe("Friday deploys", at=NOW + DAY)), [*SAMPLE_TEXTS[:3], "team", "not-yet", "not-valid"]
        ) == compute_shares("Friday deploys", tomorrow)

    OTHER_MEMORIES = 10_000
    """How many memories another scope gets, which must not change a score."""

    def test_ten_thousand_writes_elsewhere_move_no_score(self, store: Store, writer: Store) -> None:
        put(writer, *(a_note(text, text=text) for text in SAMPLE_TEXTS))
        before = candidates(gather(store, a_probe("Friday deploys")))

        def change(writing: WriteTransaction) -> None:
            for number in range(self.OTHER_MEMORIES):
                writing.put(a_note(f"{number}", scope=SIBLING_SCOPE, text=f"deploys Friday {number}"), None)

        writer.write(change)
        assert candidates(gather(store, a_probe("Friday deploys"))) == before
        assert len(gather(store, a_probe("Friday", scope=SIBLING_SCOPE)).rows) == self.OTHER_MEMORIES

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE, Variant.IN_MEMORY)
    def test_what_was_found_stays_as_it_was_found(self, store: Store, writer: Store) -> None:
        kept = put(writer, a_note("a", importance=0.25), a_note("b"), a_note("team", scope=PARENT_SCOPE, shared=True))
        found = gather(store, a_probe("what a says"))
        before = candidates(found)
        put(writer, a_note("a", text="changed", importance=0.75), a_note("b", status=Status.FORGOTTEN))
        put(writer, *(a_note(f"more {number}") for number in range(50)))
        writer.write(lambda writing: count_uses(writing, SCOPE, ids("a", "team"), Use.SERVED, NOW, None))
        gather(store, a_probe("what a says"))
        assert candidates(found) == before
        by_id = {found.table.ids[row]: row for row in found.rows.tolist()}
        assert list(store.load(found.snapshot, [by_id[one.id] for one in kept])) == kept

    def test_memories_come_as_asked_row_by_row(self, store: Store, writer: Store) -> None:
        kept = {one.id: one for one in put(writer, *(a_note(id) for id in "abc"))}
        found = gather(store, a_probe())
        rows = [*reversed(found.rows.tolist()), found.rows.tolist()[0]]
        assert [one.id for one in found.candidates(rows)] == [found.table.ids[row] for row in rows]
        assert list(store.load(found.snapshot, rows)) == [kept[found.table.ids[row]] for row in rows]

    @pytest.mark.parametrize("name", sorted(BUILTIN_PROFILES))
    def test_what_is_found_ranks_as_the_plain_formula_ranks_it(self, store: Store, writer: Store, name: str) -> None:
        notes = [
            a_note(
                f"{number:02}",
                scope=SCOPE if number % 3 else PARENT_SCOPE,
                shared=True,
                kind=list(Kind)[number % 16],
                text=f"deploys of the {number % 7}th Friday {'and Monday ' * (number % 3)}{number}",
                importance=number % 5 / 5 if number % 2 else None,
                created_at=NOW - number * DAY,
                status=Status.FORGOTTEN if number % 8 == 3 else Status.ACTIVE,
            )
            for number in range(40)
        ]
        put(writer, *notes)
        writer.write(lambda writing: count_uses(writing, SCOPE, [one.id for one in notes[::4]], Use.SERVED, NOW, None))
        profile = builtin_profile(name)
        asked = profile.question is not QuestionPolicy.REFUSED
        found = gather(store, a_probe("deploys of the 3th Friday" if asked else None))
        exact = rank_candidates(candidates(found).values(), profile, NOW, limit=10, asked=asked)
        ranked = rank_evidence(replace(found, asked=asked, barred={}), profile, NOW, limit=10)
        assert [(one.id, float(one.score)) for one in ranked] == [(one.id, float(one.score)) for one in exact]
        assert ranked.excluded == exact.excluded
