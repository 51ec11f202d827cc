"""A file gets its name when it is whole, and takes nobody else's."""

import os
from pathlib import Path

import pytest

from recollect.atomic_files import find_sqlite_log, move_into_place, remove_abandoned_folders, temp_folder
from tests.platforms import posix_only


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "unfinished"
    path.write_text("whole")
    return path


@pytest.fixture
def unlinkable(tmp_path: Path) -> Path:
    """What no system gives a second name: a folder stands here for a file where there are no links."""
    path = tmp_path / "unfinished"
    path.mkdir()
    return path


def test_a_file_is_there_under_its_name(whole: Path, tmp_path: Path) -> None:
    move_into_place(whole, tmp_path / "named")
    assert (tmp_path / "named").read_text() == "whole"


def test_what_has_the_name_already_stays(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "named").write_text("precious")
    with pytest.raises(FileExistsError):
        move_into_place(whole, tmp_path / "named")
    assert (tmp_path / "named").read_text() == "precious"
    assert whole.read_text() == "whole"


def test_where_there_are_no_links_it_is_renamed(unlinkable: Path, tmp_path: Path) -> None:
    move_into_place(unlinkable, tmp_path / "named")
    assert [path.name for path in tmp_path.iterdir()] == ["named"]


def test_where_there_are_no_links_what_has_the_name_stays_too(unlinkable: Path, tmp_path: Path) -> None:
    (tmp_path / "named").mkdir()  # which a folder could be renamed to
    with pytest.raises(FileExistsError, match="named"):
        move_into_place(unlinkable, tmp_path / "named")
    assert unlinkable.exists()


def test_what_has_the_name_already_is_replaced_if_that_is_wished(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "named").write_text("no longer wanted")
    move_into_place(whole, tmp_path / "named", replacing=True)
    assert (tmp_path / "named").read_text() == "whole"


def test_a_folder_that_is_not_there_is_said_to_be(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        move_into_place(whole, tmp_path / "nowhere" / "named")


def test_what_is_unfinished_is_in_a_folder_of_its_own_and_gone_in_the_end(tmp_path: Path) -> None:
    with temp_folder(tmp_path) as first, temp_folder(tmp_path) as second:
        assert first.parent == second.parent == tmp_path
        assert first != second
        assert sorted(remove_abandoned_folders(tmp_path)) == sorted([first, second])  # somebody works there
    assert list(tmp_path.iterdir()) == []


@posix_only
def test_what_nobody_works_on_any_more_is_swept_away(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    (folder / folder.name).touch()
    assert remove_abandoned_folders(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_just_made_is_not_taken_for_abandoned_before_it_is_locked(tmp_path: Path) -> None:
    folder = abandoned(tmp_path)
    assert remove_abandoned_folders(tmp_path) == [folder]
    for path in (folder, *folder.iterdir()):
        os.utime(path, (0, 0))
    assert remove_abandoned_folders(tmp_path) == []


def test_only_folders_of_that_name_are_swept_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".recollect-x.unfinished").touch()
    (tmp_path / ".recollect-x.unfinished").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".recollect-y.unfinished").touch()
    before = sorted(tmp_path.rglob("*"))
    assert remove_abandoned_folders(tmp_path) == remove_abandoned_folders(tmp_path / "nowhere") == []
    assert sorted(tmp_path.rglob("*")) == before


def abandoned(place: Path) -> Path:
    """A folder in which a process that was killed had begun to make something."""
    folder = place / ".recollect-x.unfinished"
    folder.mkdir()
    (folder / "half").touch()
    return folder


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_sqlite_would_take_for_a_part_of_a_file_is_known(tmp_path: Path, end: str) -> None:
    assert find_sqlite_log(tmp_path / "a.db") is None
    for other in ("a.db-queue", "a.db-walrus", f"b.db{end}"):
        (tmp_path / other).touch()
    assert find_sqlite_log(tmp_path / "a.db") is None
    (tmp_path / f"a.db{end}").touch()
    assert find_sqlite_log(tmp_path / "a.db") == tmp_path / f"a.db{end}"
