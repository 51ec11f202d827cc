"""ARCHITECTURE.md is a map of what there is: every module has its place on it, and it shows none that is not there."""

import re
from pathlib import Path

from tests.tables import table

from .markdown import Page, unsaid
from .source import PACKAGE, ROOT, layer_of, modules, name_of, relative

MAP = Page.read(ROOT / "ARCHITECTURE.md")


def sections(page: Page) -> dict[str, str]:
    """What the page says of each layer: the section whose heading names it, as `stores/` or as `ports.py`."""
    titles = [title for _, depth, title in page.headings() if depth == 3]
    return {
        layer: page.section(title)
        for title in titles
        for layer in re.findall(r"(\w+)(?:/|\.py)", title.partition(":")[0])
    }


def place_of(path: Path) -> str:
    """What the map calls a module: the name of its file, and a package by its folder."""
    return f"{path.parent.name}/" if path.name == "__init__.py" else path.name


@table("path", [path for path in modules() if path.parent != PACKAGE or path.name != "__init__.py"], ids=relative)
def test_every_module_is_named_in_the_section_of_its_layer(path: Path) -> None:
    section = sections(MAP).get(layer_of(name_of(path)), "")
    assert unsaid(section, [place_of(path)]) == []


def test_every_module_that_the_map_names_is_there() -> None:
    there = [f"/{path.relative_to(PACKAGE.parent).as_posix()}" for path in modules()]
    named = re.findall(r"`([\w/]+\.py)`", MAP.text())
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []


def test_a_module_is_not_found_by_what_is_said_of_another_layer(tmp_path: Path) -> None:
    page = tmp_path / "map.md"
    page.write_text("### `engine/`, `ports.py`: what?\n`recall.py`\n### `cli/`: who?\n`why.py`\n## Else\n")
    found = sections(Page.read(page))
    assert found.keys() == {"engine", "ports", "cli"}
    assert unsaid(found["engine"], ["engine/", "ports.py", "recall.py", "why.py"]) == ["why.py"]
