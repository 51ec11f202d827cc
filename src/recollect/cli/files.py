"""Files that commands read and write: atomic writes, and input that can be read more than once."""

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
def write_atomically(path: Path, *, store: str | None, force: bool) -> Iterator[Path]:
    """Yield a temporary path to write to; the file gets its final name when the block succeeds.

    An existing file is replaced only with `force`, and never if it is the store, a store in use, or not a regular file.
    A file with data of a store gets the store's permissions (0600 for a database). Without a store, the user's umask
    applies.
    """
    try:
        target = Path(os.path.realpath(path))
        store_file = None if store is None or is_database(store) else Path(store)
        _refuse_target(path, target, store_file, force=force)
        with temp_folder(target.parent) as folder:
            temporary = folder / target.name
            yield temporary
            if store is not None:
                temporary.chmod(_file_mode(store_file))
            _rename_into_place(temporary, target, force=force)
    except OSError as error:
        remedy = "check its folder and the free space"
        raise RecollectError(f"{str(path)!r} cannot be written ({error.strerror}); {remedy}") from error


def _refuse_target(path: Path, target: Path, store: Path | None, *, force: bool) -> None:
    if store is not None and store.exists() and _is_store_file(target, store.resolve()):
        raise InvalidInput(f"{str(path)!r} is the store itself; name another file")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"{str(path)!r} is not a regular file; name another file")
    if target.exists() and not force:
        raise _exists_error(path)
    log = find_sqlite_log(target)
    if log is not None:
        raise Conflict(f"{str(path)!r} is a store in use ({log.name} exists); name another file")


def _is_store_file(target: Path, store: Path) -> bool:
    """Return whether the target is a file of the store, even under another name."""
    return target in [companion_path(store, end) for end in COMPANION_SUFFIXES] or (
        target.exists() and target.samefile(store)
    )


def _exists_error(target: Path) -> Conflict:
    return Conflict(f"{str(target)!r} already exists; name another file, or replace it with --force")


def _file_mode(store: Path | None) -> int:
    """Return the permissions of the store file, or 0600 for a database."""
    return store.stat().st_mode & 0o666 if store is not None and store.exists() else 0o600


def _rename_into_place(temporary: Path, target: Path, *, force: bool) -> None:
    try:
        move_into_place(temporary, target, replacing=force)
    except FileExistsError as error:  # another process created the file first
        raise _exists_error(target) from error


@dataclass(frozen=True, slots=True)
class RereadableLines:
    """The lines of a file, read from the start on each iteration."""

    file: IO[bytes]

    def __iter__(self) -> Iterator[str]:
        self.file.seek(0)
        for number, line in enumerate(_read_lines(self.file), start=1):
            yield _decode_line(line, number)


@contextmanager
def open_rereadable(file: IO[bytes]) -> Iterator[RereadableLines]:
    """Yield lines that can be read repeatedly; a stream is first copied to a temporary file."""
    if file.seekable():
        yield RereadableLines(file)
        return
    with tempfile.TemporaryFile() as copy:
        copy.writelines(_read_lines(file))
        yield RereadableLines(copy)


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from transfer.read_lines(file.readline)  # not the file itself, which an early stop would close
    except OSError as error:
        raise InvalidInput(f"the export cannot be read: {error.strerror or error}") from error


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"line {number} is not UTF-8 ({error.reason}); the file is not an export, or was changed"
        ) from error
