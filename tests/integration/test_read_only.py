"""A store that may only be read can be read; what would be written is refused with the remedy, and nothing is half."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.integration.reader import SCOPE, an_engine, looked
from tests.rights import heeding

ROOT = Path(__file__).parents[2]
READER = ["-m", "tests.integration.reader"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a store that was used and closed."""
    folder = tmp_path / "kept"
    folder.mkdir()
    with an_engine(folder / "agent.db") as engine:
        seat = engine.remember("a seat by the window", scope=SCOPE, key="seat").id
        engine.remember("the seats in front are for the crew", scope=SCOPE)
        engine.recall("which seat?", scope=SCOPE)
        engine.pin(seat, scope=SCOPE)
    yield folder
    folder.chmod(0o755)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Reader:
    """A process to which permissions apply, and which has the store open."""

    def __init__(self, path: Path, *command: str) -> None:
        self._process = subprocess.Popen(
            [*(command or heeding()), *READER, str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def hear(self) -> Any:
        """What came of its doing all there is to do."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def again(self) -> str:
        """What comes of reading with the same engine."""
        assert self._process.stdin is not None
        self._process.stdin.write("again\n")
        said: str = self.hear()["again"]
        return said

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@contextmanager
def permitted(folder: Path, *, file: int, inside: int) -> Iterator[None]:
    """The store and its folder with these permissions, for a while."""
    for path in folder.iterdir():
        path.chmod(file)
    folder.chmod(inside)
    yield
    folder.chmod(0o755)


def expected(folder: Path) -> dict[str, Any]:
    """What somebody sees who may write; in a copy, so that the store stays as it is."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    with an_engine(copy / "agent.db") as engine:
        found: dict[str, Any] = json.loads(json.dumps(looked(engine)))
    return found


def told_of_all(told: dict[str, Any], folder: Path) -> None:
    """Reading gave what it should, and writing was refused with the remedy."""
    seen = expected(folder)
    assert {name: told[name] for name in seen} == seen
    assert (told["verify"], told["backup"]) == (True, True)
    assert told["key"] == f"gave {told['memories'][0]}"
    assert told["context"] is None
    assert told["served"] == "gave None"
    assert "None is not an id: contexts of a read-only store have none" in told["feedback"]
    for act, said in told["refused"].items():
        assert said.startswith(f"StoreError: {folder / 'agent.db'} cannot be written"), (act, said)
        assert said.endswith("check the permissions of the file and its folder"), (act, said)


@pytest.mark.parametrize(("file", "inside"), [(0o444, 0o555), (0o644, 0o555), (0o444, 0o755)])
def test_a_store_that_may_only_be_read_gives_all_that_it_has(folder: Path, file: int, inside: int) -> None:
    before = names(folder)
    with permitted(folder, file=file, inside=inside), closing(Reader(folder / "agent.db")) as reader:
        told = reader.hear()
        assert names(folder) == before
    told_of_all(told, folder)


ON_A_DISK_THAT_MAY_ONLY_BE_READ = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
"""What a shell with a name space of its own does before it becomes a program."""


def reading_only(folder: Path) -> list[str]:
    """The command that runs Python with the folder on such a disk; without rights, where nothing may be mounted."""
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", ON_A_DISK_THAT_MAY_ONLY_BE_READ, str(folder)]
    try:
        mounted = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        folder.chmod(0o555)
    return [*command, sys.executable] if mounted else heeding()


def test_a_store_on_a_disk_that_may_only_be_read_gives_all_that_it_has(folder: Path) -> None:
    before = names(folder)
    with closing(Reader(folder / "agent.db", *reading_only(folder))) as reader:
        told = reader.hear()
        assert names(folder) == before
    told_of_all(told, folder)


def test_what_is_still_in_the_log_is_not_left_out_but_told(folder: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with an_engine(folder / "agent.db") as engine:
        engine.remember("the latest seat", scope=SCOPE)
        subprocess.run(["cp", "-r", str(folder), str(killed)], check=True)  # as a process leaves it that is killed
    with permitted(killed, file=0o444, inside=0o555), closing(Reader(killed / "agent.db")) as reader:
        said = reader.hear()["open"]
    assert said.startswith(f"StoreError: {killed / 'agent.db'} is read-only, and part of its data is still in the log")
    assert "open and close it once with an account that can write to it" in said
    with an_engine(killed / "agent.db") as engine:
        assert len(engine.memories(scope=SCOPE)) == 3
    with permitted(killed, file=0o444, inside=0o555), closing(Reader(killed / "agent.db")) as reader:
        assert len(reader.hear()["memories"]) == 3


def test_what_others_write_meanwhile_is_noticed(folder: Path) -> None:
    path = folder / "agent.db"
    with permitted(folder, file=0o444, inside=0o555):
        with closing(Reader(path)) as reader:
            ids = reader.hear()["memories"]
            assert reader.again() == f"gave {ids}"
            with an_engine(_in_spite_of_permissions(path)) as engine:
                engine.remember("a seat that is new", scope=SCOPE)
                assert "is read-only, and part of its data is still in the log" in reader.again()
            assert "was changed while it was open for reading; open the store again" in reader.again()
        for beside in folder.iterdir():
            beside.chmod(0o444)
        folder.chmod(0o555)
        with closing(Reader(path)) as reader:
            assert len(reader.hear()["memories"]) == 3


def _in_spite_of_permissions(path: Path) -> Path:
    """The store, for somebody who may write: the owner."""
    path.parent.chmod(0o755)
    for beside in path.parent.iterdir():
        beside.chmod(0o644)
    return path


def test_a_store_of_an_older_schema_cannot_be_brought_up_and_is_told_so(folder: Path) -> None:
    with closing(apsw.Connection(str(folder / "agent.db"))) as db:
        db.pragma("user_version", 0)
    with permitted(folder, file=0o444, inside=0o555), closing(Reader(folder / "agent.db")) as reader:
        said = reader.hear()["open"]
    assert said.startswith(f"SchemaMismatch: {folder / 'agent.db'} is read-only, but must be migrated to schema")
    assert said.endswith("open it once with an account that can write to it")


def test_a_store_that_may_be_written_is_written(folder: Path) -> None:
    with closing(Reader(folder / "agent.db")) as reader:
        told = reader.hear()
    assert told["context"] is not None
    assert told["refused"]["remember"].startswith("gave ")
