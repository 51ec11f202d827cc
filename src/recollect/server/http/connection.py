"""HTTP connection with time limits for what arrives before and after the app has it.

uvicorn with h11 limits the size of a head that is incomplete, ignores upgrade requests and closes idle connections. It
has no limit for a head that arrives slowly, for the rest of a body that is answered already, and for a body that is
incomplete when the server shuts down.
"""

from asyncio import TimerHandle, Transport
from collections.abc import Callable
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.server.http.middleware import HEAD_TOO_LARGE_MESSAGE, MAX_HEAD_BYTES

HEAD_TIMEOUT_SECONDS: Final = 30.0
"""Time for a head to arrive; between two requests uvicorn's shorter keep-alive timeout applies until a byte arrives."""

BODY_DRAIN_SECONDS: Final = 10.0
"""Time for the rest of a body to arrive whose request is answered already.

The rest is read and dropped, so that a client that is still sending gets to read the answer.
"""

SHUTDOWN_BODY_SECONDS: Final = 1.0
"""Time for the rest of a body to arrive once the server shuts down."""

SHUTDOWN_MESSAGE: Final = "the server shut down before the whole request arrived; nothing was done, so send it again"


class _Awaited(Enum):
    """What the client still has to send."""

    HEAD = "head"
    DROPPED_BODY = "dropped body"
    BODY_AT_SHUTDOWN = "body at shutdown"


class LimitedHttpConnection(H11Protocol):
    """A uvicorn connection that does not wait forever for a client to send."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._awaited: _Awaited | None = None
        self._timer: TimerHandle | None = None
        self._shutting_down = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start waiting for a head."""
        super().connection_made(transport)
        self._limit_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._cancel_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, and limit the wait for what comes next."""
        super().data_received(data)
        self._limit_wait()

    def on_response_complete(self) -> None:
        """Go on with the next request, or drop the rest of the body."""
        super().on_response_complete()
        self._limit_wait()

    def shutdown(self) -> None:
        """Finish received requests; give one that is still arriving a short time."""
        super().shutdown()
        self._shutting_down = True
        self._limit_wait()

    def send_400_response(self, msg: str) -> None:
        """Send status 400, or 431 if the head is too large; nothing if an answer has begun already."""
        unparsed, _ = self.conn.trailing_data
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
        elif len(unparsed) > MAX_HEAD_BYTES:
            self._send_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, HEAD_TOO_LARGE_MESSAGE)
        else:
            super().send_400_response(msg)

    def _limit_wait(self) -> None:
        """Set the timer for what is awaited; the time for one thing is not extended by a part of it."""
        awaited = None if self.transport.is_closing() else self._find_awaited()
        if awaited is self._awaited:
            return
        self._cancel_timer()
        self._awaited = awaited
        limits: dict[_Awaited, tuple[float, Callable[[], None]]] = {
            _Awaited.HEAD: (HEAD_TIMEOUT_SECONDS, self.transport.close),
            _Awaited.DROPPED_BODY: (BODY_DRAIN_SECONDS, self.transport.close),
            _Awaited.BODY_AT_SHUTDOWN: (SHUTDOWN_BODY_SECONDS, self._refuse_unfinished),
        }
        if awaited is not None:
            self._timer = self.loop.call_later(*limits[awaited])

    def _find_awaited(self) -> _Awaited | None:
        """Return what the client has to send; the transports limit the time for a body that the app reads."""
        if self.conn.their_state is h11.IDLE:
            return _Awaited.HEAD
        if self.conn.their_state is not h11.SEND_BODY:
            return None
        if self.cycle.response_complete:
            return _Awaited.DROPPED_BODY
        return _Awaited.BODY_AT_SHUTDOWN if self._shutting_down and not self.cycle.response_started else None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_unfinished(self) -> None:
        """Refuse a request whose body is incomplete, and wake up the app that reads it."""
        if not self.cycle.response_started and not self.transport.is_closing():
            self._send_and_close(HTTPStatus.SERVICE_UNAVAILABLE, SHUTDOWN_MESSAGE)
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _send_and_close(self, status: HTTPStatus, message: str) -> None:
        """Send a short text response and close the connection."""
        length = str(len(message))
        headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", length), ("connection", "close")]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=message.encode("ascii")),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
