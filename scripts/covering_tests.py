"""Finds the tests that run a line of the package, and runs tests in forked processes.

A fault lives only in the memory of one process, so a test that starts the package in another process cannot see it.
Such a test is refused its program, fails, and is left out of the map, as is every test that does not pass.
"""

import hashlib
import json
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from multiprocessing import connection, get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import coverage
import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "recollect"
CACHE = ROOT / ".cache" / "mutate"
PYTEST = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the plugins are loaded before pytest starts

TEST_PATHS: dict[str, tuple[str, ...]] = {
    "admission": (
        "tests/unit/admission",
        "tests/unit/engine",
        "tests/unit/text",
        "tests/acceptance",
        "tests/contract",
    ),
    "engine": (
        "tests/unit/engine",
        "tests/unit/compat",
        "tests/unit/api",
        "tests/acceptance",
        "tests/contract",
        "tests/integration/sqlite",
    ),
    "stores": (
        "tests/unit/stores",
        "tests/contract",
        "tests/integration/sqlite",
        "tests/integration/postgres",
        "tests/unit/engine",
        "tests/acceptance",
    ),
}
"""The packages whose tests are chosen by line, and the folders of those tests, the most likely ones first."""

POSTGRES_PROGRAMS, FILE_PROGRAMS = ROOT / "tests" / "postgres", {"cat", "cp"}
"""The only programs that tests may start: they run no code of the package."""

IN_MEMORY, ROOM_BYTES = Path("/dev/shm"), 4 << 30  # noqa: S108
PRELOADED = (
    *("apsw", "click.testing", "httpx", "hypothesis.strategies", "numpy", "psycopg", "psycopg_pool", "pydantic"),
    *("starlette.testclient", "Stemmer", "tokenizers", "wordllama"),
)
"""What many tests import, and the package too; every fork has it."""

MAX_TESTS, MAX_TEST_SECONDS, MAX_FILES = 800, 15.0, 24
"""How many tests run for one fault, their CPU time when they were measured, and how many files they are from."""

FIRST_TESTS, FIRST_FILES = 30, 3
"""The tests that run before the others are even imported; they notice most faults."""

MAP_VERSION = b"1"
"""To change whenever the tests are measured in another way: what was measured before is measured again."""

MEASURE_LIMIT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function that returns JSON, to call in a process of its own, which is killed after so many seconds.

    On a machine with more work than cores, the limit is longer in proportion.
    """

    function: Callable[[], object]
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The tests to run for one fault, in batches, and how many others run its line but are left out."""

    batches: tuple[tuple[str, ...], ...]
    seconds: float
    left_out: int

    @property
    def count(self) -> int:
        """How many tests, or folders of tests, run."""
        return sum(map(len, self.batches))


class Outcomes:
    """A pytest plugin that runs only the chosen tests, in their order, and notes the outcomes.

    With a coverage, it also notes which lines each test runs.
    """

    def __init__(self, chosen: Sequence[str] = (), lines: coverage.Coverage | None = None) -> None:
        self.first_failure: str | None = None
        self.failures = 0
        self.seconds: dict[str, float] = {}
        self._chosen = {test: number for number, test in enumerate(chosen)}
        self._lines = lines

    def pytest_collection(self) -> None:
        """Have Hypothesis stop at a failure and not look for the smallest example."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("first failure", settings(), phases=phases, report_multiple_bugs=False)
        settings.load_profile("first failure")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._chosen:
            items[:] = [item for item in items if item.nodeid in self._chosen]
            items.sort(key=lambda item: self._chosen[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if self._lines is not None:
            self._lines.switch_context(item.nodeid)
        started = time.process_time()  # a busy machine does not change it
        self.seconds[item.nodeid] = 0.0
        try:
            return (yield)
        finally:
            if item.nodeid in self.seconds:
                self.seconds[item.nodeid] = time.process_time() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.seconds.pop(report.nodeid, None)
        if report.failed:
            self.failures += 1
            self.first_failure = self.first_failure or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.first_failure = self.first_failure or report.nodeid


class CoverageMap:
    """Which tests run which lines of a package."""

    def __init__(self, measured: Iterable[Mapping[str, Any]]) -> None:
        self.seconds: dict[str, float] = {}
        self.failed = 0
        self._lines: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        for of_file in measured:
            self.failed += of_file["failed"]
            self.seconds |= of_file["seconds"]
            for module, tests in of_file["lines"].items():
                self._lines[module] |= {test: int(bits, 16) for test, bits in tests.items()}
        for test in self.seconds:
            self._tests[_file_of(test)].add(test)

    def running(self, module: Path, lines: Iterable[int]) -> set[str]:
        """The tests that run one of these lines."""
        wanted = sum(1 << line for line in set(lines))
        return {test for test, bits in self._lines[str(module.relative_to(ROOT))].items() if bits & wanted}

    def using(self, path: Path) -> set[str]:
        """The tests that run any line of a module; all tests of a file of tests."""
        name = str(path.relative_to(ROOT))
        return self._tests[name] | self._lines[name].keys()

    def choose(self, tests: Iterable[str], module: Path) -> Choice:
        """The likeliest folders first, and there the quickest tests of each file in turn, within the limits."""
        by_file: defaultdict[str, list[str]] = defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            by_file[_file_of(test)].append(test)
        ordered = sorted(
            (_priority(file, module), turn, self.seconds[test], test)
            for file, of_file in by_file.items()
            for turn, test in enumerate(of_file)
        )
        chosen: list[str] = []
        files: dict[str, None] = {}
        seconds = 0.0
        for _, _, cost, test in ordered:
            full = len(chosen) == MAX_TESTS or (len(files) == MAX_FILES and _file_of(test) not in files)
            if not chosen or not (full or seconds + cost > MAX_TEST_SECONDS):
                chosen.append(test)
                files[_file_of(test)] = None
                seconds += cost
        first_files = list(files)[:FIRST_FILES]
        early = [test for test in chosen if _file_of(test) in first_files][:FIRST_TESTS]
        late = [test for test in chosen if test not in set(early)]
        batches = tuple(tuple(batch) for batch in (early, late) if batch)
        return Choice(batches=batches, seconds=seconds, left_out=len(ordered) - len(chosen))


def _file_of(test: str) -> str:
    return test.split("::")[0]


def _priority(file: str, module: Path) -> int:
    """0 for a test file named after the module, otherwise by the place of its folder in the table."""
    if f"{Path(file).stem}_".startswith(f"test_{module.stem}_"):
        return 0
    folders = TEST_PATHS[module.relative_to(PACKAGE).parts[0]]
    return 1 + next((place for place, folder in enumerate(folders) if file.startswith(folder)), len(folders))


def prepare() -> None:
    """Load what every fork needs. The package itself is left alone: each fork imports its own."""
    os.chdir(ROOT)
    os.environ |= {"HYPOTHESIS_PROFILE": "mutation", "OPENBLAS_NUM_THREADS": "1"}
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for module in PRELOADED:
        with suppress(ImportError):
            import_module(module)
    if loaded := [name for name in sys.modules if name.partition(".")[0] in {"recollect", "tests"}]:
        sys.exit(
            f"scripts/mutate: {loaded[0]} is imported before a fault is planted; take its importer out of PRELOADED"
        )


def measure(packages: Sequence[str], *, jobs: int) -> CoverageMap:
    """The map of these packages, from the cache for each test file that is as it was."""
    files = sorted({file for package in packages for path in TEST_PATHS[package] for file in _test_files(path)})
    common = _digest([*_files(PACKAGE), *(path for path in _files(ROOT / "tests") if not path.match("test_*.py"))])
    cached = {file: CACHE / f"{file.relative_to(ROOT).with_suffix('')}.json".replace("/", "-") for file in files}
    digests = {file: f"{common}-{_digest([file])}" for file in files}
    stale = [file for file in files if not _is_fresh(cached[file], digests[file])]
    CACHE.mkdir(parents=True, exist_ok=True)
    if stale:
        print(f"measuring which lines the tests of {len(stale)} files run", file=sys.stderr)
    calls = [Call(function=partial(_measure_file, file), limit=MEASURE_LIMIT_SECONDS) for file in stale]
    for number, answer in run_forked(calls, jobs=jobs):
        file = stale[number]
        measured = answer if isinstance(answer, dict) else {"seconds": {}, "lines": {}, "failed": 0}
        cached[file].write_text(json.dumps({"digest": digests[file], **measured}), encoding="utf-8")
        if answer is None:
            print(f"{file.relative_to(ROOT)} did not finish; its tests are left out", file=sys.stderr)
    covered = CoverageMap(json.loads(path.read_text(encoding="utf-8")) for path in cached.values())
    if files:
        print(f"{len(covered.seconds)} tests to choose from; {covered.failed} fail in one process", file=sys.stderr)
    return covered


def _test_files(path: str) -> list[Path]:
    return [file for file in _files(ROOT / path) if file.match("test_*.py")]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256(MAP_VERSION)
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _is_fresh(cached: Path, digest: str) -> bool:
    """Whether the file holds what was measured with the code and the tests as they are."""
    try:
        found = json.loads(cached.read_text(encoding="utf-8"))["digest"]
    except (OSError, ValueError, KeyError):
        return False
    return bool(found == digest)


def _measure_file(file: Path) -> dict[str, object]:
    """In a process of its own: the tests of a file that pass, their seconds, and the lines they run as bits."""
    lines = coverage.Coverage(data_file=None, config_file=False, source=[str(PACKAGE / name) for name in TEST_PATHS])
    outcomes = Outcomes(lines=lines)
    lines.start()
    run_pytest([str(file.relative_to(ROOT))], outcomes)
    lines.stop()
    data = lines.get_data()
    bits: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for path in data.measured_files():
        module = str(Path(path).relative_to(ROOT))
        for line, tests in data.contexts_by_lineno(path).items():
            for test in tests:
                if test in outcomes.seconds:
                    bits[module][test] |= 1 << line
    return {
        "seconds": outcomes.seconds,
        "failed": outcomes.failures,
        "lines": {module: {test: f"{run:x}" for test, run in tests.items()} for module, tests in bits.items()},
    }


def run_tests(tests: Sequence[str]) -> str | None:
    """The first of these tests, or of those in these folders, that fails in this process."""
    outcomes = Outcomes([test for test in tests if "::" in test])
    files = dict.fromkeys(map(_file_of, tests))  # some ids of tests cannot be arguments
    code = run_pytest(["-x", *files], outcomes)
    if code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        return None
    return outcomes.first_failure or f"pytest ended with {code}"


def run_pytest(arguments: Sequence[str], outcomes: Outcomes) -> int:
    """Pytest's exit code, in this process."""
    with _no_other_programs():
        return int(pytest.main([*PYTEST, *arguments], plugins=[outcomes]))


@contextmanager
def _no_other_programs() -> Iterator[None]:
    """Refuse to start programs that may run code of the package."""
    start = subprocess.Popen.__init__

    def start_if_allowed(self: "subprocess.Popen[Any]", args: Any, *others: Any, **named: Any) -> None:
        command = [args] if isinstance(args, str | bytes | os.PathLike) else list(args)
        is_postgres = any(POSTGRES_PROGRAMS in Path(os.fsdecode(word)).parents for word in command)
        if command[0] not in FILE_PROGRAMS and not is_postgres:
            refuse(command[0])
        start(self, args, *others, **named)

    def refuse(path: object, *_: object) -> None:
        raise RuntimeError(f"{path!r} would not see the fault; only tests within one process count")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", start_if_allowed)
        patch.setattr(multiprocessing.util, "spawnv_passfds", refuse)  # all of multiprocessing but a plain fork
        yield


def run_forked(calls: Sequence[Call], *, jobs: int) -> Iterator[tuple[int, object]]:
    """The number of each call and what it returned, as they end; None if it took too long or crashed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("scripts/mutate: ended by SIGTERM"))  # by way of `finally`
    waiting = list(reversed(range(len(calls))))
    running: dict[ForkProcess, tuple[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="mutate-", dir=_roomy_folder()) as folder:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    number = waiting.pop()
                    process = get_context("fork").Process(target=_call, args=(calls[number], Path(folder, str(number))))
                    process.start()
                    running[process] = (number, time.monotonic() + calls[number].limit * _slowdown())
                connection.wait([process.sentinel for process in running], timeout=1.0)
                for process, (number, deadline) in list(running.items()):
                    if not process.is_alive() or time.monotonic() > deadline:
                        _kill(process)
                        del running[process]
                        yield number, _answer(Path(folder, str(number)))
        finally:
            for process in running:
                _kill(process)


def _slowdown() -> float:
    """How many processes share a core."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _roomy_folder() -> Path | None:
    """Memory, if there is room: on a disk each of the many commits takes its time."""
    return IN_MEMORY if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM_BYTES else None


def _call(call: Call, folder: Path) -> None:
    """In a process of its own: the call, with a folder for what it leaves behind."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    folder.mkdir()
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    answer = json.dumps(call.function())
    folder.with_suffix(".json").write_text(answer, encoding="utf-8")
    os._exit(0)  # whatever threads the tests left


def _kill(process: ForkProcess) -> None:
    """End the process and all that it started; a PostgreSQL server ends by itself when its owner is gone."""
    if process.pid is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # in case it has no group of its own yet
    process.join()


def _answer(folder: Path) -> object:
    """What a call returned, if it did; and its folder is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(FileNotFoundError, ValueError):
        return json.loads(folder.with_suffix(".json").read_text(encoding="utf-8"))
    return None
