"""Door: the outermost end of the HTTP face: strangers are refused, and whatever breaks inside is told as a problem.

Headers: what a request over HTTP says beside its body, once each; others may take the other one of two.
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
"""What goes with every answer: memories are nobody else's to keep."""

SHUTDOWN_ERROR = ServerBusy(
    "the server ends before this is done; what it writes may still come, and a retry under its key helps"
)


class EdgeMiddleware:
    """Lets in who calls by a name of ours, and lets out answers and problems, and nothing else."""

    def __init__(self, app: ASGIApp, front: Dispatcher) -> None:
        self._app, self._front = app, front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, if it is a request."""
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
        except asyncio.CancelledError:  # the server ends, and waits for nobody any more
            if not began:
                await problems.error_response(SHUTDOWN_ERROR)(scope, receive, sending)
        except RecollectError as error:
            await problems.error_response(error)(scope, receive, sending)
        except Exception as error:  # the outermost door
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
"""Every value that a header of that name has."""

IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"
"""The header that may say the key which makes a retry harmless."""

MAX_LENGTH_DIGITS = 20
"""How many digits a length has at most; whatever has more is no length."""


def read_single_header(said: GetHeaderValues, name: str) -> str | None:
    """What a header says; refused if it is there twice."""
    values = said(name)
    if len(values) > 1:
        raise InvalidInput(f"the header {name} is there {len(values)} times; send it once")
    return values[0] if values else None


def refuse_duplicate_headers(said: GetHeaderValues, names: Iterable[str]) -> None:
    """Refuse a request that has any of these headers twice."""
    for name in names:
        read_single_header(said, name)


def require_allowed_host(gate: HostPolicy, said: GetHeaderValues) -> None:
    """Refuse who calls by a name that is not ours, or by several, and a page of another origin."""
    hosts, origins = said("host"), said("origin")
    gate.require_allowed(hosts[0] if len(hosts) == 1 else None, ", ".join(origins) if origins else None)


def refuse_encoded_body(said: GetHeaderValues) -> None:
    """Refuse a body that is said to be compressed: a small one could turn out to be of any size."""
    encoding = read_single_header(said, "content-encoding")
    if encoding is not None and encoding.strip().lower() not in ("", "identity"):
        raise InvalidInput(f"the body is said to be encoded as {show(encoding)}; send it as it is")


def refuse_large_body(said: GetHeaderValues, most: int) -> None:
    """Refuse a body that is said to be larger than it may be, before any of it is read."""
    length = read_single_header(said, "content-length") or ""
    if length.isdecimal() and (len(length) > MAX_LENGTH_DIGITS or int(length) > most):
        raise body_too_large_error(most)


def body_too_large_error(most: int) -> TooLarge:
    """What is said of a body that has more bytes than it may."""
    return TooLarge(f"the body has more than {most} bytes; send less at once, or raise server.body_bytes")


def body_timeout_error(seconds: float) -> BodyTimeout:
    """What is said of a body that nobody waits for any longer."""
    return BodyTimeout(f"the body did not come within {seconds:g} seconds; send it without waiting")
