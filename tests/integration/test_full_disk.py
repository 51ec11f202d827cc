"""Without room, nothing that was acknowledged is lost and reading goes on; with room, so does writing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RIG = Path(__file__).parent / "full_disk_rig.py"

ON_A_SMALL_DISK = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'
"""What a shell with a name space of its own does before it becomes a program."""


def with_a_small_disk(folder: Path, *command: str) -> list[str]:
    """The command, with nothing but a small disk in the folder; nobody else sees that."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK, str(folder), *command]


def may_have_a_small_disk(folder: Path) -> bool:
    try:
        return subprocess.run(with_a_small_disk(folder, "true"), capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("room", ["disk", "files"])
def test_without_room_nothing_is_lost_or_torn_and_with_room_it_goes_on(tmp_path: Path, room: str) -> None:
    if room == "disk" and not may_have_a_small_disk(tmp_path):
        room = "files"  # a limit of the process ends in an error of the system just the same
    command = [sys.executable, str(RIG), room, str(tmp_path)]
    if room == "disk":
        command = with_a_small_disk(tmp_path, *command)
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    told = re.fullmatch(r"(\d+) acknowledged, (\d+) refused, 0 problems\n", run.stdout)
    assert told, run.stdout
    assert int(told[1]) > 20
    assert int(told[2]) > 5
