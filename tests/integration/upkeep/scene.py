"""A store on a real disk, and other processes that use it too."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import recollect

ROOT = Path(__file__).parents[3]
SCOPE = "acme/ana"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that goes on by a second each time it is looked at."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def an_engine(path: Path | str, **given: Any) -> recollect.Engine:
    """The engine of a store, with the embedder that needs nothing."""
    return recollect.open(path, **{"embedder": "hashing", "clock": Clock(), **given})


def content(folder: Path) -> bytes:
    """All bytes of all files of a folder, read in another process: no lock of this one is lost."""
    names = sorted(str(path) for path in folder.iterdir())
    return subprocess.run(["cat", *names], capture_output=True, check=True).stdout


class Other:
    """Another process, which says a line when it is ready and goes on when it is told a line."""

    def __init__(self, *command: object) -> None:
        arguments = [sys.executable, "-m", "tests.integration.upkeep.other", *map(str, command)]
        self.process = subprocess.Popen(
            arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def hear(self) -> str:
        """The next line it says; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> str:
        """Let it go on to its end, which must be a good one; gives what it still says."""
        said, _ = self.process.communicate("go on\n")
        assert self.process.returncode == 0
        return str(said).strip()
