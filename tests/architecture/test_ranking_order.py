"""The ranking core is read in the order that its package gives."""

import ast
import re

import recollect.ranking
from tests.tables import table

from .source import PACKAGE, parsed

ORDER = re.findall(r"^\d+\. `(\w+)`", recollect.ranking.__doc__ or "", re.MULTILINE)


@table("name", ORDER)
def test_a_module_of_the_core_needs_only_those_before_it(name: str) -> None:
    path = PACKAGE / "ranking" / f"{name}.py"
    needed = {
        node.module.rpartition(".")[2]
        for node in parsed(path).body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("recollect.ranking.")
    }
    named = {
        alias.name
        for node in parsed(path).body
        if isinstance(node, ast.ImportFrom) and node.module == "recollect.ranking"
        for alias in node.names
    }
    assert needed | named <= set(ORDER[: ORDER.index(name)])


def test_the_core_is_more_than_a_few_modules() -> None:
    assert ORDER[0] == "explanation"
    assert ORDER[-1] == "bound_pruning"
    assert len(ORDER) == 11
