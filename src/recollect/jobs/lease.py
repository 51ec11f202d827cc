"""Lease: an occurrence that is ours for as long as we are heard of."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Self

from recollect.errors import RecollectError
from recollect.model.job_runs import JobOccurrence
from recollect.protocols import JobStore

_LEASE_LOG = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4
"""How often a lease is renewed before it would run out. What is left of it then, clocks may differ by."""


class Lease:
    """Renewed by a thread of its own while somebody is at work; lost once somebody else went on."""

    def __init__(
        self, timetable: JobStore, ours: JobOccurrence, *, length: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._timetable = timetable
        self._ours = ours
        self._length = length
        self._clock = clock
        self._until = ours.until
        self._lost = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_over, name="recollect-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def is_held(self) -> bool:
        """Whether it is still ours; asked of the store if it may have run out, as when the machine slept. Where that
        cannot be asked, whoever is next goes on.
        """
        if not self._lost and self._clock() > self._until:
            try:
                self._renew()
            except RecollectError as error:
                _LEASE_LOG.warning("lease_not_renewed", extra={"job": self._ours.job, "error": type(error).__name__})
                return False
        return not self._lost

    def _renew_until_over(self) -> None:
        while not self._lost and not self._over.wait(self._length.total_seconds() / RENEWALS_PER_LEASE):
            try:
                self._renew()
            except RecollectError as error:  # there is time to try again
                _LEASE_LOG.warning("lease_not_renewed", extra={"job": self._ours.job, "error": type(error).__name__})

    def _renew(self) -> None:
        until = self._clock() + self._length
        if self._timetable.renew(self._ours, until):
            self._until = max(until, self._until)
        else:
            self._lost = True
