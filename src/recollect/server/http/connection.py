"""Connection: what is taken over HTTP before anybody has said who they are, and how long that is waited for."""

import re
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from recollect.errors import InvalidInput

MAX_HEAD_BYTES: Final = 65_536
"""How many bytes the head of a request has at most, with whatever follows its body."""

MAX_HEADERS: Final = 256
"""How many headers it has at most."""

HEAD_TIMEOUT_SECONDS: Final = 30.0
"""How long a head may take to come."""

BODY_DRAIN_SECONDS: Final = 10.0
"""How long the rest of a body may take to come that is answered already; it is read and dropped, so that whoever is
still sending it gets to read the answer.
"""

SHUTDOWN_BODY_SECONDS: Final = 1.0
"""How long a body may still take to come once the server is to end."""

TOO_LARGE_MESSAGE: Final = (
    f"the head of a request has at most {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} headers; send less"
)
SHUTDOWN_MESSAGE: Final = "the server ends before the whole request has come; nothing of it was done, so send it again"
NO_UPGRADE_MESSAGE: Final = "no other protocol is spoken here; send no Upgrade"

UPGRADE_HEADER: Final = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
END_OF_LINE: Final = b"\r\n"
END_OF_HEAD: Final = END_OF_LINE * 2


class HeadTooLarge(ValueError):
    """A head is larger than it may be."""


class LimitedHttpConnection(HttpToolsProtocol):
    """A connection of uvicorn's that counts what comes before a body, and ends well with a body that does not come.

    What a header has so far is kept by the parser, which tells of it when it is whole: so what is fed to the parser
    without a word from it is counted too.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._counted = self._headers = self._unheard_of = 0
        self._heard = self._in_body = self._is_too_large = False
        self._line_ended = self._ends = False
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for a head from now on."""
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._cancel_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless a head is too large with it."""
        self._heard = False
        super().data_received(data if self._in_body else _drop_upgrade_header(data, begins=self._line_ended))
        self._line_ended = data.endswith(END_OF_LINE)
        self._unheard_of = 0 if self._heard else self._unheard_of + len(data)
        if self.transport.is_closing():
            return
        if self._unheard_of > MAX_HEAD_BYTES:
            self._send_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE_MESSAGE)
        elif self._timer is None and self._is_answered:  # nor does uvicorn wait any more, now that something came
            self._start_head_timer()

    def on_message_begin(self) -> None:
        """Count anew, and wait for the rest of the head; between two requests uvicorn waits as long as it likes."""
        self._heard, self._counted, self._headers = True, 0, 0
        if self._timer is None:
            self._start_head_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count it."""
        self._count_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count it, be it before the body or after; after it nobody looks for a key or a name any more."""
        self._headers += 1
        self._count_bytes(len(name) + len(value))
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait for the head no longer; how long the body may take, the faces know."""
        self._heard = True
        self._cancel_timer()
        super().on_headers_complete()
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._heard = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing while it is answered."""
        self._heard, self._in_body = True, False
        if self._is_answered:
            self._cancel_timer()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Tell what was wrong with a head that could not be read, or was too large."""
        if self._is_too_large:
            self._send_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE_MESSAGE)
        else:
            super().send_400_response(msg)

    def _unsupported_upgrade_warning(self) -> None:
        """End a connection whose body the parser takes for another protocol, and so for the next request.

        What was sent before it is answered first.
        """
        if self.pipeline:
            self.pipeline.popleft()
            self._ends = True
        else:
            self._send_and_close(HTTPStatus.BAD_REQUEST, NO_UPGRADE_MESSAGE)

    def on_response_complete(self) -> None:
        """Go on with what was sent next, or end if that could not be read, or if it takes too long to come."""
        is_last = not self.pipeline
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._ends and is_last:
            self._send_and_close(HTTPStatus.BAD_REQUEST, NO_UPGRADE_MESSAGE)
        elif self._in_body and self._is_answered:
            self._cancel_timer()
            self._timer = self.loop.call_later(BODY_DRAIN_SECONDS, self.transport.close)

    def shutdown(self) -> None:
        """Finish what was asked; what is still being sent was not, and is waited for shortly."""
        super().shutdown()
        if self._is_being_sent:
            self._start_body_timer()

    @property
    def _is_answered(self) -> bool:
        """Whether nothing is under way; there is something to answer once a head has come."""
        return self.cycle.response_complete

    @property
    def _is_being_sent(self) -> bool:
        return self._in_body and self.cycle.more_body and not self.cycle.response_started

    def _count_bytes(self, size: int) -> None:
        self._heard = True
        self._counted += size
        if self._counted > MAX_HEAD_BYTES or self._headers > MAX_HEADERS:
            self._is_too_large = True
            raise HeadTooLarge(TOO_LARGE_MESSAGE)  # which ends the parser's work; uvicorn has 400 told for that

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
        """End with what has not come by now, and have whoever reads it know."""
        if not self._is_being_sent or self.transport.is_closing():
            return
        if self.pipeline:  # what was sent before it is answered first
            self._start_body_timer()
        else:
            self._send_and_close(HTTPStatus.SERVICE_UNAVAILABLE, SHUTDOWN_MESSAGE)
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _send_and_close(self, status: HTTPStatus, told: str) -> None:
        """Say so in a few words, and end the connection."""
        head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(told)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + f"{head}{told}".encode("ascii"))
        self.transport.close()


def require_known_uvicorn() -> None:
    """Refuse to listen by a uvicorn that does not tell us of a wish for another protocol: a body would then be read as
    the next request, without anybody noticing.
    """
    if not hasattr(HttpToolsProtocol, "_unsupported_upgrade_warning"):
        has = f"uvicorn {uvicorn.__version__} reads requests in a way that is not known to be safe here"
        raise InvalidInput(f"{has}; install uvicorn 0.54, or a newer recollect")


def _drop_upgrade_header(data: bytes, *, begins: bool) -> bytes:
    """What came of a head without the wish for another protocol, which a server may ignore; `begins` with a line?

    With it the parser would take the body for that protocol. Java's client wishes for h2c by itself. Where the word is
    cut in two, or a request comes in one piece with the end of another's body, it stays, and ends the connection.
    """
    head, end, rest = data.partition(END_OF_HEAD)
    before = END_OF_LINE if begins else b""
    return UPGRADE_HEADER.sub(b"Ignored", before + head).removeprefix(before) + end + rest
