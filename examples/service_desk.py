"""A service desk whose profile learns from its colleagues: they say which notes helped, and such come first then.

The desk and the colleagues are made up, so that every run says the same. Run from the root of a clone, with
`source .venv/bin/activate`: `python examples/service_desk.py`. With `--export` it prints the store for
`recollect import -`, to learn from by hand.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import recollect

SCOPE = "acme/desk"
EMBEDDER = "hashing"
SYSTEMS = ("payroll", "calendar", "wiki", "printer", "badge", "laptop", "phone", "intranet")
MATTERS = ("login", "outage", "upgrade", "invoice", "training")
QUESTIONS = {
    (system, matter): f"someone called about the {system} {matter}" for system, matter in product(SYSTEMS, MATTERS)
}
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
LATER = BEGAN + timedelta(days=1)
TUNE = ("profiles", "tune", "--from-feedback", "--scope", SCOPE)


def main() -> None:
    """What colleagues said, what was learned of it, and what the desk shows first before and after."""
    with TemporaryDirectory() as folder:
        file, learned = Path(folder) / "desk.db", Path(folder) / "desk.toml"
        live(str(file))
        lines = told(learn(file, learned))
        with recollect.open(file, embedder=EMBEDDER, clock=lambda: LATER) as memory:
            for name, profile in (("before", "default"), ("after", str(learned))):
                shown = {asked: first(memory, asked, profile) for asked in QUESTIONS.values()}
                settled = sum(text.startswith("Settled") for text in shown.values())
                lines += ["", f"{name}: what was settled comes first for {settled} of {len(shown)} questions, as for"]
                asked = QUESTIONS["wiki", "outage"]
                lines += [f"  {asked}", f"    {shown[asked]}"]
    print("\n".join(lines))


def learn(file: Path, out: Path) -> Any:
    """Have the command learn, as one would at a terminal; what it reports."""
    command = [sys.executable, "-m", "recollect", "--db", str(file), *TUNE, "--out", str(out), "--json"]
    there = {**os.environ, "RECOLLECT_EMBEDDER": EMBEDDER}
    done = subprocess.run(command, env=there, check=True, capture_output=True, text=True)  # noqa: S603 — ours
    return json.loads(done.stdout)


def told(report: Any) -> list[str]:
    """What the report says: what was said, which weights moved much, and what that gained where it was held out."""
    said, gained = report["feedback"]["uses"], report["figures"][0]["gained"]
    moved = [one for one in report["numbers"] if abs(one["after"] - one["before"]) > 0.05]
    low, high = gained["interval"]
    return [
        f"colleagues said {said['helped']} times that a memory helped, {said['misled']} times that it misled",
        "",
        f"recollect {' '.join(TUNE)} --out desk.toml",
        *(f"  {one['signal']:10}  {one['before']:.2f} -> {one['after']:.2f}" for one in moved),
        f"  gained on questions that were held out: {gained['mean']:.2f} [{low:.2f}, {high:.2f}]",
    ]


def first(memory: recollect.Engine, question: str, profile: str) -> str:
    """What comes first for a question."""
    (best,) = memory.search(question, scope=SCOPE, profile=profile, limit=1)
    return best.memory.text


def live(target: str) -> list[str]:
    """Of every matter the desk keeps what was settled, and what was said about it; most want what was settled.

    Gives the store as an export.
    """
    now = BEGAN
    with recollect.open(target, embedder=EMBEDDER, clock=lambda: now) as memory:
        for system, matter in QUESTIONS:
            rule = f"Settled for every {system} {matter}: the owner of the {system} decides within a day"
            memory.remember(rule, scope=SCOPE, importance=0.9, at=BEGAN - timedelta(days=60))
            call = f"About the {system} {matter} someone called about the {system} {matter} again"
            memory.remember(call, scope=SCOPE, importance=0.2, at=BEGAN - timedelta(days=3))
        for number, ((system, matter), question) in enumerate(QUESTIONS.items()):
            now += timedelta(minutes=20)
            context = memory.recall(f"{question}, what now?", scope=SCOPE)
            settled, said = (
                [one.id for one in context.packed if one.memory.text.startswith(start) and matter in one.memory.text]
                for start in (f"Settled for every {system}", f"About the {system}")
            )
            helped, misled = (said, []) if number % 5 == 4 else (settled, said)
            memory.feedback(context.id or "", scope=SCOPE, helped=helped, misled=misled, by=f"colleague {number % 7}")
        return list(memory.export())


if __name__ == "__main__":
    if sys.argv[1:] == ["--export"]:
        sys.stdout.writelines(live(":memory:"))
    else:
        main()
