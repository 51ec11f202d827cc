"""What is typed is split as the whole command line would: what begins at once begins the same."""

import subprocess
import sys

from recollect.cli import entrypoint, main
from recollect.cli.hook import read_process_age
from tests.tables import table


def test_the_options_before_a_command_are_those_of_the_command_line() -> None:
    assert set(entrypoint.GLOBAL_OPTIONS) == set(main.GLOBAL_OPTION_METAVARS)
    assert {"mcp", "hook"} <= set(main.cli.commands)


@table(
    ("typed", "expected"),
    [
        ([], ([], [])),
        (["mcp"], ([], ["mcp"])),
        (["--db", "a.db", "mcp", "--scope", "a"], (["--db", "a.db"], ["mcp", "--scope", "a"])),
        (["--db=a.db", "--setting", "a=1", "hook"], (["--db=a.db", "--setting", "a=1"], ["hook"])),
        (["--version"], ([], [])),
        (["--db"], ([], [])),
        (["--nonsense", "mcp"], ([], [])),
    ],
)
def test_what_stands_before_the_command_is_told_from_it(
    typed: list[str], expected: tuple[list[str], list[str]]
) -> None:
    assert entrypoint.split_command(typed) == expected


def test_the_door_loads_next_to_nothing_and_no_engine_before_it_is_needed() -> None:
    script = "import sys; bare = set(sys.modules); import recollect.cli.entrypoint; print(*(set(sys.modules) - bare))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    dear = {"asyncio", "click", "dataclasses", "email", "http.client", "inspect", "logging", "pathlib", "ssl"}
    assert not {*dear, "tempfile", "traceback", "urllib.parse"} & set(loaded)
    assert not {"numpy", "apsw", "pydantic", "mcp", "recollect.engine.engine", "recollect.config"} & set(loaded)


def test_listing_tools_needs_no_engine_either() -> None:
    script = "import recollect.server.mcp.stdio_transport, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "apsw", "recollect.engine.engine", "recollect.api.operations"} & set(loaded)


@table("typed", [["hook", "-h"], ["mcp", "--tools", "nonsense"]])
def test_what_is_no_plain_call_is_left_to_the_whole_command_line(typed: list[str]) -> None:
    plain = f"import sys; sys.argv = ['recollect', *{typed!r}]; from recollect.cli.main import main; main()"
    ours, whole = (
        subprocess.run([sys.executable, *how], capture_output=True, text=True)
        for how in (["-m", "recollect", *typed], ["-c", plain])
    )
    assert (ours.returncode, ours.stderr.replace("python -m ", "")) == (whole.returncode, whole.stderr)
    assert ours.stdout.replace("python -m ", "") == whole.stdout


def test_a_process_knows_for_how_long_it_has_been() -> None:
    assert read_process_age() >= 0.0


def test_without_what_mcp_needs_one_line_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['mcp'] = None; sys.argv = ['recollect', 'mcp']"
    script = f"{hidden}; from recollect.cli.entrypoint import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "pip install '.[server]'" in ended.stderr
