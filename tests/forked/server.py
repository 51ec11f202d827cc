"""Loads recollect once, then forks a process for every command that a client asks for.

A command ends as Python does: it waits for its threads and runs its exit handlers.
"""

import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TypedDict

MODULES = ("recollect.factory", "recollect.stores.sqlite.store", "recollect.stores.postgres.store", "numpy")
"""Modules that commands import while they run, besides `recollect.cli`."""


class Request(TypedDict):
    """What a client sends, besides its streams."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]


def load() -> None:
    """Import what commands need."""
    commands = import_module("recollect.cli")
    for name in [*MODULES, *(f"recollect.cli.{module.name}" for module in iter_modules(commands.__path__))]:
        import_module(name)


def serve(address: Path) -> None:
    """Answer clients until standard input ends, which is when the tests end."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while 0 not in select.select([listener.fileno(), 0], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                answer(connection)
            connection.close()
    shutil.rmtree(address.parent)


def answer(connection: socket.socket) -> None:
    """Run one command in a child of this process, and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    request: Request = json.loads(b"".join(iter(lambda: connection.recv(65_536), b"")))
    child = os.fork()
    if child == 0:
        connection.close()
        run(request, streams)
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status) & 0xFF).encode())
    os._exit(0)


def run(request: Request, streams: list[int]) -> None:
    """Turn this process into the command, and exit."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["recollect", *request["arguments"]]
    os._exit(run_to_exit(import_module("recollect.cli.entrypoint").main))


def run_to_exit(main: Callable[[], None]) -> int:
    """Run `main` and what Python does at exit; return the exit status.

    Modules stay loaded, because unloading them takes a tenth of a second.
    """
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    if isinstance(status, str):
        sys.stderr.write(f"{status}\n")
    return status if isinstance(status, int) else int(status is not None)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the server does not wait for its children
    load()
    gc.freeze()  # forked processes share the memory of loaded modules
    serve(Path(sys.argv[1]))
