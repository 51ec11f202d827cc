"""What other processes do to a database in these tests; each says through a pipe what came of it."""

import threading
from itertools import count
from multiprocessing.connection import Connection

from recollect.engine import transfer
from recollect.errors import RecollectError, StoreBusy
from recollect.factory import migrate_store
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ManualClock
from tests.integration.postgres.scene import an_engine

BATCH = 20
"""How many memories are moved in one transaction."""


def opens(pipe: Connection, url: str) -> None:
    """Open the database together with others."""
    pipe.send(("ready",))
    pipe.recv()
    try:
        PostgresStore(url, ManualClock()).close()
    except RecollectError as error:
        pipe.send((type(error).__name__, str(error)))
    else:
        pipe.send(("open",))


def says_the_same(pipe: Connection, url: str, scope: str, text: str, times: int) -> None:
    """Remember the same again and again, together with others."""
    with an_engine(url) as engine:
        pipe.send(("ready",))
        pipe.recv()
        for _ in range(times):
            receipt = engine.remember(text, scope=scope)
            pipe.send((type(receipt.verdict).__name__, receipt.id))


def goes_on(pipe: Connection, url: str, scope: str, name: str, patience: float) -> None:
    """Remember one thing after the other until told to stop.

    Whatever is not kept in time is left, as by a caller who gives up.
    """
    told = threading.Thread(target=pipe.recv, daemon=True)
    told.start()
    with an_engine(url, settings={"busy_timeout": patience}) as engine:
        for number in count():
            text = f"seat {number} of {name}"
            try:
                receipt = engine.remember(text, scope=scope)
            except StoreBusy:
                pipe.send(("busy", text))
            else:
                pipe.send((type(receipt.verdict).__name__, text))
            if not told.is_alive():
                return


def moves(pipe: Connection, source: str, target: str) -> None:
    """Move a store from a file, a few memories at a time, say how far it is, and go on when told."""
    transfer.MOVE_BATCH_ITEMS = BATCH

    def wait(done: int, total: int) -> None:
        pipe.send((done, total))
        pipe.recv()

    migrate_store(source, target, progress=wait)
