"""Connections: a SQLite file, or one in memory, opened in one way.

Translation: what the driver raises, as an error of ours that says what to do.

Ledger: which migrations a SQLite database has had, and the next one in a transaction.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

from recollect.atomic_files import companion_path, remove_abandoned_folders
from recollect.errors import InvalidInput, SchemaMismatch, StoreBusy, StoreError, show
from recollect.fork_safety import register_fork_aware
from recollect.model.memory import content_hash, said_hash
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.retrieval.entity_links import encode_names
from recollect.stores.sql.migrations import Migration, load_migrations, migrate, schema_mismatch
from recollect.stores.sqlite import fork, store_files
from recollect.stores.sqlite.process_lock import NoWriteLock, WriteLock, open_process_lock
from recollect.stores.sqlite.store_files import FileIdentity, read_stamp
from recollect.text.paraphrase import paraphrase_key_of

_LOG = logging.getLogger(__name__)

APPLICATION_ID = int.from_bytes(b"reco")
"""What a file of ours says where SQLite has room for the number of an application."""

MIGRATIONS = files("recollect.stores.sqlite").joinpath("migrations")

PAGE_SIZE = 8192
"""Bytes of a page in a new file: five vectors of 1.5 kB fit on one, and two on SQLite's usual 4096."""

BUSY_SECONDS = 10.0
"""How many seconds a connection asks again before it gives up; only what does not stand in line comes to that."""

_WRITER_CACHE_KIB, _READER_CACHE_KIB = 8 * 1024, 4 * 1024
"""KiB of pages that a connection keeps."""

_MAX_LOG_BYTES = 64 * 1024**2
"""Bytes of the write-ahead log that stay on disk when it begins anew."""


SQL_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int]] = {
    "content_hash": (content_hash, 1),
    "said_hash": (said_hash, 3),
    "likeness": (paraphrase_key_of, 3),
    "entities": (encode_names, 2),
}
"""By which migrations fill new columns, and how many arguments each takes."""


class SqliteDatabase:
    """One SQLite file, or a throw-away one in memory that the threads of this process share.

    A file that may only be read is read without a lock or a log, for which there is no place; so it must stay as it was
    when it was opened.
    """

    def __init__(self, name: str, path: Path | None, patience: float = BUSY_SECONDS) -> None:
        self.name = name
        self.path = path
        self._busy_seconds = patience
        self.read_only = path is not None and _is_read_only(path)
        self._stamp = read_stamp(path) if path else None
        self._identity = FileIdentity(name, path) if path and not self.read_only else None
        self._uri = _connection_uri(path, read_only=self.read_only)
        self.takes_writes = True
        """Whether it did not fail when something was last to be written."""
        self._inherited = False
        self._schema: int | None = None
        # what is in memory lives as long as a connection to it
        self._anchor = None if path else self._open_connection(apsw.SQLITE_OPEN_CREATE)
        register_fork_aware(self)

    @classmethod
    def open(
        cls, target: str | os.PathLike[str], *, folder: Traversable = MIGRATIONS, patience: float = BUSY_SECONDS
    ) -> "SqliteDatabase":
        """The database at a path, made if it is not there, brought up to the last of a folder's migrations.

        `:memory:` is always a new one, which leaves nothing on disk and vanishes when it is closed.
        """
        steps = load_migrations(folder)
        name = os.fsdecode(target)
        database = cls(name, None if name == IN_MEMORY_TARGET else resolve_store_path(name), patience)
        with fork.delay_forks(), translate_errors(name):
            database.refuse_if_written()
            database._refuse_foreign_files()
            db = database._open_connection(apsw.SQLITE_OPEN_CREATE)
            try:
                database._claim(db)
                database._schema = database._migrate(db, steps)
                if database._identity:
                    database._identity.note_file()
            finally:
                db.close()
        return database

    def connect(self) -> apsw.Connection:
        """A connection that may write; what it commits is on the disk when the commit returns."""
        self.refuse_if_read_only()
        return self._connect(
            "foreign_keys=ON",
            f"cache_size=-{_WRITER_CACHE_KIB}",
            f"journal_size_limit={_MAX_LOG_BYTES}",
            "wal_autocheckpoint=0",  # the writer decides when
        )

    def connect_reading(self) -> apsw.Connection:
        """A connection that can only read."""
        # not as a read-only file, which could not mend the log of a process that died
        return self._connect("query_only=ON", f"cache_size=-{_READER_CACHE_KIB}")

    def note_checkpoint(self, db: apsw.Connection) -> None:
        """What was in the log has been moved into the file: it is still ours, though it was written."""
        if self._identity:
            with suppress(StoreError):
                self._identity.refuse_if_gone(db)

    def disconnect(self, db: apsw.Connection) -> None:
        """Close a connection; SQLite clears up behind the last one, unless what is there now is not ours."""
        with fork.delay_forks(), translate_errors(self.name):
            if self._identity and not self._identity.may_delete_log(db):
                _LOG.warning("log_left_behind", extra={"store": self.name})
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
        store_files.close_unused()

    def open_write_lock(self) -> WriteLock:
        """The line in which the processes stand that write to this file."""
        if self.path is None:
            return NoWriteLock()
        try:
            return open_process_lock(f"{self.path}-queue", self.path.stat().st_mode & 0o666)
        except OSError as error:
            self.refuse_if_changed()
            if error.errno in store_files.TOO_MANY_FILES_ERRNOS:
                raise StoreError(f"{self.name}: {store_files.too_many_files_message()}") from error
            remedy = "check who may write to the folder"
            raise StoreError(f"{self.name}-queue cannot be opened ({error.strerror}); {remedy}") from error

    def refuse_if_written(self) -> None:
        """A file that may only be read is what it was when it was opened, and all of it is in the file."""
        if self.path is None or not self.read_only:
            return
        if read_stamp(self.path) != self._stamp:
            raise StoreError(f"{self.name} was written by others while it was open for reading; open the store again")
        if any(store_files.file_size(companion_path(self.path, log)) for log in ("-wal", "-journal")):
            remedy = "let somebody open and close it who may write to it, or read a backup of it"
            raise StoreError(f"{self.name} may only be read, and a part of it is still in its log; {remedy}")

    def refuse_if_read_only(self) -> None:
        """Nothing is written where it may not be."""
        if self.read_only:
            self.takes_writes = False
            raise translate_error(apsw.ReadOnlyError("it may only be read"), self.name)

    def refuse_if_replaced(self, db: apsw.Connection) -> None:
        """Nothing is written to files that were taken away, nor read from them, nor in a schema we do not know.

        Inside a transaction, of which this is the first look at the file: another process may migrate at any time
        before.
        """
        version = int(db.pragma("user_version"))
        if self._identity:
            self._identity.refuse_if_gone(db)
        if self._schema is not None and version != self._schema:
            raise schema_mismatch(self.name, version, self._schema)

    def remove_checksum(self) -> None:
        """Inside a transaction that writes: a backup that is written to is a store from now on."""
        if self.path:
            store_files.remove_checksum(self.path)

    def refuse_if_changed(self) -> None:
        """Raises what may be behind an error of SQLite's: that the file is not what it was."""
        self.refuse_if_written()
        if self._identity:
            self._identity.refuse_if_gone()

    def close(self) -> None:
        """Let go of what is in memory."""
        if self._anchor is not None:
            self._anchor.close()

    def after_fork(self) -> None:
        """What is in memory stays with the parent."""
        self._inherited = True

    def _connect(self, *pragmas: str) -> apsw.Connection:
        with fork.delay_forks(), translate_errors(self.name):
            try:
                return self._prepare(self._open_connection(), pragmas)
            except apsw.Error:
                self.refuse_if_changed()
                raise

    def _prepare(self, db: apsw.Connection, pragmas: Sequence[str]) -> apsw.Connection:
        try:
            _set_pragmas(db, *pragmas)
            if self._identity:
                db.pragma("user_version")  # SQLite opens the log when something is first read
                self._identity.note_connection(db)
        except BaseException:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
            raise
        return db

    def _open_connection(self, flags: int = 0) -> apsw.Connection:
        fork.refuse_unsafe_child()
        if self.path is None and self._inherited:
            raise StoreError(f"{self.name} stays with the process that made it; give the path of a file to share it")
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else flags | apsw.SQLITE_OPEN_READWRITE
        name, flags = self._uri or str(self.path), flags | (apsw.SQLITE_OPEN_URI if self._uri else 0)
        db = store_files.open_tracked_connection(str(self.path or ""), lambda: apsw.Connection(name, flags))
        fork.close_in_children(db)
        db.set_busy_timeout(round(self._busy_seconds * 1000))
        # one plan for whatever a statement is given: else joins are planned anew each time, ten times as slow
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _set_pragmas(db, "synchronous=FULL", "secure_delete=ON")
        return db

    def _refuse_foreign_files(self) -> None:
        """Neither the log of another store belongs to the file, nor one beside another name that it has."""
        if self.path is None or self.read_only:
            return
        _refuse_hard_link(self.path, self._busy_seconds)
        store_files.refuse_foreign_log(self.path)

    def _claim(self, db: apsw.Connection) -> None:
        """Make a file ours if it is empty; refuse it if it is somebody else's."""
        claimed = is_claimed(db, self.name)
        if self.read_only:
            return
        if db.readonly("main"):
            raise translate_error(apsw.ReadOnlyError("it may only be read"), self.name)
        _set_pragmas(db, f"page_size={PAGE_SIZE}")  # heeded by a file without pages only
        if self.path and (mode := _enable_wal(db, self._busy_seconds)) != "wal":
            raise StoreError(f"{self.name} cannot have a write-ahead log (but {mode}); keep it on a local disk")
        if not claimed:
            db.pragma("application_id", APPLICATION_ID)

    def _migrate(self, db: apsw.Connection, steps: Sequence[Migration]) -> int:
        """The number of the last migration, which has to be applied already if nothing can be written."""
        ledger = SqliteMigrationLog(db, self.name, self.path)
        if self.read_only and ledger.version() < len(steps):
            remedy = "let somebody open it who may write to it"
            raise SchemaMismatch(
                f"{self.name} may only be read, but has to be brought up to schema {len(steps)} first; {remedy}"
            )
        for name, (function, arguments) in SQL_FUNCTIONS.items():
            db.create_scalar_function(name, function, arguments, deterministic=True)
        return migrate(ledger, steps)


def is_claimed(db: apsw.Connection, name: str) -> bool:
    """Whether the database says that it is ours; refused if it is somebody else's."""
    # in one statement, since another process may be making the file at this moment
    mark, version, tables = db.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version"
    ).get
    if mark != APPLICATION_ID and (mark or version or tables):
        raise SchemaMismatch(
            f"{name} is a SQLite database of another program (application id {mark}); name another file"
        )
    return bool(mark == APPLICATION_ID)


def resolve_store_path(name: str) -> Path:
    """The real path of a file that is there or can be made, as SQLite names its companions."""
    if not name:
        raise InvalidInput("a store has no name; give the path of a file")
    try:
        path = Path(os.path.realpath(name.encode().decode()))
        if path.is_dir():
            raise StoreError(f"{name} is a folder; give the path of a file in it")
        if path.exists() and not path.is_file():
            raise StoreError(f"{name} is no ordinary file; give the path of one")
        if not path.parent.is_dir():
            raise StoreError(f"{name} cannot be made, since there is no folder {path.parent}; make that first")
    except ValueError as error:  # a NUL or half a character, which no file name has
        raise InvalidInput(f"{show(name)} is no path ({error}); give the path of a file") from error
    except OSError as error:
        raise StoreError(f"{name} cannot be looked at ({error.strerror}); check who may enter its folder") from error
    return path


def _connection_uri(path: Path | None, *, read_only: bool) -> str | None:
    """What SQLite is told to open where a path does not say it all."""
    if path is None:
        return f"file:/recollect-{uuid4().hex}?vfs=memdb"
    return f"{path.as_uri()}?immutable=1" if read_only else None


def _is_read_only(path: Path) -> bool:
    """Whether the file is there, but cannot be written, or its log cannot be kept beside it and is not there yet."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    has_log = os.access(path.parent, os.W_OK | os.X_OK) or companion_path(path, "-wal").exists()
    return not (has_log and os.access(path, os.W_OK))


def _refuse_hard_link(path: Path, patience: float) -> None:
    """A file has its log beside the name by which it was opened, so that who opens it by another does not see it."""
    end = time.monotonic() + patience
    while store_files.count_links(path) > 1:  # for a moment, a backup also has the name under which it is made
        being_made = remove_abandoned_folders(path.parent)
        if store_files.count_links(path) > 1 and (not being_made or time.monotonic() > end):
            raise StoreError(
                f"{path} has another name too (a hard link), by which others would not see what is written; remove "
                f"one of the names (`find . -samefile {path.name}` finds them), or make a copy"
            )
        time.sleep(0.01)


def _enable_wal(db: apsw.Connection, patience: float) -> str:
    """Have a write-ahead log, which SQLite refuses without waiting while another process sees to the same."""
    end = time.monotonic() + patience
    while True:
        try:
            return str(db.pragma("journal_mode", "wal"))
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
        time.sleep(0.01)


def _set_pragmas(db: apsw.Connection, *pragmas: str) -> None:
    for pragma in pragmas:
        db.execute(f"PRAGMA {pragma}").fetchall()


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Whatever the driver raises inside comes out as an error of ours, about the store of that name."""
    try:
        yield
    except apsw.Error as error:
        raise translate_error(error, name) from error


def translate_error(error: apsw.Error, name: str) -> StoreError:
    """What a driver's error means to somebody who keeps memories in the store of that name."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{name}: others are writing; try again in a moment")
        case apsw.FullError():
            return _disk_full_error(name)
        case apsw.CorruptError():
            return StoreError(f"{name}: the file is damaged ({error}); run `recollect verify` to see what can be saved")
        case apsw.NotADBError():
            return SchemaMismatch(f"{name} is no SQLite database; name another file, or move this one away")
        case apsw.CantOpenError() if store_files.is_out_of_descriptors():
            return StoreError(f"{name}: {store_files.too_many_files_message()}")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return StoreError(f"{name} cannot be written ({error}); check who may write to the file and its folder")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return _disk_full_error(name)  # no room for the index of the log, which SQLite does not call a full disk
        case apsw.IOError():
            return StoreError(
                f"{name}: the disk failed ({error}), so nothing was written; check the disk and your quota on it"
            )
        case _:
            return StoreError(f"{name}: {error}")


def _disk_full_error(name: str) -> StoreError:
    what = "its memory is full" if name == IN_MEMORY_TARGET else "the disk is full"
    return StoreError(f"{name}: {what}, so nothing was written; make room and try again")


class SqliteMigrationLog:
    """The ledger of a SQLite database: the number is its `user_version`, written in the transaction of each step."""

    def __init__(self, db: apsw.Connection, name: str, path: Path | None) -> None:
        self.name = name
        self._path = path
        self._db = db

    def version(self) -> int:
        return int(self._db.pragma("user_version"))

    def advance(self, step: Migration) -> int:
        self._db.execute(
            "PRAGMA foreign_keys = OFF"
        ).fetchall()  # so that a step may build a table anew that others point to
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self.version() == step.number - 1:
                self._apply(step)
            version = self.version()
            self._db.execute("COMMIT")
        except apsw.SQLError as error:
            raise StoreError(f"{self.name}: migration {step.name} failed: {error}") from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        return version

    def _apply(self, step: Migration) -> None:
        if self._path:
            store_files.remove_checksum(self._path)
        self._db.execute(step.script).fetchall()
        if not self._db.in_transaction:
            raise StoreError(f"{self.name}: migration {step.name} ends its own transaction; take its COMMIT out")
        if broken := self._db.execute("PRAGMA foreign_key_check").fetchall():
            raise StoreError(f"{self.name}: migration {step.name} leaves {len(broken)} rows that point to nothing")
        self._db.pragma("user_version", step.number)
