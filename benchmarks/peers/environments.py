"""Environments: one a peer, made once, with the versions that constraints.txt names; never the project's own."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from peers.roster import Peer

CONSTRAINTS = Path(__file__).parent / "constraints.txt"
STAMP = "stamp"
SUITABLE = "import sys; sys.exit(sys.version_info < (3, 11))"
LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"


class NotInstalled(Exception):
    """A peer cannot be had here; says why."""


def python_of(peer: Peer, folder: Path) -> Path:
    """The Python that runs a peer; its environment is made if it is not there or not as it should be."""
    if not peer.requires:
        return Path(sys.executable)
    environment = folder / peer.environment
    python = environment / "bin" / "python"
    stamp = hashlib.sha256(repr(peer.requires).encode() + CONSTRAINTS.read_bytes()).hexdigest()
    known = environment / STAMP
    if known.exists() and known.read_text(encoding="ascii") == stamp:
        return python
    _make(peer, environment, python)
    known.write_text(stamp, encoding="ascii")
    return python


def _make(peer: Peer, environment: Path, python: Path) -> None:
    """An environment with what the peer needs, by a pip outside, so that it has nothing else."""
    print(f"  installing {', '.join(peer.requires)}", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    chosen = _interpreter(peer)
    _run([chosen, "-m", "venv", "--without-pip", str(environment)])
    pip = [shutil.which("python3") or chosen, "-m", "pip", "--python", str(python)]
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--constraint", str(CONSTRAINTS)]
    _run([*pip, "install", *options, *peer.requires])


def _interpreter(peer: Peer) -> str:
    """The first Python on the path that can run the peer."""
    code = f"{LOADS_EXTENSIONS}; {SUITABLE}" if peer.extensions else SUITABLE
    for python in _interpreters():
        if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
            return python
    what = "3.11 or newer" + (", whose sqlite3 loads extensions," if peer.extensions else "")
    raise NotInstalled(f"{peer.name} needs a Python {what} and none is on the path")


def _interpreters() -> Iterator[str]:
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        for folder in os.get_exec_path():
            if found := shutil.which(name, path=folder):
                yield found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotInstalled(said[-1] if said else f"{command[0]} ended with {done.returncode}")
