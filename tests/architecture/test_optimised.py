"""Python's -O drops assertions; what the package refuses, it must refuse all the same."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .source import PACKAGE


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that a test may break."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "recollect", ignore=shutil.ignore_patterns("__pycache__")))


def import_it(package: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """What comes of using that copy in a new process."""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    script = "import recollect; recollect.open; print(recollect.__file__)"
    command = [sys.executable, *flags, "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def break_a_profile(package: Path) -> None:
    """Give a built-in profile weights that do not add up to 1."""
    profile = package / "ranking" / "profiles" / "default.toml"
    text = profile.read_text(encoding="utf-8")
    broken, times = re.subn(r"weight = 0\.\d+", "weight = 0.99", text, count=1)
    assert times == 1
    profile.write_text(broken, encoding="utf-8")


@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",)], ids=["plain", "-O", "-OO"])
def test_the_intact_package_can_be_imported(copied: Path, flags: tuple[str, ...]) -> None:
    outcome = import_it(copied, *flags)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert Path(outcome.stdout.strip()) == copied / "__init__.py"


def test_a_broken_built_in_profile_is_refused_with_and_without_optimisation(copied: Path) -> None:
    break_a_profile(copied)
    plain, optimised = (import_it(copied, *flags).stderr.rstrip().split("\n")[-1] for flags in ((), ("-O",)))
    assert plain.startswith("recollect.errors.ProfileError: profile 'default': the weights add up to")
    assert optimised == plain
