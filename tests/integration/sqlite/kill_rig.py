"""What is killed in these tests: an import and an erasure, in one child after another, each of which comes further."""

import os
import shutil
import signal
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw

import recollect
from tests.integration.sqlite.engines import SCOPE
from tests.integration.sqlite.other import obey, say, until_told

INSTRUCTIONS = 1_000
"""After how many instructions of SQLite's machine a statement that takes long is a step further."""


Step = Callable[[], bool]
"""Comes a step further; it never returns from the last one."""

Act = Callable[[Path, Step], object]
"""What is done with a store; one more step is when it is done, before the store is closed."""


def die_at(step: int) -> Step:
    """Be killed (SIGKILL) before one of the statements that are run from now on, or in the middle of one."""
    taken = count(1)

    def on() -> bool:
        if next(taken) >= step:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    def watch(db: apsw.Connection) -> None:
        db.exec_trace = lambda *_: not on()
        db.set_progress_handler(on, INSTRUCTIONS)

    apsw.connection_hooks.append(watch)
    return on


def is_killed_again_and_again(act: Act, store: str, every: str) -> None:
    """Do it with a new copy of the store each time, killed some steps later each time, and at each of the last steps.

    The copy is said after each kill, and in the end that it was not killed; it goes on when it is told.
    """
    reached = 0
    for stride in (int(every), 1):
        while is_killed(act, copy := copied(Path(store), reached + stride), reached + stride):
            reached += stride
            say(copy)
            until_told()
    say("ended")


def copied(store: Path, step: int) -> Path:
    """A copy of the store, in a folder of its own."""
    return Path(shutil.copytree(store.parent, store.parent.with_name(f"killed-{step}"), dirs_exist_ok=True), store.name)


def is_killed(act: Act, path: Path, step: int) -> bool:
    """Whether a child is killed at that step, which does it; if not, it must come to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act(path, die_at(step))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and status != 0:
        raise SystemExit(f"it failed at step {step}")
    return os.WIFSIGNALED(status)


def imports(store: str, every: str, export: str) -> None:
    """Take in an export."""

    def act(path: Path, on: Step) -> None:
        with recollect.open(path, embedder="hashing") as engine, Path(export).open() as lines:
            engine.import_(lines)
            on()

    is_killed_again_and_again(act, store, every)


def erases(store: str, every: str) -> None:
    """Erase everything of a scope."""

    def act(path: Path, on: Step) -> None:
        with recollect.open(path, embedder="hashing") as engine:
            engine.erase(scope=SCOPE, everything=True)
            on()

    is_killed_again_and_again(act, store, every)


if __name__ == "__main__":
    obey(imports, erases)
