"""The wheel and the sdist that a release uploads: what is in them, and that each installs and runs by itself."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any

import pytest
from packaging.requirements import Requirement

from recollect.providers import static_table
from recollect.version import __version__

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE_FOLDER = "recollect/providers/static_table"
TABLE_FILES = (*static_table.SHA256, static_table.LICENSE)


@dataclass(frozen=True, slots=True)
class Built:
    """What `python -m build` made, and the folder that it made it from."""

    source: Path
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Both distributions, built from a copy: the build generates code in the folder that it builds from.

    The copy has the static table, as the folder of a release does, and `.gitignore`, by which hatchling leaves it out.
    """
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", ".gitignore", *PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]):
        if (ROOT / name).is_dir():
            copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
        else:
            copy(ROOT / name, source / name)
    assert [name for name in TABLE_FILES if not (source / "src" / TABLE_FOLDER / name).is_file()] == []
    run([sys.executable, "-m", "build", "--outdir", str(made), str(source)])
    [wheel], [sdist] = made.glob("*.whl"), made.glob("*.tar.gz")
    return Built(source=source, wheel=wheel, sdist=sdist)


def run(command: Sequence[str], folder: Path | None = None) -> str:
    """What a command prints; the test fails with all of it if the command does."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(distribution: Path, folder: Path) -> Path:
    """Install a distribution in a new environment; returns the folder of its commands."""
    run([sys.executable, "-m", "virtualenv", "--no-download", str(folder)])
    commands = folder / "bin"
    constraints = ROOT / "constraints.txt"
    run([str(commands / "python"), "-m", "pip", "install", "-q", "-c", str(constraints), str(distribution)])
    return commands


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_distribution_installs_in_a_fresh_environment_and_runs_the_demo(
    built: Built, kind: str, tmp_path: Path
) -> None:
    commands = install(getattr(built, kind), tmp_path / "environment")
    story = run([str(commands / "recollect"), "demo"], tmp_path)
    assert "acme/ana" in story
    assert "Now you:" in story
    assert run([str(commands / "recollect"), "--version"]).split()[-1] == __version__


def test_the_wheel_holds_the_package_with_its_types_and_license_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = wheel.namelist()
    information = f"recollect-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"recollect", information}
    assert {"recollect/py.typed", f"{information}/licenses/LICENSE"} <= set(names)
    assert [name for name in names if "__pycache__" in name or "/tests/" in name] == []


def test_the_wheel_holds_the_static_table_with_its_license_and_the_sdist_does_not(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        in_wheel = {name for name in wheel.namelist() if name.startswith(TABLE_FOLDER)}
    with tarfile.open(built.sdist) as sdist:
        in_sdist = {name.partition("/src/")[2] for name in sdist.getnames() if TABLE_FOLDER in name}
    assert in_wheel == {f"{TABLE_FOLDER}/{name}" for name in ("__init__.py", *TABLE_FILES)}
    assert in_sdist == {f"{TABLE_FOLDER}/__init__.py"}


def test_no_file_of_a_distribution_names_the_folder_it_was_built_in(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        contents = {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(built.sdist) as sdist:
        for member in sdist.getmembers():
            file = sdist.extractfile(member)
            contents[member.name] = b"" if file is None else file.read()
    folders = [str(folder).encode() for folder in (ROOT, built.source)]
    assert [name for name, text in contents.items() if any(folder in text for folder in folders)] == []


def test_the_metadata_of_the_wheel_is_that_of_the_project(built: Built, tmp_path: Path) -> None:
    folder = f"recollect-{__version__}.dist-info"
    with zipfile.ZipFile(built.wheel) as wheel:
        wheel.extract(f"{folder}/METADATA", tmp_path)
    found = Distribution.at(tmp_path / folder)
    project = PYPROJECT["project"]
    required = [Requirement(line) for line in found.requires or []]
    core = {one for one in required if "extra" not in str(one.marker)}
    assert found.version == __version__
    assert found.metadata["Requires-Python"] == project["requires-python"]
    assert found.metadata["License-Expression"] == project["license"]
    assert sorted(found.metadata.get_all("Classifier") or []) == sorted(project["classifiers"])
    assert sorted(found.metadata.get_all("Provides-Extra") or []) == sorted(project["optional-dependencies"])
    assert core == {Requirement(line) for line in project["dependencies"]}
