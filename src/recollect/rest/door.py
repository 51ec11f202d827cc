"""Door: the outermost end of the HTTP face: strangers are refused, and whatever breaks inside is told as a problem."""

import asyncio
import logging
import secrets
import traceback

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import RecollectError, ServerBusy
from recollect.rest import problems
from recollect.service.front import NOBODY, Front
from recollect.service.problems import INTERNAL, Problem

_LOG = logging.getLogger(__name__)

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
            told = _logged(error)
            if not began:
                await problems.response(told)(scope, receive, sending)

    def _refuse_strangers(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        try:
            self._front.gate.refuse_strangers(hosts[0] if len(hosts) == 1 else None, ", ".join(origins) or None)
        except RecollectError as error:
            self._front.refused(FACE, NOBODY, NOBODY, error)
            raise


def _logged(error: Exception) -> Problem:
    """Log a fault of ours with an id, without a word of what it was about, and give what is told of it."""
    id = secrets.token_hex(6)
    frames = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
    _LOG.error("broke", extra={"id": id, "error": type(error).__name__, "frames": frames})
    return Problem(code=INTERNAL.code, message=f"{INTERNAL.message} under {id}")
