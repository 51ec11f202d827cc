"""Files of a store are read without closing them, for as long as they are there."""

import os
from pathlib import Path

import pytest

from recollect.stores.sqlite import descriptors


def open_files() -> set[str]:
    """What this process has open; those that are gone are marked by the kernel."""
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 — one of them is this
    return {str(link.readlink()) for link in links if link.is_symlink()}


def test_a_file_comes_in_blocks_that_overlap_as_asked(tmp_path: Path) -> None:
    file, size = tmp_path / "a", descriptors.BLOCK
    first, rest = bytes(size), b"0123456789"
    file.write_bytes(first + rest)
    assert list(descriptors.blocks(file, overlap=2)) == [(0, first + b"01"), (size, rest)]
    assert list(descriptors.blocks(file)) == [(0, first), (size, rest)]
    assert (descriptors.piece(file, size + 3, 4), descriptors.piece(file, size + 8, 9)) == (b"3456", b"89")


def test_the_files_of_a_store_are_those_beside_it(tmp_path: Path) -> None:
    for name in ("a.db", "a.db-wal", "a.db-queue", "b.db", "a.db-other"):
        (tmp_path / name).write_bytes(b"1234")
    assert [path.name for path in descriptors.files_of(tmp_path / "a.db")] == ["a.db", "a.db-wal", "a.db-queue"]
    assert descriptors.size(tmp_path / "a.db") == 4
    assert descriptors.size(tmp_path / "nothing") == 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the kernel does not tell what is open")
def test_a_file_is_opened_once_and_let_go_of_when_it_is_deleted(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"old")
    other.write_bytes(b"other")
    for _ in range(3):
        assert descriptors.piece(file, 0, 9) == b"old"
    assert str(file) in open_files()
    file.unlink()
    file.write_bytes(b"new")
    assert descriptors.piece(other, 0, 9) == b"other"
    assert not any(str(file) in name for name in open_files())
    assert descriptors.piece(file, 0, 9) == b"new"
