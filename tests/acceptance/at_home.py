"""Somebody whose home is a folder of a test, and the server that a line of a page starts there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

TOKEN = "~/.config/recollect/token"  # noqa: S105  # where it is
WAYS = ("httpx", *(["curl"] if shutil.which("curl") else []))
"""What can ask what a line of curl asks: it itself, where there is one, and in any case what reads it as it does."""


def environment(home: Path) -> Mapping[str, str]:
    """That of somebody whose home this is, with any port that is free, and with what is installed here on the path."""
    ports = {"RECOLLECT_SERVER_PORT": "0", "RECOLLECT_SERVER_GRPC_PORT": "0"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mine = {"HOME": str(home), "PATH": path, "XDG_CONFIG_HOME": "", "RECOLLECT_EMBEDDER": "hashing", **ports}
    return {name: value for name, value in {**os.environ, **mine}.items() if name != "RECOLLECT_CONFIG"}


@contextmanager
def served(line: str, home: Path) -> Iterator[str]:
    """The address of the server that a line starts, though no shell reads it."""
    with subprocess.Popen(
        shlex.split(line),
        env=environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        told = server.stdout.readline()
        found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", told)
        assert found, told
        while not (told := server.stdout.readline()).startswith("authorized by"):
            assert told, "it ended"
        try:
            yield found[1]
        finally:
            server.terminate()
            assert server.wait() == 0


def asked(line: str, way: str, url: str, home: Path) -> Any:
    """What is answered to a line of curl that shows the token, by the server at an address instead of the usual one."""
    here = re.sub(r"(?:http://)?(?:localhost|127\.0\.0\.1):8765", url, line)
    if way == "curl":
        done = subprocess.run(["bash", "-c", here], env=environment(home), capture_output=True, check=True, timeout=120)
        return json.loads(done.stdout)
    token = (home / TOKEN.removeprefix("~/")).read_text(encoding="utf-8").strip()
    words = shlex.split(here.replace("\\\n", " ").replace(f"$(cat {TOKEN})", token))
    headers = dict(words[place + 1].split(": ") for place, word in enumerate(words) if word == "-H")
    (address,) = (word for word in words if word.startswith(url))
    return httpx.post(address, headers=headers, content=words[words.index("-d") + 1], timeout=120).json()
