"""Somebody whose home is a folder of a test, and the server that a line of a page starts there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


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
        found = re.fullmatch(r"listening at (http://127\.0\.0\.1:\d+)\n", told)
        assert found, told
        while not (told := server.stdout.readline()).startswith("authorised by"):
            assert told, "it ended"
        try:
            yield found[1]
        finally:
            server.terminate()
            assert server.wait() == 0
