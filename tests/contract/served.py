"""A server as tests ask it: a process of its own on loopback, with all its faces."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from recollect.api.auth import WHOLE_STORE, Grant, Right, parse_reach
from recollect.api.keys import KeyFile, issue_key
from tests.acceptance.shell import ENVIRONMENT

TOOLS = "core,episodes,observations,operator"
"""The toolsets with every tool."""


@dataclass(frozen=True, slots=True)
class Served:
    """Where a server listens, what lets its owner in, and the file of its keys."""

    web: str
    rpc: str
    token: str
    keys: Path

    def key(self, name: str, rights: Iterable[Right], reach: str = WHOLE_STORE) -> str:
        """A new key, which the server knows from the next request on."""
        made, text = issue_key(name, [Grant(frozenset(rights), parse_reach(reach))], at=datetime.now(UTC))
        KeyFile(self.keys).add(made)
        return text


@contextmanager
def serving(store: Path | str, folder: Path, **settings: str) -> Iterator[Served]:
    """A server of the store, until it is told to end, which it does well; `settings` are those of its section.

    It runs no jobs, so that nothing is written but what somebody asked for.
    """
    token, keys = folder / "token", folder / "keys.json"
    usual = {"token_file": str(token), "keys": str(keys), "tools": TOOLS, "scheduler": "false"}
    said = {f"RECOLLECT_SERVER_{name.upper()}": value for name, value in {**usual, **settings}.items()}
    command = [sys.executable, "-m", "recollect", "--db", str(store), "serve", "--port", "0", "--grpc-port", "0"]
    with subprocess.Popen(
        command,
        env={**os.environ, **ENVIRONMENT, **said},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        try:
            told = _until(run, "authorized")
            (web,), (rpc,) = re.findall(r"listening on (\S+)", told), re.findall(r"gRPC at (\S+)", told)
            yield Served(web, rpc, token.read_text(encoding="utf-8").strip(), keys)
        finally:
            run.terminate()
            assert run.wait() == 0


def _until(run: "subprocess.Popen[str]", word: str) -> str:
    """What a process says, up to the line that begins so."""
    assert run.stdout is not None
    said = ""
    for line in run.stdout:
        said += line
        if line.startswith(word):
            return said
    raise AssertionError(f"it ended without a word of {word}: {said}")
