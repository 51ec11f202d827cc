"""Running commands of recollect in this process, always with the same width, and at any time."""

from contextlib import ExitStack
from datetime import datetime
from unittest.mock import patch

from click.testing import CliRunner, Result

from tests.golden.entry_points import CLOCK_PATH, cli

WIDTH_CHARS = 100
ENVIRONMENT = {
    "RECOLLECT_CONFIG": "",
    "RECOLLECT_EMBEDDER": "hashing-32",
    "COLUMNS": str(WIDTH_CHARS),
    "TERMINAL_WIDTH": str(WIDTH_CHARS),
    "NO_COLOR": "1",
    "TZ": "UTC",
}


def run_command(*arguments: str, at: datetime | None = None, stdin: str = "", **environment: str) -> Result:
    """Run a command as of the moment `at`, or now, and insist that it succeeds."""
    with ExitStack() as stack:
        if at is not None:
            stack.enter_context(patch(CLOCK_PATH, lambda: at))
        result = CliRunner().invoke(
            cli,
            list(arguments),
            input=stdin,
            env={**ENVIRONMENT, **environment},
            prog_name="recollect",
            terminal_width=WIDTH_CHARS,
        )
    assert result.exit_code == 0, f"recollect {' '.join(arguments)}: {result.output} {result.exception!r}"
    return result
