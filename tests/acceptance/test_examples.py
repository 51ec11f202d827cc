"""The examples: each runs as it is, in a folder of its own, and is shown to whoever reads the documentation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def told(program: str, folder: Path, embedder: str) -> list[str]:
    """The lines that the example prints, where warnings are errors."""
    there = {**os.environ, "RECOLLECT_EMBEDDER": embedder, "PYTHONUTF8": "1"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / program)]
    done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_first_ranking_is_ranked_explained_and_packed(tmp_path: Path) -> None:
    lines = told("first_ranking.py", tmp_path, "hashing")
    assert "1. 0.416  Billing now deploys on Tuesday mornings." in lines
    assert "272 of 300 tokens, some of them kept for constraints:" in lines
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", ["wordllama", "minilm", "hashing"])
def test_the_travel_assistant_knows_what_she_wants_now_and_what_she_wanted(embedder: str, tmp_path: Path) -> None:
    lines = told("travel_assistant.py", tmp_path, embedder)
    assert lines[0] == "what she said, and says now: ['Ana prefers window seats', 'Ana prefers aisle seats now']"
    (summary,) = [line for line in lines if line.startswith("<Context ")]
    assert lines[lines.index(summary) + 1].endswith("  Ana prefers aisle seats now")
    assert lines[-1] == "sixty days ago: ['Ana prefers window seats']"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_every_example_is_shown(program: Path, page: str) -> None:
    assert f"examples/{program.name}" in (ROOT / page).read_text(encoding="utf-8")


def test_every_example_is_run() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in PROGRAMS if f'told("{path.name}"' not in here] == []
