"""Files of a store are read without closing them, for as long as anybody is connected to the store."""

import os
import threading
from collections import Counter
from pathlib import Path

import apsw
import pytest

from recollect.errors import StoreError
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.transaction import ReaderPool
from tests.integration.sqlite.scene import Other, a_database, a_writer, note, notes


def open_files(folder: Path) -> Counter[str]:
    """What this process has open in a folder, and how often; those that are gone are marked by the kernel."""
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 — one of them is this
    names = Counter(str(link.readlink()) for link in links if link.is_symlink())
    return Counter({name: count for name, count in names.items() if name.startswith(f"{folder}/")})


def test_a_file_comes_in_blocks_that_overlap_as_asked(tmp_path: Path) -> None:
    file, size = tmp_path / "a", store_files.BLOCK_BYTES
    first, rest = bytes(size), b"0123456789"
    file.write_bytes(first + rest)
    assert list(store_files.read_blocks(file, overlap=2)) == [(0, first + b"01"), (size, rest)]
    assert list(store_files.read_blocks(file)) == [(0, first), (size, rest)]
    assert (store_files.read_bytes(file, size + 3, 4), store_files.read_bytes(file, size + 8, 9)) == (b"3456", b"89")


def test_the_files_of_a_store_are_those_beside_it(tmp_path: Path) -> None:
    for name in ("a.db", "a.db-wal", "a.db-queue", "b.db", "a.db-other"):
        (tmp_path / name).write_bytes(b"1234")
    assert [path.name for path in store_files.list_store_files(tmp_path / "a.db")] == ["a.db", "a.db-wal", "a.db-queue"]
    assert store_files.file_size(tmp_path / "a.db") == 4
    assert store_files.file_size(tmp_path / "nothing") == 0


NEEDS_TO_BE_TOLD = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the kernel does not tell what is open"
)


@NEEDS_TO_BE_TOLD
def test_a_file_stays_open_as_long_as_anybody_here_is_connected_to_its_store(tmp_path: Path) -> None:
    path, other = tmp_path / "a.db", tmp_path / "b.db"
    readers, others = ReaderPool(a_database(path)), ReaderPool(a_database(other))
    with others.borrow():
        with readers.borrow():
            before = open_files(tmp_path)
            for _ in range(3):
                for file in store_files.list_store_files(path):
                    store_files.read_bytes(file, 0, 9)
            names = {str(file) for file in store_files.list_store_files(path)}
            assert open_files(tmp_path) == before + Counter(names)
        readers.close()
        assert not any(name.startswith(str(path)) for name in open_files(tmp_path))
        store_files.read_bytes(path, 0, 9)
        assert str(path) not in open_files(tmp_path)
        assert str(other) in open_files(tmp_path)
    others.close()


@NEEDS_TO_BE_TOLD
def test_a_file_stays_open_as_long_as_a_connection_that_is_not_ours_may_have_it_open(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    db = apsw.Connection(str(file))
    db.execute("CREATE TABLE a (b)")
    begun, over = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        begun.set()
        over.wait()

    db.create_scalar_function("wait", wait)
    thread = threading.Thread(target=lambda: db.execute("SELECT wait()").fetchall())
    thread.start()
    begun.wait()
    before = open_files(tmp_path)
    store_files.read_bytes(file, 0, 9)
    assert open_files(tmp_path) == before + Counter([str(file)])
    over.set()
    thread.join()
    db.close()
    store_files.close_unused()
    assert str(file) not in open_files(tmp_path)


@NEEDS_TO_BE_TOLD
def test_a_file_is_let_go_of_when_it_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    readers = ReaderPool(a_database(path))
    with readers.borrow():
        store_files.read_bytes(path.with_name("a.db-wal"), 0, 9)
        path.with_name("a.db-wal").unlink()
        store_files.close_unused()
        assert open_files(tmp_path)[f"{path}-wal (deleted)"] == 1  # which is SQLite's own
    readers.close()


def test_reading_a_file_takes_no_lock_of_sqlites_away(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = a_database(path)
    readers = ReaderPool(database)
    with a_writer(database) as writer, readers.borrow():
        writer.write(note("first"))
        for file in store_files.list_store_files(path):
            list(store_files.read_blocks(file))
        assert Other("writes", path, "b", 1, 1).end() == []  # and closes the store, which would remove a log in no use
        writer.write(note("second"))
    readers.close()
    assert notes(database) == ["first", "b 0 0", "second"]


def test_too_many_open_files_are_told_as_such(tmp_path: Path) -> None:
    assert Other("opens_too_many_files", tmp_path / "a.db").end() == ["StoreError"] * 4


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"missing cannot be read \(No such file or directory\)"):
        store_files.read_bytes(tmp_path / "missing", 0, 9)
