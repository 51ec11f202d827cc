"""What the documentation shows works: its Python runs, and its commands print what it says they print."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.architecture.markdown import Page
from tests.architecture.source import ROOT, files, relative

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)
"""A prompt, what is typed, continued after a backslash, and all that follows up to the next prompt."""

OURS = re.compile(r"(?:^|\| *)(?:\w+=\S+ )*(?:\.venv/bin/)?(?=recollect\b)")


def commands(page: Page) -> Iterator[tuple[str, str]]:
    """Every command of ours in the page's console blocks, with the output shown under it."""
    for block in page.blocks("console"):
        for typed, shown in COMMAND.findall("\n".join(block)):
            if OURS.search(typed):
                yield typed.replace(".venv/bin/recollect", "recollect"), shown


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with its errors among its output, as in a terminal."""
    path = os.pathsep.join([str(forked.program_folder()), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the repository that a command may write to."""
    for path in files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


@pytest.mark.parametrize("path", [path for path in PAGES if Page.read(path).blocks("python")], ids=relative)
def test_the_python_of_a_page_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{path.stem}.py"
    script.write_text(Page.read(path).code("python"), encoding="utf-8")
    outcome = run([sys.executable, "-W", "error", str(script)], tmp_path)
    assert outcome.returncode == 0, f"lines are those of {relative(path)}\n{outcome.stdout}"


@pytest.mark.parametrize("path", [path for path in PAGES if any(commands(Page.read(path)))], ids=relative)
def test_the_commands_of_a_page_print_what_it_shows(path: Path, repository: Path) -> None:
    for typed, shown in commands(Page.read(path)):
        outcome = run(["bash", "-o", "pipefail", "-c", typed], repository)
        refused = re.search(r"^Error: ", shown, re.MULTILINE) is not None
        assert (outcome.returncode != 0) == refused, f"$ {typed}\n{outcome.stdout}"
        if shown.strip():
            assert outcome.stdout.rstrip() == shown.rstrip(), f"$ {typed}"


def test_a_command_is_read_with_its_continuation_and_its_output_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ git status\nclean\n$ recollect rank \\\n    --at now\none\n\ntwo\n"
        "$ cat a | .venv/bin/recollect rank\n$ RECOLLECT_DB=a.db recollect stats\n```\n\n```python\nx = 1\n```\n"
    )
    assert list(commands(Page.read(page))) == [
        ("recollect rank \\\n    --at now", "one\n\ntwo\n"),
        ("cat a | recollect rank", ""),
        ("RECOLLECT_DB=a.db recollect stats", ""),
    ]
    assert Page.read(page).code("python").split("\n")[13] == "x = 1"
