"""Verify: a backup is really restored, in a temporary place, before anybody is told that it is a good one."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import apsw
import numpy as np

from recollect.atomic_files import beside, unfinished
from recollect.errors import NotFound, StoreBusy, StoreError, show
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory
from recollect.model.report import Report
from recollect.protocols import Progress
from recollect.retrieval.evidence import Vector
from recollect.stores.sql import rows
from recollect.stores.sql.stats import count as stats_of
from recollect.stores.sqlite import checksum, descriptors, integrity_check
from recollect.stores.sqlite.backup import copy
from recollect.stores.sqlite.checksum import Seal, seal_of
from recollect.stores.sqlite.connection import BUSY, Database
from recollect.stores.sqlite.driver_errors import translated
from recollect.stores.sqlite.file_identity import stamp
from recollect.stores.sqlite.sql import one_row
from recollect.stores.sqlite.transaction import SqliteSession


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A memory that a recall must find, with its direction."""

    memory: Memory
    encoder: Encoder
    vector: Vector


ATTEMPTS = 20
"""How often a file is copied that others write to meanwhile."""

TICK = 20_000_000
"""Nanoseconds in which a disk may give two writings the same date."""

Recall = Callable[[Path, Known], list[str]]
"""Tries a recall from a store; says what went wrong."""

Tell = Callable[[], None]
"""Tells that a step is done."""


def verify(path: Path, recall: Recall, progress: Progress) -> Report:
    """Restore the file in a temporary place, look at every row, try a recall; tell all that is wrong."""
    if path.is_dir():
        raise StoreError(f"{show(str(path))} is a folder; name the file of a store or a backup")
    if not path.is_file():
        raise NotFound(f"there is no file {show(str(path))}")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{show(str(path))} cannot be read: permission denied")
    done, steps = count(1), 3 + len(integrity_check.CHECKS)

    def tell() -> None:
        progress(next(done), steps)

    report = _looked_at(path)
    tell()
    try:
        with unfinished(Path(tempfile.gettempdir())) as folder:
            report = _restored(report, path, folder / "restored.db", recall, tell)
    except OSError as error:
        remedy = "make room in the temporary folder, or have TMPDIR name another one"
        raise StoreError(f"{show(str(path))} cannot be restored to one side ({error.strerror}); {remedy}") from error
    tell()
    return report


def _restored(report: Report, path: Path, restored: Path, recall: Recall, tell: Tell) -> Report:
    """The report with all that is found by restoring the file and using it as a store."""
    try:
        with translated(path.name):
            if not report.bytes:
                raise StoreError("the file is empty")
            _restore(path, restored)
            tell()
            report, known = _examined(report, restored, tell)
        return _recalled(report, restored, known, recall)
    except StoreBusy:  # which says nothing about the file
        raise
    except integrity_check.UNREADABLE as error:
        return _with(report, [f"it cannot be used as a store: {_seen(error, restored, path)}"])


def _looked_at(path: Path) -> Report:
    """What the bytes of the file say, and whether what is beside it says more."""
    more = _holding_more(path)  # first: while the log is merged, the seal is broken, and then it is gone
    found = seal_of(path)
    report = Report(path=str(path), bytes=descriptors.size(path), sealed=found is Seal.INTACT and more is None)
    if more is not None and found in (Seal.INTACT, Seal.BROKEN):
        return _with(
            report, [f"{more.name} beside it, of another store, changes what the sealed file says; move it away"]
        )
    if found is Seal.BROKEN or (more is None and found is Seal.CUT):
        return _with(report, ["bytes of the file have changed since it was written, or its end is missing"])
    return report


def _holding_more(path: Path) -> Path | None:
    """The file beside it that SQLite would read the file together with, as it has something that the file has not."""
    log, journal = _logs(path)
    if descriptors.size(journal):
        return journal
    if not log.exists():
        return None
    try:
        with closing(_opened(path)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            logged, merged = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    except apsw.Error:  # which restoring it will tell
        return None
    return log if logged > merged else None


def _recalled(report: Report, restored: Path, known: Known | None, recall: Recall) -> Report:
    if known is None:
        return report
    wrong = recall(restored, known)
    return replace(_with(report, wrong), recalled=not wrong)


def _restore(path: Path, restored: Path) -> None:
    """Copy what somebody would read who opened the file, and change nothing by looking.

    What another store left beside a sealed file keeps it from being opened; without that, it is whole.
    """
    for _ in range(ATTEMPTS):
        log, journal = _logs(path)
        foreign = checksum.is_there(path) and (descriptors.size(log) or descriptors.size(journal))
        if log.exists() and not descriptors.size(journal) and not foreign:  # others may have it open
            with closing(_opened(path)) as source:
                copy(source, restored)
            return
        if _copied(path, restored, () if foreign else zip(_logs(path), _logs(restored), strict=True)):
            return
        time.sleep(TICK / 1e9)
    raise StoreBusy(f"{show(str(path))}: others open, write and close it all the time; try again, or verify a backup")


def _copied(path: Path, restored: Path, more: Iterable[tuple[Path, Path]]) -> bool:
    """Copy the bytes of a file that nobody has open; no if it was written meanwhile, or so lately that who knows."""
    began, before = time.time_ns(), stamp(path)
    for part, into in ((path, restored), *more):
        into.unlink(missing_ok=True)
        if not part.exists():
            continue
        try:
            with into.open("wb") as file:
                file.writelines(block for _, block in descriptors.blocks(part))
        except StoreError:
            if part.exists():
                raise
            return False
    return stamp(path) == before and abs(began - before[-1]) > TICK


def _opened(path: Path) -> apsw.Connection:
    """A connection that moves nothing from the log into the file."""
    db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.set_busy_timeout(round(BUSY * 1000))
    return db


def _logs(path: Path) -> tuple[Path, Path]:
    """Where a log of the file would be, and a journal."""
    return beside(path, "-wal"), beside(path, "-journal")


def _examined(report: Report, restored: Path, tell: Tell) -> tuple[Report, Known | None]:
    """The report with what is in the restored store and what is wrong with its rows, and a memory to recall."""
    db = Database.open(restored).connect_reading()
    try:
        found = _with(report, integrity_check.problems(db, tell))
        try:
            stats = stats_of(SqliteSession(db), None, below=True, schema=db.pragma("user_version"), size=report.bytes)
            known = _known(db)
        except integrity_check.UNREADABLE as error:
            return _with(found, [f"its memories cannot be counted: {error}"]), None
    finally:
        db.close()
    counted = replace(
        found,
        schema=stats.schema,
        encoder=stats.encoder,
        memories=stats.memories,
        versions=stats.versions,
        contexts=stats.contexts,
    )
    return counted, known


def _known(db: apsw.Connection) -> Known | None:
    row = one_row(db, "one_to_recall")
    if row is None:
        return None
    *state, model, dimensions, value = row
    return Known(rows.memory(tuple(state)), Encoder(model, dimensions), np.frombuffer(value, dtype="<f4"))


def _seen(error: Exception, restored: Path, path: Path) -> str:
    """What was wrong with the restored store, told of the file it was restored from, which nobody tried to open."""
    seen, _, remedy = str(error).replace(str(restored), path.name).rpartition("; ")
    return seen or remedy


def _with(report: Report, problems: list[str]) -> Report:
    return replace(report, problems=(*report.problems, *problems))
