"""A lock that another thread holds must not keep a forked child waiting: which modules have such locks is read."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tables import table

from .source import modules, parsed, relative

LOCKS = {"BoundedSemaphore", "Condition", "Event", "Lock", "RLock", "Semaphore", "cached_property"}
"""What waits in `threading`, and what does so in `functools` before Python 3.12."""

BEGIN_ANEW = {
    "src/recollect/integrations/shared.py": "is of a thread that no child has, and made anew with the next one",
    "src/recollect/server/grpc/server.py": "is of a server, which no child goes on with",
    "src/recollect/fork_safety.py": "makes them anew",
    "src/recollect/jobs/scheduler.py": "is fork-aware; a running job has no child",
    "src/recollect/server/health.py": "is of a server, which no child goes on with",
    "src/recollect/api/dispatcher.py": "is of a server, which no child goes on with",
    "src/recollect/stores/sql/deferred.py": "is fork-aware, and has another line in a child",
    "src/recollect/stores/sqlite/fork.py": "is fork-aware",
    "src/recollect/stores/sqlite/write_queue.py": "the writer, which is fork-aware, has another one in a child",
}
"""The modules that may use them. All others have `recollect.fork_safety.Lock`, which is free in a child."""


def locks(tree: ast.Module) -> Iterator[str]:
    """The locks of the standard library that a module names."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="threading" | "functools" | "multiprocessing", names=names):
                yield from (alias.name for alias in names if alias.name in LOCKS)
            case ast.Attribute(value=ast.Name(id="threading" | "functools" | "multiprocessing"), attr=name):
                if name in LOCKS:
                    yield name
            case _:
                pass


@table("path", modules(), ids=relative)
def test_a_module_has_no_lock_that_a_child_would_wait_for(path: Path) -> None:
    assert list(locks(parsed(path))) == [] or relative(path) in BEGIN_ANEW


def test_every_exception_is_needed() -> None:
    assert {relative(path) for path in modules() if any(locks(parsed(path)))} == BEGIN_ANEW.keys()


@table(
    "code",
    [
        "import threading\nlock = threading.Lock()",
        "from threading import RLock",
        "from functools import cached_property",
        "import functools\nclass A:\n    @functools.cached_property\n    def f(self): ...",
    ],
)
def test_a_lock_is_noticed(code: str) -> None:
    assert list(locks(ast.parse(code))) != []
