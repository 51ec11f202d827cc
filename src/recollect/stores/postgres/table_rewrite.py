"""Sweeping: the files that still have what was erased are written anew, once nobody sees it any more."""

import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import errors, sql

from recollect.errors import StoreBusy, StoreError
from recollect.model.erasure import UNREACHABLE_SERVER_COPIES, ResidueSearch
from recollect.model.scope import Scope
from recollect.model.sweep_report import SweepReport
from recollect.stores.postgres import residue
from recollect.stores.postgres.admin_connection import exclusive_connection, is_pooled, run_index_build
from recollect.stores.postgres.connection import PostgresDatabase
from recollect.stores.postgres.driver_errors import translate_errors
from recollect.stores.postgres.migration_log import SCHEMA_NAME
from recollect.stores.postgres.pool import Connection, connect
from recollect.stores.postgres.transaction_runner import ALL_SCOPES
from recollect.stores.postgres.vector_index import MAX_BUILD_MEMORY_BYTES
from recollect.stores.sql.statements import load_statements

T = TypeVar("T")

MAX_IMMEDIATE_BYTES = 64 << 20
"""Up to how many bytes of tables and their indexes an erasure itself has written anew: those of about 18,000 memories,
in half a second. Nobody else can use a table meanwhile."""

MAX_IMMEDIATE_INDEX_BYTES = 1 << 20
"""The same for an index of the nearest, which takes sixty times as long: one of about 900 vectors."""

LOCK_TIMEOUT = "500ms"
"""How long a table is waited for at a time: whoever wants it meanwhile has to wait behind."""

RETRY_SECONDS = 0.1
"""How many seconds pass before the next attempt."""

REMAINS_REASON = "PostgreSQL keeps what was removed in its files until they are written anew"

_SWEEP_STATEMENTS = {
    name: text.encode() for name, text in load_statements("recollect.stores.postgres", "sweeping.sql").items()
}
_VACUUM_FULL = sql.SQL("VACUUM (FULL) {}")


@dataclass(frozen=True, slots=True)
class _UnsweptPartition:
    """A part of the tables that is to be swept: of how many erasures, the last of them by which transaction as it was
    noted, and as this server counts.
    """

    partition: int
    erasures: int
    recorded_transaction: int
    erased_by: int


@dataclass(frozen=True, slots=True)
class _TableFile:
    """A table, and the file it is in.

    If the file is new, no transaction before `oldest_transaction` deleted a row in it.

    `vector_index_bytes` is how many bytes its largest index of the nearest takes.
    """

    number: int
    name: str
    bytes: int
    file: int
    oldest_transaction: int
    vector_index_bytes: int


class TableSweeper:
    """Sweeps a database, for an operator or with an erasure.

    All of a root is in the same part of every table, so that one part is written anew for it. The rows that stay are
    copied into new files with new indexes; the proof is that nobody could see the others when that was done.
    """

    def __init__(self, database: PostgresDatabase, target: str, timeout: float) -> None:
        self._database = database
        self._target = target
        self._timeout = timeout

    def sweep(self) -> SweepReport:
        """Write anew every part that has something of what was erased; what was done stays so if it is interrupted."""
        self._database.refuse_if_read_only()
        owner, owned = self._fetch_owner()
        if not owned:
            raise StoreError(f"{self._database.name}: only the owner of the tables sweeps them; run it as {owner}")
        done = SweepReport()
        with self._exclusive_connection() as db:
            for waiting in self._list_unswept():
                done += self._sweep_partition(db, waiting)
        return done

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        """What is left of what was erased of a scope, once its part of the tables is swept."""
        try:
            found = self._fetch_row("part_of", root=scope.parts[0])
            if found is None:  # a receipt of another store
                return ResidueSearch(out_of_reach=UNREACHABLE_SERVER_COPIES)
            (part,) = found
            why_not = self._sweep_now(part) if self._find_unswept(part) else None
            if why_not is not None:
                return ResidueSearch(
                    unfinished=f"{self._database.name}: {REMAINS_REASON}; {why_not}",
                    out_of_reach=UNREACHABLE_SERVER_COPIES,
                )
            tables = self._list_tables(part)
            return self._read(lambda db: residue.search_files(db, [(one.number, one.name) for one in tables], pieces))
        except StoreError as error:
            return ResidueSearch(unfinished=str(error), out_of_reach=UNREACHABLE_SERVER_COPIES)

    def _sweep_now(self, part: int) -> str | None:
        """Sweep a part, or say why somebody else has to."""
        owner, owned = self._fetch_owner()
        if not owned:
            return f"only the owner of the tables may do that: have `recollect admin sweep` run as {owner}"
        tables = self._list_tables(part)
        size = sum(one.bytes for one in tables)
        if size > MAX_IMMEDIATE_BYTES or any(one.vector_index_bytes > MAX_IMMEDIATE_INDEX_BYTES for one in tables):
            whose = f"nobody else could use these {size / 1e6:,.0f} MB meanwhile"
            return f"{whose}: run `recollect admin sweep` when that does no harm"
        with self._exclusive_connection() as db:
            for waiting in self._find_unswept(part):  # unless somebody has done it since
                self._sweep_partition(db, waiting)
        return None

    def _sweep_partition(self, db: Connection, waiting: _UnsweptPartition) -> SweepReport:
        before = {one.number: one for one in self._list_tables(waiting.partition)}
        self._wait_for_readers(waiting.erased_by)
        for table in before.values():
            self._rewrite_table(db, table)
        after = self._list_tables(waiting.partition)
        left = [one.name for one in after if not _is_clean(one, before.get(one.number), waiting.erased_by)]
        if left:
            told = f"somebody came to see what was erased while {', '.join(left)} was written anew"
            raise StoreBusy(f"{self._database.name}: {told}; try again")
        self._database.retry(lambda: self._record_sweep(waiting))
        return SweepReport(
            tables=tuple(one.name for one in after),
            before=sum(one.bytes for one in before.values()),
            after=sum(one.bytes for one in after),
            erasures=waiting.erasures,
        )

    def _wait_for_readers(self, erased_by: int) -> None:
        """Wait for those to end who see what was there before; those who come now do not."""
        over = time.monotonic() + self._timeout
        while seeing := self._read(
            lambda db: db.execute(_SWEEP_STATEMENTS["who_sees"], {"erased_by": erased_by}).fetchall()
        ):
            if time.monotonic() > over:
                told = f"{seeing[0][0]} may still see what was erased, so its files have to keep it"
                raise StoreBusy(f"{self._database.name}: {told}; end what that is doing")
            time.sleep(RETRY_SECONDS)

    def _rewrite_table(self, db: Connection, table: _TableFile) -> None:
        statement = _VACUUM_FULL.format(sql.Identifier(SCHEMA_NAME, table.name))
        over = time.monotonic() + self._timeout
        while True:
            try:
                return run_index_build(db, statement, min(2 * table.vector_index_bytes, MAX_BUILD_MEMORY_BYTES))
            except errors.LockNotAvailable:
                if time.monotonic() > over:
                    raise
            time.sleep(RETRY_SECONDS)

    def _record_sweep(self, waiting: _UnsweptPartition) -> None:
        with self._database.write_transaction() as db:
            db.execute(_SWEEP_STATEMENTS["swept"], {"part": waiting.partition, "last": waiting.recorded_transaction})

    @contextmanager
    def _exclusive_connection(self) -> Iterator[Connection]:
        """A connection of who sweeps alone; another who does, or builds an index, is waited for."""
        self._refuse_pooler()
        over = time.monotonic() + self._timeout
        with ExitStack() as whole:
            db: Connection | None = None
            while db is None:
                try:
                    db = whole.enter_context(exclusive_connection(self._target, self._database.name, self._timeout))
                except StoreBusy:
                    if time.monotonic() > over:
                        raise
                    time.sleep(RETRY_SECONDS)
            db.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
            yield db

    def _refuse_pooler(self) -> None:
        """Refuse at once what could only wait: nobody has a turn and a connection beside it of a pooler with one."""
        name = self._database.name
        with translate_errors(name), connect(self._target, name, self._timeout) as db:
            if is_pooled(db):
                remedy = "run `recollect admin sweep` with the address of the server itself"
                raise StoreError(f"{name}: {REMAINS_REASON}, for which a pooler is no way; {remedy}")

    def _find_unswept(self, part: int) -> list[_UnsweptPartition]:
        return [one for one in self._list_unswept() if one.partition == part]

    def _list_unswept(self) -> list[_UnsweptPartition]:
        return [
            _UnsweptPartition(*row)
            for row in self._read(lambda db: db.execute(_SWEEP_STATEMENTS["unswept"]).fetchall())
        ]

    def _list_tables(self, part: int) -> Sequence[_TableFile]:
        rows = self._read(lambda db: db.execute(_SWEEP_STATEMENTS["tables"], {"part": part}).fetchall())
        return [_TableFile(*row) for row in rows]

    def _fetch_owner(self) -> tuple[str, bool]:
        """Whose the tables are, and whether who asks is as good as that."""
        name, owned = self._fetch_row("owner") or ("", False)
        return name, owned

    def _fetch_row(self, statement: str, **given: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._read(lambda db: db.execute(_SWEEP_STATEMENTS[statement], given).fetchone())
        return row

    def _read(self, look: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.read_transaction(ALL_SCOPES.full_statement) as db:
                return look(db)

        return self._database.retry(once)


def _is_clean(now: _TableFile, before: _TableFile | None, erased_by: int) -> bool:
    """Whether a table has nothing any more that was deleted by then."""
    return before is None or (now.file != before.file and now.oldest_transaction > erased_by)
