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

from recollect.atomic_files import companion_path, temp_folder
from recollect.errors import NotFound, StoreBusy, StoreError, show
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory
from recollect.model.report import VerifyReport
from recollect.protocols import ProgressListener
from recollect.retrieval.evidence import Vector
from recollect.stores.sql import rows
from recollect.stores.sql.stats import count_stats as stats_of
from recollect.stores.sqlite import checksum, descriptors, integrity_check
from recollect.stores.sqlite.backup import copy_database
from recollect.stores.sqlite.checksum import ChecksumState, read_checksum_state
from recollect.stores.sqlite.connection import BUSY_SECONDS, SqliteDatabase
from recollect.stores.sqlite.driver_errors import translate_errors
from recollect.stores.sqlite.file_identity import read_stamp
from recollect.stores.sqlite.sql import fetch_first
from recollect.stores.sqlite.transaction import SqliteTransaction


@dataclass(frozen=True, slots=True, eq=False)
class SampleMemory:
    """A memory that a recall must find, with its direction."""

    memory: Memory
    encoder: Encoder
    vector: Vector


MAX_COPY_ATTEMPTS = 20
"""How often a file is copied that others write to meanwhile."""

FILE_TIME_NANOSECONDS = 20_000_000
"""Nanoseconds in which a disk may give two writings the same date."""

TryRecall = Callable[[Path, SampleMemory], list[str]]
"""Tries a recall from a store; says what went wrong."""

StepDone = Callable[[], None]
"""Tells that a step is done."""


def verify(path: Path, recall: TryRecall, progress: ProgressListener) -> VerifyReport:
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

    report = _check_bytes(path)
    tell()
    try:
        with temp_folder(Path(tempfile.gettempdir())) as folder:
            report = _check_by_restoring(report, path, folder / "restored.db", recall, tell)
    except OSError as error:
        remedy = "make room in the temporary folder, or have TMPDIR name another one"
        raise StoreError(f"{show(str(path))} cannot be restored to one side ({error.strerror}); {remedy}") from error
    tell()
    return report


def _check_by_restoring(
    report: VerifyReport, path: Path, restored: Path, recall: TryRecall, tell: StepDone
) -> VerifyReport:
    """The report with all that is found by restoring the file and using it as a store."""
    try:
        with translate_errors(path.name):
            if not report.bytes:
                raise StoreError("the file is empty")
            _restore(path, restored)
            tell()
            report, known = _check_rows(report, restored, tell)
        return _check_recall(report, restored, known, recall)
    except StoreBusy:  # which says nothing about the file
        raise
    except integrity_check.READ_ERRORS as error:
        return _add_problems(report, [f"it cannot be used as a store: {_describe_error(error, restored, path)}"])


def _check_bytes(path: Path) -> VerifyReport:
    """What the bytes of the file say, and whether what is beside it says more."""
    more = _find_unmerged_log(path)  # first: while the log is merged, the seal is broken, and then it is gone
    found = read_checksum_state(path)
    report = VerifyReport(
        path=str(path), bytes=descriptors.file_size(path), sealed=found is ChecksumState.INTACT and more is None
    )
    if more is not None and found in (ChecksumState.INTACT, ChecksumState.BROKEN):
        return _add_problems(
            report, [f"{more.name} beside it, of another store, changes what the sealed file says; move it away"]
        )
    if found is ChecksumState.BROKEN or (more is None and found is ChecksumState.CUT):
        return _add_problems(report, ["bytes of the file have changed since it was written, or its end is missing"])
    return report


def _find_unmerged_log(path: Path) -> Path | None:
    """The file beside it that SQLite would read the file together with, as it has something that the file has not."""
    log, journal = _log_paths(path)
    if descriptors.file_size(journal):
        return journal
    if not log.exists():
        return None
    try:
        with closing(_open_without_checkpoint(path)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            logged, merged = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    except apsw.Error:  # which restoring it will tell
        return None
    return log if logged > merged else None


def _check_recall(report: VerifyReport, restored: Path, known: SampleMemory | None, recall: TryRecall) -> VerifyReport:
    if known is None:
        return report
    wrong = recall(restored, known)
    return replace(_add_problems(report, wrong), recalled=not wrong)


def _restore(path: Path, restored: Path) -> None:
    """Copy what somebody would read who opened the file, and change nothing by looking.

    What another store left beside a sealed file keeps it from being opened; without that, it is whole.
    """
    for _ in range(MAX_COPY_ATTEMPTS):
        log, journal = _log_paths(path)
        foreign = checksum.has_checksum(path) and (descriptors.file_size(log) or descriptors.file_size(journal))
        if log.exists() and not descriptors.file_size(journal) and not foreign:  # others may have it open
            with closing(_open_without_checkpoint(path)) as source:
                copy_database(source, restored)
            return
        if _try_copy(path, restored, () if foreign else zip(_log_paths(path), _log_paths(restored), strict=True)):
            return
        time.sleep(FILE_TIME_NANOSECONDS / 1e9)
    raise StoreBusy(f"{show(str(path))}: others open, write and close it all the time; try again, or verify a backup")


def _try_copy(path: Path, restored: Path, more: Iterable[tuple[Path, Path]]) -> bool:
    """Copy the bytes of a file that nobody has open; no if it was written meanwhile, or so lately that who knows."""
    began, before = time.time_ns(), read_stamp(path)
    for part, into in ((path, restored), *more):
        into.unlink(missing_ok=True)
        if not part.exists():
            continue
        try:
            with into.open("wb") as file:
                file.writelines(block for _, block in descriptors.read_blocks(part))
        except StoreError:
            if part.exists():
                raise
            return False
    return read_stamp(path) == before and abs(began - before[-1]) > FILE_TIME_NANOSECONDS


def _open_without_checkpoint(path: Path) -> apsw.Connection:
    """A connection that moves nothing from the log into the file."""
    db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.set_busy_timeout(round(BUSY_SECONDS * 1000))
    return db


def _log_paths(path: Path) -> tuple[Path, Path]:
    """Where a log of the file would be, and a journal."""
    return companion_path(path, "-wal"), companion_path(path, "-journal")


def _check_rows(report: VerifyReport, restored: Path, tell: StepDone) -> tuple[VerifyReport, SampleMemory | None]:
    """The report with what is in the restored store and what is wrong with its rows, and a memory to recall."""
    db = SqliteDatabase.open(restored).connect_reading()
    try:
        found = _add_problems(report, integrity_check.find_problems(db, tell))
        try:
            stats = stats_of(
                SqliteTransaction(db), None, below=True, schema=db.pragma("user_version"), size=report.bytes
            )
            known = _pick_sample(db)
        except integrity_check.READ_ERRORS as error:
            return _add_problems(found, [f"its memories cannot be counted: {error}"]), None
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


def _pick_sample(db: apsw.Connection) -> SampleMemory | None:
    row = fetch_first(db, "one_to_recall")
    if row is None:
        return None
    *state, model, dimensions, value = row
    return SampleMemory(rows.parse_memory(tuple(state)), Encoder(model, dimensions), np.frombuffer(value, dtype="<f4"))


def _describe_error(error: Exception, restored: Path, path: Path) -> str:
    """What was wrong with the restored store, told of the file it was restored from, which nobody tried to open."""
    seen, _, remedy = str(error).replace(str(restored), path.name).rpartition("; ")
    return seen or remedy


def _add_problems(report: VerifyReport, problems: list[str]) -> VerifyReport:
    return replace(report, problems=(*report.problems, *problems))
