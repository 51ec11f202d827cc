"""Write files atomically: a file gets its name only when it is complete.

Also here: temporary folders that are cleaned up after a crash, and a lock per path.
"""

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
"""The file locks of Unix; None on Windows."""

SQLITE_LOG_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of files that SQLite reads as the newest part of the database file beside them."""

COMPANION_SUFFIXES = (*SQLITE_LOG_SUFFIXES, "-queue")
"""Suffixes of all files that a store keeps beside its own."""

TEMP_FOLDER_PREFIX, TEMP_FOLDER_SUFFIX = ".recollect-", ".unfinished"
"""Prefix and suffix of the name of a folder that holds unfinished files."""

ABANDONED_SECONDS = 24 * 3600.0
"""Seconds without activity after which a folder counts as abandoned, if no lock can tell."""


def find_sqlite_log(path: Path) -> Path | None:
    """Return a log file that SQLite would read as part of the file at this path, or None."""
    return next((one for end in SQLITE_LOG_SUFFIXES if (one := companion_path(path, end)).exists()), None)


def companion_path(path: Path, suffix: str) -> Path:
    """Return the path of the file whose name is this one's plus a suffix."""
    return path.with_name(f"{path.name}{suffix}")


@contextmanager
def temp_folder(folder: Path) -> Iterator[Path]:
    """Create a private temporary folder inside this one and remove it at the end.

    Folders that killed processes left behind are removed too.
    """
    remove_abandoned_folders(folder)
    with tempfile.TemporaryDirectory(
        prefix=TEMP_FOLDER_PREFIX, suffix=TEMP_FOLDER_SUFFIX, dir=folder, ignore_cleanup_errors=True
    ) as created:
        unlocked = Path(f"{_lock_file_of(Path(created))}{TEMP_FOLDER_SUFFIX}")
        descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with suppress(OSError):  # without locks, other processes judge the folder by its age
                _try_lock(descriptor)
                unlocked.rename(_lock_file_of(Path(created)))
            yield Path(created)
        finally:
            os.close(descriptor)


def remove_abandoned_folders(folder: Path) -> list[Path]:
    """Remove the temporary folders of killed processes; return those that are still in use."""
    in_use: list[Path] = []
    try:
        candidates = [
            candidate
            for candidate in folder.glob(f"{TEMP_FOLDER_PREFIX}*{TEMP_FOLDER_SUFFIX}")
            if _is_our_folder(candidate)
        ]
    except OSError:
        return in_use
    for candidate in candidates:
        if _is_abandoned(candidate):
            shutil.rmtree(candidate, ignore_errors=True)
        if candidate.exists():
            in_use.append(candidate)
    return in_use


def move_into_place(complete: Path, target: Path, *, replacing: bool = False) -> None:
    """Rename a complete file to its target and sync the folder.

    The file must lie in the target's folder or below it. With `replacing`, an existing target is replaced; otherwise it
    stays and `FileExistsError` is raised.
    """
    if replacing:
        complete.replace(target)
    else:
        _link_without_replacing(complete, target)
    _sync_folder(target.parent)


@contextmanager
def lock_path(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of this path.

    The lock file beside the path stays. Where the system has no file locks, this never waits.
    """
    descriptor = os.open(companion_path(path, "-lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock_file_of(folder: Path) -> Path:
    """Return the file that the process using this folder keeps locked while it lives.

    Its name is the folder's own name, which no other file in it has.
    """
    return folder / folder.name


def _is_our_folder(path: Path) -> bool:
    """Whether the path is a folder of the current user, and not a link."""
    try:
        return path.is_dir() and not path.is_symlink() and (fcntl is None or path.stat().st_uid == os.getuid())
    except OSError:
        return False


def _is_abandoned(folder: Path) -> bool:
    """Whether no process works in the folder any more."""
    try:
        descriptor = os.open(_lock_file_of(folder), os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return _idle_seconds(folder) > ABANDONED_SECONDS
    except OSError:
        return False
    try:
        _try_lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return fcntl is not None or _idle_seconds(folder) > ABANDONED_SECONDS


def _try_lock(descriptor: int) -> None:
    """Lock the file of a folder; raise `OSError` if another process holds the lock."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _idle_seconds(folder: Path) -> float:
    """Return the seconds since the last change in the folder; 0 if the folder is gone."""
    try:
        return time.time() - max(one.stat().st_mtime for one in (folder, *folder.iterdir()))
    except OSError:
        return 0.0


def _link_without_replacing(complete: Path, target: Path) -> None:
    """Rename without overwriting: of two processes that use the same name, only one succeeds."""
    try:
        os.link(complete, target)
        complete.unlink()
    except FileExistsError:
        raise
    except OSError as error:  # some file systems have no links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        complete.replace(target)


def _sync_folder(folder: Path) -> None:
    """Flush the folder's entries to disk."""
    if sys.platform == "win32":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
