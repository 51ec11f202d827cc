"""Opening: a store that is opened while the first requests are answered already, and closed when all is over."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from recollect.api.auth import Caller
from recollect.errors import RecollectError
from recollect.server.mcp.handlers import TRANSPORT

_LOG = logging.getLogger(__name__)


class OpenedDispatcher(Protocol):
    """What answers once the store is open, as `Dispatcher` does."""

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """What an operation gives."""
        ...


OpenStore = Callable[[], tuple[OpenedDispatcher, Callable[[], object]]]
"""Opens the store; gives what answers, and what closes it."""


class LazyStore:
    """Answers as soon as the store is open, which is begun when it is first wanted; what failed is tried again."""

    def __init__(self, make: OpenStore) -> None:
        self._make = make
        self._made: Future[tuple[OpenedDispatcher, Callable[[], object]]] | None = None

    async def run_operation(self, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """What an operation gives."""
        front, _ = await asyncio.shield(asyncio.wrap_future(self.start_opening()))
        return await front.dispatch(TRANSPORT, name, given, caller)

    def start_opening(self) -> "Future[tuple[OpenedDispatcher, Callable[[], object]]]":
        """Have it opened in a thread of its own, unless it is or is about to be."""
        made = self._made
        if made is not None and not (made.done() and made.exception() is not None):
            return made
        self._made = begun = Future[tuple[OpenedDispatcher, Callable[[], object]]]()
        threading.Thread(target=self._open, args=(begun,), name="recollect-opening", daemon=True).start()
        return begun

    def _open(self, begun: "Future[tuple[OpenedDispatcher, Callable[[], object]]]") -> None:
        try:
            begun.set_result(self._make())
        except BaseException as error:  # whoever asks is told it
            why = str(error) if isinstance(error, RecollectError) else type(error).__name__
            _LOG.warning("store_not_opened", extra={"problem": why})
            begun.set_exception(error)

    def close(self) -> None:
        """Have what is under way finished and the store closed, if it was opened at all."""
        if self._made is None or self._made.exception() is not None:
            return
        _, close = self._made.result()
        close()
