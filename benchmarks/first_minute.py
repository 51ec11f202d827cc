"""What the first minute costs: a plain install, importing it, and the demo twice.

A fresh virtual environment in a temporary folder gets the project from this checkout as `pip install` gives it,
without constraints. Counted is what that adds to site-packages: packages, with recollect and without pip, and the bytes
of their files, byte code included. All that runs afterwards has an empty home. What was just written is in the system's
memory, so a cold disk takes longer. The yardstick is an interpreter that does nothing; two libraries are beside it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
OURS = ("RECOLLECT_", "XDG_", "PYTHON", "VIRTUAL_ENV")
"""Variables that a new user has not set."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a site-packages: how many packages, and how many bytes."""

    packages: int
    bytes: int

    @classmethod
    def of(cls, environment: Path) -> "Contents":
        (folder,) = environment.glob("lib/python*/site-packages")
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        return cls(len(list(folder.glob("*.dist-info"))), sum(path.stat().st_size for path in files))

    def __sub__(self, other: "Contents") -> "Contents":
        return Contents(self.packages - other.packages, self.bytes - other.bytes)


def quietly(command: Sequence[str | Path], place: Path, environ: Mapping[str, str]) -> float:
    """Run it; how many seconds it took."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False)
    took = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return took


def install(environment: Path, what: str, place: Path, *, options: Sequence[str] = ()) -> tuple[Contents, float]:
    """What the install adds to a new environment, and the seconds it took; pip has the user's own configuration."""
    quietly([sys.executable, "-m", "venv", environment], place, os.environ)
    before = Contents.of(environment)
    pip = (environment / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input")
    took = quietly([*pip, *options, what], place, os.environ)
    return Contents.of(environment) - before, took


def imports(python: Path, rounds: int, place: Path, environ: Mapping[str, str]) -> dict[str, list[float]]:
    """How long fresh processes took, in turn, so that all meet the same neighbours."""
    times: dict[str, list[float]] = {
        code: [] for code in ("pass", "import pydantic", "import numpy", "import recollect")
    }
    for _ in range(rounds):
        for code, took in times.items():
            took.append(quietly([python, "-c", code], place, environ))
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--extra", help="install with an extra, as minilm")
    arguments.add_argument("--rounds", type=int, default=15)
    given = arguments.parse_args()
    what = f"{CHECKOUT}[{given.extra}]" if given.extra else str(CHECKOUT)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        home, environment = place / "home", place / "environment"
        home.mkdir()
        environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        environ["HOME"] = str(home)

        added, took = install(environment, what, place)
        print(f"{'install' if given.extra is None else f'install with {given.extra}'}, Python {sys.version.split()[0]}")
        print(f"{'packages':<28} {added.packages:>9}")
        print(f"{'size':<28} {added.bytes / 1e6:>9.1f} MB")
        print(f"{'pip took':<28} {took:>9.1f} s", flush=True)

        times = imports(environment / "bin" / "python", given.rounds, place, environ)
        print(f"\n{'fresh processes':<28} {'min ms':>9} {'median ms':>9} {'ratio of medians':>17}")
        for code, spent in times.items():
            ratio = statistics.median(spent) / statistics.median(times["pass"])
            print(f"{code:<28} {min(spent) * 1e3:>9.1f} {statistics.median(spent) * 1e3:>9.1f} {ratio:>15.2f} ×")

        print()
        for turn in ("first", "second"):
            spent_on_it = quietly([environment / "bin" / "recollect", "demo"], place, environ)
            print(f"{f'{turn} recollect demo':<28} {spent_on_it:>9.2f} s", flush=True)


if __name__ == "__main__":
    main()
