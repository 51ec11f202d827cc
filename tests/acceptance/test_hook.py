"""The hooks of coding agents: what is known in time, or one line on standard error; never a failure, never a wait."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import recollect
from tests.integration.mcp.rig import Office, serving

from .shell import ENVIRONMENT

SCOPE = "acme/ana"
PROMPT = {
    "session_id": "s1",
    "cwd": "here",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "which seat should I book?",
}
PATIENT = ("--budget-ms", "60000")
"""Time enough on any machine."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing") as engine:
        engine.remember("Ana prefers window seats", scope=SCOPE, kind="preference", pinned=True)
    return path


def hook(path: Path, *arguments: str, said: Any = PROMPT) -> tuple[str, str]:
    """What is printed, and what is said beside it, when a hook says this; whatever happens, it is no failure."""
    stdin = said if isinstance(said, bytes) else json.dumps(said).encode()
    command = [sys.executable, "-m", "recollect", "--db", str(path), "hook", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env={**os.environ, **ENVIRONMENT}, timeout=120)
    assert done.returncode == 0
    return done.stdout.decode(), done.stderr.decode()


def is_aside(outcome: tuple[str, str], why: str) -> bool:
    """Whether nothing is printed but one line that says why."""
    printed, said = outcome
    return printed == "" and said.count("\n") == 1 and said.startswith("recollect hook: ") and why in said


@pytest.mark.parametrize(("event", "called"), [("prompt", "UserPromptSubmit"), ("session-start", "SessionStart")])
def test_a_hook_tells_what_is_known_as_its_additional_context(event: str, called: str, store: Path) -> None:
    printed, said = hook(store, event, "--scope", SCOPE, *PATIENT)
    told = json.loads(printed)["hookSpecificOutput"]
    assert told["hookEventName"] == called
    assert "Ana prefers window seats" in told["additionalContext"]
    assert said == ""


@pytest.mark.parametrize("event", ["prompt", "session-start"])
def test_a_running_server_is_asked_the_same(event: str, store: Path, tmp_path: Path) -> None:
    office, file = Office(), tmp_path / "key"
    file.write_text(office.key(SCOPE) + "\n")
    with serving(store, office) as url:
        there = ("--server", url, "--key-file", str(file))
        printed, said = hook(tmp_path / "none.db", event, "--scope", SCOPE, *there, *PATIENT)
        assert is_aside(hook(store, event, "--scope", "acme/bo", *there, *PATIENT), "there is no scope")
        assert is_aside(hook(store, event, "--scope", SCOPE, "--server", url, *PATIENT), "no key was given")
    assert "Ana prefers window seats" in json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    assert said == ""
    assert not (tmp_path / "none.db").exists()


def test_nothing_is_said_if_nothing_is_known(store: Path) -> None:
    assert hook(store, "prompt", "--scope", "acme/bo", *PATIENT) == ("", "")


def test_a_prompt_of_megabytes_is_asked_about_by_its_beginning(store: Path) -> None:
    prompt = PROMPT["prompt"] + " and so on" * 500_000
    printed, _ = hook(store, "prompt", "--scope", SCOPE, *PATIENT, said={**PROMPT, "prompt": prompt})
    assert "Ana prefers window seats" in printed


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no JSON object"),
        ({"prompt": 7}, "no prompt"),
        ({"prompt": "  "}, "no prompt"),
        ({**PROMPT, "prompt": "\ud800"}, ""),
        (b"x" * 17_000_000, "more than"),
    ],
    ids=["nothing", "bytes", "deep", "a list", "a number", "blank", "half a character", "huge"],
)
def test_a_hook_that_makes_no_sense_is_stepped_aside_for(said: Any, why: str, store: Path) -> None:
    assert is_aside(hook(store, "prompt", "--scope", SCOPE, *PATIENT, said=said), why)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("prompt",), "--scope"),
        (("nonsense", "--scope", SCOPE), "nonsense"),
        (("prompt", "--scope", SCOPE, "--budget-ms", "soon"), "soon"),
        (("prompt", "--scope", "//", *PATIENT), "scope"),
        (("prompt", "--scope", SCOPE, "--server", "ftp://nowhere", *PATIENT), "no address"),
        (("prompt", "--scope", SCOPE, "--server", "http://127.0.0.1:1/mcp", *PATIENT), "refused"),
        (("prompt", "--scope", SCOPE, "--server", "http://127.0.0.1:1", "--key-file", "none", *PATIENT), "none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_typed_wrong_never_stands_in_the_way(arguments: tuple[str, ...], why: str, store: Path) -> None:
    assert is_aside(hook(store, *arguments), why)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert is_aside(hook(tmp_path / "none.db", "session-start", "--scope", SCOPE, *PATIENT), "there is no store")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_never_answers_is_not_waited_for(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        outcome = hook(store, "prompt", "--scope", SCOPE, "--server", url, "--budget-ms", "300")
    assert is_aside(outcome, "no answer within 300 ms")


def test_a_store_that_somebody_holds_is_not_waited_for(store: Path) -> None:
    holding = sqlite3.connect(store)
    holding.execute("PRAGMA locking_mode = EXCLUSIVE")
    holding.execute("BEGIN EXCLUSIVE")
    try:
        assert is_aside(hook(store, "prompt", "--scope", SCOPE, "--budget-ms", "2000"), "")
    finally:
        holding.close()


def test_nothing_of_a_key_file_is_said_that_has_more_than_a_key(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("rk_0_secret\n# of ana\n", encoding="ascii")
    address = ("--server", "http://127.0.0.1:9/mcp", "--key-file", str(file))
    outcome = hook(store, "prompt", "--scope", SCOPE, *address, *PATIENT)
    assert is_aside(outcome, "has no key, or more than that")
    assert "secret" not in outcome[1]


def test_a_hook_that_never_says_its_last_word_is_not_waited_for(store: Path) -> None:
    command = [sys.executable, "-m", "recollect", "--db", str(store), "hook", "prompt", "--scope", SCOPE]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        outcome = process.stdout.read().decode(), process.stderr.read().decode()
        assert process.wait(60) == 0
    assert is_aside(outcome, "no answer within 200 ms")
