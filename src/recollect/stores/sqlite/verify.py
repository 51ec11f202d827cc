"""Verify a store or backup file: restore it to a temporary folder and check every row.

`verify` comes first; the checks that `find_problems` runs follow, one function each, listed in `CHECKS`.
"""

import os
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from recollect.atomic_files import companion_path, temp_folder
from recollect.errors import NotFound, RecollectError, StoreBusy, StoreError, show
from recollect.model.archive import VerifyReport
from recollect.model.context import count_votes, select_current_votes
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory, build_searched_text, content_hash
from recollect.model.scope import Scope
from recollect.model.table import MICROSECOND
from recollect.model.validation import IN_MEMORY_TARGET, MAX_CLOCK_LEAD, NORM_ROUNDING
from recollect.protocols import ProgressListener
from recollect.retrieval import bm25, entity_links
from recollect.retrieval.vectors import Vector
from recollect.stores.sql import rows
from recollect.stores.sql.reader import count_stats
from recollect.stores.sql.transaction import Row
from recollect.stores.sqlite import store_files
from recollect.stores.sqlite.connection import BUSY_SECONDS, SqliteDatabase, translate_errors
from recollect.stores.sqlite.store import copy_database
from recollect.stores.sqlite.store_files import ChecksumState, read_checksum_state, read_stamp
from recollect.stores.sqlite.transaction import SQL, SqliteTransaction, fetch_all, fetch_first
from recollect.text import entities, tokenizer
from recollect.text.paraphrase import paraphrase_key


@dataclass(frozen=True, slots=True, eq=False)
class SampleMemory:
    """A memory with its vector that a recall must find."""

    memory: Memory
    encoder: Encoder
    vector: Vector


MAX_COPY_ATTEMPTS = 20
"""Maximum number of attempts to copy a file that other processes write to."""

FILE_TIME_NANOSECONDS = 20_000_000
"""Nanoseconds within which a disk may give two writes the same modification time."""

TryRecall = Callable[[Path, SampleMemory], list[str]]
"""Recalls the sample from the store at this path; returns what went wrong."""

StepDone = Callable[[], None]
"""Reports that a step is done."""


def verify(path: Path, recall: TryRecall, progress: ProgressListener) -> VerifyReport:
    """Restore the file to a temporary folder, check every row and try a recall; report all."""
    if path.is_dir():
        raise StoreError(f"{show(str(path))} is a folder; name the file of a store or a backup")
    if not path.is_file():
        raise NotFound(f"the file {show(str(path))} does not exist")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{show(str(path))} cannot be read: permission denied")
    done, steps = count(1), 3 + len(CHECKS)

    def report_step() -> None:
        progress(next(done), steps)

    report = _check_bytes(path)
    report_step()
    try:
        with temp_folder(Path(tempfile.gettempdir())) as folder:
            report = _check_by_restoring(report, path, folder / "restored.db", recall, report_step)
    except OSError as error:
        problem = f"{show(str(path))} cannot be restored to the temporary folder ({error.strerror})"
        raise StoreError(f"{problem}; free space there, or set TMPDIR to another folder") from error
    report_step()
    return report


def _check_by_restoring(
    report: VerifyReport, path: Path, restored: Path, recall: TryRecall, step_done: StepDone
) -> VerifyReport:
    """Restore the file and use it as a store; return the report with all problems found."""
    try:
        with translate_errors(path.name):
            if not report.bytes:
                raise StoreError("the file is empty")
            _restore(path, restored)
            step_done()
            report, sample = _check_rows(report, restored, step_done)
        return _check_recall(report, restored, sample, recall)
    except StoreBusy:  # says nothing about the file
        raise
    except READ_ERRORS as error:
        return _add_problems(report, [f"it cannot be used as a store: {_describe_error(error, restored, path)}"])


def _check_bytes(path: Path) -> VerifyReport:
    """Check the file's checksum and whether a log beside it has newer data."""
    log = _find_unmerged_log(path)  # first: merging a foreign log breaks the checksum, then deletes the log
    state = read_checksum_state(path)
    report = VerifyReport(
        path=str(path), bytes=store_files.file_size(path), sealed=state is ChecksumState.INTACT and log is None
    )
    if log is not None and state in (ChecksumState.INTACT, ChecksumState.BROKEN):
        problem = f"{log.name} beside it belongs to another store and would change this backup; move it away"
        return _add_problems(report, [problem])
    if state is ChecksumState.BROKEN or (log is None and state is ChecksumState.CUT):
        return _add_problems(report, ["the file has changed since it was written, or its end is missing"])
    return report


def _find_unmerged_log(path: Path) -> Path | None:
    """Return the log that SQLite would read with the file, if it has data the file lacks."""
    log, journal = _log_paths(path)
    if store_files.file_size(journal):
        return journal
    if not log.exists():
        return None
    try:
        with closing(_open_without_checkpoint(path)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            logged, merged = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    except apsw.Error:  # restoring the file will report it
        return None
    return log if logged > merged else None


def _check_recall(report: VerifyReport, restored: Path, sample: SampleMemory | None, recall: TryRecall) -> VerifyReport:
    if sample is None:
        return report
    problems = recall(restored, sample)
    return replace(_add_problems(report, problems), recalled=not problems)


def _restore(path: Path, restored: Path) -> None:
    """Copy the data that opening the file would show, without changing anything.

    The log of another store beside a backup prevents the backup from being opened; the copy leaves that log out.
    """
    for _ in range(MAX_COPY_ATTEMPTS):
        log, journal = _log_paths(path)
        has_foreign_log = store_files.has_checksum(path) and (
            store_files.file_size(log) or store_files.file_size(journal)
        )
        may_be_open = log.exists() and not store_files.file_size(journal) and not has_foreign_log
        if may_be_open:
            with closing(_open_without_checkpoint(path)) as source:
                copy_database(source, restored)
            return
        logs = () if has_foreign_log else zip(_log_paths(path), _log_paths(restored), strict=True)
        if _try_copy(path, restored, logs):
            return
        time.sleep(FILE_TIME_NANOSECONDS / 1e9)
    raise StoreBusy(f"{show(str(path))}: other processes keep writing to it; try again, or verify a backup")


def _try_copy(path: Path, restored: Path, logs: Iterable[tuple[Path, Path]]) -> bool:
    """Copy the bytes of a file that no process has open.

    Return False if the file was written meanwhile, or so recently that its modification time cannot tell.
    """
    start, before = time.time_ns(), read_stamp(path)
    for part, copy in ((path, restored), *logs):
        copy.unlink(missing_ok=True)
        if not part.exists():
            continue
        try:
            with copy.open("wb") as file:
                file.writelines(block for _, block in store_files.read_blocks(part))
        except StoreError:
            if part.exists():
                raise
            return False
    return read_stamp(path) == before and abs(start - before[-1]) > FILE_TIME_NANOSECONDS


def _open_without_checkpoint(path: Path) -> apsw.Connection:
    """Return a connection that never moves the log into the file."""
    db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.set_busy_timeout(round(BUSY_SECONDS * 1000))
    return db


def _log_paths(path: Path) -> tuple[Path, Path]:
    """Return where the file's write-ahead log and its journal would be."""
    return companion_path(path, "-wal"), companion_path(path, "-journal")


def _check_rows(report: VerifyReport, restored: Path, step_done: StepDone) -> tuple[VerifyReport, SampleMemory | None]:
    """Check and count the rows of the restored store; return the report and a sample memory."""
    db = SqliteDatabase.open(restored).connect_reading()
    try:
        report_of_rows = _add_problems(report, find_problems(db, step_done))
        try:
            stats = count_stats(
                SqliteTransaction(db), None, below=True, schema=db.pragma("user_version"), size=report.bytes
            )
            sample = _pick_sample(db)
        except READ_ERRORS as error:
            return _add_problems(report_of_rows, [f"its memories cannot be counted: {error}"]), None
    finally:
        db.close()
    report_with_counts = replace(
        report_of_rows,
        schema=stats.schema,
        encoder=stats.encoder,
        memories=stats.memories,
        versions=stats.versions,
        contexts=stats.contexts,
    )
    return report_with_counts, sample


def _pick_sample(db: apsw.Connection) -> SampleMemory | None:
    row = fetch_first(db, "one_to_recall")
    if row is None:
        return None
    *state, model, dimensions, value = row
    return SampleMemory(rows.parse_memory(tuple(state)), Encoder(model, dimensions), np.frombuffer(value, dtype="<f4"))


def _describe_error(error: Exception, restored: Path, path: Path) -> str:
    """Return the error about the restored copy in terms of the original file, without advice."""
    problem, _, remedy = str(error).replace(str(restored), path.name).rpartition("; ")
    return problem or remedy


def _add_problems(report: VerifyReport, problems: list[str]) -> VerifyReport:
    return replace(report, problems=(*report.problems, *problems))


MAX_PROBLEMS_PER_CHECK = 20
"""Maximum number of problems that a check lists."""

NEVER_ENDED = 2**63 - 1
"""End of a memory's present version in the statement `check_states`."""

READ_ERRORS = (apsw.Error, RecollectError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors that reading damaged data may raise."""

Problems = Iterator[str]

_SQL_COMMENT = re.compile("--[^\n]*")


def find_problems(db: apsw.Connection, step_done: Callable[[], object]) -> list[str]:
    """Return all problems in the rows of the store; `step_done` is called after each check."""
    problems: list[str] = []
    for check in CHECKS:
        problems += _run_check(check, db)
        step_done()
    return problems


def _run_check(check: Callable[[apsw.Connection], Problems], db: apsw.Connection) -> Problems:
    """Yield a check's problems up to the maximum, and an error that stops the check."""
    found = check(db)
    try:
        yield from islice(found, MAX_PROBLEMS_PER_CHECK)
        if more := sum(1 for _ in found):
            yield f"and {more} more like the last one"
    except READ_ERRORS as error:
        yield f"{check.__name__.strip('_')}: a row cannot be read ({error})"


def _file(db: apsw.Connection) -> Problems:
    """The file is a valid SQLite database with valid foreign keys."""
    for (result,) in db.execute(f"PRAGMA integrity_check({MAX_PROBLEMS_PER_CHECK})"):
        if result != "ok":
            yield f"the file is damaged: {result}"
    for table, number, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"{table}: row {number} refers to a row of {parent} that does not exist"


def _schema(db: apsw.Connection) -> Problems:
    """Tables and indexes are exactly those that this program creates, so their guarantees hold."""
    database = SqliteDatabase.open(IN_MEMORY_TARGET)
    with closing(database), closing(database.connect_reading()) as new:
        expected = _read_schema(new)
    found = _read_schema(db)
    for name, (kind, table, definition) in expected.items():
        if name not in found:
            yield f"the {kind} {name} is missing"
        elif found[name] != (kind, table, definition):
            yield f"the {kind} {name} differs from its definition in this version"
    for name, (kind, table, _) in found.items():
        if kind == "trigger" and name not in expected:  # extra tables are harmless; copy tools may add some
            yield f"the trigger {show(name)} of {show(table)} is not from recollect and may change its writes"


def _read_schema(db: apsw.Connection) -> Mapping[str, tuple[str, str, str]]:
    """Return the type, table and definition of each schema object, without blanks and comments."""
    return {
        name: (kind, table, " ".join(_SQL_COMMENT.sub("", text).split()))
        for kind, name, table, text in fetch_all(db, "made")
    }


def _contents(db: apsw.Connection) -> Problems:
    """Hash, terms and names of every content were made from its text."""
    for number, title, text, hash, terms, analyser, names, rules in db.execute(SQL["check_contents"]):
        if content_hash(text) != hash:
            yield f"content {number}: the hash does not match the text"
        if (
            analyser == tokenizer.VERSION
            and bm25.encode_terms(tokenizer.count_terms(build_searched_text(title, text))) != terms
        ):
            yield f"content {number}: the terms do not match the text"
        if analyser != tokenizer.VERSION:
            yield f"content {number} has terms of tokenizer {analyser!r}; this version has {tokenizer.VERSION!r}"
        if rules == entities.VERSION and entity_links.find_stored_names(title, text) != names:
            yield f"content {number}: the names do not match the text"
        if rules != entities.VERSION:
            yield f"content {number} has names by rules {rules!r}; this version has {entities.VERSION!r}"
    for (number,) in db.execute(SQL["check_unused_contents"]):
        yield f"content {number} belongs to no memory"


def _vectors(db: apsw.Connection) -> Problems:
    """Every content has a valid unit vector of the present model."""
    for content, value, known, model, dimensions in db.execute(SQL["check_vectors"]):
        if known is None or model is None:
            yield f"a vector of content {content} belongs to no {'content' if known is None else 'model'}"
        elif len(value) != 4 * dimensions:
            yield f"the vector of content {content} has {len(value)} bytes, but {model} gives {4 * dimensions}"
        else:
            parts = np.frombuffer(value, dtype="<f4").astype(np.float64)
            if not abs(float(parts @ parts) - 1.0) <= NORM_ROUNDING:
                yield f"the vector of content {content} does not have length 1"
    ((missing,),) = db.execute(SQL["check_missing_vectors"])
    if missing:
        yield f"{missing} contents have no vector of the current model; run `recollect admin re-embed --embedder NAME`"


def _versions(db: apsw.Connection) -> Problems:
    """The versions of each memory follow each other without gaps, in recorded commits."""
    recorded = dict(db.execute(SQL["check_commits"]))
    times = [recorded[number] for number in sorted(recorded)]
    if any(0 < before - after <= MAX_CLOCK_LEAD // MICROSECOND for before, after in pairwise(times)):
        yield "the times of commits are not in the order of their numbers"
    for (commit,) in db.execute(SQL["check_unknown_commits"]):
        yield f"commit {commit} has rows but is not recorded"
    for _, versions in groupby(db.execute(SQL["check_states"]), key=itemgetter(0)):
        yield from _find_chain_problems(list(versions), recorded)


def _find_chain_problems(versions: list[Any], recorded: dict[Any, Any]) -> Problems:
    """Yield the problems in the versions of one memory: contents, hashes, times and order."""
    id, spans = versions[-1][3], []
    for _, until, hash, *row in versions:
        state = dict(zip(rows.STATE_COLUMNS, row[4:], strict=True))
        spans.append((state["changed"], until))
        if hash is None:
            yield f"memory {id} has a version without a content"
            continue
        try:
            memory = rows.parse_memory(tuple(row)).with_changes()  # validates every field, unlike reading
        except READ_ERRORS as error:
            yield f"memory {id} cannot be read ({error})"
            continue
        if content_hash(memory.text) != hash or state["hash"] != memory.hash:
            yield f"memory {id} has the hash of another text"
        if state["likeness"] != paraphrase_key(memory):
            yield f"memory {id} has the paraphrase key of another text"
        if recorded.get(state["changed"], state["recorded_at"]) != state["recorded_at"]:
            yield f"memory {id} was recorded at another time than its commit"
    ends = [until for _, until in spans]
    if [*ends[:-1], NEVER_ENDED] != [*(begin for begin, _ in spans[1:]), ends[-1]]:
        yield f"the versions of memory {id} have a gap or overlap"
    if any(begin > until for begin, until in spans):
        yield f"a version of memory {id} ends before it begins"


def _twins(db: apsw.Connection) -> Problems:
    """No two active memories of a scope have the same text and topic, or the same topic."""
    for path, ids in db.execute(SQL["check_twins"]):
        yield f"{path} has active memories with the same text: {ids}"
    for path, topic_key, ids in db.execute(SQL["check_topics"]):
        yield f"{path} has active memories with the same topic {show(topic_key)}: {ids}"


def _names(db: apsw.Connection) -> Problems:
    """Ids, scope paths and models are unique, and one model is the present one."""
    for kind, name in db.execute(SQL["check_names"]):
        yield f"several {kind} have the name {show(name)}"
    for (models,) in db.execute(SQL["check_present_models"]):
        yield f"several models are marked as the current one: {models}"
    for (vectors,) in db.execute(SQL["check_no_present_model"]):
        yield f"no model is marked as the current one, so {vectors} vectors cannot be searched"


def _usage(db: apsw.Connection) -> Problems:
    """Usage counters match the logs of uses and votes."""
    votes: dict[int, list[Row]] = defaultdict(list)
    for vote in fetch_all(db, "check_votes"):
        votes[vote[0]].append(vote)
    for number, id, scope, usage_scope, *columns in db.execute(SQL["check_usage"]):
        counters, logged = columns[:8], columns[8:]
        expected = [*logged, *count_votes(select_current_votes(rows.parse_vote(*row) for row in votes.get(number, [])))]
        if usage_scope is not None and usage_scope != scope:
            yield f"the usage of memory {id} is stored under another scope"
        if [value or 0 for value in counters] != [value or 0 for value in expected]:
            yield f"the counters of memory {id} do not match its log of uses and votes"


def _stamps(db: apsw.Connection) -> Problems:
    """Every scope has the number of its last change."""
    for (path,) in db.execute(SQL["check_stamps"]):
        yield f"{path} does not have the number of its last change, so readers may miss that change"


def _records(db: apsw.Connection) -> Problems:
    """Contexts and idempotency keys can be read and belong to their scopes."""
    for id, path, text in db.execute(SQL["check_contexts"]):
        try:
            trace = rows.parse_context(text)
            if (trace.id, str(trace.scope)) != (id, path):
                yield f"context {id} has another id or scope in its record"
        except READ_ERRORS as error:
            yield f"context {id} cannot be read ({error})"
    for path, key, *row in db.execute(SQL["check_keys"]):
        try:
            rows.parse_kept_key(Scope.parse(path), key, tuple(row))
        except READ_ERRORS as error:
            yield f"the key {key!r} of {path} cannot be read ({error})"


CHECKS = (_file, _schema, _contents, _vectors, _versions, _twins, _names, _usage, _stamps, _records)
