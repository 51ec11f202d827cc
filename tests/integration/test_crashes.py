"""A writer that is killed at any moment loses nothing that it acknowledged, and leaves nothing torn."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RIG = Path(__file__).parent / "crash_rig.py"


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.thorough)])
def test_kills_lose_nothing_and_tear_nothing(kills: int, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(RIG), str(tmp_path), "--kills", f"{kills}"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    told = re.fullmatch(rf"{kills} kills, (\d+) acknowledged, 0 problems\n", run.stdout)
    assert told, run.stdout
    assert int(told[1]) > kills
