"""Door: the outermost end of the HTTP face: strangers are refused, and whatever breaks inside is told as a problem."""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.api.dispatcher import NOBODY, Front
from recollect.api.error_log import fault
from recollect.errors import RecollectError, ServerBusy
from recollect.server.http import problems
from recollect.server.http.headers import refuse_strangers

FACE = "http"

ALWAYS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""What goes with every answer: memories are nobody else's to keep."""

ENDING = ServerBusy(
    "the server ends before this is done; what it writes may still come, and a retry under its key helps"
)


class Door:
    """Lets in who calls by a name of ours, and lets out answers and problems, and nothing else."""

    def __init__(self, app: ASGIApp, front: Front) -> None:
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
                MutableHeaders(scope=message).update(ALWAYS)
            await send(message)

        try:
            self._refuse_strangers(scope)
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server ends, and waits for nobody any more
            if not began:
                await problems.of_error(ENDING)(scope, receive, sending)
        except RecollectError as error:
            await problems.of_error(error)(scope, receive, sending)
        except Exception as error:  # the outermost door
            told = fault(FACE, error)
            if not began:
                await problems.response(told)(scope, receive, sending)

    def _refuse_strangers(self, scope: Scope) -> None:
        try:
            refuse_strangers(self._front.gate, Headers(scope=scope).getlist)
        except RecollectError as error:
            self._front.refused(FACE, NOBODY, NOBODY, error)
            raise
