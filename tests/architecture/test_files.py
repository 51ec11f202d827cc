"""The files of the repository: nothing of one machine, nothing empty, and each module says what it is for."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tables import table

from .source import files, modules, parsed, relative

HOSTS = ["py" + r"pi\.org", "python" + r"hosted\.", r"deb\.deb" + r"ian\.", "npm" + r"js\.(?:org|com)"]
FOLDERS = ["wo" + "rk", "ro" + "ot", "fa" + "rm", "ho" + "me", "Us" + "ers"]
OF_ONE_MACHINE = re.compile("|".join([*HOSTS, rf"(?<![\w.~}}])/(?:{'|'.join(FOLDERS)})/"]))
"""Registries' hosts and folders of one machine; in halves, so that this file does not name them either."""

MAY_BE_EMPTY = {"__init__.py", "py.typed"}


def of_one_machine(text: str) -> Iterator[str]:
    """Each line that only holds where it was written."""
    for number, line in enumerate(text.split("\n"), 1):
        if OF_ONE_MACHINE.search(line):
            yield f"{number}: {line.strip()}"


def is_one_line(docstring: str | None) -> bool:
    """Whether the docstring begins with a line that is a paragraph of its own."""
    first, _, rest = (docstring or "").partition("\n")
    return bool(first.strip()) and (not rest or rest.startswith("\n"))


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    texts = {path: path.read_bytes().decode("utf-8", errors="replace") for path in files()}
    assert [f"{relative(path)}:{line}" for path, text in texts.items() for line in of_one_machine(text)] == []


@table(
    "text",
    [
        "index = https://" + "py" + "pi.org/simple",
        "https://files.python" + "hosted.org/a.whl",
        "cd /" + "wo" + "rk/main",
        "'/" + "ro" + "ot/.cache'",
        "open('/" + "ho" + "me/ana/notes')",
    ],
)
def test_what_is_of_one_machine_is_noticed(text: str) -> None:
    assert list(of_one_machine(f"first\n{text}\nlast")) == [f"2: {text}"]


@table("text", ["#!/usr/bin/env bash", "tests/unit/work/a.py", "~/notes/a", "./home/"])
def test_a_path_that_holds_everywhere_is_not_taken_for_one(text: str) -> None:
    assert list(of_one_machine(text)) == []


def test_no_file_is_there_only_to_keep_its_folder() -> None:
    empty = [path for path in files() if path.stat().st_size == 0 and path.name not in MAY_BE_EMPTY]
    kept = [path for path in files() if path.name in {".gitkeep", ".keep", ".placeholder"}]
    assert [relative(path) for path in empty + kept] == []


@table("path", modules(), ids=relative)
def test_a_module_says_in_its_first_line_what_it_is_for(path: Path) -> None:
    assert is_one_line(ast.get_docstring(parsed(path)))


@table("docstring", [None, "", "\nLate.", "One sentence\nover two lines."])
def test_a_first_line_that_is_missing_or_goes_on_is_noticed(docstring: str | None) -> None:
    assert not is_one_line(docstring)
