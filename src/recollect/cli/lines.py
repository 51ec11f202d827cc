"""Lines of a file that is given to a command, read as often as needed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from recollect.engine import transfer
from recollect.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RereadableLines:
    """The lines of a file, from the first one on each time they are asked for."""

    file: IO[bytes]

    def __iter__(self) -> Iterator[str]:
        self.file.seek(0)
        for number, line in enumerate(_read_lines(self.file), start=1):
            yield _decode_line(line, number)


@contextmanager
def open_rereadable(file: IO[bytes]) -> Iterator[RereadableLines]:
    """The lines, to be read as often as needed; what can be read only once is kept in a temporary file meanwhile."""
    if file.seekable():
        yield RereadableLines(file)
        return
    with tempfile.TemporaryFile() as kept:
        kept.writelines(_read_lines(file))
        yield RereadableLines(kept)


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from transfer.read_lines(file.readline)  # the file itself would be closed when a reading is given up
    except OSError as error:
        raise InvalidInput(f"the export cannot be read: {error.strerror or error}") from error


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"line {number}: this is not UTF-8 ({error.reason}); it is no export, or was changed"
        ) from error
