"""What is erased is in no file any more, and the receipt says so only when it is true."""

from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.evidence import analysis
from recollect.model.erasure import Erasure, Search
from recollect.model.scope import Scope
from tests.integration.upkeep.scene import SCOPE, Other, an_engine, content

ALLERGY = "Ana is allergic to peanuts, and nobody but her doctor may know"
NEIGHBOUR = "Ben takes the train to work, and everybody may know that"
LONG = " ".join(f"chapter {number} of her diary" for number in range(3_000))
FILES = ("a.db", "a.db-wal", "a.db-shm", "a.db-queue")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def proved(erasure: Erasure) -> bool:
    """Whether the receipt says that all files were searched and nothing was left."""
    return erasure.proven and erasure.search == Search(files=FILES, elsewhere=erasure.search.elsewhere)


def test_the_words_of_an_erased_memory_are_in_no_file_and_its_neighbours_are(path: Path) -> None:
    with an_engine(path) as engine:
        first = engine.remember(ALLERGY, scope=SCOPE, title="Her allergies", metadata={"ward": ["seven of the clinic"]})
        engine.revise(first.id, f"{ALLERGY} about it", scope=SCOPE)
        engine.remember(NEIGHBOUR, scope=SCOPE)
        context = engine.recall("peanuts", scope=SCOPE)
        engine.feedback(context.id or "", scope=SCOPE, helped=[first.id])
        assert ALLERGY.encode() in content(path.parent)

        erasure = engine.erase(scope=SCOPE, id=first.id)

        assert proved(erasure)
        assert (erasure.ids, erasure.versions, erasure.contexts) == ((first.id,), 2, 1)
        files = content(path.parent)
        for gone in (ALLERGY, "Her allergies", "seven of the clinic", "peanuts, and", first.id):
            assert gone.encode() not in files
        assert NEIGHBOUR.encode() in files
        with pytest.raises(recollect.NotFound):
            engine.get(first.id, scope=SCOPE)


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


def leave_a_copy(path: Path, said: bytes) -> None:
    """Write into the part of a page that no row uses, as SQLite does when it moves rows to another page."""
    db = apsw.Connection(str(path))
    size = db.pragma("page_size")
    number = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'contents'").get
    db.close()
    with path.open("r+b") as file:
        file.seek((number - 1) * size)
        page = file.read(size)
        behind_pointers = 8 + 2 * int.from_bytes(page[3:5])
        assert int.from_bytes(page[5:7]) - behind_pointers > len(said)
        file.seek((number - 1) * size + behind_pointers)
        file.write(said)


def test_a_reader_in_another_process_makes_the_receipt_say_that_it_is_not_proved_yet(path: Path) -> None:
    with an_engine(path, settings={"busy_timeout": 0.5}) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        reader = Other("reads", path)
        assert reader.hear() == "1"

        erasure = engine.erase(scope=SCOPE, id=secret.id)

        assert (erasure.proven, erasure.retryable) == (False, True)
        assert "close what has it open" in (erasure.search.unfinished or "")
        assert "a.db-wal" in " ".join(erasure.search.remains)
        assert ALLERGY.encode() in content(path.parent)
        with pytest.raises(recollect.NotFound):
            engine.get(secret.id, scope=SCOPE)

        reader.end()
        again = engine.prove_erased(erasure)
        assert proved(again)
        assert again.ids == erasure.ids
        assert ALLERGY.encode() not in content(path.parent)


def test_searching_the_files_drops_no_lock_of_this_process(path: Path) -> None:
    with an_engine(path) as engine:
        secret = engine.remember(ALLERGY, scope=SCOPE)
        engine.erase(scope=SCOPE, id=secret.id)
        log = path.with_name("a.db-wal").stat().st_ino
        other = Other("writes", path, SCOPE, NEIGHBOUR)
        theirs = other.end()  # the last one to close a store removes its log
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
        with pytest.raises(recollect.NotFound, match="nothing in"):
            engine.erase(scope=name, everything=True)
        again = engine.remember(ALLERGY, scope=name, key="once")
        assert again.memory.commit != 1
        assert [one.id for one in engine.search("peanuts", scope=name)] == [again.id]
        assert [one.id for one in engine.search("train", scope="acme/ben")] == [below.id]


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
        assert (erasure.proven, erasure.search, erasure.scope) == (True, Search(), Scope.parse(SCOPE))


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
        assert analysis.key.cache_info().currsize == 0
        engine.search("peanuts", scope=SCOPE)
        assert embedder.asked == [ALLERGY, "peanuts", "peanuts"]
