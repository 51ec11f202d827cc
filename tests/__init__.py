"""Tests. A child that is forked while a thread of its parent notes a new file for coverage gets a lock of its own for
that, since it would wait for ever for one that nobody is left to release."""

import os
import threading

from coverage import Coverage


def _unlocked() -> None:
    measured = Coverage.current()
    if measured is not None and measured._collector is not None:
        measured._collector.data_lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_unlocked)
