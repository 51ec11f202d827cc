"""A backup is the store as it was at one moment, and there is either a whole one or none."""

import os
import stat
from pathlib import Path

import pytest

import recollect
from recollect.engine.engine import Engine
from recollect.engine.world import World
from recollect.stores.dictionary import DictionaryStore
from recollect.wiring import verify
from tests.integration.upkeep.scene import SCOPE, Other, an_engine


def filled(engine: Engine, count: int = 50) -> None:
    engine.remember_all([{"text": f"thing {number}", "scope": SCOPE} for number in range(count)])


def test_a_backup_opens_as_the_store_it_was_made_of(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        engine.recall("thing 7", scope=SCOPE)
        assert engine.backup(tmp_path / "b.db") == tmp_path / "b.db"
        lines = list(engine.export())
    with an_engine(tmp_path / "b.db") as engine:
        assert list(engine.export()) == lines


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
            other = Other("writes", tmp_path / "a.db", SCOPE, f"elsewhere {done}")
            other.end()

        engine.backup(tmp_path / "b.db", progress=write)
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
                engine.backup(tmp_path / name)
    assert (tmp_path / "b.db").read_text() == "precious"


def test_a_file_that_appears_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        with pytest.raises(recollect.Conflict, match=r"b\.db"):
            engine.backup(tmp_path / "b.db", progress=lambda _, __: os.close(os.open(tmp_path / "b.db", os.O_CREAT)))
    assert (tmp_path / "b.db").read_bytes() == b""
    assert [path for path in tmp_path.iterdir() if "unfinished" in path.name] == []


def test_a_backup_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        with pytest.raises(KeyboardInterrupt):
            engine.backup(tmp_path / "b.db", progress=fail)
        with pytest.raises(recollect.StoreError, match="nowhere"):
            engine.backup(tmp_path / "nowhere" / "b.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "a.db-queue"]


def test_a_backup_can_be_read_by_whoever_can_read_the_store(tmp_path: Path) -> None:
    with an_engine(tmp_path / "a.db") as engine:
        filled(engine)
        (tmp_path / "a.db").chmod(0o640)
        engine.backup(tmp_path / "b.db")
    assert stat.S_IMODE((tmp_path / "b.db").stat().st_mode) == 0o640


def test_a_store_in_memory_can_be_kept_as_a_file(tmp_path: Path) -> None:
    with an_engine(":memory:") as engine:
        filled(engine)
        engine.backup(tmp_path / "b.db")
        lines = list(engine.export())
    with an_engine(tmp_path / "b.db") as engine:
        assert list(engine.export()) == lines
    assert verify(tmp_path / "b.db").ok


def test_a_store_without_a_file_says_what_to_do_instead(tmp_path: Path) -> None:
    with an_engine(":memory:") as engine:
        world = engine._world
        parts = {name: getattr(world, name) for name in World.__dataclass_fields__}
        plain = Engine(World(**{**parts, "store": DictionaryStore(world.clock)}))
        with pytest.raises(recollect.InvalidInput, match="export"):
            plain.backup(tmp_path / "b.db")
