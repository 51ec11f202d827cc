"""The changes that CONTRIBUTING.md shows as diffs work when they are applied to a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source import ROOT

from .serving import served
from .shell import ENVIRONMENT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COPIED = ("src", "docs", "proto", "scripts", "tests")
MESSAGES = "recollect/grpc/v1"
SCOPE = "acme/ana"


class Tree:
    """A copy of the tree whose code the commands run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        skipped = shutil.ignore_patterns("__pycache__", "static_table", "fixtures", "data", "gate")
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=skipped)
        table = Path("src", "recollect", "providers", "static_table")
        shutil.copytree(ROOT / table, root / table)

    def apply(self, heading: str) -> None:
        """Apply the diff under the heading."""
        (diff,) = DIFF.findall(PAGE.partition(f"### {heading}\n")[2].partition("\n### ")[0])
        subprocess.run(["git", "apply", "-"], cwd=self.root, input=diff, text=True, check=True)

    def python(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        """Run Python with the code of the copy, and return what it prints."""
        paths = f"{self.root / 'src'}{os.pathsep}{self.root}"
        outcome = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": paths, **environment},
            input=stdin,
            capture_output=True,
            text=True,
        )
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout

    def recollect(self, *arguments: str, **environment: str) -> Any:
        """Return what a command prints as JSON."""
        return json.loads(self.python("-m", "recollect", *arguments, "--json", **environment))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_new_operation_is_served_by_every_transport(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.apply("An operation")
    tree.apply("A command")
    for script in ("mcp_tools", "proto", "reference"):
        tree.python(f"scripts/{script}.py")
    stubs = [f"--{kind}_out=src" for kind in ("python", "pyi", "grpc_python")]
    paths = [f"-I{MESSAGES}=proto/recollect/v1", f"-I{files('grpc_tools') / '_proto'}"]
    tree.python("-m", "grpc_tools.protoc", *paths, *stubs, f"{MESSAGES}/recollect.proto")
    tree.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/api/test_schemas_story.py")
    monkeypatch.setenv("PYTHONPATH", str(tree.root / "src"))
    store = str(tree.root / "store.db")
    with served(store, tree.root / "server", others=("--no-mcp", "--grpc-port", "0")) as server:
        id = server.given("remember", {"scope": SCOPE, "text": "Ana prefers window seats"})["id"]
        renamed = server.given("rename", {"scope": SCOPE, "id": id, "title": "Seats"})
        assert renamed["memory"]["title"] == "Seats"
        server.process.terminate()
        server.ended()
    called = {"name": "rename", "arguments": {"id": id, "title": "Where Ana sits"}}
    assert call_tool(tree, store, called)["structuredContent"]["memory"]["title"] == "Where Ana sits"
    assert tree.recollect("--db", store, "rename", id, "Seats", "--scope", SCOPE)["memory"]["title"] == "Seats"
    assert (
        "rpc Rename(RenameRequest) returns (Receipt);" in (tree.root / "proto/recollect/v1/recollect.proto").read_text()
    )
    assert "### rename\n" in (tree.root / "docs/reference/http.md").read_text()


def call_tool(tree: Tree, store: str, called: Any) -> Any:
    """Return the result of one call over standard input and output."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": called},
    ]
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **one})}\n" for one in messages)
    options = ("--tools", "core,operator", "--scope", SCOPE)
    answers = tree.python("-m", "recollect", "--db", store, "mcp", *options, stdin=lines)
    return next(one["result"] for one in map(json.loads, answers.splitlines()) if one["id"] == 1)


def test_a_new_signal_scores_in_a_profile(tree: Tree) -> None:
    tree.apply("A signal")
    profile = tree.root / "steady.toml"
    profile.write_text('about = "What stays."\nversion = "1"\n[terms]\nstability = { weight = 1.0, missing = 0.0 }\n')
    candidates = tree.root / "candidates.jsonl"
    candidates.write_text('{"id": "a", "revisions": 5}\n{"id": "b", "revisions": 0}\n')
    ranked = tree.recollect("rank", str(candidates), "--profile", str(profile))
    assert {one["id"]: one["score"] for one in ranked["results"]} == {"a": 1 / (1 + 0.2 * 5), "b": 1.0}


def test_a_new_setting_is_read_from_the_environment_and_checked(tree: Tree) -> None:
    tree.apply("A setting")
    read = "from recollect import config, errors\ntry:\n    print(config.load_settings().server.retry_after)\n"
    script = f"{read}except errors.InvalidInput as error:\n    print(error)"
    assert tree.python("-c", script) == "1\n"
    assert tree.python("-c", script, RECOLLECT_SERVER_RETRY_AFTER="60") == "60\n"
    assert "0 is not within 1..3600" in tree.python("-c", script, RECOLLECT_SERVER_RETRY_AFTER="0")
