"""HTTP middleware, and checks of headers and body size.

`EdgeMiddleware` refuses foreign hosts and turns every error into a problem response. A header that matters may occur
only once: other programs may read the other one of two.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.api.auth import HostPolicy
from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher
from recollect.api.problems import log_internal_error
from recollect.errors import InvalidInput, RecollectError, ServerBusy, TooLarge, show
from recollect.server.http import problems
from recollect.server.http.problems import BodyTimeout

TRANSPORT = "http"

RESPONSE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of every response; memories must not be cached."""

SHUTDOWN_ERROR = ServerBusy(
    "the server ends before this is done; what it writes may still come, and a retry under its key helps"
)


class EdgeMiddleware:
    """Refuses requests to foreign hosts, and turns every error into a problem response."""

    def __init__(self, app: ASGIApp, front: Dispatcher) -> None:
        self._app, self._front = app, front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; pass on everything else."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                MutableHeaders(scope=message).update(RESPONSE_HEADERS)
            await send(message)

        try:
            self._require_allowed_host(scope)
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server is shutting down
            if not began:
                await problems.error_response(SHUTDOWN_ERROR)(scope, receive, sending)
        except RecollectError as error:
            await problems.error_response(error)(scope, receive, sending)
        except Exception as error:  # the outermost boundary
            told = log_internal_error(TRANSPORT, error)
            if not began:
                await problems.problem_response(told)(scope, receive, sending)

    def _require_allowed_host(self, scope: Scope) -> None:
        try:
            require_allowed_host(self._front.gate, Headers(scope=scope).getlist)
        except RecollectError as error:
            self._front.record_refusal(TRANSPORT, UNIDENTIFIED, UNIDENTIFIED, error)
            raise


GetHeaderValues = Callable[[str], Sequence[str]]
"""Return all values of the header of that name."""

IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"
"""The header with the idempotency key."""

MAX_LENGTH_DIGITS = 20
"""Maximum number of digits of a content length; one with more counts as too large."""


def read_single_header(said: GetHeaderValues, name: str) -> str | None:
    """Return the value of a header, or None; raise InvalidInput if it occurs twice."""
    values = said(name)
    if len(values) > 1:
        raise InvalidInput(f"the header {name} is there {len(values)} times; send it once")
    return values[0] if values else None


def refuse_duplicate_headers(said: GetHeaderValues, names: Iterable[str]) -> None:
    """Raise InvalidInput if any of these headers occurs twice."""
    for name in names:
        read_single_header(said, name)


def require_allowed_host(gate: HostPolicy, said: GetHeaderValues) -> None:
    """Raise AccessDenied if the host is foreign or sent twice, or the origin is foreign."""
    hosts, origins = said("host"), said("origin")
    gate.require_allowed(hosts[0] if len(hosts) == 1 else None, ", ".join(origins) if origins else None)


def refuse_encoded_body(said: GetHeaderValues) -> None:
    """Raise InvalidInput if the body is compressed: a small one could expand to any size."""
    encoding = read_single_header(said, "content-encoding")
    if encoding is not None and encoding.strip().lower() not in ("", "identity"):
        raise InvalidInput(f"the body is said to be encoded as {show(encoding)}; send it as it is")


def refuse_large_body(said: GetHeaderValues, most: int) -> None:
    """Raise TooLarge if the declared size of the body is too large, before reading it."""
    length = read_single_header(said, "content-length") or ""
    if length.isdecimal() and (len(length) > MAX_LENGTH_DIGITS or int(length) > most):
        raise body_too_large_error(most)


def body_too_large_error(most: int) -> TooLarge:
    """Return the error for a body with too many bytes."""
    return TooLarge(f"the body has more than {most} bytes; send less at once, or raise server.body_bytes")


def body_timeout_error(seconds: float) -> BodyTimeout:
    """Return the error for a body that did not arrive in time."""
    return BodyTimeout(f"the body did not come within {seconds:g} seconds; send it without waiting")
