"""Records: the JSON values of a file, each with the line it begins on."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from recollect.errors import FieldError, show

LONGEST = 64 * 1024**2
"""How many characters a line, or a document of many lines, may have: it is one value, and read as a whole."""

_MARK = "\ufeff"
"""What some programs put before the first line, to say that the file is UTF-8."""


def records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each record as it is written, with its line: one a line, or all lines as one where the first is not whole."""
    numbered = enumerate(map(str_without_end, lines), start=1)
    first = next(((number, text) for number, text in numbered if text.lstrip(_MARK).strip()), None)
    if first is None:
        return
    number, text = first[0], first[1].lstrip(_MARK)
    if goes_on(text):
        yield number, _joined(number, text, (more for _, more in numbered))
        return
    for place, one in chain([(number, text)], numbered):
        if one.strip():
            yield place, one


def str_without_end(line: str) -> str:
    """The line without what ends it; refused if it is no text."""
    if not isinstance(line, str):
        raise FieldError(f"{show(line)} is no text; open the file as text")
    return line.rstrip("\r\n")


def goes_on(line: str) -> bool:
    """Whether a document of many lines begins so: with a line that leaves something open."""
    return line.rstrip().endswith(("{", "[", ",", ":"))


def parsed(text: str, number: int) -> Any:
    """The value of a record; what JSON has no word for, as NaN, is null."""
    if len(text) > LONGEST:
        raise FieldError(f"{len(text)} characters; at most {LONGEST} are read at once, so split it", line=number)
    try:
        return json.loads(text, parse_constant=_nothing)
    except json.JSONDecodeError as error:
        raise FieldError(f"this is no JSON ({error.msg})", line=number + error.lineno - 1) from error
    except RecursionError as error:
        raise FieldError("this is nested too deep to be read", line=number) from error
    except ValueError as error:  # a number with more digits than Python will read
        raise FieldError("this has a number that is too long to be read", line=number) from error


def _joined(number: int, first: str, rest: Iterable[str]) -> str:
    """All lines in one text; refused as soon as it is too long."""
    kept, length = [first], len(first)
    for line in rest:
        length += len(line) + 1
        if length > LONGEST:
            raise FieldError(f"a document of more than {LONGEST} characters; split it", line=number)
        kept.append(line)
    return "\n".join(kept)


def _nothing(_: str) -> None:
    """What NaN and the infinities are to us."""
