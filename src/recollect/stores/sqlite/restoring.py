"""Restoring: a backup is really restored, in a temporary place, before anybody is told that it is a good one."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import apsw
import numpy as np

from recollect.errors import NotFound, StoreError, show
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory
from recollect.model.probe import Vector
from recollect.model.report import Report
from recollect.stores.sqlite import checking, descriptors, rows
from recollect.stores.sqlite.backup import copy
from recollect.stores.sqlite.connection import Database, translated
from recollect.stores.sqlite.counting import count
from recollect.stores.sqlite.seals import Seal, look
from recollect.stores.sqlite.sql import one_row


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A memory that a recall must find, with its direction."""

    memory: Memory
    encoder: Encoder
    vector: Vector


Recall = Callable[[Path, Known], list[str]]
"""Tries a recall from a store; says what went wrong."""


def verify(path: Path, recall: Recall) -> Report:
    """Restore the file in a temporary place, look at every row, try a recall; tell all that is wrong."""
    if path.is_dir():
        raise StoreError(f"{show(str(path))} is a folder; name the file of a store or a backup")
    if not path.is_file():
        raise NotFound(f"there is no file {show(str(path))}")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{show(str(path))} cannot be read: permission denied")
    in_use = path.with_name(f"{path.name}-wal").exists()
    seal = Seal.ABSENT if in_use else look(path)
    report = Report(path=str(path), bytes=descriptors.size(path), sealed=seal is Seal.INTACT)
    if seal is Seal.BROKEN:
        report = _with(report, ["bytes of the file have changed since it was written, or its end is missing"])
    with tempfile.TemporaryDirectory(prefix="recollect-", ignore_cleanup_errors=True) as folder:
        restored = Path(folder) / "restored.db"
        try:
            with translated(path.name):
                if not report.bytes:
                    raise StoreError("the file is empty")
                _restore(path, restored, in_use=in_use)
                report, known = _examined(report, restored)
            return _recalled(report, restored, known, recall)
        except checking.UNREADABLE as error:
            return _with(report, [f"it cannot be used as a store: {error}"])


def _recalled(report: Report, restored: Path, known: Known | None, recall: Recall) -> Report:
    if known is None:
        return report
    wrong = recall(restored, known)
    return replace(_with(report, wrong), recalled=not wrong)


def _restore(path: Path, restored: Path, *, in_use: bool) -> None:
    if in_use:  # part of it may still be in its log
        source = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
        try:
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # nothing is moved or mended by looking
            copy(source, restored)
        finally:
            source.close()
    else:
        with restored.open("wb") as file:
            for _, block in descriptors.blocks(path):
                file.write(block)


def _examined(report: Report, restored: Path) -> tuple[Report, Known | None]:
    """The report with what is in the restored store and what is wrong with its rows, and a memory to recall."""
    db = Database.open(restored).connect_reading()
    try:
        found = _with(report, checking.problems(db))
        try:
            stats = count(db, None, below=True, size=report.bytes)
            known = _known(db)
        except checking.UNREADABLE as error:
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


def _with(report: Report, problems: list[str]) -> Report:
    return replace(report, problems=(*report.problems, *problems))
