"""Files that commands write: whole under their name, or not there.

Lines of a file that is given to a command, read as often as needed.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from recollect.atomic_files import COMPANION_SUFFIXES, companion_path, find_sqlite_log, move_into_place, temp_folder
from recollect.engine import transfer
from recollect.errors import Conflict, InvalidInput, RecollectError
from recollect.factory import is_database


@contextmanager
def write_atomically(named: Path, *, store: str | None, force: bool) -> Iterator[Path]:
    """A path to write to; once that is done, the file gets the name it is to have, and never before.

    What has this name already is replaced only if that is wished, and only if it is a file and not the store. What was
    written from no store, anyone may read whom the user lets read files.
    """
    try:
        target = Path(os.path.realpath(named))
        kept = None if store is None or is_database(store) else Path(store)
        _refuse_target(named, target, kept, force=force)
        with temp_folder(target.parent) as folder:
            made = folder / target.name
            yield made
            if store is not None:
                made.chmod(_file_mode(kept))
            _rename_into_place(made, target, force=force)
    except OSError as error:
        remedy = "check its folder and the room in it"
        raise RecollectError(f"{str(named)!r} cannot be written ({error.strerror}); {remedy}") from error


def _refuse_target(named: Path, target: Path, store: Path | None, *, force: bool) -> None:
    if store is not None and store.exists() and _is_store_file(target, store.resolve()):
        raise InvalidInput(f"{str(named)!r} is the store itself; name another file")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"{str(named)!r} is no file; name one")
    if target.exists() and not force:
        raise _exists_error(named)
    used = find_sqlite_log(target)
    if used is not None:
        raise Conflict(f"{str(named)!r} is a store in use, which has {used.name} beside it; name another file")


def _is_store_file(target: Path, store: Path) -> bool:
    """Whether it is a file of the store, whatever name it has."""
    return target in [companion_path(store, end) for end in COMPANION_SUFFIXES] or (
        target.exists() and target.samefile(store)
    )


def _exists_error(target: Path) -> Conflict:
    return Conflict(f"{str(target)!r} is there already; name another file, or replace it with --force")


def _file_mode(store: Path | None) -> int:
    """Who may read the store may read what was written from it, and nobody else; of a database, that is the user."""
    return store.stat().st_mode & 0o666 if store is not None and store.exists() else 0o600


def _rename_into_place(made: Path, target: Path, *, force: bool) -> None:
    try:
        move_into_place(made, target, replacing=force)
    except FileExistsError as error:  # somebody else was quicker
        raise _exists_error(target) from error


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
