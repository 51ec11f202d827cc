"""Records: the JSON values of a file, each with the line it begins on."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from recollect.errors import FieldError, show

MAX_RECORD_CHARS = 64 * 1024**2
"""How many characters a line, or a document of many lines, may have: it is one value, and read as a whole."""

_BYTE_ORDER_MARK = "\ufeff"
"""What some programs put before the first line, to say that the file is UTF-8."""


def read_records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each record as it is written, with its line: one a line, or all lines as one where the first is not whole."""
    numbered = enumerate(map(strip_line_end, lines), start=1)
    first = next(((number, text) for number, text in numbered if text.lstrip(_BYTE_ORDER_MARK).strip()), None)
    if first is None:
        return
    number, text = first[0], first[1].lstrip(_BYTE_ORDER_MARK)
    if is_document_start(text):
        yield number, _join_lines(number, text, (more for _, more in numbered))
        return
    for place, one in chain([(number, text)], numbered):
        if one.strip():
            yield place, one


def strip_line_end(line: str) -> str:
    """The line without what ends it; refused if it is no text."""
    if not isinstance(line, str):
        raise FieldError(f"{show(line)} is no text; open the file as text")
    return line.rstrip("\r\n")


def is_document_start(line: str) -> bool:
    """Whether a document of many lines begins so: with a line that leaves something open."""
    return line.rstrip().endswith(("{", "[", ",", ":"))


def parse_record(text: str, number: int) -> Any:
    """The value of a record; what JSON has no word for, as NaN, is null."""
    if len(text) > MAX_RECORD_CHARS:
        raise FieldError(
            f"{len(text)} characters; at most {MAX_RECORD_CHARS} are read at once, so split it", line=number
        )
    try:
        return json.loads(text, parse_constant=_read_constant)
    except json.JSONDecodeError as error:
        raise FieldError(f"this is no JSON ({error.msg})", line=number + error.lineno - 1) from error
    except RecursionError as error:
        raise FieldError("this is nested too deep to be read", line=number) from error
    except ValueError as error:  # a number with more digits than Python will read
        raise FieldError("this has a number that is too long to be read", line=number) from error


def _join_lines(number: int, first: str, rest: Iterable[str]) -> str:
    """All lines in one text; refused as soon as it is too long."""
    kept, length = [first], len(first)
    for line in rest:
        length += len(line) + 1
        if length > MAX_RECORD_CHARS:
            raise FieldError(f"a document of more than {MAX_RECORD_CHARS} characters; split it", line=number)
        kept.append(line)
    return "\n".join(kept)


def _read_constant(_: str) -> None:
    """What NaN and the infinities are to us."""
