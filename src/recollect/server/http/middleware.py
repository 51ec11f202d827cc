"""HTTP middleware, problem responses as in RFC 9457, and checks of headers and body size.

`EdgeMiddleware` refuses large heads and foreign hosts, and turns every error into a problem response. A header that
matters may occur only once: other programs may read the other one of two.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic_core import to_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.api.auth import HostPolicy
from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher
from recollect.api.problems import Problem, ProblemCode, log_internal_error, problem_of
from recollect.errors import InvalidInput, Overdue, RecollectError, ServerBusy, TooLarge, show

TRANSPORT = "http"

MAX_HEAD_BYTES = 65_536
"""Maximum size of the head of a request."""

MAX_HEADERS = 256
"""Maximum number of headers."""

HEAD_TOO_LARGE_MESSAGE = f"the request head has more than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} headers; send less"
JSON_MEDIA_TYPE = "application/json"
PROBLEM_MEDIA_TYPE = "application/problem+json"

STATUSES: Mapping[ProblemCode, HTTPStatus] = {
    ProblemCode.INVALID: HTTPStatus.BAD_REQUEST,
    ProblemCode.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    ProblemCode.FORBIDDEN: HTTPStatus.FORBIDDEN,
    ProblemCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ProblemCode.CONFLICT: HTTPStatus.CONFLICT,
    ProblemCode.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ProblemCode.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
    ProblemCode.STORE: HTTPStatus.INTERNAL_SERVER_ERROR,
    ProblemCode.PROVIDER: HTTPStatus.BAD_GATEWAY,
    ProblemCode.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    ProblemCode.OVERDUE: HTTPStatus.GATEWAY_TIMEOUT,
}
"""The HTTP status of each code."""

HTTP_ONLY_STATUSES = (
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
"""Statuses of requests that fail before their operation is considered."""

TITLES: Mapping[ProblemCode, str] = {
    ProblemCode.INVALID: "Invalid request",
    ProblemCode.UNAUTHENTICATED: "Missing or invalid API key",
    ProblemCode.FORBIDDEN: "Not allowed",
    ProblemCode.NOT_FOUND: "Not found",
    ProblemCode.CONFLICT: "Conflict",
    ProblemCode.TOO_LARGE: "Request too large",
    ProblemCode.INTERNAL: "Internal error",
    ProblemCode.STORE: "The store failed",
    ProblemCode.PROVIDER: "A model provider failed",
    ProblemCode.BUSY: "Busy",
    ProblemCode.OVERDUE: "Request timed out",
}
"""A short title for each code."""

STATUS_HEADERS: Mapping[HTTPStatus, Mapping[str, str]] = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "1"},
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: {"Connection": "close"},
    HTTPStatus.REQUEST_TIMEOUT: {"Connection": "close"},
}
"""Extra headers of a status."""

PROBLEM_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "description": "What went wrong, as RFC 9457 has it.",
    "properties": {
        "status": {"type": "integer"},
        "title": {"type": "string"},
        "detail": {"type": "string", "description": "One sentence, with the remedy."},
        "code": {
            "type": "string",
            "enum": [one.value for one in ProblemCode],
            "description": "What a program can go by.",
        },
        "field": {"type": ["string", "null"], "description": "The field that it is about."},
        "line": {"type": ["integer", "null"], "description": "The line that it is about, where lines were given."},
        "retryable": {"type": "boolean", "description": "Whether the same request may succeed in a moment."},
    },
    "required": ["status", "title", "detail", "code", "field", "line", "retryable"],
    "additionalProperties": False,
}
"""The JSON schema of a problem."""


class HttpProblem(InvalidInput):
    """An error in the HTTP of a request, with its own status."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


def error_response(error: RecollectError) -> Response:
    """Return the response for an error."""
    if isinstance(error, HttpProblem):
        return problem_response(Problem(code=ProblemCode.INVALID, message=str(error)), error.status, error.headers)
    return problem_response(problem_of(error), HTTPStatus.REQUEST_TIMEOUT if isinstance(error, BodyTimeout) else None)


def problem_response(
    problem: Problem, status: HTTPStatus | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response for a problem."""
    code = STATUSES[problem.code] if status is None else status
    fields = problem.fields()
    fields["detail"] = fields.pop("message")
    title = TITLES[problem.code] if status is None else code.phrase
    body = encode_json({"status": code.value, "title": title, **fields})
    return Response(body, code.value, {**STATUS_HEADERS.get(code, {}), **(headers or {})}, PROBLEM_MEDIA_TYPE)


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Return the value as JSON in UTF-8; a lone surrogate is written as an escape."""
    try:
        return to_json(value, inf_nan_mode="strings")  # there are none; clients could not read a bare NaN
    except ValueError:  # a lone surrogate, which only the slower json.dumps can write
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class BodyTimeout(Overdue):
    """The body of a request did not arrive in time; no operation was run."""


RESPONSE_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of every response; memories must not be cached."""

SHUTDOWN_ERROR = ServerBusy(
    "the server is shutting down; the write may still complete, so retry with the same idempotency key"
)


class EdgeMiddleware:
    """Refuses large heads and foreign hosts, and turns every error into a problem response."""

    def __init__(self, app: ASGIApp, dispatcher: Dispatcher) -> None:
        self._app, self._dispatcher = app, dispatcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; pass on everything else."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_response(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(RESPONSE_HEADERS)
            await send(message)

        try:
            self._require_acceptable_head(scope)
            await self._app(scope, receive, send_response)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server is shutting down
            if not started:
                await error_response(SHUTDOWN_ERROR)(scope, receive, send_response)
        except RecollectError as error:
            await error_response(error)(scope, receive, send_response)
        except Exception as error:  # the outermost boundary
            problem = log_internal_error(TRANSPORT, error)
            if not started:
                await problem_response(problem)(scope, receive, send_response)

    def _require_acceptable_head(self, scope: Scope) -> None:
        try:
            refuse_large_head(scope)
            require_allowed_host(self._dispatcher.host_policy, Headers(scope=scope).getlist)
        except RecollectError as error:
            self._dispatcher.record_refusal(TRANSPORT, UNIDENTIFIED, UNIDENTIFIED, error)
            raise


GetHeaderValues = Callable[[str], Sequence[str]]
"""Return all values of the header of that name."""

IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"
"""The header with the idempotency key."""

MAX_LENGTH_DIGITS = 20
"""Maximum number of digits of a content length; one with more counts as too large."""


def read_single_header(get_values: GetHeaderValues, name: str) -> str | None:
    """Return the value of a header, or None; raise InvalidInput if it occurs twice."""
    values = get_values(name)
    if len(values) > 1:
        raise InvalidInput(f"header {name} occurs {len(values)} times; send it once")
    return values[0] if values else None


def refuse_duplicate_headers(get_values: GetHeaderValues, names: Iterable[str]) -> None:
    """Raise InvalidInput if any of these headers occurs twice."""
    for name in names:
        read_single_header(get_values, name)


def refuse_large_head(scope: Scope) -> None:
    """Raise HttpProblem if a head is too large that arrived in one piece; the connection refuses all others."""
    size = len(scope["raw_path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > MAX_HEAD_BYTES or len(scope["headers"]) > MAX_HEADERS:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        raise HttpProblem(status, HEAD_TOO_LARGE_MESSAGE, {"Connection": "close"})


def require_allowed_host(policy: HostPolicy, get_values: GetHeaderValues) -> None:
    """Raise AccessDenied if the host is foreign or sent twice, or the origin is foreign."""
    hosts, origins = get_values("host"), get_values("origin")
    policy.require_allowed(hosts[0] if len(hosts) == 1 else None, ", ".join(origins) if origins else None)


def refuse_encoded_body(get_values: GetHeaderValues) -> None:
    """Raise InvalidInput if the body is compressed: a small one could expand to any size."""
    encoding = read_single_header(get_values, "content-encoding")
    if encoding is not None and encoding.strip().lower() not in ("", "identity"):
        raise InvalidInput(f"content encoding {show(encoding)} is not supported; send the body unencoded")


def refuse_large_body(get_values: GetHeaderValues, max_bytes: int) -> None:
    """Raise TooLarge if the declared size of the body is too large, before reading it."""
    length = read_single_header(get_values, "content-length") or ""
    if length.isdecimal() and (len(length) > MAX_LENGTH_DIGITS or int(length) > max_bytes):
        raise body_too_large_error(max_bytes)


def body_too_large_error(max_bytes: int) -> TooLarge:
    """Return the error for a body with too many bytes."""
    return TooLarge(f"the body has more than {max_bytes} bytes; send less at once, or raise server.body_bytes")


def body_timeout_error(seconds: float) -> BodyTimeout:
    """Return the error for a body that did not arrive in time."""
    return BodyTimeout(f"the body did not arrive within {seconds:g} seconds; send it without pauses")
