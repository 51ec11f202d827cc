"""Translation: what the driver raises, as an error of ours that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from recollect.errors import Conflict, InvalidInput, RecollectError, StoreBusy, StoreError


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Whatever the driver raises inside comes out as an error of ours, about the store of that name."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_error(error, name) from error


_LOST_SQLSTATES = ("08", "57P", "25P03", "25P04")
"""How the states begin by which a server says that it ends a connection, be it that it ends or that one was idle."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that nobody knows what the server did last."""
    state = error.sqlstate or ""
    if state.startswith(_LOST_SQLSTATES):
        return True
    ours = (PoolClosed, PoolTimeout, TooManyRequests)
    return isinstance(error, psycopg.OperationalError) and not state and not isinstance(error, ours)


def is_transient(error: psycopg.Error) -> bool:
    """Whether the same may go well when it is tried again at once."""
    collisions = (errors.SerializationFailure, errors.DeadlockDetected, errors.TooManyConnections)
    return is_lost(error) or isinstance(error, collisions)


def translate_error(error: psycopg.Error, name: str) -> RecollectError:
    """What a driver's error means to somebody who keeps memories in the store of that name."""
    said = str(error).strip().partition("\n")[0]
    match error:
        case PoolClosed():
            return StoreError(f"{name} is closed; open the store again")
        case errors.LockNotAvailable():
            return StoreBusy(f"{name}: others are writing; try again in a moment")
        case PoolTimeout() | TooManyRequests():
            return StoreBusy(f"{name}: no connection could be had in time; see that the server is up, and try again")
        case errors.TooManyConnections():
            return StoreBusy(f"{name}: the server has no connection left; try again, or raise its max_connections")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{name}: others wrote the same at the same time; try again")
        case errors.ReadOnlySqlTransaction() | errors.FeatureNotSupported() if (
            "recovery" in said or "read-only" in said
        ):
            return StoreError(f"{name} can only be read; write as a role that may, to the primary server")
        case errors.DiskFull():
            return StoreError(f"{name}: the server's disk is full, so nothing was written; make room and try again")
        case errors.InsufficientPrivilege():
            return StoreError(f"{name}: {said}; have the owner of its tables grant what is missing")
        case errors.UniqueViolation():
            return Conflict(f"{name}: {said}; read it again, and say what is to become of it")
        case errors.CharacterNotInRepertoire() | errors.UntranslatableCharacter():
            return InvalidInput(f"{name} cannot keep a text with characters that are none ({said})")
        case _ if is_lost(error):
            return StoreBusy(f"{name} cannot be reached ({said}); try again in a moment")
        case _:
            return StoreError(f"{name}: {said}")
