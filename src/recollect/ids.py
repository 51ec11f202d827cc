"""Memory ids that sort by time, and unguessable boundary markers for contexts."""

import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from recollect.fork_safety import ForkSafeLock

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_COUNTER_BITS = 18
_MARKER_DIGITS = 18  # about 60 bits


def make_id_generator() -> Callable[[datetime], str]:
    """Return a function that makes UUIDs of version 7.

    Within one process each id sorts after the one before, whatever the clock does.
    """
    lock = ForkSafeLock()
    last = (0, 0, 0)  # process, milliseconds, counter

    def make(now: datetime) -> str:
        nonlocal last
        with lock.rlock:
            milliseconds = max((now - EPOCH) // _MILLISECOND, 0)
            process, before, counter = last
            if process != os.getpid() or milliseconds > before:
                counter = secrets.randbits(_COUNTER_BITS - 1)
            else:
                milliseconds, counter = before, counter + 1
                if counter >> _COUNTER_BITS:
                    milliseconds, counter = milliseconds + 1, 0
            last = (os.getpid(), milliseconds, counter)
        high = (milliseconds << 16) | 0x7000 | (counter >> 6)
        low = (0b10 << 62) | ((counter & 0x3F) << 56) | secrets.randbits(56)
        digits = f"{high:016x}{low:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    return make


def new_marker() -> str:
    """Return the boundary marker of one context: a random number of fixed length.

    It has decimal digits only, because a model reads them in few tokens.
    """
    return f"{secrets.randbelow(10**_MARKER_DIGITS):0{_MARKER_DIGITS}d}"
