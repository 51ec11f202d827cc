"""The command line as tests call it: in this process, in one of its own, or on a terminal."""

import json
import os
import pty
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from recollect.cli.main import cli
from tests import forked

ENVIRONMENT = {"RECOLLECT_EMBEDDER": "hashing", "RECOLLECT_CONFIG": ""}
"""What every call has: the embedder that is there at once, and no file of whoever runs the tests."""

Answers = Mapping[str, Callable[[], str]]
"""What is typed when a question is seen."""


@dataclass(frozen=True, slots=True)
class Shell:
    """Calls commands on one store, and insists on the exit code; the `address` is that of a database, if it is one."""

    store: Path
    address: str | None = None

    @property
    def target(self) -> str:
        """What `--db` is given."""
        return str(self.store) if self.address is None else self.address

    def __call__(self, *arguments: str, code: int = 0, stdin: str | bytes = "", **environment: str) -> Result:
        """The outcome, from this process, with this exit code."""
        outcome = self.any(*arguments, stdin=stdin, **environment)
        assert outcome.exit_code == code, outcome.output
        return outcome

    def any(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Result:
        """The outcome, whatever it is; anything but an exit is a failure of the test."""
        called = ["--db", self.target, *arguments]
        return CliRunner().invoke(cli, called, input=stdin, env={**ENVIRONMENT, **environment}, catch_exceptions=False)

    def json(self, *arguments: str, stdin: str = "") -> Any:
        """What is printed with --json."""
        return json.loads(self(*arguments, "--json", stdin=stdin).stdout)

    def process(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """The outcome of a process of its own."""
        command = [*forked.command(), "--db", self.target, *arguments]
        there = {**os.environ, **ENVIRONMENT, **environment}
        outcome = subprocess.run(command, capture_output=True, text=True, env=there, stdin=subprocess.DEVNULL)
        assert outcome.returncode == code, outcome.stderr
        return outcome

    def terminal(self, *arguments: str, **environment: str) -> str:
        """What someone at a terminal sees."""
        return self.talk({}, *arguments, environment=environment)

    def talk(
        self, answers: Answers, *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
    ) -> str:
        """What someone at a terminal sees who types an answer to each of these questions, in their order."""
        command = [*forked.command(), "--db", self.target, *arguments]
        plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        there = {**plain, **ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100", **(environment or {})}
        ours, theirs = pty.openpty()
        stdin = theirs if answers else subprocess.DEVNULL
        with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=stdin, env=there) as process:
            os.close(theirs)
            seen = _all(ours, answers)
        os.close(ours)
        assert process.returncode == code, seen
        return seen


def _all(terminal: int, answers: Answers) -> str:
    """Everything until the other end is closed, which some systems tell as an error."""
    seen, start = b"", 0
    questions = list(answers)
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            piece = b""
        if not piece:
            return seen.decode().replace("\r\n", "\n")
        seen += piece
        if questions and questions[0].encode() in seen[start:]:
            start = len(seen)
            os.write(terminal, f"{answers[questions.pop(0)]()}\n".encode())
