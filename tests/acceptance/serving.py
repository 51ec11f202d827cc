"""A server as tests have it: a process of its own on a port that is free, and whoever asks it."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from .shell import ENVIRONMENT

LISTENING = re.compile(r"listening on (http://(127\.0\.0\.1|\[::1\]):(\d+))")
ALONE = ("--no-grpc", "--no-mcp")
LONG = 60.0
"""For how many seconds anything may take before a test has failed."""


@dataclass
class Serving:
    """A server that listens."""

    process: "subprocess.Popen[str]"
    told: list[str]
    url: str
    port: int
    token: Path
    log: Path

    def post(self, name: str, given: Any, *, key: str | None = None, **headers: str) -> httpx.Response:
        """What an operation answers; to its owner, if no key is named."""
        shown = self.token.read_text(encoding="utf-8").strip() if key is None else key
        asking = {"Authorization": f"Bearer {shown}", **headers}
        return httpx.post(f"{self.url}/v1/{name}", json=given, headers=asking, timeout=LONG)

    def given(self, name: str, given: Any, *, key: str | None = None, **headers: str) -> Any:
        """What an operation gives."""
        answer = self.post(name, given, key=key, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def events(self) -> list[dict[str, Any]]:
        """Every line of the log so far."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def ended(self) -> int:
        """With what it ended."""
        return self.process.wait(LONG)


def command(target: str, folder: Path, *arguments: str) -> list[str]:
    """The command that serves, with its keys and its token in a folder."""
    own = [
        f"--setting=server.{name}={folder / file}" for name, file in (("keys", "keys.json"), ("token_file", "token"))
    ]
    return [sys.executable, "-m", "recollect", "--db", target, *own, *arguments]


@contextmanager
def served(
    target: str, folder: Path, *arguments: str, settings: tuple[str, ...] = (), others: tuple[str, ...] = ALONE
) -> Iterator[Serving]:
    """A server of the store, which is killed in the end if it still runs; over HTTP alone, unless others are wanted."""
    folder.mkdir(exist_ok=True)
    log = folder / f"log-{time.monotonic_ns()}"
    flags = [f"--setting={one}" for one in settings]
    calling = command(target, folder, *flags, "serve", "--port", "0", *others, *arguments)
    with (
        log.open("w") as errors,
        subprocess.Popen(
            calling, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            told = _read_start_lines(process, log)
            found = LISTENING.search(told[0]) if told else None
            assert found is not None, log.read_text(encoding="utf-8")
            yield Serving(process, told, found[1], int(found[3]), folder / "token", log)
        finally:
            process.kill()


def _read_start_lines(process: "subprocess.Popen[str]", log: Path) -> list[str]:
    """Return the lines that the server prints at its start; fail if they take longer than `LONG`."""
    lines: list[str] = []
    reader = threading.Thread(target=_collect_start_lines, args=(process, lines), daemon=True)
    reader.start()
    reader.join(LONG)
    output = "\n".join([*lines, log.read_text(encoding="utf-8")])
    assert not reader.is_alive(), f"the server did not start within {LONG:g} s; it printed:\n{output}"
    return lines


def _collect_start_lines(process: "subprocess.Popen[str]", lines: list[str]) -> None:
    """Add each line up to the one that says whether the server runs jobs."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith("jobs "):
            return
