"""What is erased is in no file any more, and the receipt says so only when it is true."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.factory import verify
from recollect.model.archive import UNREACHABLE_COPIES, ErasureReceipt, ResidueSearch
from recollect.model.context import Use
from recollect.model.scope import Scope
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import set_checkpoint
from recollect.text import tokenizer
from tests.integration.sqlite.engines import SCOPE, OtherEngine, Ticking, an_engine, content

ALLERGY = "Ana is allergic to peanuts, and nobody but her doctor may know"
NEIGHBOUR = "Ben takes the train to work, and everybody may know that"
LONG = " ".join(f"chapter {number} of her diary" for number in range(3_000))
FILES = ("a.db", "a.db-wal", "a.db-shm", "a.db-queue")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def proved(erasure: ErasureReceipt) -> bool:
    """Whether the receipt says that all files were searched and nothing was left."""
    return erasure.proven and erasure.search == ResidueSearch(files=FILES, elsewhere=erasure.search.elsewhere)


def test_the_words_of_an_erased_memory_are_in_no_file_and_its_neighbours_are(path: Path) -> None:
    with an_engine(path) as engine:
        first = engine.remember(ALLERGY, scope=SCOPE, title="Her allergies", metadata={"ward": ["seven of the clinic"]})
        engine.revise(first.id, f"{ALLERGY} about it", scope=SCOPE)
        engine.remember(NEIGHBOUR, scope=SCOPE)
        context = engine.recall("peanuts", scope=SCOPE)
        engine.feedback(context.id or "", scope=SCOPE, helped=[first.id], answer=f"She said: {ALLERGY}")
        assert engine.contexts.usage(first.id, scope=SCOPE).quoted == 1
        assert ALLERGY.encode() in content(path.parent)

        erasure = engine.erase(scope=SCOPE, id=first.id)

        assert proved(erasure)
        assert (erasure.ids, erasure.versions, erasure.contexts) == ((first.id,), 2, 1)
        assert (erasure.uses, engine.stats().uses[Use.QUOTED]) == (2, 0)
        files = content(path.parent)
        for gone in (ALLERGY, "Her allergies", "seven of the clinic", "peanuts, and", first.id):
            assert gone.encode() not in files
        assert NEIGHBOUR.encode() in files
        with pytest.raises(recollect.NotFound):
            engine.get(first.id, scope=SCOPE)


@pytest.mark.parametrize("everything", [True, False])
def test_how_far_somebody_got_with_a_scope_goes_with_what_is_erased_of_it(path: Path, everything: bool) -> None:
    with an_engine(path) as engine:
        secret = engine.observe([ALLERGY], scope=SCOPE)[0]
        engine.remember(NEIGHBOUR, scope=SCOPE)
    with closing(SqliteStore(path, Ticking())) as store:
        for scope in (SCOPE, "acme/ben"):
            store.write(
                lambda writing, scope=scope: set_checkpoint(
                    writing,  # type: ignore[misc]
                    Scope.parse(scope),
                    "how far",
                    f"up to the visit of {scope}",
                )
            )
    with an_engine(path) as engine:
        assert proved(engine.erase(scope=SCOPE, id=None if everything else secret.id, everything=everything))
        files = content(path.parent)
        assert b"up to the visit of acme/ana" not in files
        assert b"up to the visit of acme/ben" in files


def test_a_scope_of_which_only_that_is_known_how_far_somebody_got_is_erased(path: Path) -> None:
    scope = Scope.parse("acme/anastasia")
    with closing(SqliteStore(path, Ticking())) as store:
        store.write(lambda writing: set_checkpoint(writing, scope, "how far", "up to the visit of the nurse"))
        store.write(lambda writing: writing.erase_all(scope))
    files = content(path.parent)
    assert b"up to the visit" not in files
    assert b"anastasia" not in files


def test_a_text_of_many_pages_goes_too(path: Path) -> None:
    with an_engine(path) as engine:
        diary = engine.remember(LONG, scope=SCOPE)
        engine.remember(NEIGHBOUR, scope=SCOPE)
        assert proved(engine.erase(scope=SCOPE, id=diary.id))
        assert b" of her diary" not in content(path.parent)


def test_what_another_scope_says_too_is_told_from_what_is_left(path: Path) -> None:
    with an_engine(path) as engine:
        mine = engine.remember(ALLERGY, scope=SCOPE)
        theirs = engine.remember(ALLERGY, scope="acme/doctor")
        erasure = engine.erase(scope=SCOPE, id=mine.id)
        assert erasure.proven
        assert erasure.search.elsewhere["contents"] == 1
        assert engine.get(theirs.id, scope="acme/doctor").text == ALLERGY


def test_a_copy_that_is_left_in_an_unused_part_of_a_page_is_removed(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        engine.remember(NEIGHBOUR, scope=SCOPE)
    leave_a_copy(path, ALLERGY.encode())
    with an_engine(path) as engine:
        erasure = engine.erase(scope=SCOPE, id=secret.id)
        assert proved(erasure)
        files = content(path.parent)
        assert ALLERGY.encode() not in files
        assert NEIGHBOUR.encode() in files


def leave_a_copy(path: Path, said: bytes, where: str = "contents") -> None:
    """Write into the part of a page that no row uses, as SQLite does when it moves rows to another page."""
    db = apsw.Connection(str(path))
    size = db.pragma("page_size")
    number = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (where,)).get
    db.close()
    with path.open("r+b") as file:
        file.seek((number - 1) * size)
        page = file.read(size)
        behind_pointers = 8 + 2 * int.from_bytes(page[3:5])
        assert int.from_bytes(page[5:7]) - behind_pointers > len(said)
        file.seek((number - 1) * size + behind_pointers)
        file.write(said)


NOTED = {
    "topic_key": "allergies of Ana",
    "tags": ["ward seven of the clinic"],
    "session": "visit of the 7th of May",
    "speaker": "the nurse of the ward",
    "source": "letter-7-of-the-clinic",
    "key": "proposal 8193 of the form",
    "metadata": {"number of the file": 8_193_746_205, "in": [{"Zimmer": "dreiundzwanzig"}]},
}


LABELS = {
    "allergies of Ana": "one_active_memory_of_a_topic",
    "ward seven of the clinic": "memories",
    "visit of the 7th of May": "memories",
    "the nurse of the ward": "memories",
    "letter-7-of-the-clinic": "memories",
    "proposal 8193 of the form": "keys",
    "number of the file": "memories",
    "8193746205": "memories",
    "dreiundzwanzig": "memories",
}


@pytest.mark.parametrize("label", LABELS)
def test_what_a_memory_was_labelled_with_is_looked_for_too_also_in_what_indexes_leave_behind(
    path: Path, label: str
) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE, **NOTED)  # type: ignore[arg-type]
        engine.remember(NEIGHBOUR, scope=SCOPE, topic_key="how Ben travels", key="another")
        assert label.encode() in content(path.parent)
    leave_a_copy(path, label.encode(), LABELS[label])
    with an_engine(path) as engine:
        assert proved(engine.erase(scope=SCOPE, id=secret.id))
        assert label.encode() not in content(path.parent)


def test_a_copy_of_what_another_memory_says_as_well_is_that_ones(path: Path) -> None:
    with an_engine(path) as engine:
        mine = engine.remember(ALLERGY, scope=SCOPE, session="the session that both have")
        theirs = engine.remember(ALLERGY, scope="acme/doctor", session="the session that both have")
    leave_a_copy(path, ALLERGY.encode())
    leave_a_copy(path, b"the session that both have", "memories")
    with an_engine(path) as engine:
        erasure = engine.erase(scope=SCOPE, id=mine.id)
        assert proved(erasure)
        assert erasure.search.elsewhere.keys() == {"contents", "memories", "vectors"}
        assert content(path.parent).count(ALLERGY.encode()) == 2  # for which no file has to be built anew
        assert engine.get(theirs.id, scope="acme/doctor").text == ALLERGY


def test_a_copy_that_no_single_memory_says_is_a_remainder_though_every_piece_of_it_is_said(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY[:48], scope=SCOPE)
        for half in (ALLERGY[:24], ALLERGY[24:48]):
            engine.remember(f"{half} and more", scope="acme/doctor")
    leave_a_copy(path, ALLERGY[:48].encode())
    with an_engine(path) as engine:
        erasure = engine.erase(scope=SCOPE, id=secret.id)
        assert proved(erasure)
        assert ALLERGY[:48].encode() not in content(path.parent)


def test_a_reader_in_another_process_makes_the_receipt_say_that_it_is_not_proved_yet(path: Path) -> None:
    with an_engine(path, settings={"busy_timeout": 2}) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        reader = OtherEngine("reads", path)
        assert reader.hear() == "1"

        erasure = engine.erase(scope=SCOPE, id=secret.id)

        assert (erasure.proven, erasure.retryable) == (False, True)
        assert "close the programs that have it open" in (erasure.search.unfinished or "")
        assert "a.db-wal" in " ".join(erasure.search.remains)
        assert ALLERGY.encode() in content(path.parent)
        with pytest.raises(recollect.NotFound):
            engine.get(secret.id, scope=SCOPE)

        reader.end()
        again = engine.admin.prove_erased(erasure)
        assert proved(again)
        assert again.ids == erasure.ids
        assert ALLERGY.encode() not in content(path.parent)


def test_searching_the_files_drops_no_lock_of_this_process(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        engine.erase(scope=SCOPE, id=secret.id)
        log = path.with_name("a.db-wal").stat().st_ino
        other = OtherEngine("remembers", path, SCOPE, NEIGHBOUR)
        (theirs,) = other.end()  # the last one to close a store removes its log
        assert path.with_name("a.db-wal").stat().st_ino == log
        assert engine.get(theirs, scope=SCOPE).text == NEIGHBOUR


def test_the_id_of_another_scope_is_not_there_and_nothing_happens(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE, shared=True)
        for scope in ("acme/ben", "acme", "acme/ana/below"):
            with pytest.raises(recollect.NotFound, match=scope):
                engine.erase(scope=scope, id=secret.id)
        assert engine.get(secret.id, scope=SCOPE).text == ALLERGY


def test_a_source_takes_all_with_it_that_was_derived_from_it(path: Path) -> None:
    with an_engine(path) as engine:
        page = engine.remember("page one says so", scope=SCOPE, source="letter-7")
        lesson = engine.remember("a lesson of page one", scope=SCOPE, derived_from=[page.id])
        engine.remember("a lesson of the lesson", scope=SCOPE, derived_from=["x", lesson.id])
        engine.remember("a note about the letter", scope=SCOPE, derived_from=["letter-7"])
        former = engine.remember("once of the letter", scope=SCOPE, source="letter-7", topic_key="post")
        engine.remember("now of another", scope=SCOPE, source="letter-8", topic_key="post")
        other = engine.remember("page two says so", scope=SCOPE, source="letter-9")
        theirs = engine.remember("page one says so", scope="acme/ben", source="letter-7")
        erasure = engine.erase(scope=SCOPE, source="letter-7")
        assert erasure.memories == 5
        assert {page.id, lesson.id, former.id} <= set(erasure.ids)
        assert [one.id for one in engine.memories(scope=SCOPE)] == [other.id]
        assert engine.get(theirs.id, scope="acme/ben").source == "letter-7"
        with pytest.raises(recollect.NotFound, match="letter-7"):
            engine.erase(scope=SCOPE, source="letter-7")


def test_everything_of_a_scope_goes_with_its_contexts_keys_and_name_and_nothing_of_the_scope_below(path: Path) -> None:
    name = "acme/ana-of-the-long-name"
    with an_engine(path) as engine:
        engine.remember(ALLERGY, scope=name, key="once", shared=True)
        below = engine.remember(NEIGHBOUR, scope="acme/ben")
        mine = engine.recall("what about peanuts and her doctor?", scope=name)
        engine.recall("trains to work", scope="acme/ben")
        erasure = engine.erase(scope=name, everything=True)
        assert proved(erasure)
        assert (erasure.memories, erasure.versions, erasure.contexts) == (1, 1, 1)
        files = content(path.parent)
        for gone in (ALLERGY, "what about peanuts", name, mine.id or ""):
            assert gone.encode() not in files
        assert NEIGHBOUR.encode() in files
        with pytest.raises(recollect.NotFound, match="is empty"):
            engine.erase(scope=name, everything=True)
        again = engine.remember(ALLERGY, scope=name, key="once")
        assert again.memory.commit != 1
        assert [one.id for one in engine.search("peanuts", scope=name)] == [again.id]
        assert [one.id for one in engine.search("train", scope="acme/ben")] == [below.id]


def test_what_an_erased_scope_thought_of_the_memories_of_others_stays_and_its_name_goes(path: Path) -> None:
    name, other = "acme/ana-of-the-long-name", "acme/ben-of-another-name"
    with an_engine(path) as engine:
        shared = engine.remember("tea is at four", scope="acme", shared=True)
        engine.remember(ALLERGY, scope=name)
        voices = [(name, None), (name, "ana@secret.example.com"), (other, None), (name, None)]
        contexts = [engine.recall("tea", scope=scope) for scope, _ in voices]
        for context, (scope, by) in zip(contexts, voices, strict=True):
            engine.feedback(context.id or "", scope=scope, helped=[shared.id], by=by, answer="tea is at four today")
        usage = engine.contexts.usage(shared.id, scope="acme")
        assert (usage.helped, usage.quoted) == (len(voices), len(voices))
        ranking = engine.search("tea", scope=other)

        erasure = engine.erase(scope=name, everything=True)

        assert proved(erasure)
        files = content(path.parent)
        mine = [context.id or "" for context, (scope, _) in zip(contexts, voices, strict=True) if scope == name]
        for gone in (name, "ana@secret.example.com", *mine):
            assert gone.encode() not in files
        for stays in (other, contexts[2].id or ""):
            assert stays.encode() in files
        assert engine.contexts.usage(shared.id, scope="acme") == replace(usage, quoted=1), (
            "signs go with their contexts"
        )
        again = engine.search("tea", scope=other, as_of=ranking.at)
        assert [float(one.score) for one in again] == [float(one.score) for one in ranking]
        votes = next(json.loads(line)["votes"] for line in engine.export(scope="acme") if "memory" in line)
        assert [by for _, by, *_ in votes] == ["erased 1", "erased 2", other, "erased 1"]
        assert [context for context, *_ in votes] == ["erased 1", "erased 2", contexts[2].id, "erased 3"]
    assert verify(path).ok


def test_a_name_that_is_left_in_an_index_of_scopes_goes_too(path: Path) -> None:
    name = "acme/ana-of-the-long-name"
    with an_engine(path) as engine:
        engine.remember(ALLERGY, scope=name)
        engine.remember(NEIGHBOUR, scope="acme/ben")
    leave_a_copy(path, name.encode(), "sqlite_autoindex_scopes_1")
    with an_engine(path) as engine:
        assert proved(engine.erase(scope=name, everything=True))
        assert name.encode() not in content(path.parent)


def test_what_a_killed_backup_left_beside_the_store_goes_and_one_that_is_being_made_is_named(path: Path) -> None:
    with an_engine(path, settings={"busy_timeout": 2}) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        killed, alive = (OtherEngine("backs_up_when_told", path, path.parent / name) for name in "kl")
        assert killed.hear() == alive.hear() == "copying"
        killed.kill()
        erasure = engine.erase(scope=SCOPE, id=secret.id)
        (copy,) = path.parent.glob(".recollect-*.unfinished")
        assert erasure.search.copies == (copy.name,)
        assert copy.name in erasure.out_of_reach[-1]
        alive.kill()
        again = engine.admin.prove_erased(erasure)
        assert proved(again)
        assert again.out_of_reach == UNREACHABLE_COPIES
        assert [one.name for one in path.parent.iterdir() if one.is_dir()] == []


def test_the_memories_of_a_scope_below_stay(path: Path) -> None:
    with an_engine(path) as engine:
        engine.remember(ALLERGY, scope="acme")
        below = engine.remember(ALLERGY, scope=SCOPE)
        engine.erase(scope="acme", everything=True)
        assert engine.get(below.id, scope=SCOPE).text == ALLERGY


@pytest.mark.parametrize(
    "what", [{}, {"id": "a", "source": "b"}, {"id": "a", "everything": True}, {"source": "b", "everything": True}]
)
def test_what_to_erase_is_said_in_exactly_one_way(path: Path, what: dict[str, object]) -> None:
    with an_engine(path) as engine, pytest.raises(recollect.InvalidInput, match="exactly one"):
        engine.erase(scope=SCOPE, **what)  # type: ignore[arg-type]


def test_a_store_in_memory_has_no_file_to_search() -> None:
    with an_engine(":memory:") as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        erasure = engine.erase(scope=SCOPE, id=secret.id)
        assert (erasure.proven, erasure.search, erasure.scope) == (True, ResidueSearch(), Scope.parse(SCOPE))


def test_the_receipt_names_what_is_out_of_reach_and_keeps_nothing_of_what_is_gone(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        erasure = engine.erase(scope=SCOPE, id=secret.id)
        assert "backups" in erasure.out_of_reach[0]
        assert erasure.pieces == frozenset()


class Counting:
    """An embedder that keeps what it was asked, as nobody should."""

    name, dimensions = "counting", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float64]:
        self.asked += texts
        return np.array([[1.0, len(text)] for text in texts]).reshape(-1, 2)


def test_nothing_that_is_kept_in_memory_outlives_an_erasure() -> None:
    embedder = Counting()
    with an_engine(":memory:", embedder=embedder) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        for _ in range(2):
            engine.search("peanuts", scope=SCOPE)
        assert embedder.asked == [ALLERGY, "peanuts"]
        engine.erase(scope=SCOPE, id=secret.id)
        assert tokenizer.hash_term.cache_info().currsize == 0
        engine.search("peanuts", scope=SCOPE)
        assert embedder.asked == [ALLERGY, "peanuts", "peanuts"]
