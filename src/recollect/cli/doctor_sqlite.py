"""The checks of `recollect doctor` for SQLite: the library, a store file and its folder."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from recollect.cli.doctor_checks import (
    Check,
    CheckStatus,
    check_from_error,
    check_model,
    check_re_embedding,
    format_megabytes,
    ok,
    problem,
    warning,
)
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.factory import refuse_url
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.stores.sqlite.connection import resolve_store_path
from recollect.stores.sqlite.process_lock import NoWriteLock, WriteLock, open_process_lock
from recollect.stores.sqlite.store import StoreFileInfo, inspect_store_file
from recollect.stores.sqlite.store_files import file_size, list_store_files

MIN_SQLITE = (3, 51, 3)
"""Oldest SQLite that does not lose writes when a write-ahead log restarts: docs/adr/0031."""

LOW_DISK_BYTES = 512 * 1024**2
MIN_DISK_BYTES = 32 * 1024**2
"""Free bytes below which there is a warning, and below which there is a problem."""

LOCK_WAIT_SECONDS = 0.05
LOCK_TIMEOUT_SECONDS = 5.0
"""Seconds for which a blocked lock is watched, and for which a free lock is waited for."""


def check_sqlite() -> Check:
    """Check that the installed SQLite is new enough."""
    return check_sqlite_versions(apsw.sqlite_lib_version(), apsw.apsw_version())


def check_sqlite_versions(library: str, driver: str) -> Check:
    """Check a version of SQLite, as provided by a version of apsw."""
    seen = f"{library}, by apsw {driver}"
    if tuple(int(part) for part in library.split(".")[:3]) < MIN_SQLITE:
        oldest = ".".join(map(str, MIN_SQLITE))
        return problem("sqlite", f"{seen}, may lose what was written", f"install an apsw with SQLite {oldest} or later")
    return ok("sqlite", seen)


def check_file_store(target: str, settings: Settings) -> Iterator[Check]:
    """Check a store file, its folder and the disk; the file need not exist yet."""
    if target == IN_MEMORY_TARGET:
        yield ok("store", "a throw-away in memory")
        return
    try:
        refuse_url(target)
        path = resolve_store_path(target)
    except RecollectError as error:
        yield check_from_error("store", error)
        return
    yield from _check_store(path, settings)
    writable = _check_folder(path)
    yield writable
    if writable.finding is CheckStatus.OK:
        yield _check_write_queue(path.parent)
    yield check_disk(shutil.disk_usage(path.parent).free, sum(map(file_size, list_store_files(path))))


def _check_store(path: Path, settings: Settings) -> Iterator[Check]:
    if not path.exists():
        yield ok("store", f"{path} is not there yet, the first memory makes it")
        return
    try:
        seen = inspect_store_file(path)
    except RecollectError as error:
        yield check_from_error("store", error)
        return
    yield _check_store_file(path, seen)
    if seen.encoder is not None:
        yield check_model(seen.encoder, settings)
    yield from check_re_embedding(seen.pending_encoders, seen.retired_encoders)


def _check_store_file(path: Path, seen: StoreFileInfo) -> Check:
    if seen.read_only and seen.schema < seen.latest_schema:
        remedy = "open it once with an account that may write to it"
        return problem(
            "store", f"{path} may only be read, but has to be brought up to schema {seen.latest_schema}", remedy
        )
    if seen.read_only:
        remedy = "check who may write to the file and its folder, if anything is to be remembered"
        return warning("store", f"{path} may only be read, and can be", remedy)
    if seen.schema == 0:
        return ok("store", f"{path} is empty, the first memory makes it a store")
    older = f", brought up to {seen.latest_schema} when it is next opened" if seen.schema < seen.latest_schema else ""
    return ok("store", f"{path}, {format_megabytes(file_size(path))}, schema {seen.schema}{older}")


def _check_folder(path: Path) -> Check:
    """Check that the folder is writable: a problem for a new store, else only a warning."""
    found = warning if path.exists() else problem
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return ok("folder", f"{path.parent} can be written")
    except OSError as error:
        seen = f"{path.parent} cannot be written ({error.strerror})"
        return found("folder", seen, "check who may write to the folder")


def _check_write_queue(folder: Path) -> Check:
    """Check that file locks work in the folder; without them writers get no fair queue."""
    remedy = "keep the store on a local disk if many processes write to it"
    try:
        with tempfile.TemporaryDirectory(prefix=".recollect-", dir=folder) as place:
            path = str(Path(place, "queue"))
            with closing(open_process_lock(path, 0o600)) as first, closing(open_process_lock(path, 0o600)) as second:
                if isinstance(first, NoWriteLock):
                    return warning("line", "this system has no file locks, so writers wait by chance", remedy)
                if not _locks_exclude(first, second):
                    return warning("line", f"file locks in {folder} have no effect", remedy)
    except OSError as error:
        return warning("line", f"files in {folder} cannot be locked ({error.strerror})", remedy)
    return ok("line", "writers stand in line, first come, first served")


def _locks_exclude(first: WriteLock, second: WriteLock) -> bool:
    """Return whether the second lock waits for the first, and no longer than that."""
    waiting = threading.Thread(target=second.acquire, daemon=True)
    first.acquire()
    waiting.start()
    waiting.join(LOCK_WAIT_SECONDS)
    waited = waiting.is_alive()
    first.release()
    waiting.join(LOCK_TIMEOUT_SECONDS)
    return waited and not waiting.is_alive()


def check_disk(free: int, used: int) -> Check:
    """Check that the disk has room for more data and for a full rewrite, as an erasure may need."""
    seen = f"{format_megabytes(free)} are free"
    if free < MIN_DISK_BYTES:
        return problem("disk", seen, "make room, or keep the store elsewhere")
    if free < max(LOW_DISK_BYTES, used):
        return warning("disk", seen, f"make room: building the store anew takes {format_megabytes(used)}")
    return ok("disk", seen)
