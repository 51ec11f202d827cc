"""Who may import whom, as the table in ARCHITECTURE.md says."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.tables import table

from .source import ROOT, Import, imports, layer_of, modules, name_of, parsed, relative


def layers_on_the_page() -> dict[str, set[str]]:
    """The table of ARCHITECTURE.md: for each layer, which ones it may import."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.split("## Who may import whom", 1)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.+)\|\s*$", section, re.MULTILINE)
    return {layer: set(re.findall(r"`(\w+)`", allowed)) for layer, allowed in rows}


MAY_IMPORT = layers_on_the_page()
ROOT_LAYER = "recollect"
"""The package root gathers the public names, so it may import every layer, and no layer imports it."""

HEAVY = {
    *("agents", "anthropic", "apsw", "asyncio", "google", "grpc", "langgraph", "mcp", "numpy", "onnx", "onnxruntime"),
    *("prometheus_client", "psycopg", "psycopg_pool", "pydantic", "pydantic_ai", "starlette", "tokenizers", "uvicorn"),
}
"""What a user who does not need it should not wait for."""


def forbidden(layer: str, found: list[Import]) -> list[str]:
    """The imports of our own that the layer may not have."""
    if layer == ROOT_LAYER:
        return []
    ours = [i for i in found if i.name.startswith(".") or i.name.split(".")[0] == ROOT_LAYER]
    allowed = MAY_IMPORT[layer] | {layer}
    return [i.name for i in ours if layer_of(i.name) not in allowed and not is_start_of(i, ours)]


def is_start_of(one: Import, others: list[Import]) -> bool:
    """Whether it is only the `recollect` of `from recollect import ranking`, which is judged by its end."""
    return one.name == ROOT_LAYER and any(o.line == one.line and o.name != one.name for o in others)


def test_the_table_has_an_entry_for_every_layer_and_for_nothing_else() -> None:
    layers = {layer_of(name_of(path)) for path in modules()}
    assert layers - {ROOT_LAYER} == MAY_IMPORT.keys()
    assert set().union(*MAY_IMPORT.values()) <= layers


def test_every_allowed_pair_is_used() -> None:
    used: dict[str, set[str]] = {layer: set() for layer in MAY_IMPORT}
    for path in modules():
        layer = layer_of(name_of(path))
        if layer != ROOT_LAYER:
            used[layer] |= {layer_of(i.name) for i in imports(parsed(path)) if i.name.startswith(f"{ROOT_LAYER}.")}
    assert {layer: MAY_IMPORT[layer] - found for layer, found in used.items() if MAY_IMPORT[layer] - found} == {}


MAX_SHARED_NAMES = 25
"""How many names other packages may import from a module, and from a package: much stands behind few names."""

SHARED_NAMES_FOR_NOW = {
    "recollect.model.validation": 44,
    "model": 229,
    "text": 75,
    "lifecycle": 67,
    "ranking": 65,
    "admission": 54,
    "stores": 50,
    "retrieval": 39,
    "evaluation": 38,
    "api": 35,
}
"""A module of checks, and packages, that share more until their callers change; lower a figure when it falls."""


def shared_names() -> dict[str, set[str]]:
    """For each package, the names that modules of other packages use of it, imported or through the module."""
    all_modules = {name_of(path) for path in modules()}
    shared: dict[str, set[str]] = {}
    for path in modules():
        layer = layer_of(name_of(path))
        for name in used_names(parsed(path), all_modules):
            if layer_of(name) != layer and layer != ROOT_LAYER:
                shared.setdefault(layer_of(name), set()).add(name)
    return shared


def used_names(tree: ast.Module, all_modules: set[str]) -> set[str]:
    """The names of our modules that a module imports; of a module that it imports whole, those that it reads."""
    whole: dict[str, str] = {}
    used: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(f"{ROOT_LAYER}."):
                for alias in names:
                    name = f"{module}.{alias.name}"
                    if name in all_modules:
                        whole[alias.asname or alias.name] = name
                    else:
                        used.add(name)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=id), attr=attribute) if id in whole:
                used.add(f"{whole[id]}.{attribute}")
    return used


def test_a_module_shares_few_names_with_other_packages() -> None:
    names = Counter(name.rpartition(".")[0] for shared in shared_names().values() for name in shared)
    assert {name: n for name, n in names.items() if n > SHARED_NAMES_FOR_NOW.get(name, MAX_SHARED_NAMES)} == {}


def test_a_name_that_is_read_through_its_module_is_counted() -> None:
    imported = "from recollect.model import validation as checks\nfrom recollect.model.scope import Scope\n"
    all_modules = {"recollect.model.validation", "recollect.model.scope"}
    assert used_names(ast.parse(f"{imported}checks.require_text\n"), all_modules) == {
        "recollect.model.validation.require_text",
        "recollect.model.scope.Scope",
    }


def test_a_package_shares_few_names_with_others() -> None:
    shared = {layer: len(names) for layer, names in shared_names().items()}
    assert {layer: n for layer, n in shared.items() if n > SHARED_NAMES_FOR_NOW.get(layer, MAX_SHARED_NAMES)} == {}


@table("path", modules(), ids=relative)
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    assert forbidden(layer_of(name_of(path)), list(imports(parsed(path)))) == []


@table(
    "code",
    [
        "import recollect",
        "import recollect.ranking",
        "from recollect import ranking",
        "from recollect.ranking import curves",
        "from recollect.ranking.curves import Clamp",
        "from . import ranking",
        "from .ranking import curves",
        "def f():\n    from recollect.ranking import curves",
        "class A:\n    def f(self):\n        import recollect.ranking.curves",
        "if TYPE_CHECKING:\n    from recollect.ranking import curves",
    ],
)
def test_an_import_from_above_is_noticed_wherever_it_is_written(code: str) -> None:
    assert forbidden("model", list(imports(ast.parse(code)))) != []


@table("code", ["from recollect.errors import NotFound", "from recollect import errors"])
def test_an_import_from_below_is_allowed(code: str) -> None:
    assert forbidden("model", list(imports(ast.parse(code)))) == []


def heavy_modules() -> set[str]:
    """Everything heavy, and each module of ours that loads something heavy as it is loaded itself."""
    loads = {name_of(path): {i.name for i in imports(parsed(path)) if i.on_loading} for path in modules()}
    heavy = set(HEAVY)
    while more := {name for name, needed in loads.items() if needed & heavy} - heavy:
        heavy |= more
    return heavy


def test_an_import_inside_a_function_is_of_something_heavy() -> None:
    heavy = heavy_modules()
    late = [
        f"{relative(path)}:{i.line} {i.name}"
        for path in modules()
        for i in imports(parsed(path))
        if not i.on_loading and not any(f"{i.name}.".startswith(f"{name}.") for name in heavy)
        if not any(name.startswith(f"{i.name}.") for name in heavy)
    ]
    assert late == []


@table(
    ("code", "unwanted"),
    [
        (
            "import recollect",
            {
                "apsw",
                "numpy",
                "psycopg",
                "pydantic",
                "click",
                "langgraph",
                "agents",
                "anthropic",
                "pydantic_ai",
                "asyncio",
            },
        ),
        ("import recollect.cli.main", {"apsw", "numpy", "psycopg", "pydantic"}),
        ("from recollect import SearchScore", {"recollect.engine", "apsw", "asyncio", "numpy"}),
    ],
)
def test_loading_the_package_does_not_load_what_is_heavy(code: str, unwanted: set[str]) -> None:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not unwanted & set(loaded.stdout.split())
