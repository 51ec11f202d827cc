"""Reading and comparing golden files."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
REMEDY = "run python -m tests.golden.write if the change is intended"

MAX_LINES = 12
CONTEXT_CHARS = 80


def read(name: str) -> str:
    """Return the content of a golden file."""
    return (DATA / name).read_text(encoding="utf-8")


def check(name: str, actual: str) -> None:
    """Fail with the first differences if the golden file has another content."""
    expected = read(name)
    if actual != expected:
        differences = "\n".join(islice(_describe(expected.split("\n"), actual.split("\n")), MAX_LINES))
        pytest.fail(f"{name} differs from what this version gives; {REMEDY}\n{differences}", pytrace=False)


def _describe(expected: list[str], actual: list[str]) -> Iterator[str]:
    """Describe each line that was changed, removed or added, around the first character that differs."""
    for tag, first, last, start, end in SequenceMatcher(None, expected, actual, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for number, (old, new) in enumerate(zip_longest(expected[first:last], actual[start:end]), first + 1):
            place = max(_find_difference(old or "", new or "") - CONTEXT_CHARS, 0)
            yield f"line {number}, from character {place + 1}:"
            yield from (f"  {sign} {_cut(line, place)}" for sign, line in (("-", old), ("+", new)) if line is not None)


def _find_difference(old: str, new: str) -> int:
    return next((at for at, (one, other) in enumerate(zip_longest(old, new)) if one != other), 0)


def _cut(line: str, place: int) -> str:
    return line[place : place + 3 * CONTEXT_CHARS]
