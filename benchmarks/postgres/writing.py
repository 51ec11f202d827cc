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
        self._rounds = max(rows // BATCH, 1)
        self._free = count(material.rows, BATCH)

    def measure(self, when: str, report: Report) -> None:
        """Both ways of writing, batch by batch in turn: who is first finds fewer pages of a large index in memory."""
        copied = remembered = 0.0
        with recollect.open(self._url, embedder=Told(self._material.dimensions)) as engine:
            engine.stats(scope=self._material.scope(0))  # which opens a connection
            for number in range(self._rounds):
                if number % 2:
                    remembered += self._remember(engine)
                copied += self._copy()
                if not number % 2:
                    remembered += self._remember(engine)
        rows = self._rounds * BATCH
        report.rate(f"COPY into the tables in batches of {BATCH:,}, {when}", rows, copied)
        report.rate(f"remember_all in batches of {BATCH:,}, {when}", rows, remembered)

    def _copy(self) -> float:
        prepared = filling.prepare(self._db, self._material.chunk(0, next(self._free), BATCH))
        with stretch() as taken:
            filling.write(self._db, prepared)
        return taken.seconds

    def _remember(self, engine: recollect.Engine) -> float:
        """What brings its vector; those that would be revised are said once."""
        drafts = [one.draft(one.former or one.said) for one in self._material.chunk(0, next(self._free), BATCH)]
        with stretch() as taken:
            engine.remember_all(drafts)
        return taken.seconds
