"""HTTP connection with limits that hold before authentication: head size and time to send."""

import re
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from recollect.errors import InvalidInput

MAX_HEAD_BYTES: Final = 65_536
"""Maximum size of the head of a request, including trailers after its body."""

MAX_HEADERS: Final = 256
"""Maximum number of headers, including trailers."""

HEAD_TIMEOUT_SECONDS: Final = 30.0
"""Time for a head to arrive."""

BODY_DRAIN_SECONDS: Final = 10.0
"""Time for the rest of a body to arrive whose request is answered already.

The rest is read and dropped, so that a client that is still sending gets to read the answer.
"""

SHUTDOWN_BODY_SECONDS: Final = 1.0
"""Time for the rest of a body to arrive once the server shuts down."""

TOO_LARGE_MESSAGE: Final = f"the request head has more than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} headers; send less"
SHUTDOWN_MESSAGE: Final = "the server shut down before the whole request arrived; nothing was done, so send it again"
NO_UPGRADE_MESSAGE: Final = "protocol upgrades are not supported; leave out the Upgrade header"

UPGRADE_HEADER: Final = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
END_OF_LINE: Final = b"\r\n"
END_OF_HEAD: Final = END_OF_LINE * 2


class HeadTooLarge(ValueError):
    """The head of a request is larger than allowed."""


class LimitedHttpConnection(HttpToolsProtocol):
    """A uvicorn connection that limits heads, and closes properly if a body stalls.

    The parser buffers a header and reports it only when it is complete. So bytes that are fed to the parser without any
    callback are counted too.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_bytes = self._headers = self._unparsed_bytes = 0
        self._parser_called = self._in_body = self._is_too_large = False
        self._line_ended = self._closing = False
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start waiting for a head."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._cancel_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed data to the parser; close the connection if the head gets too large."""
        self._parser_called = False
        super().data_received(data if self._in_body else _drop_upgrade_header(data, starts_line=self._line_ended))
        self._line_ended = data.endswith(END_OF_LINE)
        self._unparsed_bytes = 0 if self._parser_called else self._unparsed_bytes + len(data)
        if self.transport.is_closing():
            return
        if self._unparsed_bytes > MAX_HEAD_BYTES:
            self._send_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE_MESSAGE)
        elif self._timer is None and self._is_answered:  # uvicorn's own timer ended when data arrived
            self._start_head_timer()

    def on_message_begin(self) -> None:
        """Reset the counters and start the timer for the head.

        Between two requests uvicorn's own keep-alive timeout applies.
        """
        self._parser_called, self._head_bytes, self._headers = True, 0, 0
        if self._timer is None:
            self._start_head_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the URL."""
        self._count_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header or trailer; drop trailers, so that they carry no key or host."""
        self._headers += 1
        self._count_bytes(len(name) + len(value))
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer for the head; the transports limit the time for the body."""
        self._parser_called = True
        self._cancel_timer()
        super().on_headers_complete()
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of the body."""
        self._parser_called = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of the body; stop its timer if the request is answered already."""
        self._parser_called, self._in_body = True, False
        if self._is_answered:
            self._cancel_timer()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Send status 400, or 431 if the head is too large."""
        if self._is_too_large:
            self._send_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE_MESSAGE)
        else:
            super().send_400_response(msg)

    def _unsupported_upgrade_warning(self) -> None:
        """Close a connection with an upgrade that the parser has acted on.

        The parser takes the body for another protocol, and so for the next request. Requests that were sent before it
        are answered first.
        """
        if self.pipeline:
            self.pipeline.popleft()
            self._closing = True
        else:
            self._send_and_close(HTTPStatus.BAD_REQUEST, NO_UPGRADE_MESSAGE)

    def on_response_complete(self) -> None:
        """Go on with the next request, or close after an upgrade or a stalled body."""
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._closing and is_last:
            self._send_and_close(HTTPStatus.BAD_REQUEST, NO_UPGRADE_MESSAGE)
        elif self._in_body and self._is_answered:
            self._cancel_timer()
            self._timer = self.loop.call_later(BODY_DRAIN_SECONDS, self.transport.close)

    def shutdown(self) -> None:
        """Finish received requests; give one that is still arriving a short time."""
        super().shutdown()
        if self._is_being_sent:
            self._start_body_timer()

    @property
    def _is_answered(self) -> bool:
        """Whether the response is complete; defined once a head has arrived."""
        return self.cycle.response_complete

    @property
    def _is_being_sent(self) -> bool:
        return self._in_body and self.cycle.more_body and not self.cycle.response_started

    def _count_bytes(self, size: int) -> None:
        self._parser_called = True
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES or self._headers > MAX_HEADERS:
            self._is_too_large = True
            raise HeadTooLarge(TOO_LARGE_MESSAGE)  # stops the parser; uvicorn then calls send_400_response

    def _start_head_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self.transport.close)

    def _start_body_timer(self) -> None:
        self._cancel_timer()
        self._timer = self.loop.call_later(SHUTDOWN_BODY_SECONDS, self._close_unfinished)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_unfinished(self) -> None:
        """Close the connection if its body is incomplete, and wake up its reader."""
        if not self._is_being_sent or self.transport.is_closing():
            return
        if self.pipeline:  # requests that were sent before it are answered first
            self._start_body_timer()
        else:
            self._send_and_close(HTTPStatus.SERVICE_UNAVAILABLE, SHUTDOWN_MESSAGE)
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _send_and_close(self, status: HTTPStatus, message: str) -> None:
        """Send a short text response and close the connection."""
        head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(message)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + f"{head}{message}".encode("ascii"))
        self.transport.close()


def require_known_uvicorn() -> None:
    """Raise InvalidInput if this uvicorn does not report upgrade requests.

    Without that hook a body could be read as the next request, unnoticed.
    """
    if not hasattr(HttpToolsProtocol, "_unsupported_upgrade_warning"):
        problem = f"recollect does not know how uvicorn {uvicorn.__version__} handles upgrade requests"
        raise InvalidInput(f"{problem}; install uvicorn 0.54, or a newer recollect")


def _drop_upgrade_header(data: bytes, *, starts_line: bool) -> bytes:
    """Return the data of a head with its Upgrade header renamed.

    A server may ignore the header. With it the parser would take the body for another protocol; Java's client asks for
    h2c by default. `starts_line` tells whether the data begins a line. If the header is cut in two, or if the request
    arrives in one piece with the end of another body, the header stays and the connection is closed.
    """
    head, end, rest = data.partition(END_OF_HEAD)
    before = END_OF_LINE if starts_line else b""
    return UPGRADE_HEADER.sub(b"Ignored", before + head).removeprefix(before) + end + rest
