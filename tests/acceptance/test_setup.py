"""The README's first command in a fresh clone: what it installs, and what it refuses to install."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from recollect.providers import static_table
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


def run(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the folder, without the variables that point to the Python of these tests."""
    foreign = ("RECOLLECT_", "PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | variables
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


def write_wheel_with_other_contents(folder: Path) -> None:
    """Write a wheel that has the name, the version and the files of the static table, and other contents."""
    name, _, version = static_table.REQUIREMENT.partition("==")
    information = f"{name}-{version}.dist-info"
    contents = {
        f"{name}/weights/{static_table.TABLE}": "other weights",
        f"{name}/tokenizers/{static_table.TOKENIZER}": "{}",
        f"{information}/licenses/{static_table.LICENSE}": "a license",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    contents[f"{information}/RECORD"] = "".join(f"{path},,\n" for path in contents)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in contents.items():
            wheel.writestr(path, content)


def test_a_static_table_with_other_contents_is_refused_each_time(clone: Path, tmp_path: Path) -> None:
    write_wheel_with_other_contents(tmp_path)
    for _ in range(2):
        done = run("scripts/setup --core", clone, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
        assert done.returncode == 1, done.stdout + done.stderr
        wrong = " ".join(static_table.SHA256)
        assert done.stderr.endswith(f"other contents than expected in {wrong}; check the package index of pip\n")
        assert not (clone / TABLE_FOLDER / static_table.LICENSE).exists()
