"""The pure layers do no I/O, read no clock and throw no dice: what they import and name is read."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tables import table

from .source import imports, layer_of, modules, name_of, parsed, relative

PURE = {
    *("errors", "model", "text", "retrieval", "ranking", "packing", "admission", "lifecycle", "importers"),
}

HARMLESS = {
    *("abc", "binascii", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal"),
    *("cronsim", "difflib", "enum"),
    *("fractions", "functools", "hashlib", "heapq", "html", "itertools", "json", "math", "numbers"),
    *("numpy", "operator", "re", "recollect", "reprlib", "statistics", "string", "struct", "textwrap", "tomllib"),
    *("Stemmer", "shlex", "types", "typing", "unicodedata"),
}
"""What a pure layer may import: values and arithmetic. All else may be a door to the outside."""

EXCEPTIONS = {
    "recollect.ranking.profiles": {"importlib.resources"},
    "recollect.text.data_files": {"importlib.resources"},
}
"""Reading the built-in profiles and the word lists is part of loading the code, as importing a module is."""

NAMES = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}
"""Built-in functions that reach outside, or hide from this test what they do."""

CLOCKS = {"now", "today", "utcnow"}
DOORS = {"fromfile", "load", "loadtxt", "memmap", "random", "save", "savetxt", "savez", "tofile"}
"""What NumPy has of files and dice."""


def impurities(tree: ast.Module, *, allowed: frozenset[str] | set[str] = frozenset()) -> Iterator[str]:
    """What a pure module must not have, with its line."""
    for found in imports(tree):
        harmless = found.name.split(".")[0] in HARMLESS and not is_door(found.name)
        if not harmless and not any(f"{found.name}.".startswith(f"{name}.") for name in allowed):
            yield f"{found.line}: imports {found.name}"
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
                yield f"{node.lineno}: {name}"
            case ast.Attribute(attr=name) if name in CLOCKS or is_door(ast.unparse(node)):
                yield f"{node.lineno}: {ast.unparse(node)}"
            case _:
                pass


def is_door(name: str) -> bool:
    """Whether the dotted name is one of NumPy's ways outside."""
    first, *rest = name.split(".")
    return first in {"np", "numpy"} and bool(DOORS & set(rest))


@table("path", [p for p in modules() if layer_of(name_of(p)) in PURE], ids=relative)
def test_a_pure_layer_touches_no_clock_no_file_no_network_and_no_dice(path: Path) -> None:
    allowed = EXCEPTIONS.get(name_of(path), set())
    assert list(impurities(parsed(path), allowed=allowed)) == []


@table(
    "module",
    [
        *("asyncio", "http.client", "importlib", "importlib.resources", "io", "logging", "multiprocessing"),
        *(
            "os",
            "os.path",
            "pathlib",
            "random",
            "secrets",
            "shutil",
            "socket",
            "sqlite3",
            "ssl",
            "subprocess",
        ),
        *(
            "sys",
            "tempfile",
            "threading",
            "time",
            "urllib.request",
            "uuid",
            "numpy.random",
            "httpx",
            "psycopg",
        ),
    ],
)
def test_an_import_of_something_impure_is_noticed(module: str) -> None:
    for code in (f"import {module}", f"from {module} import x", f"def f():\n    import {module} as y"):
        assert len(list(impurities(ast.parse(code)))) >= 1, code


@table(
    "code",
    [
        "open('notes.txt')",
        "print('hello')",
        "input()",
        "eval('1')",
        "exec('1')",
        "__import__('os')",
        "say = print",
        "datetime.now(UTC)",
        "datetime.datetime.utcnow()",
        "date.today()",
        "at = field(default_factory=datetime.now)",
        "np.random.default_rng()",
        "np.load('vectors.npy')",
        "from numpy import random",
    ],
)
def test_reaching_outside_without_an_import_is_noticed(code: str) -> None:
    assert len(list(impurities(ast.parse(code)))) >= 1


@table(
    "code",
    [
        "import math",
        "from datetime import UTC, datetime",
        "import numpy as np\nnp.sum(x)",
        "json.loads(line)",
    ],
)
def test_values_and_arithmetic_are_not_taken_for_impure(code: str) -> None:
    assert list(impurities(ast.parse(code))) == []


def test_an_exception_is_for_its_own_module_alone() -> None:
    tree = ast.parse("from importlib.resources import files")
    assert list(impurities(tree, allowed={"importlib.resources"})) == []
    assert list(impurities(tree)) != []
