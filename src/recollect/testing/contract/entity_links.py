"""Contract: which memories mention a name, and how a query is linked to them."""

from collections.abc import Sequence
from typing import Any

from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store
from recollect.retrieval.entity_links import link_memories
from recollect.testing.builders import NOW, SCOPE, ManualClock, a_note, a_probe, candidates, gather, ids, put
from recollect.testing.contract import Variant, affected_by
from recollect.testing.contract.evidence import DAY, PARENT_SCOPE, SIBLING_SCOPE
from recollect.text.entities import find_candidate_names, find_entities

QUESTIONS = (
    "where does Ana Souza work?",
    "what is at access bank",
    "who knows Bo and the Rio plan?",
    "nothing of that",
)

LinksById = dict[str, tuple[float | None, str | None]]


class EntityLinkContract:
    """Names link only memories that may be recalled, with the same values on every store."""

    def make_notes(self) -> list[Memory]:
        """Return memories that have names in common."""
        return [
            a_note("a", text="Ana Souza works at Access Bank"),
            a_note("b", text="the branch of Access Bank in Rio", title="On Rio"),
            a_note("c", text="I have never been there", speaker="Ana Souza"),
            a_note("d", text="Bo has parse_line in src/main.py", speaker="user"),
            a_note("e", text="we shall meet in Rio with Bo"),
            a_note("f", text="nothing of note"),
            a_note("g", text="what Ana Lima said", scope=PARENT_SCOPE, shared=True),
        ]

    def find_links(self, store: Store, question: str, **given: Any) -> LinksById:
        found = candidates(gather(store, a_probe(question, names=find_candidate_names(question), **given)))
        return {id: (one.linked, one.link) for id, one in found.items()}

    def compute_links(self, notes: Sequence[Memory], question: str) -> LinksById:
        """Return the links of these memories as the formula defines them."""
        links = link_memories(
            {row: find_entities(one.searched_text, one.speaker) for row, one in enumerate(notes)},
            find_candidate_names(question),
        )
        told = {row: (link.value, link.path) for row, link in links.items()}
        return {one.id: told.get(row, (None, None)) for row, one in enumerate(notes)}

    @affected_by(Variant.SMALL_CACHE)
    def test_a_question_is_linked_to_what_mentions_its_names_as_the_formula_says(
        self, store: Store, writer: Store
    ) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        for question in QUESTIONS:
            assert self.find_links(store, question) == self.compute_links(notes, question)
        ways = {path for _, path in self.find_links(store, QUESTIONS[0]).values()}
        assert ways >= {"ana souza", "ana souza → access bank"}

    def test_nobody_is_linked_who_was_not_asked_about(self, store: Store, writer: Store) -> None:
        put(writer, *self.make_notes())
        found = candidates(gather(store, a_probe(QUESTIONS[0])))
        assert {(one.linked, one.link) for one in found.values()} == {(None, None)}

    def test_every_memory_is_told_with_the_names_that_it_mentions(self, store: Store, writer: Store) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        expected = {one.id: sorted(find_entities(one.searched_text, one.speaker)) for one in notes}
        assert dict(store.snapshot(a_probe().view).mentions()) == expected
        assert expected[MemoryId("c")] == ["ana souza"]
        assert expected[MemoryId("d")] == ["bo", "parse_line", "src/main.py"]

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_what_others_write_moves_nothing(self, store: Store, writer: Store) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        before = (
            [self.find_links(store, question) for question in QUESTIONS],
            dict(store.snapshot(a_probe().view).mentions()),
        )
        strangers = [Scope.parse(f"{SCOPE}/below"), SIBLING_SCOPE, Scope.parse("acme-labs")]
        put(
            writer,
            *(a_note(f"x{n}", text="Ana Souza of Access Bank", scope=scope) for n, scope in enumerate(strangers)),
            a_note("hidden", text="Ana Souza of Access Bank in Rio", scope=PARENT_SCOPE),
        )
        assert (
            [self.find_links(store, question) for question in QUESTIONS],
            dict(store.snapshot(a_probe().view).mentions()),
        ) == before

    @affected_by(Variant.SMALL_CACHE)
    def test_what_may_not_be_recalled_links_nothing(self, store: Store, writer: Store) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        away = [Status.FORGOTTEN, Status.SUPERSEDED, Status.QUARANTINED]
        put(writer, *(notes[place].with_changes(status=status) for place, status in enumerate(away)))
        left = notes[len(away) :]
        for question in QUESTIONS:
            assert self.find_links(store, question) == self.compute_links(left, question)
        assert sorted(store.snapshot(a_probe().view).mentions()) == [one.id for one in left]

    @affected_by(Variant.SMALL_CACHE)
    def test_a_revised_memory_mentions_what_it_says_now_and_then_what_it_said_then(
        self, store: Store, writer: Store, clock: ManualClock
    ) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        known = clock.now
        clock.move(DAY)
        renewed = notes[0].with_changes(text="Bo works at Harbour Bank", updated_at=NOW + DAY, revisions=2)
        put(writer, renewed)
        for question in (*QUESTIONS, "what of Harbour Bank?"):
            now = self.compute_links([renewed, *notes[1:]], question)
            assert self.find_links(store, question, at=NOW + DAY) == now
            assert self.find_links(store, question, at=NOW + DAY, present=True) == now
            assert self.find_links(store, question, at=NOW) == self.compute_links(notes, question)
            assert self.find_links(store, question, at=NOW + DAY, known_at=known) == self.compute_links(notes, question)

    @affected_by(Variant.SECOND_WRITER, Variant.SMALL_CACHE)
    def test_names_of_what_was_erased_are_gone(self, store: Store, writer: Store) -> None:
        notes = self.make_notes()
        put(writer, *notes)
        assert "access bank" in {name for names in store.snapshot(a_probe().view).mentions().values() for name in names}
        writer.write(lambda writing: writing.erase(SCOPE, ids("a", "b")))
        for question in QUESTIONS:
            assert self.find_links(store, question) == self.compute_links(notes[2:], question)
        assert "access bank" not in {
            name for names in store.snapshot(a_probe().view).mentions().values() for name in names
        }
