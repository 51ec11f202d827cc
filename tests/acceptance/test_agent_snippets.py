"""What the guide has people paste into their agents is right: each snippet is read, and its command run."""

import asyncio
import functools
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import recollect
from tests.architecture.markdown import Page
from tests.architecture.source import ROOT

from .at_home import environment, served

GUIDE = Page.read(ROOT / "docs" / "how-to" / "use-from-your-agent.md")
READ: Mapping[str, Any] = {"json": json.loads, "toml": tomllib.loads}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
BRIEF = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "brief", "arguments": {}, "_meta": META},
}
SERVER = "http://127.0.0.1:8765/mcp"
STORE = "~/recollect.db"


def texts() -> Iterator[tuple[str, str]]:
    """Every snippet, with its language."""
    for language in ("json", "toml", "sh"):
        yield from ((language, "\n".join(block).strip()) for block in GUIDE.blocks(language))


def servers(told: Any) -> Iterator[Mapping[str, Any]]:
    """What a configuration says of each server."""
    if isinstance(told, dict):
        if {"command", "url", "httpUrl", "serverUrl"} & told.keys() and told.get("type") != "command":
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
    assert len(list(texts())) == 20
    assert len(started()) == 1
    assert len(hooks()) == 3


def test_every_snippet_names_the_same_server_or_the_same_store_and_a_key_in_the_place_for_it() -> None:
    found = [one for language, text in texts() if language != "sh" for one in servers(READ[language](text))]
    addressed = [one for one in found if "command" not in one]
    assert len(addressed) == 8
    for one in addressed:
        (address,) = (one[name] for name in ("url", "httpUrl", "serverUrl") if name in one)
        assert address == SERVER
        key = one.get("bearer_token_env_var") or one["headers"]["Authorization"].removeprefix("Bearer ")
        assert key in {*("RECOLLECT_KEY", "$RECOLLECT_KEY", "${RECOLLECT_KEY}", "{env:RECOLLECT_KEY}")} | {
            *("${env:RECOLLECT_KEY}", "${input:recollect-key}", "rk_…")
        }
    assert set(re.findall(r"[\w~/.-]*\.db\b", GUIDE.text())) == {STORE}


def run(typed: Sequence[str], home: Path, said: bytes) -> subprocess.CompletedProcess[bytes]:
    """What comes of a command that an agent starts in a folder of its own."""
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return subprocess.run(typed, input=said, capture_output=True, cwd=elsewhere, env=environment(home), timeout=120)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of somebody whose store knows something."""
    with recollect.open(tmp_path / "recollect.db", embedder="hashing") as engine:
        engine.remember("Ana prefers window seats", scope="acme/ana", pinned=True)
    return tmp_path


@contextmanager
def served_with_a_key(home: Path) -> Iterator[str]:
    """The host and the port of the server that the guide starts, after its key is made."""
    made, serve = (text for language, text in texts() if language == "sh" and ("keys add" in text or "serve" in text))
    assert run(["bash", "-c", f"set -e\n{made}"], home, b"").returncode == 0
    with served(serve, home) as address:
        yield address.removeprefix("http://")


@pytest.mark.parametrize("words", sorted(started()), ids=" ".join)
def test_the_command_in_a_snippet_speaks_mcp_from_any_folder_though_no_shell_reads_it(
    words: tuple[str, ...], home: Path
) -> None:
    done = run(words, home, json.dumps(LIST).encode() + b"\n" + json.dumps(BRIEF).encode() + b"\n")
    assert done.returncode == 0, done.stderr
    listed, briefed = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda one: int(one["id"]))
    assert "recall" in [one["name"] for one in listed["result"]["tools"]]
    assert "Ana prefers window seats" in briefed["result"]["structuredContent"]["text"]


def test_a_program_asks_the_server_with_the_official_client(home: Path) -> None:
    shown: dict[str, Any] = {}
    exec(GUIDE.code("python"), shown)  # noqa: S102  # it is our own page
    with served_with_a_key(home) as there:
        key = (home / ".config" / "recollect" / "my-agent.key").read_text(encoding="utf-8").strip()
        asking = functools.partial(shown["told_about"], url=f"http://{there}/mcp", key=key)
        assert "Ana prefers window seats" in asyncio.run(asking("which seat should I book?"))
        with pytest.raises(ExceptionGroup) as raised:
            asyncio.run(asking(" "))
    assert raised.group_contains(RuntimeError, match="query")


@pytest.mark.parametrize("typed", [typed for typed in hooks() if "--server" not in typed])
def test_the_command_of_a_hook_tells_what_the_store_knows(typed: str, home: Path) -> None:
    patient = re.sub(r"--budget-ms \d+", "--budget-ms 60000", typed)
    done = run(["bash", "-c", patient], home, b'{"prompt": "which seat?"}')
    assert done.returncode == 0
    assert b"Ana prefers window seats" in done.stdout


def test_the_command_of_a_hook_tells_what_the_server_knows(home: Path) -> None:
    asking = [typed for typed in hooks() if "--server" in typed]
    assert len(asking) == 2
    with served_with_a_key(home) as there:
        for typed in asking:
            patient = f"{typed.replace('127.0.0.1:8765', there)} --budget-ms 60000"
            done = run(["bash", "-c", patient], home, b'{"prompt": "which seat?"}')
            assert done.returncode == 0
            assert b"Ana prefers window seats" in done.stdout, done.stderr


def test_what_a_hook_says_is_seen_in_a_terminal(home: Path) -> None:
    (typed,) = (text for language, text in texts() if language == "sh" and text.startswith("echo"))
    done = run(["bash", "-c", typed.replace("5000", "60000")], home, b"")
    assert b"Ana prefers window seats" in done.stdout
    wrong = run(["bash", "-c", typed.replace("hook prompt", "hook promt")], home, b"")
    assert (wrong.returncode, wrong.stdout) == (0, b"")
    assert wrong.stderr.startswith(b"recollect hook:")
