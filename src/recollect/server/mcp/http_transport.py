"""The door of the face over HTTP, at one address of a server; who asks is told by the key of each request."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from recollect.api.auth import Caller
from recollect.api.dispatcher import NOBODY, Front
from recollect.api.error_log import fault
from recollect.api.keys import bearer
from recollect.api.operation_table import OPERATIONS
from recollect.api.problems import Code, Problem, problem_of
from recollect.errors import Overdue, RecollectError, Unauthenticated
from recollect.server.http.headers import (
    RETRY_KEY,
    body_overdue,
    refuse_doubled,
    refuse_encoded,
    refuse_strangers,
    refuse_too_large,
)
from recollect.server.mcp.catalog import Toolsets
from recollect.server.mcp.handlers import NAME, ODD_ID, Context, Face

CALLER: Final = "recollect.caller"
"""Under which name a request carries who asks."""

ONCE: Final = (
    *("authorization", "content-type", "content-length", RETRY_KEY),
    *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
)
"""What a request says once or not at all, beside who is called and from where."""

STATUSES: Mapping[Code, int] = {
    Code.INVALID: 400,
    Code.TOO_LARGE: 413,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.OVERDUE: 408,
}
"""The status of a request that is refused before the protocol is spoken; what it is in the protocol, `face` says."""


class Door:
    """Lets in whoever shows a key that holds, from where it may be asked, and has the protocol spoken with them."""

    def __init__(self, front: Front, wanted: Toolsets, face: type[Face] = Face) -> None:
        self._front = front
        self._face = face(self._ask, _caller, wanted, beside=_with_key, refused=self._refused)
        self._speaking: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Have requests answered meanwhile."""
        self._speaking = StreamableHTTPSessionManager(
            self._face.server(),
            json_response=True,
            stateless=True,
            max_request_body_size=self._front.limits.body_bytes,
        )
        try:
            async with self._speaking.run():
                yield
        finally:
            self._speaking = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = self._let_in(Headers(scope=scope))
        except RecollectError as error:
            self._front.refused(NAME, NOBODY, NOBODY, error)
            await _refusal(problem_of(error))(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        elif self._speaking is None:
            await _refusal(fault(NAME, RuntimeError("the protocol is not spoken yet")))(scope, receive, send)
        else:
            trimmed = [(name, value.strip(b" \t")) for name, value in scope["headers"]]  # as HTTP reads them
            try:
                speaking = {**scope, "headers": trimmed, CALLER: caller}
                heard = _Heard(self._in_time(receive), send)
                await self._speaking.handle_request(speaking, heard.receive, heard.send)
            except Overdue as error:
                self._front.refused(NAME, NOBODY, caller.name, error)
                await _refusal(problem_of(error))(scope, receive, send)

    def _in_time(self, receive: Receive) -> Receive:
        """The same, but for a body that takes too long to come, which nobody waits for."""
        seconds = self._front.limits.seconds
        until, whole = asyncio.get_running_loop().time() + seconds, False

        async def received() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    found = await receive()
            except TimeoutError as error:
                raise body_overdue(seconds) from error
            whole = not found.get("more_body", False)
            return found

        return received

    def _let_in(self, headers: Headers) -> Caller:
        """Who asks; refused is who calls from where nobody should, who shows no key, and who sends too much."""
        refuse_strangers(self._front.gate, headers.getlist)
        refuse_doubled(headers.getlist, ONCE)
        caller = self._front.authenticate(bearer(headers.get("authorization")))
        refuse_encoded(headers.getlist)
        refuse_too_large(headers.getlist, self._front.limits.body_bytes)
        return caller

    def _refused(self, name: str | None, caller: Caller, error: RecollectError) -> None:
        self._front.refused(NAME, name or NOBODY, caller.name, error)

    async def _ask(self, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        return await self._front.ask(NAME, name, given, caller)


class _Heard:
    """What is posted and answered, so that no request is taken for a notification because of its id."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._pieces: list[bytes] = []
        self._refused = False

    async def receive(self) -> Message:
        """The next piece of the body."""
        found = await self._receive()
        self._pieces.append(found.get("body", b""))
        return found

    async def send(self, message: Message) -> None:
        """The next piece of the answer; that a notification was accepted is not said of a request, which has an id."""
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.ACCEPTED:
            self._refused = {"id", "method"} <= from_json(b"".join(self._pieces)).keys()
        if not self._refused:
            await self._send(message)
        elif message["type"] == "http.response.start":
            answer = _refusal(Problem(code=Code.INVALID, message=ODD_ID))
            await self._send({"type": message["type"], "status": answer.status_code, "headers": answer.raw_headers})
            await self._send({"type": "http.response.body", "body": answer.body})


def _caller(context: Context) -> Caller:
    if context.request is None or not isinstance(found := context.request.scope.get(CALLER), Caller):
        raise Unauthenticated("nobody is known to ask")  # no request comes this far without
    return found


def _with_key(context: Context, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is given, with the key of the header that makes a retry harmless, as over HTTP without the protocol."""
    key = None if context.request is None else context.request.headers.get(RETRY_KEY)
    return OPERATIONS[name].with_key(given, key, RETRY_KEY)


def _refusal(problem: Problem) -> Response:
    """The problem as the protocol tells an error of a request that nobody has read."""
    error = {"code": INVALID_REQUEST, "message": problem.message, "data": problem.fields()}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": None, "error": error}),
        status_code=STATUSES.get(problem.code, 500),
        headers={"WWW-Authenticate": "Bearer"} if problem.code is Code.UNAUTHENTICATED else None,
        media_type="application/json",
    )
