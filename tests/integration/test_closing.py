"""Closing a store that cannot be written says so, and never in place of what went wrong before."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

import recollect

ANA = "acme/ana"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one memory."""
    path = tmp_path / "agent.db"
    with an_engine(path) as engine:
        engine.remember("a seat by the window", scope=ANA)
    return path


def an_engine(path: Path) -> recollect.Engine:
    return recollect.open(path, embedder="hashing")


def a_hasty_engine(path: Path) -> recollect.Engine:
    """An engine that waits for a moment only; without others, a slow machine may keep it waiting for longer."""
    return recollect.open(path, embedder="hashing", settings={"busy_timeout": 0.05})


@contextmanager
def others_writing(path: Path) -> Iterator[None]:
    """Somebody who does not stand in line keeps the store from being written."""
    before = threading.enumerate()
    try:
        with closing(apsw.Connection(str(path))) as db:
            db.execute("BEGIN IMMEDIATE")
            yield
    finally:
        for thread in threading.enumerate():
            if thread.name == "recollect-writer" and thread not in before:  # one that was given up ends soon
                thread.join()


def held_up(path: Path, act: Callable[[recollect.Engine], object]) -> None:
    """Recall, which has something to write, and do something else, while others write until the engine is closed."""
    with others_writing(path), a_hasty_engine(path) as engine:
        engine.recall("a seat", scope=ANA)
        act(engine)


def open_below(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    links = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return [name for name in map(str, map(Path.readlink, links)) if name.startswith(str(folder))]


def fail(_: recollect.Engine) -> None:
    raise LookupError("the first")


def test_what_could_not_be_written_is_told_when_the_store_is_closed(path: Path) -> None:
    with pytest.raises(recollect.StoreBusy, match="1 deferred writes were not made"):
        held_up(path, lambda _: None)


def test_an_error_inside_is_the_one_that_comes_out(path: Path) -> None:
    with pytest.raises(LookupError, match="the first") as caught:
        held_up(path, fail)
    (told,) = caught.value.__notes__
    assert told.startswith("closing the store failed too: ")
    assert "1 deferred writes were not made" in told


def test_a_write_that_failed_is_what_is_told(path: Path) -> None:
    with pytest.raises(recollect.StoreBusy, match=r"another process was writing for 0\.05 s") as caught:
        held_up(path, lambda engine: engine.remember("another seat", scope=ANA))
    assert len(caught.value.__notes__) == 1


def test_a_store_that_could_not_be_closed_well_is_closed(path: Path) -> None:
    engine = a_hasty_engine(path)
    with others_writing(path):
        engine.recall("a seat", scope=ANA)
        with pytest.raises(recollect.StoreBusy):
            engine.close()
    engine.close()
    with pytest.raises(recollect.RecollectError, match="closed"):
        engine.search("a seat", scope=ANA)
    assert open_below(path.parent) == []
    with an_engine(path) as again:
        assert again.remember("another seat", scope=ANA).memory.text == "another seat"


def test_nothing_stays_open_of_stores_that_were_searched_for_what_was_erased(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"{number}.db"
        with an_engine(path) as engine:
            seat = engine.remember("a seat by the window", scope=ANA)
            assert engine.erase(scope=ANA, id=seat.id).proven
        assert recollect.verify(path).problems == ()
    assert open_below(tmp_path) == []


ENDS_WITHOUT_CLOSING = """
import sys
import recollect
from recollect.stores.sql import deferred

deferred.EXIT_FLUSH_SECONDS = 60.0
memory = recollect.open(sys.argv[1])
print(memory.recall("which seat?", scope="acme/ana").id)
"""


def test_a_script_that_closes_nothing_loses_no_trace_and_no_use(path: Path) -> None:
    command = [sys.executable, "-c", ENDS_WITHOUT_CLOSING, str(path)]
    ends = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [end.stderr for end in ends] == ["", ""]
    with an_engine(path) as engine:
        (seat,) = engine.memories(scope=ANA)
        assert engine.contexts.usage(seat.id, scope=ANA).served == len(ends)
        for end in ends:
            engine.feedback(end.stdout.strip(), scope=ANA, helped=[seat.id])
        assert engine.contexts.usage(seat.id, scope=ANA).helped == len(ends)
