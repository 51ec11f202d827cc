"""Files that are made once and found again, whatever happens to the folders they are in."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from recollect.providers.minilm import cache_folders, load_or_build, user_cache_folder
from tests.tables import table

CONTENT = b"made" * 1000


class Making:
    """Makes the content, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return CONTENT


def test_it_is_made_once_and_then_found(tmp_path: Path) -> None:
    making, folder = Making(), tmp_path / "not" / "yet" / "there"
    assert [load_or_build("graph-1", making, [folder]) for _ in range(3)] == [CONTENT] * 3
    assert making.times == 1
    (file,) = folder.iterdir()
    assert file.name.startswith("graph-1-")
    assert file.read_bytes() == CONTENT


def test_another_stem_is_another_file(tmp_path: Path) -> None:
    making = Making()
    for stem in ("graph-1", "graph-2", "graph"):
        load_or_build(stem, making, [tmp_path])
    assert making.times == 3


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_a_damaged_file_is_made_again(damage: bytes, tmp_path: Path) -> None:
    making = Making()
    load_or_build("graph", making, [tmp_path])
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert load_or_build("graph", making, [tmp_path]) == CONTENT
    assert (making.times, list(tmp_path.iterdir())) == (2, [file])
    assert file.read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written_leaves_it_to_the_next(tmp_path: Path) -> None:
    making, no_folder, second = Making(), tmp_path / "file", tmp_path / "second"
    no_folder.write_text("in the way")
    folders = [no_folder / "below", no_folder, second]
    assert [load_or_build("graph", making, folders) for _ in range(2)] == [CONTENT] * 2
    assert making.times == 1
    assert len(list(second.iterdir())) == 1


def test_if_no_folder_can_be_written_it_is_made_every_time(tmp_path: Path) -> None:
    making, no_folder = Making(), tmp_path / "file"
    no_folder.write_text("in the way")
    assert [load_or_build("graph", making, [no_folder]) for _ in range(2)] == [CONTENT] * 2
    assert [load_or_build("graph", making, []) for _ in range(2)] == [CONTENT] * 2
    assert making.times == 4


def test_what_cannot_be_put_in_its_place_leaves_nothing_unfinished(tmp_path: Path) -> None:
    making = Making()
    load_or_build("graph", making, [tmp_path])
    (file,) = tmp_path.iterdir()
    file.unlink()
    (file / "in the way").mkdir(parents=True)
    assert load_or_build("graph", making, [tmp_path]) == CONTENT
    assert list(tmp_path.iterdir()) == [file]


def test_two_processes_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from recollect.providers.minilm import load_or_build\n"
        "def make():\n    print(flush=True); sys.stdin.readline(); return b'made' * 10**6\n"
        "assert load_or_build('graph', make, [Path(sys.argv[1])]) == b'made' * 10**6"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:  # each says that it has found nothing and is making it
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        process.communicate("go on\n", timeout=60)
    assert [process.returncode for process in running] == [0, 0]
    assert [len(file.read_bytes()) for file in tmp_path.iterdir()] == [4 * 10**6]


@table(
    ("environment", "platform", "folder"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "linux", "/x/recollect"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "linux", "/h/.cache/recollect"),
        ({"HOME": "/h"}, "linux", "/h/.cache/recollect"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Caches/recollect"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "darwin", "/x/recollect"),
        ({"LOCALAPPDATA": "/a", "HOME": "/h"}, "win32", "/a/recollect"),
        ({}, "linux", None),
        ({"HOME": ""}, "darwin", None),
        ({"HOME": "/h"}, "win32", None),
    ],
)
def test_the_users_cache_is_where_the_platform_has_it(
    environment: dict[str, str], platform: str, folder: str | None
) -> None:
    assert user_cache_folder(environment, platform) == (None if folder is None else Path(folder))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go while the test runs."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_after_the_users_cache_comes_a_temporary_folder_of_the_user_alone(temporary: Path) -> None:
    user, private = cache_folders()
    assert user == temporary / "home" / ".cache" / "recollect"
    assert private == temporary / f"recollect-{os.getuid()}"
    assert not private.exists()
    load_or_build("graph", Making(), [private])
    assert private.stat().st_mode & 0o777 == 0o700
    assert cache_folders() == [user, private]


def test_a_user_without_a_home_has_the_temporary_folder(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert cache_folders() == [temporary / f"recollect-{os.getuid()}"]


@pytest.mark.parametrize("trap", ["open to others", "a link", "a file"])
def test_a_temporary_folder_that_others_could_have_filled_is_not_used(trap: str, temporary: Path) -> None:
    folder, elsewhere = temporary / f"recollect-{os.getuid()}", temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if trap == "open to others":
        folder.mkdir()
        folder.chmod(0o777)
    elif trap == "a link":
        folder.symlink_to(elsewhere)
    else:
        folder.write_text("in the way")
    assert cache_folders() == [temporary / "home" / ".cache" / "recollect"]
