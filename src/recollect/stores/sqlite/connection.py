"""Open SQLite files and in-memory databases, always with the same settings.

Also here: the translation of driver errors, and the migrations of a SQLite file.
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
from recollect.retrieval.entity_links import find_stored_names
from recollect.stores.sql.migrations import Migration, load_migrations, migrate, schema_mismatch
from recollect.stores.sqlite import fork, store_files
from recollect.stores.sqlite.process_lock import NoWriteLock, WriteLock, open_process_lock
from recollect.stores.sqlite.store_files import FileIdentity, read_stamp
from recollect.text.paraphrase import paraphrase_key_of

_LOG = logging.getLogger(__name__)

APPLICATION_ID = int.from_bytes(b"reco")
"""The application id in SQLite's file header that marks a file as a recollect store."""

MIGRATIONS = files("recollect.stores.sqlite").joinpath("migrations")

PAGE_SIZE = 8192
"""Bytes per page in a new file: five vectors of 1.5 kB fit, two on SQLite's usual 4096."""

BUSY_SECONDS = 10.0
"""Seconds that a connection retries on SQLite's lock.

Writers wait in the write queue instead, so only other users of the file get there.
"""

_WRITER_CACHE_KIB, _READER_CACHE_KIB = 8 * 1024, 4 * 1024
"""KiB of page cache per connection, for writers and readers."""

_MAX_LOG_BYTES = 64 * 1024**2
"""Bytes of the write-ahead log that stay on disk when it restarts."""


SQL_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int]] = {
    "content_hash": (content_hash, 1),
    "said_hash": (said_hash, 3),
    "likeness": (paraphrase_key_of, 3),
    "entities": (find_stored_names, 2),
}
"""Functions that migrations use to fill new columns, with their number of arguments."""


class SqliteDatabase:
    """One SQLite file, or a temporary in-memory database shared by this process's threads.

    A file without write permission is read without locks and without a log, so it must not change while it is open.
    """

    def __init__(self, name: str, path: Path | None, timeout: float = BUSY_SECONDS) -> None:
        self.name = name
        self.path = path
        self._busy_seconds = timeout
        self.read_only = path is not None and _is_read_only(path)
        self._stamp = read_stamp(path) if path else None
        self._identity = FileIdentity(name, path) if path and not self.read_only else None
        self._uri = _connection_uri(path, read_only=self.read_only)
        self.takes_writes = True
        """False after a write has failed, until one succeeds; a busy file is not a failure."""
        self._inherited = False
        self._schema: int | None = None
        # an in-memory database lives as long as a connection to it
        self._anchor = None if path else self._open_connection(apsw.SQLITE_OPEN_CREATE)
        register_fork_aware(self)

    @classmethod
    def open(
        cls, target: str | os.PathLike[str], *, folder: Traversable = MIGRATIONS, timeout: float = BUSY_SECONDS
    ) -> "SqliteDatabase":
        """Open or create the database at a path and apply all missing migrations.

        `:memory:` is always a new database, which leaves nothing on disk and vanishes when it is closed.
        """
        migrations = load_migrations(folder)
        name = os.fsdecode(target)
        database = cls(name, None if name == IN_MEMORY_TARGET else resolve_store_path(name), timeout)
        with fork.delay_forks(), translate_errors(name):
            database.refuse_if_written()
            database._refuse_foreign_files()
            db = database._open_connection(apsw.SQLITE_OPEN_CREATE)
            try:
                database._claim(db)
                database._schema = database._migrate(db, migrations)
                if database._identity:
                    database._identity.note_file()
            finally:
                db.close()
        return database

    def connect(self) -> apsw.Connection:
        """Return a connection that may write; a commit returns once its data is on disk."""
        self.refuse_if_read_only()
        return self._connect(
            "foreign_keys=ON",
            f"cache_size=-{_WRITER_CACHE_KIB}",
            f"journal_size_limit={_MAX_LOG_BYTES}",
            "wal_autocheckpoint=0",  # the writer thread decides when
        )

    def connect_reading(self) -> apsw.Connection:
        """Return a connection that can only read."""
        # not opened read-only: that could not recover the log of a crashed process
        return self._connect("query_only=ON", f"cache_size=-{_READER_CACHE_KIB}")

    def note_checkpoint(self, db: apsw.Connection) -> None:
        """Remember the file's new state after a checkpoint, so that it still counts as ours."""
        if self._identity:
            with suppress(StoreError):
                self._identity.refuse_if_gone(db)

    def disconnect(self, db: apsw.Connection) -> None:
        """Close a connection; keep the log if the files at the path are no longer ours.

        Otherwise SQLite merges and deletes the log when the last connection closes.
        """
        with fork.delay_forks(), translate_errors(self.name):
            if self._identity and not self._identity.may_delete_log(db):
                _LOG.warning("wal_left_behind", extra={"store": self.name})
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
        store_files.close_unused()

    def open_write_lock(self) -> WriteLock:
        """Return the lock that the writers of this file take in turn."""
        if self.path is None:
            return NoWriteLock()
        try:
            return open_process_lock(f"{self.path}-queue", self.path.stat().st_mode & 0o666)
        except OSError as error:
            self.refuse_if_changed()
            if error.errno in store_files.TOO_MANY_FILES_ERRNOS:
                raise StoreError(f"{self.name}: {store_files.too_many_files_message()}") from error
            problem = f"{self.name}-queue cannot be opened ({error.strerror})"
            raise StoreError(f"{problem}; check the permissions of the folder") from error

    def refuse_if_written(self) -> None:
        """Raise StoreError if a read-only file has changed or part of it is still in a log."""
        if self.path is None or not self.read_only:
            return
        if read_stamp(self.path) != self._stamp:
            raise StoreError(f"{self.name} was changed while it was open for reading; open the store again")
        if any(store_files.file_size(companion_path(self.path, log)) for log in ("-wal", "-journal")):
            remedy = "open and close it once with an account that can write to it, or read a backup of it"
            raise StoreError(f"{self.name} is read-only, and part of its data is still in the log; {remedy}")

    def refuse_if_read_only(self) -> None:
        """Raise StoreError if the file may only be read."""
        if self.read_only:
            self.takes_writes = False
            raise translate_error(apsw.ReadOnlyError("it is read-only"), self.name)

    def refuse_if_replaced(self, db: apsw.Connection) -> None:
        """Raise an error if the file was moved, deleted or replaced, or its schema has changed.

        Call this inside a transaction before anything else reads the file: another process may migrate at any time
        before.
        """
        version = int(db.pragma("user_version"))
        if self._identity:
            self._identity.refuse_if_gone(db)
        if self._schema is not None and version != self._schema:
            raise schema_mismatch(self.name, version, self._schema)

    def remove_checksum(self) -> None:
        """Turn a backup into a store; call this inside a transaction that writes."""
        if self.path:
            store_files.remove_checksum(self.path)

    def refuse_if_changed(self) -> None:
        """Raise what may have caused a SQLite error: that the file has changed."""
        self.refuse_if_written()
        if self._identity:
            self._identity.refuse_if_gone()

    def close(self) -> None:
        """Discard an in-memory database."""
        if self._anchor is not None:
            self._anchor.close()

    def after_fork(self) -> None:
        """Leave an in-memory database to the parent."""
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
                db.pragma("user_version")  # SQLite opens the log at the first read
                self._identity.note_connection(db)
        except BaseException:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
            raise
        return db

    def _open_connection(self, flags: int = 0) -> apsw.Connection:
        fork.refuse_unsafe_child()
        if self.path is None and self._inherited:
            raise StoreError(
                f"{self.name} belongs to the process that created it; use a file to share a store between processes"
            )
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else flags | apsw.SQLITE_OPEN_READWRITE
        name, flags = self._uri or str(self.path), flags | (apsw.SQLITE_OPEN_URI if self._uri else 0)
        db = store_files.open_tracked_connection(str(self.path or ""), lambda: apsw.Connection(name, flags))
        fork.close_in_children(db)
        db.set_busy_timeout(round(self._busy_seconds * 1000))
        # one plan for all parameters: planning joins each time is ten times as slow
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _set_pragmas(db, "synchronous=FULL", "secure_delete=ON")
        return db

    def _refuse_foreign_files(self) -> None:
        """Raise StoreError if the file has a hard link, or the log of another store beside it."""
        if self.path is None or self.read_only:
            return
        _refuse_hard_link(self.path, self._busy_seconds)
        store_files.refuse_foreign_log(self.path)

    def _claim(self, db: apsw.Connection) -> None:
        """Make an empty file a store; refuse the file of another program."""
        claimed = is_claimed(db, self.name)
        if self.read_only:
            return
        if db.readonly("main"):
            raise translate_error(apsw.ReadOnlyError("it is read-only"), self.name)
        _set_pragmas(db, f"page_size={PAGE_SIZE}")  # affects only a file without pages
        if self.path and (mode := _enable_wal(db, self._busy_seconds)) != "wal":
            raise StoreError(f"{self.name} cannot use a write-ahead log (it uses {mode}); keep it on a local disk")
        if not claimed:
            db.pragma("application_id", APPLICATION_ID)

    def _migrate(self, db: apsw.Connection, migrations: Sequence[Migration]) -> int:
        """Apply missing migrations and return the last number; a read-only file must be current."""
        log = SqliteMigrationLog(db, self.name, self.path)
        if self.read_only and log.version() < len(migrations):
            remedy = "open it once with an account that can write to it"
            raise SchemaMismatch(
                f"{self.name} is read-only, but must be migrated to schema {len(migrations)}; {remedy}"
            )
        for name, (function, arguments) in SQL_FUNCTIONS.items():
            db.create_scalar_function(name, function, arguments, deterministic=True)
        return migrate(log, migrations)


def is_claimed(db: apsw.Connection, name: str) -> bool:
    """Whether the database is marked as a store; refuse the database of another program."""
    # in one statement, since another process may be creating the file right now
    application_id, version, tables = db.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_application_id, pragma_user_version"
    ).get
    if application_id != APPLICATION_ID and (application_id or version or tables):
        raise SchemaMismatch(
            f"{name} is a SQLite database of another program (application id {application_id}); use another file"
        )
    return bool(application_id == APPLICATION_ID)


def resolve_store_path(name: str) -> Path:
    """Return the real path of an existing or possible file.

    SQLite names the log and other companions after the real path.
    """
    if not name:
        raise InvalidInput("the path of the store is empty; give the path of a file")
    try:
        path = Path(os.path.realpath(name.encode().decode()))
        if path.is_dir():
            raise StoreError(f"{name} is a folder; give the path of a file in it")
        if path.exists() and not path.is_file():
            raise StoreError(f"{name} is not a regular file; give the path of one")
        if not path.parent.is_dir():
            raise StoreError(f"{name} cannot be created: the folder {path.parent} does not exist; create it first")
    except ValueError as error:  # a NUL or a lone surrogate, which no file name has
        raise InvalidInput(f"{show(name)} is not a path ({error}); give the path of a file") from error
    except OSError as error:
        raise StoreError(
            f"{name} cannot be accessed ({error.strerror}); check the permissions of its folder"
        ) from error
    return path


def _connection_uri(path: Path | None, *, read_only: bool) -> str | None:
    """Return the URI to open, where a plain path is not enough."""
    if path is None:
        return f"file:/recollect-{uuid4().hex}?vfs=memdb"
    return f"{path.as_uri()}?immutable=1" if read_only else None


def _is_read_only(path: Path) -> bool:
    """Whether the file is readable and cannot be written, or has no log and none can be created."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    has_log = os.access(path.parent, os.W_OK | os.X_OK) or companion_path(path, "-wal").exists()
    return not (has_log and os.access(path, os.W_OK))


def _refuse_hard_link(path: Path, timeout: float) -> None:
    """Raise StoreError if the file has a second name (a hard link).

    SQLite names the log after the name that was opened, so a process that uses another name does not see the log.
    """
    deadline = time.monotonic() + timeout
    while store_files.count_links(path) > 1:  # a finished backup briefly has its temporary name too
        unfinished = remove_abandoned_folders(path.parent)
        if store_files.count_links(path) > 1 and (not unfinished or time.monotonic() > deadline):
            raise StoreError(
                f"{path} has a second name (a hard link), and programs that use that name would not see what is "
                f"written; remove one of the names (`find . -samefile {path.name}` lists them), or make a copy"
            )
        time.sleep(0.01)


def _enable_wal(db: apsw.Connection, timeout: float) -> str:
    """Turn on the write-ahead log and return the journal mode.

    SQLite refuses at once while another process does the same, so this retries.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return str(db.pragma("journal_mode", "wal"))
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _set_pragmas(db: apsw.Connection, *pragmas: str) -> None:
    for pragma in pragmas:
        db.execute(f"PRAGMA {pragma}").fetchall()


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Translate driver errors raised inside the block; `name` is the store in the message."""
    try:
        yield
    except apsw.Error as error:
        raise translate_error(error, name) from error


def translate_error(error: apsw.Error, name: str) -> StoreError:
    """Return the recollect error for a driver error, with a remedy."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{name}: another process is writing; try again in a moment")
        case apsw.FullError():
            return _disk_full_error(name)
        case apsw.CorruptError():
            return StoreError(f"{name}: the file is damaged ({error}); run `recollect verify` to see what can be saved")
        case apsw.NotADBError():
            return SchemaMismatch(f"{name} is not a SQLite database; use another file, or move this one away")
        case apsw.CantOpenError() if store_files.is_out_of_descriptors():
            return StoreError(f"{name}: {store_files.too_many_files_message()}")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return StoreError(f"{name} cannot be written ({error}); check the permissions of the file and its folder")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return _disk_full_error(name)  # no room for the log's index; SQLite does not call this a full disk
        case apsw.IOError():
            return StoreError(
                f"{name}: the disk failed ({error}), so nothing was written; check the disk and your quota on it"
            )
        case _:
            return StoreError(f"{name}: {error}")


def _disk_full_error(name: str) -> StoreError:
    problem = "memory is full" if name == IN_MEMORY_TARGET else "the disk is full"
    return StoreError(f"{name}: {problem}, so nothing was written; make room and try again")


class SqliteMigrationLog:
    """The migration log of a SQLite file: `user_version`, set in each step's transaction."""

    def __init__(self, db: apsw.Connection, name: str, path: Path | None) -> None:
        self.name = name
        self._path = path
        self._db = db

    def version(self) -> int:
        return int(self._db.pragma("user_version"))

    def advance(self, step: Migration) -> int:
        self._db.execute(
            "PRAGMA foreign_keys = OFF"
        ).fetchall()  # so that a step may rebuild a table that others refer to
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
            raise StoreError(f"{self.name}: migration {step.name} ends its own transaction; remove its COMMIT")
        if broken := self._db.execute("PRAGMA foreign_key_check").fetchall():
            raise StoreError(f"{self.name}: migration {step.name} leaves {len(broken)} rows that refer to missing rows")
        self._db.pragma("user_version", step.number)
