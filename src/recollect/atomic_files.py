"""Files: one that is whole gets its name in one step, so that there is never half of one under it."""

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
"""The file locks of Unix; Windows has none of them."""

SQLITE_LOG_SUFFIXES = ("-wal", "-shm", "-journal")
"""How the names of files end that SQLite takes for the newest part of the file whose name comes before."""

COMPANION_SUFFIXES = (*SQLITE_LOG_SUFFIXES, "-queue")
"""How the names of all files end that a store has beside it."""

TEMP_FOLDER_PREFIX, TEMP_FOLDER_SUFFIX = ".recollect-", ".unfinished"
"""How the name of a folder begins and ends in which something is made that is not whole yet."""

ABANDONED_SECONDS = 24 * 3600.0
"""After how many seconds in which nothing happened in it a folder was abandoned, where no lock tells."""


def find_sqlite_log(path: Path) -> Path | None:
    """A file beside the path that SQLite would take for a part of whatever has that path; none if there is none."""
    return next((one for end in SQLITE_LOG_SUFFIXES if (one := companion_path(path, end)).exists()), None)


def companion_path(path: Path, ending: str) -> Path:
    """The file whose name is that of the path and an ending."""
    return path.with_name(f"{path.name}{ending}")


@contextmanager
def temp_folder(folder: Path) -> Iterator[Path]:
    """A new folder inside, for us alone, which is gone in the end; what killed processes left of theirs goes too."""
    remove_abandoned_folders(folder)
    with tempfile.TemporaryDirectory(
        prefix=TEMP_FOLDER_PREFIX, suffix=TEMP_FOLDER_SUFFIX, dir=folder, ignore_cleanup_errors=True
    ) as made:
        unlocked = Path(f"{_lock_file_of(Path(made))}{TEMP_FOLDER_SUFFIX}")
        held = os.open(unlocked, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with suppress(OSError):  # where there are no locks, nobody takes it for abandoned either
                _try_lock(held)
                unlocked.rename(_lock_file_of(Path(made)))
            yield Path(made)
        finally:
            os.close(held)


def remove_abandoned_folders(folder: Path) -> list[Path]:
    """Remove what processes left unfinished in the folder when they were killed; gives what others are still making."""
    left: list[Path] = []
    try:
        ours = [one for one in folder.glob(f"{TEMP_FOLDER_PREFIX}*{TEMP_FOLDER_SUFFIX}") if _is_our_folder(one)]
    except OSError:
        return left
    for one in ours:
        if _is_abandoned(one):
            shutil.rmtree(one, ignore_errors=True)
        if one.exists():
            left.append(one)
    return left


def move_into_place(whole: Path, target: Path, *, replacing: bool = False) -> None:
    """Give a file of the same folder or one below it its name, for good.

    If there is something of that name it is replaced if that is wished; else it stays, and `FileExistsError` is raised.
    """
    if replacing:
        whole.replace(target)
    else:
        _link_without_replacing(whole, target)
    _sync_folder(target.parent)


@contextmanager
def lock_path(path: Path) -> Iterator[None]:
    """Wait until no other process is inside for the same path; the file beside it that is locked for that stays.

    Where there are no locks, nobody waits.
    """
    held = os.open(companion_path(path, "-lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _lock_file_of(folder: Path) -> Path:
    """The file that whoever works in the folder has locked as long as that process lives; no other is called so."""
    return folder / folder.name


def _is_our_folder(path: Path) -> bool:
    """Whether it is a folder, and of the user that we are."""
    try:
        return path.is_dir() and not path.is_symlink() and (fcntl is None or path.stat().st_uid == os.getuid())
    except OSError:
        return False


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody works there any more."""
    try:
        held = os.open(_lock_file_of(folder), os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return _idle_seconds(folder) > ABANDONED_SECONDS
    except OSError:
        return False
    try:
        _try_lock(held)
    except OSError:
        return False
    finally:
        os.close(held)
    return fcntl is not None or _idle_seconds(folder) > ABANDONED_SECONDS


def _try_lock(held: int) -> None:
    """Have the lock of a folder; `OSError` if another process has it."""
    if fcntl is not None:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _idle_seconds(folder: Path) -> float:
    """For how many seconds nothing has been made or written in the folder; none if it is gone."""
    try:
        return time.time() - max(one.stat().st_mtime for one in (folder, *folder.iterdir()))
    except OSError:
        return 0.0


def _link_without_replacing(whole: Path, target: Path) -> None:
    """Also if somebody else gives the same name at the same moment, only one of them has it."""
    try:
        os.link(whole, target)
        whole.unlink()
    except FileExistsError:
        raise
    except OSError as error:  # some file systems have no links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        whole.replace(target)


def _sync_folder(folder: Path) -> None:
    """Have the names of a folder on the disk."""
    if sys.platform == "win32":  # where a folder cannot be opened
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
