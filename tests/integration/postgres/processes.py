"""Other processes that use a database, each doing one thing that a rig names."""

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.integration.postgres import writers_rig

_CONTEXT = multiprocessing.get_context("forkserver")  # what they all need is loaded once
_CONTEXT.set_forkserver_preload([writers_rig.__name__])


class Process:
    """Another process. It says things, and goes on when it is told to, or when it is ended."""

    def __init__(self, act: Callable[..., None], *given: object) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=act, args=(theirs, *given), daemon=True)
        self._process.start()
        theirs.close()

    def hear(self) -> tuple[Any, ...] | None:
        """The next thing it says; nothing when it has ended."""
        with suppress(EOFError, ConnectionResetError):
            return tuple(self._pipe.recv())
        return None

    def tell(self) -> None:
        """Let it go on."""
        self._pipe.send(())

    def end(self) -> list[tuple[Any, ...]]:
        """What it still has to say; it must end well."""
        said = []
        while (one := self.hear()) is not None:
            said.append(one)
        self._process.join()
        assert self._process.exitcode == 0
        return said

    def kill(self) -> None:
        """End it at once, wherever it is."""
        self._process.kill()
        self._process.join()
