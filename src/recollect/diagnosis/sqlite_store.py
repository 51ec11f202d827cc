"""The place: SQLite, a store in a file, and the folder it lies in."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from recollect.config import Settings
from recollect.diagnosis.installation import megabytes
from recollect.diagnosis.models import model, unfinished
from recollect.errors import RecollectError
from recollect.factory import refuse_address
from recollect.model.diagnosis import Check, Finding, ok, problem, told, warning
from recollect.model.validation import IN_MEMORY
from recollect.stores.sqlite.connection import usable
from recollect.stores.sqlite.descriptors import files_of, size
from recollect.stores.sqlite.process_lock import NoTurn, Turn, turn
from recollect.stores.sqlite.stats import Glance, glance

OLDEST_SQLITE = (3, 51, 3)
"""The first that cannot lose what was written when a write-ahead log begins anew: docs/adr/0031."""

LITTLE_ROOM = 512 * 1024**2
NO_ROOM = 32 * 1024**2
"""How many free bytes are worth a warning, and how many are too few to go on."""

A_MOMENT = 0.05
PATIENCE = 5.0
"""For how many seconds one in line is watched while it has to wait, and waited for once it need not."""


def sqlite() -> Check:
    """Whether the library that keeps the store is sound."""
    return sqlite_of(apsw.sqlite_lib_version(), apsw.apsw_version())


def sqlite_of(library: str, driver: str) -> Check:
    """Whether these versions are."""
    seen = f"{library}, by apsw {driver}"
    if tuple(int(part) for part in library.split(".")[:3]) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        return problem("sqlite", f"{seen}, may lose what was written", f"install an apsw with SQLite {oldest} or later")
    return ok("sqlite", seen)


def checks(target: str, settings: Settings) -> Iterator[Check]:
    """What there is to say of a store, and of where it is or would be."""
    if target == IN_MEMORY:
        yield ok("store", "a throw-away in memory")
        return
    try:
        refuse_address(target)
        path = usable(target)
    except RecollectError as error:
        yield told("store", error)
        return
    yield from _store(path, settings)
    writable = _folder(path)
    yield writable
    if writable.finding is Finding.OK:
        yield _line(path.parent)
    yield room(shutil.disk_usage(path.parent).free, sum(map(size, files_of(path))))


def _store(path: Path, settings: Settings) -> Iterator[Check]:
    if not path.exists():
        yield ok("store", f"{path} is not there yet, the first memory makes it")
        return
    try:
        seen = glance(path)
    except RecollectError as error:
        yield told("store", error)
        return
    yield _file(path, seen)
    if seen.encoder is not None:
        yield model(seen.encoder, settings)
    yield from unfinished(seen.begun, seen.dismissed)


def _file(path: Path, seen: Glance) -> Check:
    if seen.read_only and seen.schema < seen.latest:
        remedy = "let somebody open it who may write to it"
        return problem("store", f"{path} may only be read, but has to be brought up to schema {seen.latest}", remedy)
    if seen.read_only:
        remedy = "check who may write to the file and its folder, if anything is to be remembered"
        return warning("store", f"{path} may only be read, and can be", remedy)
    if seen.schema == 0:
        return ok("store", f"{path} is empty, the first memory makes it a store")
    older = f", brought up to {seen.latest} when it is next opened" if seen.schema < seen.latest else ""
    return ok("store", f"{path}, {megabytes(size(path))}, schema {seen.schema}{older}")


def _folder(path: Path) -> Check:
    """Whether the folder can be written; where there is a store, it can be read without that."""
    found = warning if path.exists() else problem
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return ok("folder", f"{path.parent} can be written")
    except OSError as error:
        seen = f"{path.parent} cannot be written ({error.strerror})"
        return found("folder", seen, "check who may write to the folder")


def _line(folder: Path) -> Check:
    """Whether processes that write can stand in line there; if not, luck decides who is next."""
    remedy = "keep the store on a local disk if many processes write to it"
    try:
        with tempfile.TemporaryDirectory(prefix=".recollect-", dir=folder) as place:
            path = str(Path(place, "queue"))
            with closing(turn(path, 0o600)) as first, closing(turn(path, 0o600)) as second:
                if isinstance(first, NoTurn):
                    return warning("line", "this system has no file locks, so writers wait by chance", remedy)
                if not _keeps_apart(first, second):
                    return warning("line", f"locks of files in {folder} keep nobody apart", remedy)
    except OSError as error:
        return warning("line", f"files in {folder} cannot be locked ({error.strerror})", remedy)
    return ok("line", "writers stand in line, first come, first served")


def _keeps_apart(first: Turn, second: Turn) -> bool:
    """Whether the second has to wait for the first, and no longer than that."""
    waiting = threading.Thread(target=second.take, daemon=True)
    first.take()
    waiting.start()
    waiting.join(A_MOMENT)
    waited = waiting.is_alive()
    first.leave()
    waiting.join(PATIENCE)
    return waited and not waiting.is_alive()


def room(free: int, used: int) -> Check:
    """Whether there is room to go on, and to build the file anew, as erasing may have to."""
    seen = f"{megabytes(free)} are free"
    if free < NO_ROOM:
        return problem("disk", seen, "make room, or keep the store elsewhere")
    if free < max(LITTLE_ROOM, used):
        return warning("disk", seen, f"make room: building the store anew takes {megabytes(used)}")
    return ok("disk", seen)
