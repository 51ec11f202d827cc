"""Nothing needs a network: with none, and an empty home, everything of the first minute works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = """
import socket

def refuse(*given, **more):
    raise SystemExit("a network was asked for")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""
RECOLLECT = Path(sys.executable).parent / "recollect"


def without_network() -> list[str]:
    """What to put before a command so that it has no network, where this system lets us."""
    prefix = ["unshare", "--map-root-user", "--net"]
    try:
        allowed = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    return prefix if allowed else []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    (tmp_path / "home").mkdir()
    return tmp_path


def run(home: Path, *arguments: str, **more: str) -> str:
    """What the command prints, in a process of its own that has an empty home and no network."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    own = {"HOME": str(home / "home"), "PYTHONPATH": str(home / "guard"), "PYTHONUTF8": "1"}
    environment = {**kept, **own, **more}
    command = [*without_network(), str(RECOLLECT), *arguments]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_tells_its_story(home: Path) -> None:
    assert "Ana lives in Lisbon." in run(home, "demo")


@pytest.mark.parametrize("embedder", ["wordllama", "minilm"])
def test_one_process_remembers_and_another_recalls_by_meaning(home: Path, embedder: str) -> None:
    store = ("--db", "agent.db")
    for text in ("Ana prefers to sit by the window on planes", "The invoice of March is unpaid"):
        run(home, *store, "remember", text, "--scope", "acme/ana", RECOLLECT_EMBEDDER=embedder)
    found = run(home, *store, "search", "seating preference when flying", "--scope", "acme/ana", "--limit", "1")
    assert "window" in found
