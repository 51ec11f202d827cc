"""ARCHITECTURE.md is a map: it has a section for every package, and names no module that is not there."""

import re

from .markdown import Page
from .source import PACKAGE, ROOT, modules, name_of

MAP = Page.read(ROOT / "ARCHITECTURE.md")
MAX_LINES = 250


def packages() -> set[str]:
    """The packages directly below `recollect`."""
    parts = [name_of(path).split(".") for path in modules() if path.parent != PACKAGE]
    return {names[1] for names in parts}


def test_every_package_has_a_section() -> None:
    titles = {title for _, depth, title in MAP.headings() if depth == 3}
    assert titles == {"Root modules", *(f"{name}/" for name in packages())}


def test_every_module_that_the_map_names_is_there() -> None:
    there = [f"/{path.relative_to(PACKAGE.parent).as_posix()}" for path in modules()]
    named = re.findall(r"`([\w/]+\.py)`", MAP.text())
    named += re.findall(r"^ *([\w/]+\.py)\b", MAP.text(), re.MULTILINE)
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in there)]
    assert [name for name in missing if not (ROOT / name).exists()] == []


def test_the_map_is_short() -> None:
    assert len(MAP.text().splitlines()) <= MAX_LINES


def test_the_map_counts_the_modules_of_each_package() -> None:
    counted = dict(re.findall(r"`(\w+)` (\d+) →", MAP.text()))
    found = dict.fromkeys(counted, 0)
    for path in modules():
        package = f"{name_of(path)}.".split(".")[1]
        if package in found and path.parent != PACKAGE:
            found[package] += 1
    assert {name: int(count) for name, count in counted.items()} == found
    assert f"**all {len(modules())} →" in MAP.text()
