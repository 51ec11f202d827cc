"""Engines on a real disk, and other processes that have one too."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import recollect
from tests.integration.sqlite.scene import Other

SCOPE = "acme/ana"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Ticking:
    """A clock that goes on by a step each time it is looked at."""

    def __init__(self, step: timedelta = timedelta(seconds=1)) -> None:
        self.now = NOW
        self._step = step

    def __call__(self) -> datetime:
        self.now += self._step
        return self.now


def an_engine(path: Path | str, **given: Any) -> recollect.Engine:
    """The engine of a store, with the embedder that needs nothing."""
    return recollect.open(path, **{"embedder": "hashing", "clock": Ticking(), **given})


def content(folder: Path) -> bytes:
    """All bytes of all files of a folder, read in another process: no lock of this one is lost."""
    names = sorted(str(path) for path in folder.iterdir())
    return subprocess.run(["cat", *names], capture_output=True, check=True).stdout


class OtherEngine(Other):
    """Another process, with an engine."""

    acts = "tests.integration.sqlite.other_engine"
