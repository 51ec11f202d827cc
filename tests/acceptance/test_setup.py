"""The README's first command in a fresh clone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.markdown import Page
from tests.architecture.source import ROOT

pytestmark = pytest.mark.thorough

MAX_PACKAGES = 25
MAX_BYTES = 150_000_000
TABLE_FOLDER = Path("src", "recollect", "providers", "static_table")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the repository's tracked files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    folder = tmp_path / "clone"
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the folder, without the variables that point to the Python of these tests."""
    foreign = ("RECOLLECT_", "PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, encoding="utf-8")


def count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def test_the_first_command_of_the_readme_runs_the_demo_from_a_small_install(clone: Path) -> None:
    command = "\n".join(Page.read(ROOT / "README.md").blocks("bash")[0])
    done = run(command, clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Now you:" in done.stdout
    packages = [path.name for path in (clone / "venv").glob("lib/python*/site-packages/*.dist-info")]
    assert 0 < len(packages) <= MAX_PACKAGES
    assert count_bytes(clone / "venv") + count_bytes(clone / TABLE_FOLDER) <= MAX_BYTES
