"""The ratchet of `benchmarks/metrics.json`: what fails, what passes, and what `--write` changes."""

import ast
import math
from collections.abc import Mapping
from pathlib import Path

import metrics
import pytest
from metrics import Entry

from tests.tables import table

ENTRIES = {
    "quality.gate.x.ndcg@10": Entry(0.5, "up", 0.01),
    "size.statements": Entry(1000, "down", "1%"),
    "work.recall.sql_statements": Entry(5, "down", 0),
    "time.suite_seconds": Entry(100, "record"),
}
PREFIXES = ("quality.", "size.", "work.", "time.")


def marks(changes: Mapping[str, float | None]) -> dict[str, str]:
    """The marks of the figures that differ, where all others are as the file says; `None` is not measured."""
    figures = {**{name: entry.value for name, entry in ENTRIES.items()}, **changes}
    measured = {name: value for name, value in figures.items() if value is not None}
    return {row.name: row.mark for row in metrics.compare(ENTRIES, measured, PREFIXES) if row.mark}


CASES: dict[str, tuple[dict[str, float | None], dict[str, str]]] = {
    "the same": ({}, {}),
    "lower, where up is better": ({"quality.gate.x.ndcg@10": 0.48}, {"quality.gate.x.ndcg@10": "worse"}),
    "lower within the tolerance": ({"quality.gate.x.ndcg@10": 0.49}, {}),
    "higher, where up is better": ({"quality.gate.x.ndcg@10": 0.52}, {"quality.gate.x.ndcg@10": "better"}),
    "higher, where down is better": ({"size.statements": 1011}, {"size.statements": "worse"}),
    "higher by the relative tolerance": ({"size.statements": 1010}, {}),
    "lower, where down is better": ({"size.statements": 989}, {"size.statements": "better"}),
    "one more, without a tolerance": ({"work.recall.sql_statements": 6}, {"work.recall.sql_statements": "worse"}),
    "not a number": ({"size.statements": math.nan}, {"size.statements": "invalid"}),
    "infinite": ({"quality.gate.x.ndcg@10": math.inf}, {"quality.gate.x.ndcg@10": "invalid"}),
    "not measured any more": ({"size.statements": None}, {"size.statements": "missing"}),
    "without a baseline": ({"size.new": 1}, {"size.new": "new"}),
    "a time, however long": ({"time.suite_seconds": 10_000}, {}),
}


def test_only_figures_that_are_worse_unknown_or_not_numbers_fail() -> None:
    wrong = {case: marks(changes) for case, (changes, expected) in CASES.items() if marks(changes) != expected}
    assert wrong == {}
    fails = {mark: metrics.Row("a", 1, 2, mark).fails for mark in ("", "better", "worse", "new", "missing", "invalid")}
    assert [mark for mark, failed in fails.items() if not failed] == ["", "better"]


def test_a_part_that_was_not_measured_is_not_compared() -> None:
    assert [row.name for row in metrics.compare(ENTRIES, {"size.statements": 1000}, ["size."])] == ["size.statements"]


def test_a_line_shows_old_and_new_side_by_side() -> None:
    (row,) = metrics.compare(ENTRIES, {"size.statements": 1234.5}, ["size."])
    assert str(row).split() == ["size.statements", "1,000", "1,234.5000", "worse"]


def test_writing_changes_what_is_beyond_its_tolerance_and_keeps_the_rest() -> None:
    measured = {
        "quality.gate.x.ndcg@10": 0.4999999,
        "work.recall.sql_statements": 7,
        "time.suite_seconds": 90,
        "tokens.gate.x.context": 800,
    }
    rows = metrics.compare(ENTRIES, measured, ["quality.", "work.", "time.", "tokens."])
    assert metrics.update_entries(ENTRIES, rows) == {
        **ENTRIES,
        "work.recall.sql_statements": Entry(7, "down", 0),
        "time.suite_seconds": Entry(90, "record"),
        "tokens.gate.x.context": Entry(800, "down", "2%"),
    }


def test_writing_drops_what_is_not_measured_any_more() -> None:
    rows = metrics.compare(ENTRIES, {}, ["size."])
    assert "size.statements" not in metrics.update_entries(ENTRIES, rows)


def test_writing_refuses_what_is_not_a_number() -> None:
    rows = metrics.compare(ENTRIES, {"size.statements": math.nan}, ["size."])
    with pytest.raises(ValueError, match="not finite"):
        metrics.update_entries(ENTRIES, rows)


def test_what_is_written_is_read_again_an_entry_a_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    metrics.write(ENTRIES, path)
    assert metrics.read(path) == ENTRIES
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(ENTRIES) + 2


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the entries of these tests."""
    path = tmp_path / "metrics.json"
    metrics.write(ENTRIES, path)
    return path


def a_part(statements: float) -> metrics.Parts:
    """A part that measures one figure, which comes out as given."""
    return {("size.",): lambda: {"size.statements": statements}}


def test_the_command_fails_on_a_worse_figure_and_shows_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        metrics.main([], quick=a_part(1011), file=file)
    assert "worse than the file says" in str(left.value.code)  # Python prints a text and exits with 1
    assert "size.statements 1,000 1,011 worse" in " ".join(capsys.readouterr().out.split())
    assert metrics.read(file) == ENTRIES


def test_the_command_passes_and_writes_nothing_if_no_figure_is_worse(file: Path) -> None:
    for statements in (1010, 900):
        metrics.main([], quick=a_part(statements), file=file)
    assert metrics.read(file) == ENTRIES


def test_the_command_stores_a_worse_figure_if_asked_to_write(file: Path) -> None:
    metrics.main(["--write"], quick=a_part(1011), file=file)
    assert metrics.read(file) == {**ENTRIES, "size.statements": Entry(1011, "down", "1%")}


def test_the_command_records_a_time_beside_what_it_measures(file: Path) -> None:
    metrics.main(["--record", "time.suite_seconds=1", "--write"], quick=a_part(1000), file=file)
    assert metrics.read(file) == {**ENTRIES, "time.suite_seconds": Entry(1, "record")}


@table("given", ["size.statements=1", "time.suite_seconds", "time.suite_seconds=nan"])
def test_the_command_records_only_times(given: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        metrics.main(["--record", given, "--write"], quick=a_part(1000), file=file)
    assert left.value.code == 2
    assert f"'{given}' is not a time; write time.suite_seconds=480" in capsys.readouterr().err
    assert metrics.read(file) == ENTRIES


def test_an_invalid_entry_is_refused() -> None:
    invalid: list[tuple[float, str, float | str]] = [
        (math.nan, "up", 0),
        (1, "sideways", 0),
        (1, "up", -1),
        (1, "up", math.nan),
        (1, "up", "a bit"),
    ]
    accepted = []
    for value, direction, tolerance in invalid:
        try:
            accepted.append(Entry(value, direction, tolerance))  # type: ignore[arg-type]
        except ValueError:
            continue
    assert accepted == []


def test_a_figure_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="has no rule"):
        metrics.new_entry("weight.of.the.moon", 1)


def test_the_file_has_every_figure_of_the_parts_and_no_time_is_compared() -> None:
    entries = metrics.read()
    prefixes = [prefix for parts in (metrics.QUICK, metrics.THOROUGH) for part in parts for prefix in part]
    assert [prefix for prefix in prefixes if not any(name.startswith(prefix) for name in entries)] == []
    assert {entry.direction for name, entry in entries.items() if name.startswith("time.")} <= {"record"}


def test_a_thorough_run_measures_every_figure_but_times_and_datasets_that_are_elsewhere() -> None:
    measured = tuple(prefix for parts in (metrics.QUICK, metrics.THOROUGH) for part in parts for prefix in part)
    others = [name for name in metrics.read() if not name.startswith((*measured, "time."))]
    assert {name.split(".")[0] for name in others} == {"quality"}
    assert [name for name in others if name.startswith("quality.gate.")] == []


def test_a_name_that_another_package_has_is_a_cross_package_import_once_a_module() -> None:
    tree = ast.parse(
        "import json\n"
        "import recollect.atomic_files\n"
        "from recollect import config, wiring\n"
        "from recollect.engine.dependencies import World\n"
        "from recollect.model.memory import Kind, Memory\n"
        "def f():\n"
        "    from recollect.model.memory import Memory\n"
    )
    found = metrics.cross_package_imports(tree, "engine")
    assert found == {
        ("recollect.atomic_files", ""),
        ("recollect", "config"),
        ("recollect", "wiring"),
        ("recollect.model.memory", "Kind"),
        ("recollect.model.memory", "Memory"),
    }


def test_a_class_name_is_repeated_when_two_modules_define_it() -> None:
    trees = [ast.parse("class A: ...\nclass B: ...\nclass B: ..."), ast.parse("class A:\n    class B: ...")]
    assert metrics.repeated_class_names(trees) == ["A"]
