"""Plants one small fault at a time in a package, and counts the faults that the tests notice.

A fault lives only in memory. Each one gets a forked process, which compiles the module from the changed tree and runs
tests: for `ranking` and `packing` their unit tests, for the other packages the tests that run the changed line.
The source is read and never written; `.cache/mutate` keeps which test runs which line.
"""

import argparse
import ast
import importlib.util
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Literal

from covering_tests import (
    MAX_FILES,
    MAX_TEST_SECONDS,
    MAX_TESTS,
    PACKAGE,
    ROOT,
    TEST_PATHS,
    Call,
    Choice,
    CoverageMap,
    measure,
    prepare,
    run_forked,
    run_tests,
)

UNIT_TESTED = ("ranking", "packing")
"""The packages whose unit tests all run for each fault, because they alone are to notice it."""

UNIT_TESTS = tuple(f"tests/unit/{package}" for package in UNIT_TESTED)

TIME_LIMIT = "time limit"
"""What kills a mutant whose tests do not end, or end their process."""

MEMORY_BYTES = 6 << 30
"""A fault that makes a loop endless may not take the memory of the machine."""

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Break: (ast.Continue,),
    ast.Continue: (ast.Break,),
}
"""What replaces an operator; for a comparison, the first moves its boundary and the second reverses it."""

NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params"}
"""Fields of the tree that change nothing at run time."""

Place = tuple[ast.AST, str, int | None]
"""A node's parent, the field it is in, and its index there if the field is a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The lines of a statement, or of its head, and whether they run when the module is imported."""

    first: int = 1
    last: int = 1
    at_import: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node of a module's tree, and a fault that may take its place."""

    path: Path
    tree: ast.Module
    node: ast.AST
    place: Place
    span: Span
    fault: ast.AST


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module with one fault in it."""

    path: Path
    line: int
    span: Span
    change: str
    code: CodeType

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}  {self.change}"

    @property
    def package(self) -> str:
        """The folder of the package that the module is in."""
        return self.path.relative_to(PACKAGE).parts[0]

    @property
    def module(self) -> str:
        """The module's name, as it is imported."""
        return module_name(self.path)

    @property
    def own_tests(self) -> str:
        """Where the unit tests of the module are, if it has any."""
        return f"tests/unit/{self.package}/test_{self.path.stem}.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a mutant, and the test that noticed it."""

    mutant: Mutant
    outcome: Literal["killed", "survived", "not covered"]
    choice: Choice
    killer: str | None = None

    def __str__(self) -> str:
        tests, left_out = self.choice.count, self.choice.left_out
        if self.killer is not None:
            return f"{self.mutant}  (killed by {self.killer})"
        if self.outcome == "not covered":
            return f"{self.mutant}  (not covered)"
        return f"{self.mutant}  ({tests} of {tests + left_out} tests)" if left_out else str(self.mutant)

    def to_json(self) -> dict[str, object]:
        """The verdict as it is recorded."""
        return {
            "file": str(self.mutant.path.relative_to(ROOT)),
            "line": self.mutant.line,
            "change": self.mutant.change,
            "outcome": self.outcome,
            "tests": self.choice.count,
            "tests_left_out": self.choice.left_out,
            "killer": self.killer,
        }


def module_name(path: Path) -> str:
    """The name that the file is imported by."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sites(path: Path) -> Iterator[Site]:
    """Every fault that can be planted in a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, place, span in walk(tree, Span()):
        for fault in faults(node):
            yield Site(path=path, tree=tree, node=node, place=place, span=span, fault=fault)


def mutate(site: Site) -> Mutant:
    """The module with the fault; the tree is left as it was."""
    node, place, fault = site.node, site.place, site.fault
    whole = isinstance(node, ast.expr | ast.stmt)
    before = ast.unparse(node if whole else place[0])
    plant(fault, place)
    after = ast.unparse(fault if whole else place[0])
    code = compile(ast.fix_missing_locations(site.tree), str(site.path), "exec")
    plant(node, place)
    change = "  →  ".join(text.split("\n")[0] for text in (before, after))
    line = getattr(node, "lineno", getattr(place[0], "lineno", 1))
    return Mutant(path=site.path, line=line, span=site.span, change=change, code=code)


def plant(node: ast.AST, place: Place) -> None:
    """Put the node in that place of its tree."""
    parent, field, index = place
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def walk(node: ast.AST, span: Span) -> Iterator[tuple[ast.AST, Place, Span]]:
    """Every node that matters at run time, with its place and the lines of its statement."""
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        is_function_body = field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        inner = replace(span, at_import=span.at_import and not is_function_body)
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not is_words(child, node):
                child_span = span_of(child, inner)
                yield child, (node, field, index), child_span
                yield from walk(child, child_span)


def span_of(node: ast.AST, around: Span) -> Span:
    """The lines of a statement, or of its head if it has a body; those around it for any other node."""
    match node:
        case ast.match_case():
            return replace(around, first=node.pattern.lineno, last=max(node.pattern.lineno, node.body[0].lineno - 1))
        case ast.Match():
            return replace(around, first=node.lineno, last=node.subject.end_lineno or node.lineno)
        case ast.stmt() | ast.ExceptHandler():
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            return replace(around, first=node.lineno, last=last)
        case _:
            return around


def is_words(node: ast.AST, parent: ast.AST) -> bool:
    """Whether it is a docstring, the message of an error, or a name that only type checkers read."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.ImportFrom() | ast.Import():
            return True
        case ast.Constant(value=str()) if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id.endswith(("Error", "Var", "Type"))
        case _:
            return False


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may replace a node."""
    yield from (other() for other in SWAPS.get(type(node), ()))
    match node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str() as value):
            yield ast.Constant(f"{value}?")
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Compare(ops=ops, comparators=comparators) if len(ops) > 1:
            yield ast.Compare(node.left, ops[:1], comparators[:1])
            yield ast.Compare(comparators[-2], ops[-1:], comparators[-1:])
        case ast.Name(id=name) if name in NAMES:
            yield ast.Name(NAMES[name], node.ctx)
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call()):
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Name(id="_")]):
            yield ast.Pass()
        case _:
            pass


def load_from(mutant: Mutant) -> None:
    """Have this process import the mutant in place of the module."""
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        return mutant.code if fullname == mutant.module else original(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]


def first_failures(mutant: Mutant | None, batches: Sequence[Sequence[str]], cpu_seconds: int) -> list[str]:
    """In a process of its own: the first test that fails with the mutant, if one does."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    if mutant is not None:
        load_from(mutant)
    for batch in batches:
        if failed := run_tests(batch):
            return [failed]
    return []


def choose_tests(mutant: Mutant, covered: CoverageMap, importers: dict[Path, set[Path]]) -> Choice:
    """The tests that run the mutant's lines.

    For lines that run at import these are the tests that use the module or one that imports it, and the files of tests
    that import either: a test may look at a constant and run nothing.
    """
    if not mutant.span.at_import:
        lines = range(mutant.span.first, mutant.span.last + 1)
        return covered.choose(covered.running(mutant.path, lines), mutant.path)
    near = {mutant.path, *importers[mutant.path]}
    near |= {path for module in near for path in importers[module] if not path.is_relative_to(PACKAGE)}
    tests = set[str]().union(*map(covered.using, near))
    while not tests and (others := {path for module in near for path in importers[module]} - near):
        near |= others
        tests = set[str]().union(*map(covered.using, others))
    return covered.choose(tests, mutant.path)


def find_importers() -> dict[Path, set[Path]]:
    """The modules and files of tests that import a module, by its path."""
    modules = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    found: dict[Path, set[Path]] = {path: set() for path in [*modules.values(), *(ROOT / "tests").rglob("*.py")]}
    for path in list(found):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported_names(node):
                if name in modules:
                    found[modules[name]].add(path)
    return found


def imported_names(node: ast.AST) -> Iterator[str]:
    """The dotted names that an import may mean; some are modules, others are members of one."""
    match node:
        case ast.ImportFrom(module=str(module)):
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        case ast.Import():
            yield from (alias.name for alias in node.names)


def choose_for_each(mutants: Sequence[Mutant], *, jobs: int) -> list[Choice]:
    """The tests that run for each mutant."""
    packages = sorted({mutant.package for mutant in mutants})
    by_line = [package for package in packages if package in TEST_PATHS]
    covered = measure(by_line, jobs=jobs)
    importers = find_importers()
    unit_seconds = time_unit_tests() if len(by_line) < len(packages) else 0.0
    choices = []
    for mutant in mutants:
        if mutant.package in TEST_PATHS:
            choices.append(choose_tests(mutant, covered, importers))
        else:
            own = [(mutant.own_tests,)] if (ROOT / mutant.own_tests).exists() else []
            choices.append(Choice(batches=(*own, UNIT_TESTS), seconds=unit_seconds, left_out=0))
    return choices


def time_unit_tests() -> float:
    """How long the unit tests take; they must pass, or every fault would seem to be noticed."""
    started = time.monotonic()
    call = Call(function=partial(first_failures, None, [UNIT_TESTS], 3600), limit=3600.0)
    for _, failures in run_forked([call], jobs=1):
        if failures != []:
            sys.exit(f"scripts/mutate: the unit tests fail without any fault: {failures}; repair them first")
    return time.monotonic() - started


def judge(mutants: Sequence[Mutant], choices: Sequence[Choice], *, jobs: int, control: bool) -> Iterator[Verdict]:
    """What becomes of each mutant, as soon as it is known; in a control, the modules are loaded as they are."""
    covered, calls = [], []
    for mutant, choice in zip(mutants, choices, strict=True):
        if not choice.batches:
            yield Verdict(mutant=mutant, outcome="not covered", choice=choice)
            continue
        cpu_seconds = int(15 + 3 * choice.seconds)
        function = partial(first_failures, None if control else mutant, choice.batches, cpu_seconds)
        covered.append((mutant, choice))
        calls.append(Call(function=function, limit=60 + 5 * choice.seconds))
    for number, failures in run_forked(calls, jobs=jobs):
        mutant, choice = covered[number]
        match failures:
            case []:
                yield Verdict(mutant=mutant, outcome="survived", choice=choice)
            case [str(killer)]:
                yield Verdict(mutant=mutant, outcome="killed", choice=choice, killer=killer)
            case _:
                yield Verdict(mutant=mutant, outcome="killed", choice=choice, killer=TIME_LIMIT)


def modules(named: Sequence[str]) -> list[Path]:
    """The files to plant faults in, named by folder or file within the package."""
    found = []
    for name in named:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    if absent := [path.name for path in found if not path.is_file()]:
        sys.exit(f"scripts/mutate: the package has no {absent[0]}; name a folder or file of src/recollect")
    return found


def summarize(verdicts: Sequence[Verdict], seconds: float) -> dict[str, object]:
    """The score and what it took, as it is recorded."""
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "score": outcomes["killed"] / max(len(verdicts), 1),
        "planted": len(verdicts),
        "killed": outcomes["killed"],
        "killed_by_time_limit": sum(verdict.killer == TIME_LIMIT for verdict in verdicts),
        "survived": outcomes["survived"] + outcomes["not covered"],
        "not_covered": outcomes["not covered"],
        "with_tests_left_out": sum(verdict.choice.left_out > 0 for verdict in verdicts),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime, 1),
    }


def main() -> None:
    """Plant, test, count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module", nargs="*", default=UNIT_TESTED, help="such as ranking/curves.py or admission")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many faults at a time")
    parser.add_argument("--sample", type=int, help="plant only so many, chosen evenly over all")
    parser.add_argument("--json", type=Path, help="write the score and every verdict to this file")
    parser.add_argument("--control", action="store_true", help="run the tests without the faults; all must survive")
    given = parser.parse_args()
    started = time.monotonic()
    spec = importlib.util.find_spec("recollect")
    if spec is None or spec.origin is None or Path(spec.origin).parent != PACKAGE:
        sys.exit(f"scripts/mutate: this Python imports recollect from {spec and spec.origin}; it must be {PACKAGE}")
    target = given.json and given.json.resolve()
    prepare()

    possible = [site for path in modules(given.module) for site in sites(path)]
    count = len(possible) if given.sample is None else min(given.sample, len(possible))
    mutants = [mutate(possible[number * len(possible) // count]) for number in range(count)]
    if strangers := {mutant.package for mutant in mutants} - {*UNIT_TESTED, *TEST_PATHS}:
        sys.exit(f"scripts/mutate: {min(strangers)} has no tests in TEST_PATHS of covering_tests.py; add them there")
    choices = choose_for_each(mutants, jobs=given.jobs)
    measured = time.monotonic() - started
    verdicts = []
    for verdict in judge(mutants, choices, jobs=given.jobs, control=given.control):
        verdicts.append(verdict)
        if given.control == (verdict.outcome == "killed"):
            print(verdict, flush=True)

    summary = summarize(verdicts, time.monotonic() - started)
    print(
        "{killed} killed ({killed_by_time_limit} by the time limit), {survived} survived ({not_covered} not covered), "
        "score {score:.1%}".format_map(summary)
    )
    print(
        f"{summary['seconds']} s, of which {measured:.1f} s to choose the tests; {summary['cpu_seconds']} s of CPU; "
        f"{summary['with_tests_left_out']} faults had more tests than the limit of {MAX_TESTS} tests, "
        f"{MAX_TEST_SECONDS:.0f} s of CPU or {MAX_FILES} files"
    )
    if target:
        recorded = [verdict.to_json() for verdict in sorted(verdicts, key=lambda verdict: str(verdict.mutant))]
        target.write_text(json.dumps({**summary, "mutants": recorded}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
