"""Connections: a SQLite file, or one in memory, opened in one way; and the driver's errors as ours."""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from uuid import uuid4

import apsw

from recollect.errors import InvalidInput, SchemaMismatch, StoreBusy, StoreError, show
from recollect.heirs import Lock, tell_children
from recollect.stores.migrate import Migration, migrate, migrations, mismatch
from recollect.stores.sqlite import descriptors, forks
from recollect.stores.sqlite.presence import Presence, stamp
from recollect.stores.sqlite.turn import NoTurn, Turn, turn

_LOG = logging.getLogger(__name__)

APPLICATION_ID = int.from_bytes(b"reco")
"""What a file of ours says where SQLite has room for the number of an application."""

IN_MEMORY = ":memory:"

MIGRATIONS = files("recollect.stores.sqlite").joinpath("migrations")

PAGE_SIZE = 8192
"""Bytes of a page in a new file: five vectors of 1.5 kB fit on one, and two on SQLite's usual 4096."""

BUSY = 10.0
"""How many seconds a connection asks again before it gives up; only what does not stand in line comes to that."""

_WRITER_CACHE, _READER_CACHE = 8 * 1024, 4 * 1024
"""KiB of pages that a connection keeps."""

_KEPT_LOG = 64 * 1024**2
"""Bytes of the write-ahead log that stay on disk when it begins anew."""


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Whatever the driver raises inside comes out as an error of ours, about the store of that name."""
    try:
        yield
    except apsw.Error as error:
        raise ours(error, name) from error


def ours(error: apsw.Error, name: str) -> StoreError:
    """What a driver's error means to somebody who keeps memories in the store of that name."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{name}: others are writing; try again in a moment")
        case apsw.FullError():
            return _full(name)
        case apsw.CorruptError():
            return StoreError(f"{name}: the file is damaged ({error}); run `recollect verify` to see what can be saved")
        case apsw.NotADBError():
            return SchemaMismatch(f"{name} is no SQLite database; name another file, or move this one away")
        case apsw.CantOpenError() if descriptors.exhausted():
            return StoreError(f"{name}: {descriptors.too_many()}")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return StoreError(f"{name} cannot be written ({error}); check who may write to the file and its folder")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return _full(name)  # no room for the index of the log, which SQLite does not call a full disk
        case apsw.IOError():
            return StoreError(
                f"{name}: the disk failed ({error}), so nothing was written; check the disk and your quota on it"
            )
        case _:
            return StoreError(f"{name}: {error}")


def _full(name: str) -> StoreError:
    what = "its memory is full" if name == IN_MEMORY else "the disk is full"
    return StoreError(f"{name}: {what}, so nothing was written; make room and try again")


class Database:
    """One SQLite file, or a throw-away one in memory that the threads of this process share.

    A file that may only be read is read without a lock or a log, for which there is no place; so it must stay as it was
    when it was opened.
    """

    def __init__(self, name: str, path: Path | None, patience: float = BUSY) -> None:
        self.name = name
        self.path = path
        self._patience = patience
        self.read_only = path is not None and _may_only_be_read(path)
        self._stamp = stamp(path) if path else None
        self._presence = Presence(name, path) if path and not self.read_only else None
        self._uri = _uri(path, read_only=self.read_only)
        self._inherited = False
        self._schema: int | None = None
        # what is in memory lives as long as a connection to it
        self._anchor = None if path else self._opened(apsw.SQLITE_OPEN_CREATE)
        tell_children(self)

    @classmethod
    def open(
        cls, target: str | os.PathLike[str], *, folder: Traversable = MIGRATIONS, patience: float = BUSY
    ) -> "Database":
        """The database at a path, made if it is not there, brought up to the last of a folder's migrations.

        `:memory:` is always a new one, which leaves nothing on disk and vanishes when it is closed.
        """
        steps = migrations(folder)
        name = os.fsdecode(target)
        database = cls(name, None if name == IN_MEMORY else usable(name), patience)
        with forks.inside(), translated(name):
            database.refuse_if_written()
            db = database._opened(apsw.SQLITE_OPEN_CREATE)
            try:
                database._claim(db)
                database._schema = database._migrated(db, steps)
                if database._presence:
                    database._presence.settle()
            finally:
                db.close()
        return database

    def connect(self) -> apsw.Connection:
        """A connection that may write; what it commits is on the disk when the commit returns."""
        self.refuse_if_read_only()
        return self._connected(
            "foreign_keys=ON",
            f"cache_size=-{_WRITER_CACHE}",
            f"journal_size_limit={_KEPT_LOG}",
            "wal_autocheckpoint=0",  # the writer decides when
        )

    def connect_reading(self) -> apsw.Connection:
        """A connection that can only read."""
        # not as a read-only file, which could not mend the log of a process that died
        return self._connected("query_only=ON", f"cache_size=-{_READER_CACHE}")

    def note_moved(self, db: apsw.Connection) -> None:
        """What was in the log has been moved into the file: it is still ours, though it was written."""
        if self._presence:
            with suppress(StoreError):
                self._presence.refuse_if_gone(db)

    def disconnect(self, db: apsw.Connection) -> None:
        """Close a connection; SQLite clears up behind the last one, unless what is there now is not ours."""
        with forks.inside(), translated(self.name):
            if self._presence and not self._presence.may_clear_up(db):
                _LOG.warning("log_left_behind", extra={"store": self.name})
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
        descriptors.close_unused()

    def turn(self) -> Turn:
        """The line in which the processes stand that write to this file."""
        if self.path is None:
            return NoTurn()
        try:
            return turn(f"{self.path}-queue", self.path.stat().st_mode & 0o666)
        except OSError as error:
            self.explain()
            if error.errno in descriptors.EXHAUSTED:
                raise StoreError(f"{self.name}: {descriptors.too_many()}") from error
            remedy = "check who may write to the folder"
            raise StoreError(f"{self.name}-queue cannot be opened ({error.strerror}); {remedy}") from error

    def refuse_if_written(self) -> None:
        """A file that may only be read is what it was when it was opened, and all of it is in the file."""
        if self.path is None or not self.read_only:
            return
        if stamp(self.path) != self._stamp:
            raise StoreError(f"{self.name} was written by others while it was open for reading; open the store again")
        if any(descriptors.size(_beside(self.path, log)) for log in ("-wal", "-journal")):
            remedy = "let somebody open and close it who may write to it, or read a backup of it"
            raise StoreError(f"{self.name} may only be read, and a part of it is still in its log; {remedy}")

    def refuse_if_read_only(self) -> None:
        """Nothing is written where it may not be."""
        if self.read_only:
            raise ours(apsw.ReadOnlyError("it may only be read"), self.name)

    def refuse_if_replaced(self, db: apsw.Connection) -> None:
        """Nothing is written to files that were taken away, nor read from them, nor in a schema we do not know.

        Inside a transaction, of which this is the first look at the file: another process may migrate at any time
        before.
        """
        version = int(db.pragma("user_version"))
        if self._presence:
            self._presence.refuse_if_gone(db)
        if self._schema is not None and version != self._schema:
            raise mismatch(self.name, version, self._schema)

    def explain(self) -> None:
        """Raises what may be behind an error of SQLite's: that the file is not what it was."""
        self.refuse_if_written()
        if self._presence:
            self._presence.refuse_if_gone()

    def close(self) -> None:
        """Let go of what is in memory."""
        if self._anchor is not None:
            self._anchor.close()

    def after_fork(self) -> None:
        """What is in memory stays with the parent."""
        self._inherited = True

    def _connected(self, *pragmas: str) -> apsw.Connection:
        with forks.inside(), translated(self.name):
            try:
                return self._prepared(self._opened(), pragmas)
            except apsw.Error:
                self.explain()
                raise

    def _prepared(self, db: apsw.Connection, pragmas: Sequence[str]) -> apsw.Connection:
        try:
            _set(db, *pragmas)
            if self._presence:
                db.pragma("user_version")  # SQLite opens the log when something is first read
                self._presence.note(db)
        except BaseException:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()
            raise
        return db

    def _opened(self, flags: int = 0) -> apsw.Connection:
        forks.refuse_disturbed_child()
        if self.path is None and self._inherited:
            raise StoreError(f"{self.name} stays with the process that made it; give the path of a file to share it")
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else flags | apsw.SQLITE_OPEN_READWRITE
        name, flags = self._uri or str(self.path), flags | (apsw.SQLITE_OPEN_URI if self._uri else 0)
        db = descriptors.connected(str(self.path or ""), lambda: apsw.Connection(name, flags))
        forks.close_in_children(db)
        db.set_busy_timeout(round(self._patience * 1000))
        # one plan for whatever a statement is given: else joins are planned anew each time, ten times as slow
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _set(db, "synchronous=FULL", "secure_delete=ON")
        return db

    def _claim(self, db: apsw.Connection) -> None:
        """Make a file ours if it is empty; refuse it if it is somebody else's."""
        claimed = is_claimed(db, self.name)
        if self.read_only:
            return
        if db.readonly("main"):
            raise ours(apsw.ReadOnlyError("it may only be read"), self.name)
        _set(db, f"page_size={PAGE_SIZE}")  # heeded by a file without pages only
        if self.path and (mode := _with_log(db, self._patience)) != "wal":
            raise StoreError(f"{self.name} cannot have a write-ahead log (but {mode}); keep it on a local disk")
        if not claimed:
            db.pragma("application_id", APPLICATION_ID)

    def _migrated(self, db: apsw.Connection, steps: Sequence[Migration]) -> int:
        """The number of the last migration, which has to be applied already if nothing can be written."""
        schema = _Schema(db, self.name)
        if self.read_only and schema.version() < len(steps):
            remedy = "let somebody open it who may write to it"
            raise SchemaMismatch(
                f"{self.name} may only be read, but has to be brought up to schema {len(steps)} first; {remedy}"
            )
        return migrate(schema, steps)


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


def usable(name: str) -> Path:
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


def _uri(path: Path | None, *, read_only: bool) -> str | None:
    """What SQLite is told to open where a path does not say it all."""
    if path is None:
        return f"file:/recollect-{uuid4().hex}?vfs=memdb"
    return f"{path.as_uri()}?immutable=1" if read_only else None


def _may_only_be_read(path: Path) -> bool:
    """Whether the file is there, but cannot be written, or its log cannot be kept beside it and is not there yet."""
    if not path.is_file() or not os.access(path, os.R_OK):
        return False
    has_log = os.access(path.parent, os.W_OK | os.X_OK) or _beside(path, "-wal").exists()
    return not (has_log and os.access(path, os.W_OK))


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _with_log(db: apsw.Connection, patience: float) -> str:
    """Have a write-ahead log, which SQLite refuses without waiting while another process sees to the same."""
    end = time.monotonic() + patience
    while True:
        try:
            return str(db.pragma("journal_mode", "wal"))
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
        time.sleep(0.01)


def _set(db: apsw.Connection, *pragmas: str) -> None:
    for pragma in pragmas:
        db.execute(f"PRAGMA {pragma}").fetchall()


class _Schema:
    """The ledger of a SQLite database: the number is its `user_version`, written in the transaction of each step."""

    def __init__(self, db: apsw.Connection, name: str) -> None:
        self.name = name
        self._db = db

    def version(self) -> int:
        return int(self._db.pragma("user_version"))

    def advance(self, step: Migration) -> int:
        _set(self._db, "foreign_keys=OFF")  # so that a step may build a table anew that others point to
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
        self._db.execute(step.script).fetchall()
        if not self._db.in_transaction:
            raise StoreError(f"{self.name}: migration {step.name} ends its own transaction; take its COMMIT out")
        if broken := self._db.execute("PRAGMA foreign_key_check").fetchall():
            raise StoreError(f"{self.name}: migration {step.name} leaves {len(broken)} rows that point to nothing")
        self._db.pragma("user_version", step.number)


class Readers:
    """Connections that only read, lent to one thread at a time and kept for the next.

    As many are opened as read at once, so nobody waits for another to finish; `kept` of them stay open.
    """

    def __init__(self, database: Database, *, kept: int = 8) -> None:
        self._database = database
        self._kept = kept
        self._lock = Lock()
        self._idle: list[apsw.Connection] = []
        self._closed = False
        tell_children(self)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection whose statements all see the database as it is now, whatever is written meanwhile."""
        with forks.inside(), translated(self._database.name):
            db = self._lent()
            try:
                self._database.refuse_if_written()
                db.execute("BEGIN")
                self._database.refuse_if_replaced(db)  # and the first thing read fixes what is seen
                yield db
                self._database.refuse_if_written()  # meanwhile
            except apsw.Error:
                self._database.explain()
                raise
            finally:
                self._returned(db)

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        with self._lock.here:
            self._closed = True
            idle, self._idle = self._idle, []
        with ExitStack() as whatever_happens:
            for db in idle:
                whatever_happens.callback(self._database.disconnect, db)

    def after_fork(self) -> None:
        """Begin with no connection."""
        self._idle = []

    def _lent(self) -> apsw.Connection:
        with self._lock.here:
            if self._closed:
                raise StoreError(f"{self._database.name} is closed; open the store again")
            if self._idle:
                return self._idle.pop()
        return self._database.connect_reading()

    def _returned(self, db: apsw.Connection) -> None:
        if forks.is_inherited(db):
            return
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._lock.here:
            # a statement that was not read to its end would hold on to what it saw
            keep = not self._closed and len(self._idle) < self._kept and db.txn_state() == apsw.SQLITE_TXN_NONE
            if keep:
                self._idle.append(db)
        if not keep:
            self._database.disconnect(db)
