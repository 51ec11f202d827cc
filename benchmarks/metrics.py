"""Metrics: measure this commit and compare it with `benchmarks/metrics.json`, a ratchet.

An entry of the file has a value, a direction and a tolerance. The direction says which way is better: `up`, `down`, or
`record` for a figure that depends on the machine and is never compared. A figure that is worse than the file says by
more than its tolerance fails the run; a better one passes, and `--write` stores it. `--write` leaves an entry alone
while it is within its tolerance, so small changes cannot add up unseen.

`tests/gate/floors.json` holds every category of the gate to a floor; the figures here are means over all of them.

The tolerance is a number, or a share of the value such as "1%". New entries take it from `RULES`:

- quality on the gate, .003: another processor may swap two near-ties, and one query of 271 is worth .001 to .004;
- quality on other datasets, .002: they have about 750 queries, so one query is worth half as much;
- tokens, 2%: a near-tie at the end of a context swaps a short memory for a long one;
- work, 0: the same calls on the same store run the same statements on every machine;
- public names, 0: a name is added on purpose;
- other sizes, 1%: room for a bug fix, not for a feature;
- install, 2%: wheels differ between platforms and versions of Python;
- time: recorded only, since it depends on the machine.
"""

import argparse
import ast
import collections
import json
import math
import re
import shutil
import statistics
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import apsw

import recollect
from recollect import factory
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.evaluation.report import evaluate_answers
from recollect.evaluation.runner import load_judgment_store
from recollect.model.memory import Memory
from recollect.ranking.profiles import builtin_profile

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "recollect"
GENERATED = SOURCE / "grpc" / "v1"
GATE = ROOT / "tests" / "gate" / "judgements"
FILE = ROOT / "benchmarks" / "metrics.json"

STATIC, MINILM = "wordllama", "minilm"
K = 10
DIGITS = 6

Direction = Literal["up", "down", "record"]
Figures = dict[str, float]
Measure = Callable[[], Figures]
Parts = Mapping[tuple[str, ...], Measure]
"""What to measure, by the prefixes of the names of its figures."""


# -- the ratchet ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure in the file: its value, which way is better, and how much worse it may get."""

    value: float
    direction: Direction
    tolerance: float | str = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"value {self.value} is not finite; measure again")
        if self.direction not in ("up", "down", "record"):
            raise ValueError(f"direction {self.direction!r} is unknown; write up, down or record")
        if not (math.isfinite(self.margin) and self.margin >= 0):
            raise ValueError(f"tolerance {self.tolerance!r} is invalid; write a number, or a share such as 1%")

    @property
    def margin(self) -> float:
        """The tolerance as an absolute number."""
        if isinstance(self.tolerance, str):
            return abs(self.value) * float(self.tolerance.removesuffix("%")) / 100
        return self.tolerance

    def gain(self, value: float) -> float:
        """How much better the value is than the entry's; below zero if it is worse."""
        return {"up": value - self.value, "down": self.value - value, "record": 0.0}[self.direction]


RULES: tuple[tuple[str, Direction, float | str], ...] = (
    ("quality.gate.", "up", 0.003),
    ("quality.", "up", 0.002),
    ("tokens.", "down", "2%"),
    ("work.", "down", 0),
    ("size.public_names", "down", 0),
    ("size.", "down", "1%"),
    ("install.", "down", "2%"),
    ("time.", "record", 0),
)
"""Direction and tolerance of a new entry, by the first prefix that its name has."""


def new_entry(name: str, value: float) -> Entry:
    """The first entry of a figure."""
    for prefix, direction, tolerance in RULES:
        if name.startswith(prefix):
            return Entry(value, direction, tolerance)
    raise ValueError(f"metric {name!r} has no rule; add its prefix to RULES")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure as the file has it beside the one that was measured; `mark` says how they compare."""

    name: str
    old: float | None
    new: float | None
    mark: Literal["", "better", "worse", "new", "missing", "invalid"]

    @property
    def fails(self) -> bool:
        return self.mark not in ("", "better")

    def __str__(self) -> str:
        return f"{self.name:<48} {_number(self.old):>12} {_number(self.new):>12}  {self.mark}".rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}" if math.isfinite(value) else str(value)


def compare(entries: Mapping[str, Entry], measured: Mapping[str, float], prefixes: Sequence[str]) -> list[Row]:
    """Every measured figure beside its entry, and every entry under these prefixes that was not measured."""
    expected = {name for name in entries if name.startswith(tuple(prefixes))}
    return [_row(name, entries.get(name), measured.get(name)) for name in sorted(expected | measured.keys())]


def _row(name: str, entry: Entry | None, value: float | None) -> Row:
    old = None if entry is None else entry.value
    if value is None:
        return Row(name, old, None, "missing")
    if not math.isfinite(value):
        return Row(name, old, value, "invalid")
    if entry is None:
        return Row(name, None, value, "new")
    gain, slack = entry.gain(value), entry.margin + 10.0**-DIGITS
    return Row(name, old, value, "worse" if gain < -slack else "better" if gain > slack else "")


def update_entries(entries: Mapping[str, Entry], rows: Sequence[Row]) -> dict[str, Entry]:
    """Return the entries after `--write`: what was not measured stays, and so does what is within its tolerance."""
    after = dict(entries)
    for row in rows:
        if row.new is None:
            del after[row.name]
            continue
        value = round(row.new, DIGITS)
        if row.name not in entries:
            after[row.name] = new_entry(row.name, value)
        elif row.mark or entries[row.name].direction == "record":
            after[row.name] = replace(entries[row.name], value=value)
    return after


def read(path: Path = FILE) -> dict[str, Entry]:
    """The entries of the file."""
    return {name: Entry(**fields) for name, fields in json.loads(path.read_text(encoding="utf-8")).items()}


def write(entries: Mapping[str, Entry], path: Path = FILE) -> None:
    """Write the file, an entry a line, so that a diff shows a figure a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(asdict(entries[name]))}" for name in sorted(entries)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# -- quality and tokens -----------------------------------------------------------------------------------------------


def quality(folder: Path, name: str, embedder: str, *, contexts: bool = False) -> Figures:
    """What `default` finds of a dataset: means over queries, and (`macro`) means over categories.

    With `contexts`, also the mean number of tokens that `recall` packs with its own budget.
    """
    judgements = read_judgments(folder)
    with tempfile.TemporaryDirectory(prefix="recollect-metrics-") as place:
        there = load_judgment_store(judgements, partial(factory.open, Path(place) / "judged.db", embedder=embedder))
        default = builtin_profile("default")
        answers = there.ask(default, depth=K)
        found = evaluate_answers(default.name, default.version, K, answers, (K,))
        figures: Figures = {}
        for measure in (f"recall@{K}", f"ndcg@{K}"):
            figures[f"quality.{name}.{embedder}.{measure}"] = found.overall.means[measure]
            figures[f"quality.{name}.{embedder}.macro_{measure}"] = found.category_means[measure]
        if contexts:
            with there.open_engine() as engine:
                figures[f"tokens.{name}.{embedder}.context"] = _context_tokens(engine, judgements)
    return figures


def _context_tokens(engine: recollect.Engine, judgements: Judgments) -> float:
    return statistics.fmean(
        engine.recall(query.text, scope=query.scope, as_of=query.asked_at).tokens for query in judgements.queries
    )


# -- work -------------------------------------------------------------------------------------------------------------

MEMORIES, ROUNDS = 300, 20


@dataclass(slots=True)
class Counter:
    """What was done since `reset`: statements that read or write data, and memories that were built from rows.

    Statements about transactions are left out: whether two writes share one depends on when a thread wakes up.
    """

    statements: int = 0
    memories: int = 0

    def trace(self, _: apsw.Cursor, sql: str, __: Any) -> bool:
        self.statements += _ABOUT_DATA.match(sql) is not None
        return True

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is _BUILD_FROM_ROW:
            self.memories += 1

    def reset(self) -> None:
        self.statements = self.memories = 0


_ABOUT_DATA = re.compile(r"(?:\s*--.*\n)*\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)

_BUILD_FROM_ROW = Memory.from_stored.__func__.__code__  # type: ignore[attr-defined]  # a class method's function
"""Every memory that is read from a row is made by this code."""


@contextmanager
def count_work() -> Iterator[Counter]:
    """Count on every connection and thread that is opened inside, by SQLite's and Python's own hooks."""
    counter = Counter()

    def follow(connection: apsw.Connection) -> None:
        connection.exec_trace = counter.trace

    before = sys.getprofile()
    apsw.connection_hooks.append(follow)
    threading.setprofile(counter.profile)
    sys.setprofile(counter.profile)
    try:
        yield counter
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
        apsw.connection_hooks.remove(follow)


def work() -> Figures:
    """What a recall and a remember cost on average, on a store of 300 memories of one scope, all caches warm.

    `recall_after_remember` is a recall that finds a new memory, as in a conversation. What a recall writes later is
    counted with it.
    """
    judgements = read_judgments(GATE)
    drafts = [replace(one, scope=judgements.queries[0].scope) for one in judgements.drafts[: MEMORIES + 2 * ROUNDS]]
    there, fresh = drafts[:MEMORIES], iter(drafts[MEMORIES:])
    questions = [one.text for one in judgements.queries[:ROUNDS]]
    figures: Figures = {}
    with (
        tempfile.TemporaryDirectory(prefix="recollect-metrics-") as place,
        count_work() as counter,
        factory.open(Path(place) / "counted.db", embedder="hashing", clock=lambda: judgements.ended_at) as engine,
    ):
        scope = there[0].scope
        engine.remember_all(there)

        def remember(_: str) -> None:
            engine.remember_all([next(fresh)])

        def recall(question: str) -> int:
            return engine.recall(question, scope=scope).ranking.proof.scanned

        def recall_after_remember(question: str) -> int:
            remember(question)
            engine.admin.flush()
            counter.reset()
            return recall(question)

        calls: Sequence[Callable[[str], int | None]] = (recall, remember, recall_after_remember)
        for question in questions[:2]:
            recall(question)
        engine.admin.flush()
        for call in calls:
            counts: list[tuple[int, int, int | None]] = []
            for question in questions:
                counter.reset()
                scored = call(question)
                engine.admin.flush()
                counts.append((counter.statements, counter.memories, scored))
            name = f"work.{call.__name__}"
            figures[f"{name}.sql_statements"] = statistics.fmean(one[0] for one in counts)
            figures[f"{name}.memories_read"] = statistics.fmean(one[1] for one in counts)
            rows = [one[2] for one in counts if one[2] is not None]
            if rows:
                figures[f"{name}.rows_scored"] = statistics.fmean(rows)
    return figures


# -- size -------------------------------------------------------------------------------------------------------------


def size() -> Figures:
    """The size of the package in `src`, without generated code.

    Statements are those of the syntax tree without docstrings. A cross-package import is a name that a module of
    `recollect.x` imports from `recollect.y`, anywhere in the module, once a module; `errors.py` counts as a package.
    A repeated class name is one that two modules define, apart from `api/schemas`, which names JSON schemas.
    A vague pronoun stands where the name of an actor belongs: the caller, the reader, a request.
    """
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if GENERATED not in path.parents]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    return {
        "size.modules": len(paths),
        "size.lines": sum(len(text.splitlines()) for text in texts),
        "size.statements": sum(map(_statements, trees)),
        "size.public_names": len(recollect.__all__),
        "size.cross_package_imports": sum(
            len(cross_package_imports(tree, path.relative_to(SOURCE).with_suffix("").parts[0]))
            for tree, path in zip(trees, paths, strict=True)
        ),
        "size.repeated_class_names": len(
            repeated_class_names(
                tree for tree, path in zip(trees, paths, strict=True) if path.parent != SOURCE / "api" / "schemas"
            )
        ),
        "size.vague_pronouns": sum(len(_VAGUE.findall(text)) for text in texts),
    }


_VAGUE = re.compile(r"\b(?:who(?:m)?ever|nobody|somebody|anybody)\b", re.IGNORECASE)


def repeated_class_names(trees: Iterable[ast.Module]) -> list[str]:
    """The names of classes that more than one module defines, in order."""
    modules = collections.Counter(
        name for tree in trees for name in {n.name for n in tree.body if isinstance(n, ast.ClassDef)}
    )
    return sorted(name for name, count in modules.items() if count > 1)


def _statements(tree: ast.Module) -> int:
    def is_docstring(node: ast.stmt) -> bool:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

    return sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in ast.walk(tree))


def cross_package_imports(tree: ast.Module, package: str) -> set[tuple[str, str]]:
    """The names that a module of the package imports from other packages of ours, each with the module it is of."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), level=0, names=names):
                found |= {(module, alias.name) for alias in names}
            case ast.Import(names=names):
                found |= {(alias.name, "") for alias in names}

    def other(module: str, name: str) -> bool:
        parts = [*module.split("."), name]
        return parts[0] == "recollect" and parts[1] not in (package, "")

    return {one for one in found if other(*one)}


def install() -> Figures:
    """What a plain install adds to a fresh environment; needs a package index.

    It installs a copy, since a build writes generated code into its folder, and the versions of `constraints.txt`,
    since a new release of a dependency is no change of ours.
    """
    from first_minute import install as install_into

    with tempfile.TemporaryDirectory(prefix="recollect-metrics-") as folder:
        place = Path(folder)
        copy = copy_package(place / "source")
        constraint = ["--constraint", str(ROOT / "constraints.txt")]
        added, took = install_into(place / "environment", str(copy), place, options=constraint)
    return {
        "install.packages": added.packages,
        "install.megabytes": added.bytes / 1e6,
        "time.install_seconds": took,
    }


def copy_package(folder: Path) -> Path:
    """Copy what a build of the package needs into a new folder, and return it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folder.mkdir()
    for name in ("pyproject.toml", *project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


# -- the command ------------------------------------------------------------------------------------------------------

QUICK: Parts = {
    ("size.",): size,
    ("work.",): work,
    (f"quality.gate.{STATIC}.", f"tokens.gate.{STATIC}."): partial(quality, GATE, "gate", STATIC, contexts=True),
}
"""What the default suite measures."""

THOROUGH: Parts = {
    (f"quality.gate.{MINILM}.", f"tokens.gate.{MINILM}."): partial(quality, GATE, "gate", MINILM, contexts=True),
    ("install.", "time.install_"): install,
}
"""What `--thorough` measures as well."""


def datasets(folder: Path) -> Parts:
    """The quality on every dataset in the folder, with both embedders."""
    found = sorted(path.parent for path in folder.glob("*/qrels.tsv"))
    if not found:
        raise SystemExit(f"{folder} has no dataset; give a folder that holds folders with a qrels.tsv")
    return {
        (f"quality.{one.name}.{embedder}.",): partial(quality, one, one.name, embedder)
        for one in found
        for embedder in (STATIC, MINILM)
    }


def run(parts: Parts, entries: Mapping[str, Entry]) -> list[Row]:
    """Measure these parts and compare them with the entries."""
    measured: Figures = {}
    for measure in parts.values():
        measured |= measure()
    return compare(entries, measured, [prefix for prefixes in parts for prefix in prefixes])


def parse_record(given: str) -> tuple[str, float]:
    """Read a time that was measured elsewhere, such as time.suite_seconds=480."""
    name, _, value = given.partition("=")
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not name.startswith("time.") or not math.isfinite(seconds):
        raise argparse.ArgumentTypeError(f"{given!r} is not a time; write time.suite_seconds=480")
    return name, seconds


def main(words: Sequence[str] | None = None, *, quick: Parts = QUICK, file: Path = FILE) -> None:
    """Run the command with these words, or those of the command line; tests give a quick part and a file."""
    arguments = argparse.ArgumentParser(prog="scripts/metrics", description=(__doc__ or "").partition("\n\n")[0])
    arguments.add_argument("--thorough", action="store_true", help="measure the gate with MiniLM, and an install, too")
    arguments.add_argument("--data", type=Path, metavar="DIR", help="measure quality on the datasets in DIR")
    arguments.add_argument("--record", type=parse_record, action="append", default=[], metavar="time.NAME=SECONDS")
    arguments.add_argument("--write", action="store_true", help="write the measured figures to the file")
    given = arguments.parse_args(words)
    parts = dict(quick)
    if given.thorough:
        parts |= THOROUGH
    if given.data is not None:
        parts |= datasets(given.data)
    entries = read(file) if file.exists() else {}
    rows = run(parts, entries) + compare(entries, dict(given.record), [])
    print(f"{'':<48} {'file':>12} {'now':>12}", *rows, sep="\n")
    if given.write:
        write(update_entries(entries, rows), file)
        return
    if any(row.mark == "better" for row in rows):
        print("better than the file says: scripts/metrics --write keeps it")
    if any(row.fails for row in rows):
        sys.exit("worse than the file says, or not in it: see CONTRIBUTING.md, 'When a figure gets worse'")


if __name__ == "__main__":
    main()
