"""Door: the outermost end of the HTTP face: strangers are refused, and whatever breaks inside is told as a problem."""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher
from recollect.api.error_log import log_internal_error
from recollect.errors import RecollectError, ServerBusy
from recollect.server.http import problems
from recollect.server.http.headers import require_allowed_host

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
