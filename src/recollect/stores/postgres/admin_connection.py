"""Operating: a connection for what an operator does to whole tables, one operator at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg import errors, sql

from recollect.errors import StoreBusy, StoreError
from recollect.stores.postgres.driver_errors import translate_errors
from recollect.stores.postgres.pool import Connection, connect

_ADMIN_LOCK_KEY = 0x696E646578696E67
"""What operators of one database keep each other out by, until the end of a transaction."""

_TRY_ADMIN_LOCK = sql.SQL("SELECT pg_try_advisory_xact_lock({})").format(sql.Literal(_ADMIN_LOCK_KEY))
"""Takes the lock. It has no parameters: what a statement that has some saw is kept until the next one."""

_DISABLE_TIMEOUTS = """
    SELECT set_config(name, '0', %s) FROM pg_settings WHERE name IN (
        'statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'
    )
"""
"""Lets nothing end for the time that it takes, until the transaction or the session ends; not every server has all."""

_SET_BUILD_MEMORY = """
    SELECT set_config(
        'maintenance_work_mem',
        greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %s) / 1024 || 'kB',
        false
    )
"""


@contextmanager
def exclusive_connection(target: str, name: str, timeout: float) -> Iterator[Connection]:
    """A connection outside of any transaction, while nobody else makes or drops an index or sweeps here.

    The lock is held in a transaction beside: a pooler may be between. It must see nothing: a build waits for all that
    see what was before it, and what they see cannot be swept.
    """
    with (
        _translate_admin_errors(name),
        connect(target, name, timeout) as turn,
        connect(target, name, timeout) as db,
    ):
        turn.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        turn.execute(_DISABLE_TIMEOUTS, [True])
        if turn.execute(_TRY_ADMIN_LOCK).fetchone() != (True,):
            told = "somebody else makes or drops an index just now, or sweeps"
            raise StoreBusy(f"{name}: {told}; try again when that is done, as `recollect admin index` shows it")
        if not is_pooled(db):
            db.execute(_DISABLE_TIMEOUTS, [False])
        yield db


def is_pooled(db: Connection) -> bool:
    """Whether a pooler is between, which gives a number of its own: what is set for a session would be for others."""
    return db.execute("SELECT pg_backend_pid()").fetchone() != (db.info.backend_pid,)


def run_index_build(
    db: Connection, statement: sql.Composed, memory: int, *, tidy: Callable[[], None] = lambda: None
) -> None:
    """Run a statement that builds indexes, on a connection that is no pooler's, with so much memory.

    Processes that build together need memory that they share, which may be little: if so, one builds alone, after what
    the others left is tidied up.
    """
    db.execute(_SET_BUILD_MEMORY, [memory])
    try:
        db.execute(statement)
    except (errors.DiskFull, errors.OutOfMemory):
        db.execute("SET max_parallel_maintenance_workers = 0")
        tidy()
        db.execute(statement)


@contextmanager
def _translate_admin_errors(name: str) -> Iterator[None]:
    """What the driver raises comes out as an error of ours; for the time limit of a role there is a way around."""
    with translate_errors(name):
        try:
            yield
        except errors.QueryCanceled as error:
            said = str(error).strip().partition("\n")[0]
            remedy = "run it again, with the address of the server itself and not of a pooler"
            raise StoreError(f"{name}: it was not finished ({said}); {remedy}") from error
