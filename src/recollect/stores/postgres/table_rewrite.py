"""Sweeping: the files that still have what was erased are written anew, once nobody sees it any more."""

import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import errors, sql

from recollect.errors import StoreBusy, StoreError
from recollect.model.erasure import ON_A_SERVER, Search
from recollect.model.scope import Scope
from recollect.model.sweep_report import Swept
from recollect.stores.postgres import residue
from recollect.stores.postgres.admin_connection import alone, built, is_pooled
from recollect.stores.postgres.connection import Database
from recollect.stores.postgres.driver_errors import translated
from recollect.stores.postgres.migration_log import SCHEMA
from recollect.stores.postgres.pool import Connection, connected
from recollect.stores.postgres.transaction_runner import EVERYTHING
from recollect.stores.postgres.vector_index import MOST_MEMORY
from recollect.stores.sql.statements import statements

T = TypeVar("T")

AT_ONCE = 64 << 20
"""Up to how many bytes of tables and their indexes an erasure itself has written anew: those of about 18,000 memories,
in half a second. Nobody else can use a table meanwhile."""

NEAR_AT_ONCE = 1 << 20
"""The same for an index of the nearest, which takes sixty times as long: one of about 900 vectors."""

TURN = "500ms"
"""How long a table is waited for at a time: whoever wants it meanwhile has to wait behind."""

PAUSE = 0.1
"""How many seconds pass before the next attempt."""

KEPT = "PostgreSQL keeps what was removed in its files until they are written anew"

_SQL = {name: text.encode() for name, text in statements("recollect.stores.postgres", "sweeping.sql").items()}
_REWRITE = sql.SQL("VACUUM (FULL) {}")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A part of the tables that is to be swept: of how many erasures, the last of them by which transaction as it was
    noted, and as this server counts.
    """

    part: int
    erasures: int
    noted: int
    erased_by: int


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and the file it is in. No row in it was deleted by a transaction before `since`, if the file is new.

    `near` is how many bytes its largest index of the nearest takes.
    """

    number: int
    name: str
    bytes: int
    file: int
    since: int
    near: int


class Sweeper:
    """Sweeps a database, for an operator or with an erasure.

    All of a root is in the same part of every table, so that one part is written anew for it. The rows that stay are
    copied into new files with new indexes; the proof is that nobody could see the others when that was done.
    """

    def __init__(self, database: Database, target: str, timeout: float) -> None:
        self._database = database
        self._target = target
        self._timeout = timeout

    def sweep(self) -> Swept:
        """Write anew every part that has something of what was erased; what was done stays so if it is interrupted."""
        self._database.refuse_if_read_only()
        owner, owned = self._owner()
        if not owned:
            raise StoreError(f"{self._database.name}: only the owner of the tables sweeps them; run it as {owner}")
        done = Swept()
        with self._alone() as db:
            for waiting in self._all_waiting():
                done += self._swept(db, waiting)
        return done

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> Search:
        """What is left of what was erased of a scope, once its part of the tables is swept."""
        try:
            found = self._row("part_of", root=scope.parts[0])
            if found is None:  # a receipt of another store
                return Search(out_of_reach=ON_A_SERVER)
            (part,) = found
            why_not = self._swept_at_once(part) if self._waiting(part) else None
            if why_not is not None:
                return Search(unfinished=f"{self._database.name}: {KEPT}; {why_not}", out_of_reach=ON_A_SERVER)
            tables = self._tables(part)
            return self._seen(lambda db: residue.search(db, [(one.number, one.name) for one in tables], pieces))
        except StoreError as error:
            return Search(unfinished=str(error), out_of_reach=ON_A_SERVER)

    def _swept_at_once(self, part: int) -> str | None:
        """Sweep a part, or say why somebody else has to."""
        owner, owned = self._owner()
        if not owned:
            return f"only the owner of the tables may do that: have `recollect admin sweep` run as {owner}"
        tables = self._tables(part)
        size = sum(one.bytes for one in tables)
        if size > AT_ONCE or any(one.near > NEAR_AT_ONCE for one in tables):
            whose = f"nobody else could use these {size / 1e6:,.0f} MB meanwhile"
            return f"{whose}: run `recollect admin sweep` when that does no harm"
        with self._alone() as db:
            for waiting in self._waiting(part):  # unless somebody has done it since
                self._swept(db, waiting)
        return None

    def _swept(self, db: Connection, waiting: _Waiting) -> Swept:
        before = {one.number: one for one in self._tables(waiting.part)}
        self._wait_for_who_sees(waiting.erased_by)
        for table in before.values():
            self._rewrite(db, table)
        after = self._tables(waiting.part)
        left = [one.name for one in after if not _is_rid(one, before.get(one.number), waiting.erased_by)]
        if left:
            told = f"somebody came to see what was erased while {', '.join(left)} was written anew"
            raise StoreBusy(f"{self._database.name}: {told}; try again")
        self._database.until_done(lambda: self._note(waiting))
        return Swept(
            tables=tuple(one.name for one in after),
            before=sum(one.bytes for one in before.values()),
            after=sum(one.bytes for one in after),
            erasures=waiting.erasures,
        )

    def _wait_for_who_sees(self, erased_by: int) -> None:
        """Wait for those to end who see what was there before; those who come now do not."""
        over = time.monotonic() + self._timeout
        while seeing := self._seen(lambda db: db.execute(_SQL["who_sees"], {"erased_by": erased_by}).fetchall()):
            if time.monotonic() > over:
                told = f"{seeing[0][0]} may still see what was erased, so its files have to keep it"
                raise StoreBusy(f"{self._database.name}: {told}; end what that is doing")
            time.sleep(PAUSE)

    def _rewrite(self, db: Connection, table: _Table) -> None:
        statement = _REWRITE.format(sql.Identifier(SCHEMA, table.name))
        over = time.monotonic() + self._timeout
        while True:
            try:
                return built(db, statement, min(2 * table.near, MOST_MEMORY))
            except errors.LockNotAvailable:
                if time.monotonic() > over:
                    raise
            time.sleep(PAUSE)

    def _note(self, waiting: _Waiting) -> None:
        with self._database.writing() as db:
            db.execute(_SQL["swept"], {"part": waiting.part, "last": waiting.noted})

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """A connection of who sweeps alone; another who does, or builds an index, is waited for."""
        self._refuse_pooler()
        over = time.monotonic() + self._timeout
        with ExitStack() as whole:
            db: Connection | None = None
            while db is None:
                try:
                    db = whole.enter_context(alone(self._target, self._database.name, self._timeout))
                except StoreBusy:
                    if time.monotonic() > over:
                        raise
                    time.sleep(PAUSE)
            db.execute("SELECT set_config('lock_timeout', %s, false)", [TURN])
            yield db

    def _refuse_pooler(self) -> None:
        """Refuse at once what could only wait: nobody has a turn and a connection beside it of a pooler with one."""
        name = self._database.name
        with translated(name), connected(self._target, name, self._timeout) as db:
            if is_pooled(db):
                remedy = "run `recollect admin sweep` with the address of the server itself"
                raise StoreError(f"{name}: {KEPT}, for which a pooler is no way; {remedy}")

    def _waiting(self, part: int) -> list[_Waiting]:
        return [one for one in self._all_waiting() if one.part == part]

    def _all_waiting(self) -> list[_Waiting]:
        return [_Waiting(*row) for row in self._seen(lambda db: db.execute(_SQL["unswept"]).fetchall())]

    def _tables(self, part: int) -> Sequence[_Table]:
        rows = self._seen(lambda db: db.execute(_SQL["tables"], {"part": part}).fetchall())
        return [_Table(*row) for row in rows]

    def _owner(self) -> tuple[str, bool]:
        """Whose the tables are, and whether who asks is as good as that."""
        name, owned = self._row("owner") or ("", False)
        return name, owned

    def _row(self, statement: str, **given: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._seen(lambda db: db.execute(_SQL[statement], given).fetchone())
        return row

    def _seen(self, look: Callable[[Connection], T]) -> T:
        def once() -> T:
            with self._database.reading(EVERYTHING.whole) as db:
                return look(db)

        return self._database.until_done(once)


def _is_rid(now: _Table, before: _Table | None, erased_by: int) -> bool:
    """Whether a table has nothing any more that was deleted by then."""
    return before is None or (now.file != before.file and now.since > erased_by)
