"""A line of an export has an end: what never ends is not read for ever, and nothing is exported that is too long."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.model import validation
from recollect.model.archive import ImportReport

ANA = "acme/ana"
SHORT = 20_000
"""How long a line may be here, so that a line beyond it is soon written."""


class Endless(io.TextIOBase):
    """A file whose first line never ends; counts how much of it was asked for."""

    def __init__(self) -> None:
        self.read_so_far = 0

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        assert size > 0, "all of a line that never ends was asked for"
        self.read_so_far += size
        return "x" * size


@pytest.fixture
def lines() -> list[str]:
    with recollect.open(":memory:", embedder="hashing") as engine:
        engine.remember("a seat by the window", scope=ANA)
        return list(engine.export())


@pytest.fixture
def engine() -> Iterator[recollect.Engine]:
    with recollect.open(":memory:", embedder="hashing") as engine:
        yield engine


def test_a_line_may_be_as_long_as_a_memory_with_a_very_long_life() -> None:
    vector = 384 * 4 * 4 // 3
    assert 100_000 * (vector + 500) <= validation.MAX_EXPORT_LINE_CHARS <= 2**28


def test_of_a_line_that_never_ends_no_more_is_read_than_a_line_may_have(
    engine: recollect.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "MAX_EXPORT_LINE_CHARS", SHORT)
    endless = Endless()
    problem = f"line 1: too long for a line of an export .at most {SHORT} characters"
    with pytest.raises(recollect.InvalidInput, match=problem):
        engine.import_(endless)
    assert endless.read_so_far == SHORT + 1


def test_a_line_that_is_too_long_is_refused_wherever_it_comes_from(
    engine: recollect.Engine, lines: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(validation, "MAX_EXPORT_LINE_CHARS", SHORT)
    long = [lines[0], " " * (SHORT + 1 - len(lines[1])) + lines[1], lines[2]]
    file = tmp_path / "long.jsonl"
    file.write_text("".join(long))
    with file.open() as opened:
        for given in (long, iter(long), opened):
            with pytest.raises(recollect.InvalidInput, match="line 2: too long for a line of an export"):
                engine.import_(given)
    assert engine.stats().memories == 0
    assert engine.import_(lines) == ImportReport(memories=1, contexts=0, skipped=0)


def test_lines_up_to_the_limit_are_taken_in(
    engine: recollect.Engine, lines: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(validation, "MAX_EXPORT_LINE_CHARS", max(map(len, lines)))
    file = tmp_path / "short.jsonl"
    file.write_text("".join(lines))
    with file.open() as opened:
        assert engine.import_(opened).memories == 1


def test_what_would_not_be_taken_in_again_is_not_exported(
    engine: recollect.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = engine.remember("a long seat " * SHORT, scope=ANA).id
    monkeypatch.setattr(validation, "MAX_EXPORT_LINE_CHARS", SHORT)
    with pytest.raises(recollect.StoreError, match=rf"'{id}' needs \d+ characters.* use `backup`"):
        list(engine.export())


def test_bytes_and_half_a_character_are_refused(engine: recollect.Engine, lines: list[str]) -> None:
    with pytest.raises(recollect.InvalidInput, match=r"line 1: b'.* is not text; open the export in text mode"):
        engine.import_([line.encode() for line in lines])  # type: ignore[misc]
    for given in ([lines[0], '{"a": "\ud800"}'], iter([lines[0], '{"a": "\ud800"}'])):
        with pytest.raises(recollect.InvalidInput, match="line 2: has a lone surrogate at 7"):
            engine.import_(given)


def test_a_pipe_that_never_ends_is_refused_on_the_command_line(tmp_path: Path) -> None:
    program = (
        "import sys; from recollect.model import validation; from recollect.cli.main import main;"
        f"validation.MAX_EXPORT_LINE_CHARS = {SHORT}; sys.argv[0] = 'recollect'; main()"
    )
    command = [sys.executable, "-c", program, "--db", str(tmp_path / "agent.db"), "import"]
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        run = subprocess.run([*command, "-"], stdin=endless.stdout, capture_output=True, text=True)
        endless.kill()
    assert (run.returncode, f"at most {SHORT} characters" in run.stderr) == (2, True), run.stderr
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps({"x": "x" * SHORT}))
    run = subprocess.run([*command, str(long)], capture_output=True, text=True)
    assert (run.returncode, "line 1: too long for a line of an export" in run.stderr) == (2, True), run.stderr
    assert not (tmp_path / "agent.db").exists()
