"""What the guide has people paste into their agents is right: each snippet is read, and its command started."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import recollect
from tests.architecture.markdown import Page
from tests.architecture.source import ROOT

from .shell import ENVIRONMENT

GUIDE = Page.read(ROOT / "docs" / "how-to" / "use-from-your-agent.md")
READ: Mapping[str, Any] = {"json": json.loads, "toml": tomllib.loads}
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
TODAY = {
    **{name: os.environ[name] for name in ("TMPDIR",) if name in os.environ},
    **ENVIRONMENT,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


def texts() -> Iterator[tuple[str, str]]:
    """Every snippet, with its language."""
    for language in ("json", "toml", "sh"):
        yield from ((language, "\n".join(block).strip()) for block in GUIDE.blocks(language))


def servers(told: Any) -> Iterator[Mapping[str, Any]]:
    """What a configuration says of each server."""
    if isinstance(told, dict):
        if {"command", "url", "httpUrl"} & told.keys() and told.get("type") != "command":
            yield told
        else:
            for value in told.values():
                yield from servers(value)


def started() -> set[tuple[str, ...]]:
    """Every command that an agent starts, as its words."""
    found = set[tuple[str, ...]]()
    for language, text in texts():
        if language == "sh":
            found |= {tuple(shlex.split(one)) for one in re.findall(r"claude mcp add recollect -- (.+)", text)}
            continue
        for one in servers(READ[language](text)):
            if "command" in one:
                words = one["command"] if isinstance(one["command"], list) else [one["command"], *one["args"]]
                found.add(tuple(words))
    return found


def hooks() -> list[str]:
    """Every command that a hook runs."""
    told = [READ["json"](text) for language, text in texts() if language == "json"]
    return [
        hook["command"]
        for one in told
        for event in one.get("hooks", {}).values()
        for group in event
        for hook in group["hooks"]
    ]


def test_every_agent_that_is_named_has_its_snippet() -> None:
    assert len(list(texts())) == 15
    assert len(started()) == 2
    assert len(hooks()) == 3


@pytest.mark.parametrize("words", sorted(started()), ids=" ".join)
def test_the_command_in_a_snippet_speaks_mcp(words: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", " ".join(words)],
        input=json.dumps(LIST).encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**TODAY, "HOME": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    tools = json.loads(done.stdout)["result"]["tools"]
    assert "recall" in [one["name"] for one in tools]


@pytest.mark.parametrize("typed", hooks())
def test_the_command_of_a_hook_runs(typed: str, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "agent.db", embedder="hashing") as engine:
        engine.remember("Ana prefers window seats", scope="acme/ana", pinned=True)
    done = subprocess.run(
        ["bash", "-c", re.sub(r"--budget-ms \d+|$", " --budget-ms 60000", typed, count=1)],
        input=b'{"prompt": "which seat?"}',
        capture_output=True,
        cwd=tmp_path,
        env={**TODAY, "HOME": str(tmp_path)},
        timeout=120,
    )
    assert done.returncode == 0
    if "--server" in typed:
        assert done.stdout == b""
        assert b"nothing is recalled" in done.stderr
    else:
        assert b"Ana prefers window seats" in done.stdout
