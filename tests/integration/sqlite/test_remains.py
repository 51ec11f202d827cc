"""Bytes that were erased are found wherever they are, and told from those that belong to rows."""

from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.archive import ResidueSearch
from recollect.stores.sql import erasure
from recollect.stores.sql.erasure import ANCHOR_BYTES, NEEDLE_BYTES, NeedleFinder, cut_needles, join_ranges
from recollect.stores.sqlite.residue import find_cells, search_files

SAID = b"Ana is allergic to peanuts, and nobody but her doctor may know about that."

haystacks = st.lists(st.sampled_from([SAID, SAID[3:40], b"Ana is allergic", b"\0" * 30, b"peanuts, "])).map(b"".join)


@given(st.binary(min_size=2 * NEEDLE_BYTES, max_size=400), st.data())
def test_whatever_is_left_of_a_text_has_a_piece_of_it_if_it_is_twice_as_long(said: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(said) - 2 * NEEDLE_BYTES))
    left = said[start : start + 2 * NEEDLE_BYTES]
    starts = range(-(-start // NEEDLE_BYTES) * NEEDLE_BYTES, start + NEEDLE_BYTES + 1, NEEDLE_BYTES)
    telling = [said[at : at + NEEDLE_BYTES] for at in starts if len(set(said[at : at + ANCHOR_BYTES])) >= 4]
    assert all(piece in left for piece in telling)
    assert set(telling) <= set(cut_needles(said))


def test_a_short_text_is_one_piece_and_a_long_one_ends_with_one() -> None:
    assert list(cut_needles(b"Ana is well")) == [b"Ana is well"]
    assert list(cut_needles(SAID))[-1] == SAID[-NEEDLE_BYTES:]
    assert list(cut_needles(b"")) == list(cut_needles(b"\0" * 200)) == list(cut_needles(b" " * 100)) == []


@given(haystacks, st.sets(st.sampled_from([*cut_needles(SAID), b"Ana is a", b"allergic to nothing"])))
def test_every_piece_is_found_at_every_place(haystack: bytes, wanted: set[bytes]) -> None:
    expected = {(at, one) for one in wanted for at in range(len(haystack)) if haystack.startswith(one, at)}
    assert set(NeedleFinder(wanted).find(haystack)) == expected


def test_many_pieces_are_looked_for_at_once() -> None:
    wanted = {b"%016d" % number for number in range(5_000)}
    haystack = b"".join(b"%016d" % number for number in range(0, 10_000, 7))
    found = {piece for place, piece in NeedleFinder(wanted).find(haystack) if place % 16 == 0}
    assert found == {b"%016d" % number for number in range(0, 5_000, 7)}


@pytest.fixture
def database(tmp_path: Path) -> apsw.Connection:
    """A table with rows of every size, an index on them, and one without row numbers."""
    db = apsw.Connection(str(tmp_path / "a.db"))
    db.pragma("page_size", 1024)
    db.pragma("secure_delete", "ON")
    db.execute("CREATE TABLE notes (number INTEGER PRIMARY KEY, said TEXT)")
    db.execute("CREATE INDEX notes_by_text ON notes (said)")
    db.execute("CREATE TABLE words (word TEXT PRIMARY KEY, said TEXT) WITHOUT ROWID")
    sizes = [*range(1, 1200, 7), 5_000, 20_000]
    db.executemany("INSERT INTO notes (said) VALUES (?)", [(_text(size),) for size in sizes])
    db.executemany("INSERT INTO words VALUES (?, ?)", [(f"{size}", _text(size)) for size in sizes])
    db.execute("VACUUM")  # without it, copies are left behind where rows were moved
    return db


def _text(size: int) -> str:
    """A text of which every piece says which one it is of."""
    return "".join(f"{size}:{number};" for number in range(size))[:size]


def test_all_that_is_in_rows_is_known_to_be(database: apsw.Connection) -> None:
    path = Path(database.filename)
    for size in (8, 50, 302, 904, 1_198, 5_000, 20_000):
        found = search_files(path, database, frozenset(cut_needles(_text(size).encode())))
        assert found.remains == ()
        assert set(found.elsewhere) == {"notes", "words"}
        assert found.files == ("a.db",)


def test_what_is_in_a_page_but_in_no_row_remains(database: apsw.Connection) -> None:
    path = Path(database.filename)
    database.pragma("secure_delete", "OFF")
    database.execute("DELETE FROM notes WHERE length(said) <= 1000")
    database.execute("DELETE FROM words WHERE length(said) <= 1000")
    found = search_files(path, database, frozenset(cut_needles(_text(302).encode())))
    assert found.remains != ()
    assert found.elsewhere == {}


def test_the_cells_of_a_page_do_not_overlap_and_stay_inside_of_it(database: apsw.Connection) -> None:
    content = Path(database.filename).read_bytes()
    tree = database.execute("SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'").fetchall()
    for number in (int(str(row[0])) for row in tree):
        page = content[(number - 1) * 1024 : number * 1024]
        found = sorted(find_cells(page, first=number == 1, usable=1024), key=lambda one: one.start)
        assert all(one.stop <= after.start for one, after in pairwise(found))
        assert all(0 < one.start < one.stop <= 1024 for one in found)


@given(st.dictionaries(st.integers(0, 60), st.integers(1, 12)))
def test_pieces_that_touch_or_overlap_lie_in_one_run(places: dict[int, int]) -> None:
    covered = {at + step for at, length in places.items() for step in range(length)}
    found = list(join_ranges(places))
    assert {at for begin, end in found for at in range(begin, end)} == covered
    assert all(end < begin for (_, end), (begin, _) in pairwise(found))


def test_what_a_row_says_as_well_is_no_remainder_and_what_only_several_say_together_is(
    database: apsw.Connection,
) -> None:
    path = Path(database.filename)
    first, second = SAID[:NEEDLE_BYTES], SAID[NEEDLE_BYTES : 2 * NEEDLE_BYTES]
    database.execute("DELETE FROM notes; DELETE FROM words; VACUUM")
    database.executemany("INSERT INTO words VALUES (?, ?)", [("1", first.decode()), ("2", second.decode())])
    wanted = frozenset({first, second})
    assert search_files(path, database, wanted) == ResidueSearch(files=("a.db",), elsewhere={"words": 2})
    for copy, left in ((first, False), (second, False), (first + second, True)):
        leave_in_a_gap(database, copy)
        assert bool(search_files(path, database, wanted).remains) == left


def leave_in_a_gap(database: apsw.Connection, said: bytes) -> None:
    """Write into the part of the first page of a table that no row uses."""
    number = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'notes'").get
    with Path(database.filename).open("r+b") as file:
        file.seek((number - 1) * 1024 + 200)
        file.write(said)


def test_of_what_is_everywhere_not_every_place_is_looked_at(
    database: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "MAX_PLACES_PER_NEEDLE", 10)
    database.execute("DELETE FROM notes; DELETE FROM words; VACUUM")
    said = SAID[:NEEDLE_BYTES].decode()
    database.executemany("INSERT INTO words VALUES (?, ?)", [(str(number), said) for number in range(40)])
    found = search_files(Path(database.filename), database, frozenset({said.encode()}))
    assert found == ResidueSearch(files=("a.db",), elsewhere={"words": 10})
