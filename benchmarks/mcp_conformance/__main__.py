"""Runs the official conformance suite against the face over HTTP, and says what differs from what is expected.

The suite and a Node that can run it are installed from npm into a temporary folder, unless `--suite DIR` has them.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mcp_conformance.expected import CHECKS, EXPECTED
from mcp_conformance.rig import serving

SUITE, NODE = "@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"
OUTCOME = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$", re.MULTILINE)
UNSCORED = re.compile(r"^  [✓✗] ([\w-]+) \(", re.MULTILINE)


def install(folder: Path) -> None:
    """Have the suite in a folder."""
    subprocess.run(["npm", "install", "--silent", "--prefix", folder, NODE, SUITE], check=True)  # noqa: S607


def outcomes(folder: Path, url: str, revision: str) -> tuple[Mapping[str, int], int]:
    """Of each scenario that a revision requires, how many checks failed; and how many passed in all of these."""
    command = [
        str(folder / "node_modules" / "node" / "bin" / "node"),
        str(folder / "node_modules" / ".bin" / "conformance"),
        *("server", "--url", url, "--requirements", revision),
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = OUTCOME.findall(told)
    if not rows:
        sys.exit(f"the suite says nothing that can be read: {told[-2000:]}")
    unscored = set(UNSCORED.findall(told))
    scored = [row for row in rows if row[1] not in unscored]
    return {name: int(failed) for _, name, _, failed in scored}, sum(int(passed) for _, _, passed, _ in scored)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--suite", type=Path, help="a folder that npm has installed the suite into")
    given = arguments.parse_args()
    surprises: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        if given.suite is None:
            install(Path(folder))
        with serving() as url:
            for revision, expected in EXPECTED.items():
                found, passed = outcomes(given.suite or Path(folder), url, revision)
                good, failed = list(found.values()).count(0), sum(found.values())
                print(f"{revision}: {good} of {len(found)} required scenarios pass; {passed} checks, {failed} fail")
                for name, failing in found.items():
                    if failing:
                        print(f"  {name}: {expected.get(name, 'not expected')}")
                    if failing != (CHECKS.get(name, 1) if name in expected else 0):
                        surprises.append(f"{revision} {name}: {failing} checks fail")
    if surprises:
        sys.exit(f"not as expected: {'; '.join(surprises)}")


if __name__ == "__main__":
    main()
