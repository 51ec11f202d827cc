"""Watch: how a server is, by what it sees of its store, its model, its jobs and its keys."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from recollect.engine.engine import Engine
from recollect.errors import NotFound, RecollectError
from recollect.jobs.work import Failure
from recollect.model.timetable import Occurrence, State
from recollect.rest.health import Health

NO_EMBEDDER = "embedder absent"
NO_SCHEDULER = "scheduler failing"
BY_TOKEN = "authorisation by token file"  # noqa: S105  # which is no token
NO_KEYS = "keys unreadable"

LONGEST_LOOK = 5.0
"""After how many seconds without an answer a store counts as unreachable."""

NOWHERE, NOTHING = "recollect-health", "none"
"""A scope and an id that are asked for, whether or not they are there."""


class Watch:
    """Looks at a server when somebody wants to know; whoever asks meanwhile is told the same."""

    def __init__(self, engine: Engine, embedder: str | None, by_token: Callable[[], bool]) -> None:
        """A watch over an engine; `embedder` is the model if it is to be had."""
        self._engine, self._embedder, self._by_token = engine, embedder, by_token
        self._jobs_fail = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")
        self._look: asyncio.Future[bool] | None = None

    def worked(self, one: Occurrence | Failure) -> None:
        """Note what a scheduler tells."""
        match one:
            case Failure():
                self._jobs_fail = True
            case Occurrence(state=State.DONE):
                self._jobs_fail = False
            case _:
                pass

    def degraded(self) -> tuple[str, ...]:
        """All that does not work as it should, by name."""
        try:
            by_token, keys = self._by_token(), True
        except RecollectError:
            by_token, keys = False, False
        found = {
            NO_EMBEDDER: self._embedder is None,
            NO_SCHEDULER: self._jobs_fail,
            BY_TOKEN: by_token,
            NO_KEYS: not keys,
        }
        return tuple(name for name, is_so in found.items() if is_so)

    async def health(self) -> Health:
        """How it is now."""
        if self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().run_in_executor(self._thread, self._reaches)
        try:
            there = await asyncio.wait_for(asyncio.shield(self._look), LONGEST_LOOK)
        except TimeoutError:
            there = False
        return Health(store=there, embedder=self._embedder, degraded=self.degraded())

    def _reaches(self) -> bool:
        try:
            self._engine.get(NOTHING, scope=NOWHERE)
        except NotFound:
            return True
        except RecollectError:
            return False
        return True

    def close(self) -> None:
        """Look no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
