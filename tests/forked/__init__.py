"""Runs commands of recollect in real processes that start fast, because a server forks them with all modules loaded.

Most tests of the command line need the streams, the environment and the exit code of a real process, but not the half
second that Python takes to load one. Tests of startup, signals and servers run `python -m recollect` instead.
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
    client = [sys.executable, "-I", "-S", str(HERE / "client.py"), str(socket)]
    program.write_text(f'#!/bin/sh\nexec {" ".join(client)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError("server that forks commands did not start; read its errors on stderr")
    atexit.register(server.communicate)  # closes its input, so that it ends and removes its folder
    return folder


def command() -> list[str]:
    """Return the words that replace `python -m recollect` in a call of `subprocess`."""
    return [sys.executable, "-I", "-S", str(HERE / "client.py"), str(_server() / "socket")]


def program_folder() -> Path:
    """Return a folder to put in the PATH, where `recollect` is such a command."""
    return _server()
