"""The repository's files and the package's source, as the architecture tests read them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "recollect"
MADE = {"__pycache__", "build", "dist", "mutants", "venv"}
"""Folders that tools make; like hidden ones, they are not the repository's own."""

OWN_HIDDEN = {".ci", ".github"}
"""Hidden folders that are the repository's own."""

GENERATED = PACKAGE / "grpc" / "v1"
"""What the build makes of proto/."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name with its dots, and whether it is imported as the module loads."""

    name: str
    line: int
    on_loading: bool


def files(folder: Path = ROOT) -> list[Path]:
    """Every file of the repository, in order."""
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in OWN_HIDDEN
        if path.is_file() and not path.name.startswith(".coverage") and path.name != ".git":
            found.append(path)
        elif path.is_dir() and not hidden and path.name not in MADE and path != GENERATED:
            found += files(path)
    return found


def modules() -> list[Path]:
    """Every module of the package."""
    return [path for path in files(PACKAGE) if path.suffix == ".py"]


def relative(path: Path) -> str:
    """The path as the repository knows it."""
    return path.relative_to(ROOT).as_posix()


def name_of(path: Path) -> str:
    """The module's name, as it is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name: str) -> str:
    """The layer of a module of ours: its first name within the package, or the package root itself."""
    return f"{name}.recollect".split(".")[1]


def parsed(path: Path) -> ast.Module:
    """The module's tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST, *, on_loading: bool = True) -> Iterator[Import]:
    """Every import in the tree, also inside functions; `from a import b` is both `a` and `a.b`."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import():
                yield from (Import(alias.name, child.lineno, on_loading) for alias in child.names)
            case ast.ImportFrom():
                module = "." * child.level + (child.module or "")
                yield Import(module, child.lineno, on_loading)
                yield from (Import(f"{module}.{alias.name}", child.lineno, on_loading) for alias in child.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports(child, on_loading=False)
            case _:
                yield from imports(child, on_loading=on_loading)
