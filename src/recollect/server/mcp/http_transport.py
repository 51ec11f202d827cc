"""MCP over HTTP at one path of a server; the key of each request identifies the caller."""

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
from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher
from recollect.api.keys import parse_bearer
from recollect.api.operations import OPERATIONS
from recollect.api.problems import Problem, ProblemCode, log_internal_error, problem_of
from recollect.errors import Overdue, RecollectError, Unauthenticated
from recollect.server.http.middleware import (
    IDEMPOTENCY_KEY_HEADER,
    body_timeout_error,
    refuse_duplicate_headers,
    refuse_encoded_body,
    refuse_large_body,
    require_allowed_host,
)
from recollect.server.mcp.catalog import Toolsets
from recollect.server.mcp.handlers import INVALID_ID_MESSAGE, TRANSPORT, McpHandlers, RequestContext

CALLER_KEY: Final = "recollect.caller"
"""The name under which a request's ASGI scope carries the caller."""

SINGLE_HEADERS: Final = (
    *("authorization", "content-type", "content-length", IDEMPOTENCY_KEY_HEADER),
    *("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"),
)
"""Headers that a request may have only once, beside host and origin."""

STATUSES: Mapping[ProblemCode, int] = {
    ProblemCode.INVALID: 400,
    ProblemCode.TOO_LARGE: 413,
    ProblemCode.UNAUTHENTICATED: 401,
    ProblemCode.FORBIDDEN: 403,
    ProblemCode.OVERDUE: 408,
}
"""HTTP status of a request that is refused before the protocol is spoken.

The codes inside the protocol are in `handlers`.
"""


class McpHttpApp:
    """Authenticates each request and passes it to the MCP SDK."""

    def __init__(self, dispatcher: Dispatcher, toolsets: Toolsets, handlers: type[McpHandlers] = McpHandlers) -> None:
        self._dispatcher = dispatcher
        self._handlers = handlers(
            self._dispatch, _find_caller, toolsets, add_metadata=_add_idempotency_key, on_refusal=self._record_refusal
        )
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests while the context is open."""
        self._sessions = StreamableHTTPSessionManager(
            self._handlers.create_server(),
            json_response=True,
            stateless=True,
            max_request_body_size=self._dispatcher.limits.body_bytes,
        )
        try:
            async with self._sessions.run():
                yield
        finally:
            self._sessions = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = self._authenticate(Headers(scope=scope))
        except RecollectError as error:
            self._dispatcher.record_refusal(TRANSPORT, UNIDENTIFIED, UNIDENTIFIED, error)
            await _problem_response(problem_of(error))(scope, receive, send)
            return
        if scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        elif self._sessions is None:
            await _problem_response(log_internal_error(TRANSPORT, RuntimeError("the MCP transport has not started")))(
                scope, receive, send
            )
        else:
            trimmed = [(name, value.strip(b" \t")) for name, value in scope["headers"]]  # as HTTP reads them
            try:
                authenticated = {**scope, "headers": trimmed, CALLER_KEY: caller}
                recorder = _RequestRecorder(self._limit_body_time(receive), send)
                await self._sessions.handle_request(authenticated, recorder.receive, recorder.send)
            except Overdue as error:
                self._dispatcher.record_refusal(TRANSPORT, UNIDENTIFIED, caller.name, error)
                await _problem_response(problem_of(error))(scope, receive, send)

    def _limit_body_time(self, receive: Receive) -> Receive:
        """Return the same `receive`, with a time limit for the whole body."""
        seconds = self._dispatcher.limits.seconds
        deadline, complete = asyncio.get_running_loop().time() + seconds, False

        async def receive_in_time() -> Message:
            nonlocal complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise body_timeout_error(seconds) from error
            complete = not message.get("more_body", False)
            return message

        return receive_in_time

    def _authenticate(self, headers: Headers) -> Caller:
        """Return the caller; raise if the host, the headers, the key or the body size is wrong."""
        require_allowed_host(self._dispatcher.host_policy, headers.getlist)
        refuse_duplicate_headers(headers.getlist, SINGLE_HEADERS)
        caller = self._dispatcher.authenticate(parse_bearer(headers.get("authorization")))
        refuse_encoded_body(headers.getlist)
        refuse_large_body(headers.getlist, self._dispatcher.limits.body_bytes)
        return caller

    def _record_refusal(self, name: str | None, caller: Caller, error: RecollectError) -> None:
        self._dispatcher.record_refusal(TRANSPORT, name or UNIDENTIFIED, caller.name, error)

    async def _dispatch(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        return await self._dispatcher.dispatch(TRANSPORT, name, arguments, caller)


class _RequestRecorder:
    """Records a request and watches its answer, so that its id never makes it a notification."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._chunks: list[bytes] = []
        self._refused = False

    async def receive(self) -> Message:
        """Return the next piece of the body."""
        message = await self._receive()
        self._chunks.append(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        """Send the next piece of the answer.

        If the SDK accepts a request with an id as a notification, send an error instead.
        """
        if message["type"] == "http.response.start" and message["status"] == HTTPStatus.ACCEPTED:
            self._refused = {"id", "method"} <= from_json(b"".join(self._chunks)).keys()
        if not self._refused:
            await self._send(message)
        elif message["type"] == "http.response.start":
            answer = _problem_response(Problem(code=ProblemCode.INVALID, message=INVALID_ID_MESSAGE))
            await self._send({"type": message["type"], "status": answer.status_code, "headers": answer.raw_headers})
            await self._send({"type": "http.response.body", "body": answer.body})


def _find_caller(context: RequestContext) -> Caller:
    if context.request is None or not isinstance(caller := context.request.scope.get(CALLER_KEY), Caller):
        raise Unauthenticated("the request has no caller")  # unreachable: every request has a caller
    return caller


def _add_idempotency_key(context: RequestContext, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments with the idempotency key of the header, as over plain HTTP."""
    key = None if context.request is None else context.request.headers.get(IDEMPOTENCY_KEY_HEADER)
    return OPERATIONS[name].with_key(arguments, key, IDEMPOTENCY_KEY_HEADER)


def _problem_response(problem: Problem) -> Response:
    """Return the problem as a JSON-RPC error without an id, since the request was not read."""
    error = {"code": INVALID_REQUEST, "message": problem.message, "data": problem.fields()}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": None, "error": error}),
        status_code=STATUSES.get(problem.code, 500),
        headers={"WWW-Authenticate": "Bearer"} if problem.code is ProblemCode.UNAUTHENTICATED else None,
        media_type="application/json",
    )
