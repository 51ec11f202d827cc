"""Plants one small fault at a time in ranking and packing, and counts those that the unit tests notice.

A fault lives only in memory: each one gets a process of its own, forked from one that has pytest and NumPy
loaded, in which the module is compiled from the changed tree. The repository is read and never written.
"""

import argparse
import ast
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from multiprocessing import connection, get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "recollect"
LAYERS = ("ranking", "packing")
TESTS = [f"tests/unit/{layer}" for layer in LAYERS]
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
PYTEST += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis is loaded before pytest starts

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
"""What stands in for an operator; of a comparison, the first moves its boundary, the second turns it."""

NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
SKIPPED = {"annotation", "returns", "decorator_list", "type_params"}
"""Parts of the tree that say what is meant and change nothing at run time."""

Place = tuple[ast.AST, str, int | None]
"""A node's parent, the field it is in, and its place there if the field is a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module with one fault in it."""

    path: Path
    line: int
    change: str
    code: CodeType

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}  {self.change}"

    @property
    def module(self) -> str:
        """The module's name, as it is imported."""
        parts = self.path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every fault that can be planted in a module, one at a time."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, place in list(walk(tree)):
        for fault in faults(node):
            whole = isinstance(node, ast.expr | ast.stmt)
            before = ast.unparse(node if whole else place[0])
            plant(fault, place)
            after = ast.unparse(fault if whole else place[0])
            code = compile(ast.fix_missing_locations(tree), str(path), "exec")
            plant(node, place)
            change = "  →  ".join(text.split("\n")[0] for text in (before, after))
            line = getattr(node, "lineno", getattr(place[0], "lineno", 1))
            yield Mutant(path=path, line=line, change=change, code=code)


def plant(node: ast.AST, place: Place) -> None:
    """Put the node in that place of its tree."""
    parent, field, index = place
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def walk(node: ast.AST) -> Iterator[tuple[ast.AST, Place]]:
    """Every node that matters at run time, with its place."""
    for field, value in ast.iter_fields(node):
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children if field not in SKIPPED else ():
            if isinstance(child, ast.AST) and not is_words(child, node):
                yield child, (node, field, index)
                yield from walk(child)


def is_words(node: ast.AST, parent: ast.AST) -> bool:
    """Docstrings, the messages of errors, and names that only type checkers read."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.ImportFrom() | ast.Import():
            return True
        case ast.Constant(value=str()) if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id.endswith(("Error", "Var", "Type"))
        case _:
            return False


def faults(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
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


def run_tests(mutant: Mutant | None) -> None:
    """In a process of its own: the module's own tests, then all; ends the process with pytest's code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    if mutant is not None:
        load_from(mutant)
        own = ROOT / "tests" / "unit" / mutant.path.parent.name / f"test_{mutant.path.stem}.py"
        if own.exists() and (code := pytest.main([*PYTEST, str(own)])):
            os._exit(code)
    os._exit(pytest.main([*PYTEST, *TESTS]))


def load_from(mutant: Mutant) -> None:
    """Have this process import the mutant in place of the module."""
    original = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        return mutant.code if fullname == mutant.module else original(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]


def survivors(faults: Sequence[Mutant], *, limit: float, jobs: int) -> Iterator[Mutant]:
    """The faults that no test noticed; one that takes longer than the limit was noticed."""
    fork = get_context("fork")
    waiting = list(reversed(faults))
    running: dict[ForkProcess, tuple[Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            process = fork.Process(target=run_tests, args=(mutant,))
            process.start()
            running[process] = (mutant, time.monotonic() + limit)
        connection.wait([process.sentinel for process in running], timeout=1.0)
        for process, (mutant, deadline) in list(running.items()):
            if process.is_alive() and time.monotonic() > deadline:
                process.kill()
                process.join()
            if not process.is_alive():
                del running[process]
                if process.exitcode == 0:
                    yield mutant


def seconds_without_a_fault() -> float:
    """How long the tests take; they must pass, or every fault would seem to be noticed."""
    started = time.monotonic()
    process = get_context("fork").Process(target=run_tests, args=(None,))
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(f"scripts/mutate: the tests fail without any fault: pytest {' '.join(TESTS)}")
    return time.monotonic() - started


def modules(named: Sequence[str]) -> list[Path]:
    """The files to plant faults in: all, or those named by folder or file within the package."""
    found = []
    for name in named:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    if absent := [path.name for path in found if not path.is_file()]:
        sys.exit(f"scripts/mutate: there is no {absent[0]} in the package")
    return found


def main() -> None:
    """Plant, test, count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module", nargs="*", default=LAYERS, help="such as ranking/curves.py; all if none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many faults at a time")
    parser.add_argument("--sample", type=int, help="plant only so many, chosen evenly over all")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {"HYPOTHESIS_PROFILE": "mutation", "OPENBLAS_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True
    for heavy in ("hypothesis.strategies", "numpy"):
        import_module(heavy)  # once, and every fork has it

    planted = [mutant for path in modules(given.module) for mutant in mutants(path)]
    if given.sample is not None and given.sample < len(planted):
        planted = [planted[n * len(planted) // given.sample] for n in range(given.sample)]
    limit = 10.0 + 5.0 * seconds_without_a_fault()
    survived = 0
    for mutant in survivors(planted, limit=limit, jobs=given.jobs):
        survived += 1
        print(mutant, flush=True)
    killed = len(planted) - survived
    print(f"{killed} killed, {survived} survived, score {killed / max(len(planted), 1):.1%}")


if __name__ == "__main__":
    main()
