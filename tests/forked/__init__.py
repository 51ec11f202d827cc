"""Commands of recollect in processes of their own that start at once: forked from one that has loaded everything.

Most tests of the command line want a real process, with its streams, its environment and its exit code, and not the
half second that Python takes to load it. Tests of starting, of signals and of servers run `python -m recollect`.
"""

import atexit
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def _server() -> Path:
    """Start the server of this test process; return the folder with its socket and the program `recollect`."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-forked-"))
    socket, program = folder / "socket", folder / "recollect"
    words = [sys.executable, "-I", "-S", str(HERE / "client.py"), str(socket)]
    program.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError("the server that forks commands did not start")
    atexit.register(server.communicate)  # it ends when its input does, and removes its folder
    return folder


def command() -> list[str]:
    """Return what stands in for `python -m recollect` in a call of `subprocess`."""
    return [sys.executable, "-I", "-S", str(HERE / "client.py"), str(_server() / "socket")]


def program_folder() -> Path:
    """Return a folder for the PATH, in which `recollect` is such a command."""
    return _server()
