"""Remove erased bytes from the server's files, and search the files for what remains.

PostgreSQL keeps deleted rows in its files. A sweep rewrites the affected partitions once no transaction can see these
rows any more. The search reads the files themselves, if the role may do so.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from psycopg import errors, sql

from recollect.errors import StoreBusy, StoreError
from recollect.model.archive import UNREACHABLE_SERVER_COPIES, ResidueSearch, SweepReport
from recollect.model.scope import Scope
from recollect.stores.postgres.connection import SCHEMA_NAME, PostgresDatabase
from recollect.stores.postgres.pool import (
    Connection,
    connect,
    exclusive_connection,
    is_pooled,
    run_index_build,
    translate_errors,
)
from recollect.stores.postgres.transaction import ALL_SCOPES
from recollect.stores.postgres.vector_index import MAX_BUILD_MEMORY_BYTES
from recollect.stores.sql.erasure import NEEDLE_BYTES, NeedleFinder, find_needles, join_ranges
from recollect.stores.sql.transaction import load_statements

BLOCK_BYTES = 8 << 20
"""How many bytes of a file are read at a time."""

UNSEARCHED_REASON = (
    "that needs a superuser, or EXECUTE ON FUNCTION pg_read_binary_file(text, bigint, bigint, boolean); "
    "the proof is that only the remaining rows were copied into new files"
)

_SWEEP_STATEMENTS = {
    name: text.encode() for name, text in load_statements("recollect.stores.postgres", "sweeping.sql").items()
}


def search_files(db: Connection, tables: Sequence[tuple[int, str]], needles: Set[bytes]) -> ResidueSearch:
    """Search all files of these rewritten tables, given by OID and name, for the erased bytes.

    A hit in a rewritten table comes from a row that remains and has the same text, or from a row that was added since.
    The server's column statistics are searched as well, and a hit there counts as residue. A long text may be
    compressed, and then no search finds it.
    """
    rewritten = tuple(name for _, name in tables)
    if db.execute(_SWEEP_STATEMENTS["may_read_files"]).fetchone() != (True,):
        return ResidueSearch(rewritten=rewritten, unsearched=UNSEARCHED_REASON, out_of_reach=UNREACHABLE_SERVER_COPIES)
    finder = NeedleFinder(needles)
    files: list[str] = []
    remains: list[str] = []
    in_rows, in_indexes = Counter[str](), Counter[str]()
    for name, path, is_index in db.execute(
        _SWEEP_STATEMENTS["files"], {"tables": [number for number, _ in tables]}
    ).fetchall():
        files.append(path)
        found = [begin for begin, _ in join_ranges(find_needles(_read_blocks(db, path), finder))]
        if name in rewritten:
            (in_indexes if is_index else in_rows)[name] += len(found)
        elif found:
            remains.append(f"{name}, {path} (first at byte {found[0]})")
    elsewhere = {name: in_rows[name] or in_indexes[name] for name in sorted(+in_rows | +in_indexes)}
    return ResidueSearch(
        files=tuple(files),
        rewritten=rewritten,
        remains=tuple(remains),
        elsewhere=elsewhere,
        out_of_reach=UNREACHABLE_SERVER_COPIES,
    )


def _read_blocks(db: Connection, path: str) -> Iterator[tuple[int, bytes]]:
    """Yield each block of a file with its offset, preceded by the end of the block before.

    A large table has several files, which are read as one.
    """
    place, before = 0, b""
    for part in count():
        start = 0
        while block := _read_block(db, path if part == 0 else f"{path}.{part}", start):
            yield place - len(before), before + block
            before = (before + block)[1 - NEEDLE_BYTES :]
            start, place = start + len(block), place + len(block)
        if start == 0:
            return


def _read_block(db: Connection, path: str, start: int) -> bytes | None:
    row = db.execute(
        _SWEEP_STATEMENTS["block"], {"path": path, "start": start, "length": BLOCK_BYTES}, binary=True
    ).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])


T = TypeVar("T")

MAX_IMMEDIATE_BYTES = 64 << 20
"""How many bytes of tables and indexes an erasure rewrites itself at most.

That is the size of about 18,000 memories, rewritten in half a second. Other sessions cannot use a table meanwhile.
"""

MAX_IMMEDIATE_INDEX_BYTES = 1 << 20
"""The same limit for a vector index, which takes sixty times as long.

That is an index of about 900 vectors.
"""

LOCK_TIMEOUT = "500ms"
"""How long one attempt waits for a table lock; other sessions queue up behind it."""

RETRY_SECONDS = 0.1
"""How many seconds pass before the next attempt."""

REMAINS_REASON = "PostgreSQL keeps deleted rows in its files until these are rewritten"
_VACUUM_FULL = sql.SQL("VACUUM (FULL) {}")


@dataclass(frozen=True, slots=True)
class _UnsweptPartition:
    """A partition whose files still contain erased rows, and of how many erasures.

    Of the last erasure it has the transaction number as it was recorded, and as this server counts.
    """

    partition: int
    erasures: int
    recorded_transaction: int
    erased_by: int


@dataclass(frozen=True, slots=True)
class _TableFile:
    """A table and the file that contains it.

    In a new file, no row was deleted by a transaction before `oldest_transaction`. `vector_index_bytes` is the size of
    the table's largest vector index.
    """

    number: int
    name: str
    bytes: int
    file: int
    oldest_transaction: int
    vector_index_bytes: int


class TableSweeper:
    """Sweeps a database, for an operator or as part of an erasure.

    All rows of a root are in the same partition of every table, so a sweep rewrites only that partition. Rows that
    remain are copied into new files with new indexes. The proof is that no transaction could see the erased rows when
    this was done.
    """

    def __init__(self, database: PostgresDatabase, target: str, timeout: float) -> None:
        self._database = database
        self._target = target
        self._timeout = timeout

    def sweep(self) -> SweepReport:
        """Rewrite every partition with erased rows; an interrupted sweep keeps what it has done."""
        self._database.refuse_if_read_only()
        owner, owned = self._fetch_owner()
        if not owned:
            raise StoreError(f"{self._database.name}: only the owner of the tables can sweep them; run it as {owner}")
        report = SweepReport()
        with self._exclusive_connection() as db:
            for unswept in self._list_unswept():
                report += self._sweep_partition(db, unswept)
        return report

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        """Sweep the partition of an erased scope, and return what remains of the erased bytes."""
        try:
            found = self._fetch_row("part_of", root=scope.parts[0])
            if found is None:  # the receipt is from another store
                return ResidueSearch(out_of_reach=UNREACHABLE_SERVER_COPIES)
            (part,) = found
            reason = self._sweep_now(part) if self._find_unswept(part) else None
            if reason is not None:
                return ResidueSearch(
                    unfinished=f"{self._database.name}: {REMAINS_REASON}; {reason}",
                    out_of_reach=UNREACHABLE_SERVER_COPIES,
                )
            tables = self._list_tables(part)
            return self._read(lambda db: search_files(db, [(one.number, one.name) for one in tables], pieces))
        except StoreError as error:
            return ResidueSearch(unfinished=str(error), out_of_reach=UNREACHABLE_SERVER_COPIES)

    def _sweep_now(self, part: int) -> str | None:
        """Sweep a partition, or return why an operator must do it later."""
        owner, owned = self._fetch_owner()
        if not owned:
            return f"only the owner of the tables can do that: run `recollect admin sweep` as {owner}"
        tables = self._list_tables(part)
        size = sum(one.bytes for one in tables)
        if size > MAX_IMMEDIATE_BYTES or any(one.vector_index_bytes > MAX_IMMEDIATE_INDEX_BYTES for one in tables):
            reason = f"other transactions could not use these {size / 1e6:,.0f} MB meanwhile"
            return f"{reason}: run `recollect admin sweep` when that does no harm"
        with self._exclusive_connection() as db:
            for unswept in self._find_unswept(part):  # empty if another process has swept it meanwhile
                self._sweep_partition(db, unswept)
        return None

    def _sweep_partition(self, db: Connection, unswept: _UnsweptPartition) -> SweepReport:
        before = {one.number: one for one in self._list_tables(unswept.partition)}
        self._wait_for_readers(unswept.erased_by)
        for table in before.values():
            self._rewrite_table(db, table)
        after = self._list_tables(unswept.partition)
        unclean = [one.name for one in after if not _is_clean(one, before.get(one.number), unswept.erased_by)]
        if unclean:
            problem = f"a transaction began to read the erased rows while {', '.join(unclean)} was rewritten"
            raise StoreBusy(f"{self._database.name}: {problem}; try again")
        self._database.retry(lambda: self._record_sweep(unswept))
        return SweepReport(
            tables=tuple(one.name for one in after),
            before=sum(one.bytes for one in before.values()),
            after=sum(one.bytes for one in after),
            erasures=unswept.erasures,
        )

    def _wait_for_readers(self, erased_by: int) -> None:
        """Wait until no transaction sees the erased rows; new transactions do not see them."""
        deadline = time.monotonic() + self._timeout
        while readers := self._read(
            lambda db: db.execute(_SWEEP_STATEMENTS["who_sees"], {"erased_by": erased_by}).fetchall()
        ):
            if time.monotonic() > deadline:
                problem = f"{readers[0][0]} may still see the erased rows, so the files must keep them"
                raise StoreBusy(f"{self._database.name}: {problem}; end it and try again")
            time.sleep(RETRY_SECONDS)

    def _rewrite_table(self, db: Connection, table: _TableFile) -> None:
        statement = _VACUUM_FULL.format(sql.Identifier(SCHEMA_NAME, table.name))
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return run_index_build(db, statement, min(2 * table.vector_index_bytes, MAX_BUILD_MEMORY_BYTES))
            except errors.LockNotAvailable:
                if time.monotonic() > deadline:
                    raise
            time.sleep(RETRY_SECONDS)

    def _record_sweep(self, unswept: _UnsweptPartition) -> None:
        with self._database.write_transaction() as db:
            db.execute(_SWEEP_STATEMENTS["swept"], {"part": unswept.partition, "last": unswept.recorded_transaction})

    @contextmanager
    def _exclusive_connection(self) -> Iterator[Connection]:
        """Open a connection with the admin lock; wait while another sweep or index build holds it."""
        self._refuse_pooler()
        deadline = time.monotonic() + self._timeout
        with ExitStack() as stack:
            db: Connection | None = None
            while db is None:
                try:
                    db = stack.enter_context(exclusive_connection(self._target, self._database.name, self._timeout))
                except StoreBusy:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(RETRY_SECONDS)
            db.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
            yield db

    def _refuse_pooler(self) -> None:
        """Raise StoreError if a pooler is in between.

        A sweep holds a lock on one connection and works on a second. Through a pooler with a single connection it could
        only wait.
        """
        name = self._database.name
        with translate_errors(name), connect(self._target, name, self._timeout) as db:
            if is_pooled(db):
                remedy = "run `recollect admin sweep` with the address of the server instead of a pooler"
                raise StoreError(f"{name}: {REMAINS_REASON}, which does not work through a pooler; {remedy}")

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
        """Return the owner of the tables, and whether this role has the owner's rights."""
        name, owned = self._fetch_row("owner") or ("", False)
        return name, owned

    def _fetch_row(self, statement: str, **given: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._read(lambda db: db.execute(_SWEEP_STATEMENTS[statement], given).fetchone())
        return row

    def _read(self, read: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.read_transaction(ALL_SCOPES.full_statement) as db:
                return read(db)

        return self._database.retry(once)


def _is_clean(now: _TableFile, before: _TableFile | None, erased_by: int) -> bool:
    """Return whether a table's file has no row left that was deleted by that transaction."""
    return before is None or (now.file != before.file and now.oldest_transaction > erased_by)
