"""A backup is the store as it was at one moment, and there is either a whole one or none."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.engine.dependencies import Dependencies
from recollect.engine.engine import Engine
from recollect.factory import verify
from recollect.testing.reference_store import ReferenceStore
from tests.integration.sqlite.engines import SCOPE, OtherEngine, an_engine


def filled(engine: Engine, count: int = 50) -> None:
    engine.remember_all([{"text": f"thing {number}", "scope": SCOPE} for number in range(count)])


def test_a_backup_opens_as_the_store_it_was_made_of(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        engine.recall("thing 7", scope=SCOPE)
        assert engine.admin.backup(tmp_path / "b.db") == tmp_path / "b.db"
        lines = list(engine.export())
    with an_engine(tmp_path / "b.db") as engine:
        assert list(engine.export()) == lines


@pytest.mark.thorough
def test_others_write_while_a_backup_is_made_and_it_is_of_the_moment_it_was_begun(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with an_engine(tmp_path / "a.db") as engine:
        for start in range(10):
            filled_text = "x" * 60_000
            engine.remember(f"long {start} {filled_text}", scope=SCOPE)
        filled(engine, 3_000)
        lines = list(engine.export())

        def write(done: int, total: int) -> None:
            told.append((done, total))
            engine.remember(f"meanwhile {done}", scope=SCOPE)
            other = OtherEngine("remembers", tmp_path / "a.db", SCOPE, f"elsewhere {done}")
            other.end()

        engine.admin.backup(tmp_path / "b.db", progress=write)
        assert engine.stats().memories == 3_010 + 2 * len(told)
    assert told[-1][0] == told[-1][1]
    assert len(told) > 1
    with an_engine(tmp_path / "b.db") as engine:
        assert list(engine.export()) == lines
    assert sorted(path.name for path in tmp_path.iterdir() if "unfinished" in path.name) == []


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b.db").write_text("precious")
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        for name in ("a.db", "b.db"):
            with pytest.raises(recollect.Conflict, match=name):
                engine.admin.backup(tmp_path / name)
    assert (tmp_path / "b.db").read_text() == "precious"


def test_a_file_that_appears_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        with pytest.raises(recollect.Conflict, match=r"b\.db"):
            engine.admin.backup(
                tmp_path / "b.db", progress=lambda _, __: os.close(os.open(tmp_path / "b.db", os.O_CREAT))
            )
    assert (tmp_path / "b.db").read_bytes() == b""
    assert [path for path in tmp_path.iterdir() if "unfinished" in path.name] == []


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_nothing_is_made_that_would_be_read_together_with_what_another_store_left(tmp_path: Path, end: str) -> None:
    beside = tmp_path / f"b.db{end}"
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        beside.write_bytes(b"of another store")
        with pytest.raises(recollect.Conflict, match=f"would read b.db{end} beside it"):
            engine.admin.backup(tmp_path / "b.db")
        beside.unlink()
        with pytest.raises(recollect.Conflict, match=f"would read b.db{end} beside it"):
            engine.admin.backup(tmp_path / "b.db", progress=lambda _, __: beside.touch())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "a.db-queue", beside.name]


def test_what_no_file_can_be_called_is_refused_in_words(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine, pytest.raises(recollect.InvalidInput, match="not a path"):
        engine.admin.backup(f"{tmp_path}/b\0.db")


def test_what_a_killed_backup_left_goes_with_the_next_one_and_what_is_being_made_stays(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        killed, alive = (OtherEngine("backs_up_when_told", tmp_path / "a.db", tmp_path / name) for name in "kl")
        assert killed.hear() == alive.hear() == "copying"
        left = {path: list(path.iterdir()) for path in tmp_path.glob(".recollect-*.unfinished")}
        assert all(b"thing 7" in (path / "copy.db").read_bytes() for path in left)
        killed.kill()
        engine.admin.backup(tmp_path / "b.db")
        (stays,) = tmp_path.glob(".recollect-*.unfinished")
        assert list(stays.iterdir()) == left.pop(stays)
        assert len(left) == 1
        alive.tell()
        alive.end()
    assert verify(tmp_path / "l").ok
    names = ["a.db", "a.db-queue", "b.db", "l"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_backup_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        with pytest.raises(KeyboardInterrupt):
            engine.admin.backup(tmp_path / "b.db", progress=fail)
        with pytest.raises(recollect.StoreError, match="nowhere"):
            engine.admin.backup(tmp_path / "nowhere" / "b.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "a.db-queue"]


def texts(path: Path) -> set[str]:
    with an_engine(path) as engine:
        return {memory.text for memory in engine.memories(scope=SCOPE)}


@pytest.mark.parametrize("put_back", [os.replace, shutil.copyfile])
@pytest.mark.parametrize("closed", [True, False])
def test_a_backup_put_in_the_place_of_an_open_store_is_not_undone_by_the_log_of_that(
    tmp_path: Path, put_back: Callable[[Path, Path], object], closed: bool
) -> None:
    path, backup, log = tmp_path / "a.db", tmp_path / "b.db", tmp_path / "a.db-wal"
    store = an_engine(path)
    filled(store, 3)
    store.admin.backup(backup)
    kept = backup.read_bytes()
    store.erase(scope=SCOPE, everything=True)
    store.remember_all([{"text": f"unwanted {number}", "scope": SCOPE} for number in range(30)])
    put_back(backup, path)
    with pytest.raises(recollect.StoreError):
        store.remember("more", scope=SCOPE)
    if closed:
        store.close()
    told = "is a backup, and a.db-wal beside it belongs to the store that it replaced and would undo it; close"
    with pytest.raises(recollect.StoreError, match=told):
        an_engine(path)
    store.close()
    assert path.read_bytes() == kept
    assert "a.db-wal" in verify(path).problems[0]
    log.rename(tmp_path / "old-log")
    assert verify(path).sealed
    assert texts(path) == {"thing 0", "thing 1", "thing 2"}


def test_a_backup_that_is_written_to_is_a_store_even_if_the_process_is_killed_at_once(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine, 1)
        engine.admin.backup(tmp_path / "b.db")
    other = OtherEngine("remembers_and_waits", tmp_path / "b.db", SCOPE, "of another")
    assert other.hear() == "remembered"
    other.kill()
    assert (tmp_path / "b.db-wal").stat().st_size
    assert texts(tmp_path / "b.db") == {"thing 0", "of another"}


def test_a_store_has_one_name_or_is_not_opened_for_writing(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine, 1)
    other = tmp_path / "b.db"
    other.hardlink_to(tmp_path / "a.db")
    for path in (tmp_path / "a.db", other):
        with pytest.raises(recollect.StoreError, match=f"{path.name} has a second name"):
            an_engine(path)
    (tmp_path / "a.db").unlink()
    assert texts(other) == {"thing 0"}


def test_the_name_that_a_killed_backup_left_does_not_count(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine, 1)
        killed = OtherEngine("backs_up_when_told", tmp_path / "a.db", tmp_path / "b.db")
        assert killed.hear() == "copying"
        killed.kill()
        (left,) = tmp_path.glob(".recollect-*.unfinished")
    (left / "copy.db").unlink()
    (left / "copy.db").hardlink_to(tmp_path / "a.db")
    assert texts(tmp_path / "a.db") == {"thing 0"}
    assert not left.exists()


def test_a_backup_can_be_read_by_whoever_can_read_the_store(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        (tmp_path / "a.db").chmod(0o640)
        engine.admin.backup(tmp_path / "b.db")
    assert stat.S_IMODE((tmp_path / "b.db").stat().st_mode) == 0o640


def test_a_store_in_memory_can_be_kept_as_a_file(tmp_path: Path) -> None:
    with an_engine(":memory:") as engine:
        filled(engine)
        engine.admin.backup(tmp_path / "b.db")
        lines = list(engine.export())
    with an_engine(tmp_path / "b.db") as engine:
        assert list(engine.export()) == lines
    assert verify(tmp_path / "b.db").ok


def test_a_store_without_a_file_says_what_to_do_instead(tmp_path: Path) -> None:
    with an_engine(":memory:") as engine:
        deps = engine._deps
        parts = {name: getattr(deps, name) for name in Dependencies.__dataclass_fields__}
        plain = Engine(Dependencies(**{**parts, "store": ReferenceStore(deps.clock)}))
        with pytest.raises(recollect.InvalidInput, match="export"):
            plain.admin.backup(tmp_path / "b.db")
