"""A writer that is killed at any moment loses nothing that it acknowledged, and leaves nothing torn."""

import re
import subprocess
import sys
from pathlib import Path

RIG = Path(__file__).parent / "crash_rig.py"


def test_two_hundred_kills_lose_nothing_and_tear_nothing(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, str(RIG), str(tmp_path), "--kills", "200"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    told = re.fullmatch(r"200 kills, (\d+) acknowledged, 0 problems\n", run.stdout)
    assert told, run.stdout
    assert int(told[1]) > 200
