"""What a release relies on: the version, the changelog, the workflow and the claimed platforms agree."""

import re
import subprocess
import sys
import tomllib
from typing import Any

import yaml
from packaging.version import Version

from recollect.providers import static_table
from recollect.version import __version__

from .source import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def jobs() -> dict[str, Any]:
    """The jobs of the workflow by name."""
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    return found


def test_the_version_is_written_in_its_normal_form() -> None:
    assert str(Version(__version__)) == __version__


def test_the_changelog_has_a_section_for_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert ("Unreleased" if Version(__version__).is_devrelease else __version__) in released


def test_the_lines_of_the_changelog_are_short() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120] == []


def test_the_workflow_matches_the_schema_of_workflows() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_runs_every_python_that_the_classifiers_claim() -> None:
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    run = {name: job["strategy"]["matrix"]["python"] for name, job in jobs().items() if name in ("linux", "macos")}
    assert run == {"linux": claimed, "macos": claimed}


def test_every_file_that_the_workflow_names_is_there() -> None:
    commands = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    named = {word for command in commands for word in re.findall(r"\b(?:scripts|tests)/[\w./]+", command)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_static_table_is_of_the_version_that_is_installed_to_compare_it_with() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    lines = [*constraints, *PROJECT["optional-dependencies"]["dev"]]
    assert [line for line in lines if line.startswith("wordllama")] == [static_table.REQUIREMENT] * 2
