"""Writing: how many memories a second are taken in, with and without the index of their scope."""

from itertools import count

import recollect
from postgres import filling
from postgres.filling import Admin
from postgres.material import Material, Told
from postgres.report import Report, stretch

BATCH = 1_000


class Ingest:
    """Memories that come after all that was filled in, to the first scope."""

    def __init__(self, url: str, db: Admin, material: Material, rows: int) -> None:
        self._url = url
        self._db = db
        self._material = material
        self._rows = rows
        self._free = count(material.rows, rows)

    def measure(self, when: str, report: Report) -> None:
        """Both ways of writing."""
        report.rate(f"COPY into the tables, {when}", *self._copied())
        report.rate(f"remember_all in batches of {BATCH:,}, {when}", *self._remembered())

    def _copied(self) -> tuple[int, float]:
        prepared = filling.prepare(self._db, self._material.chunk(0, next(self._free), self._rows))
        with stretch() as taken:
            filling.write(self._db, prepared)
        return self._rows, taken.seconds

    def _remembered(self) -> tuple[int, float]:
        """What brings its vector; those that would be revised are said once."""
        chunk = self._material.chunk(0, next(self._free), self._rows)
        drafts = [one.draft(one.former or one.said) for one in chunk]
        with recollect.open(self._url, embedder=Told(self._material.dimensions)) as engine:
            engine.stats(scope=chunk[0].scope)  # which opens a connection
            with stretch() as taken:
                for first in range(0, len(drafts), BATCH):
                    engine.remember_all(drafts[first : first + BATCH])
        return len(drafts), taken.seconds
