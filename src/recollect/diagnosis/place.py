"""The place: SQLite, the store, the model it needs, and the folder it lies in."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from recollect.config import Settings
from recollect.diagnosis.installation import BEHIND_AN_ADDRESS, megabytes
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.model.diagnosis import Check, Finding, ok, problem, told, warning
from recollect.model.encoder import Encoder
from recollect.model.limits import IN_MEMORY
from recollect.providers import choose
from recollect.stores.sqlite.connection import usable
from recollect.stores.sqlite.descriptors import files_of, size
from recollect.stores.sqlite.stats import Glance, glance
from recollect.stores.sqlite.turn import NoTurn, Turn, turn
from recollect.wiring import named_embedder, refuse_address

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
    yield from unfinished(seen)


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


def model(encoder: Encoder, settings: Settings) -> Check:
    """Whether the model that the store's vectors come from can be used."""
    name, seen = "model", f"the vectors are of {encoder}"
    if settings.embedder is not None:
        try:
            found = named_embedder(settings.embedder, settings)
        except RecollectError as error:
            return told(name, error)
        if found.name != encoder.name:
            remedy = "name that model in RECOLLECT_EMBEDDER, or run `recollect admin re-embed --embedder NAME`"
            return problem(name, f"{seen}, and the settings name {found.name}", remedy)
        return ok(name, f"{seen}, as the settings say")
    try:
        choose.for_model(encoder.name)
    except NotFound:
        remedy = "open the store with the embedder that made them, or run `recollect admin re-embed --embedder NAME`"
        return warning(name, f"{seen}, which is none of recollect's own", remedy)
    except InvalidInput:
        remedy = f"set RECOLLECT_EMBEDDER to https://host/v1#{encoder.name.removeprefix(BEHIND_AN_ADDRESS)}"
        return warning(name, f"{seen}, which is behind an address", remedy)
    except RecollectError as error:
        return told(name, error)
    return ok(name, f"{seen}, which is installed")


def unfinished(seen: Glance) -> Iterator[Check]:
    """Whether the store is on its way to another model."""
    command = "run `recollect admin re-embed --embedder NAME`"
    for encoder in seen.begun:
        remedy = f"{command} with that embedder to go on, or with the present one to call it off"
        yield warning("re-embedding", f"begun with {encoder}, and not finished", remedy)
    if seen.dismissed:
        remedy = f"{command} with the present embedder"
        yield warning("re-embedding", "vectors of a former model are still to be removed", remedy)


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
