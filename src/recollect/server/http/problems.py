"""Problem responses as in RFC 9457, with one table from codes to statuses."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from recollect.api.problems import Problem, ProblemCode, problem_of
from recollect.errors import InvalidInput, Overdue, RecollectError

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
    ProblemCode.INVALID: "What is asked for cannot be",
    ProblemCode.UNAUTHENTICATED: "No key that holds",
    ProblemCode.FORBIDDEN: "Not allowed",
    ProblemCode.NOT_FOUND: "Not there",
    ProblemCode.CONFLICT: "It was said otherwise before",
    ProblemCode.TOO_LARGE: "Too much at once",
    ProblemCode.INTERNAL: "The server failed",
    ProblemCode.STORE: "The store failed",
    ProblemCode.PROVIDER: "A model that is needed failed",
    ProblemCode.BUSY: "Busy",
    ProblemCode.OVERDUE: "It takes too long",
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
    """An error in the HTTP of a request, with a status of its own."""

    def __init__(self, status: HTTPStatus, told: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(told)
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
    number = STATUSES[problem.code] if status is None else status
    told = problem.fields()
    told["detail"] = told.pop("message")
    title = TITLES[problem.code] if status is None else number.phrase
    body = encode_json({"status": number.value, "title": title, **told})
    return Response(body, number.value, {**STATUS_HEADERS.get(number, {}), **(headers or {})}, PROBLEM_MEDIA_TYPE)


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Return the value as JSON in UTF-8; a lone surrogate is written as an escape."""
    try:
        return to_json(value, inf_nan_mode="strings")  # there are none; clients could not read a bare NaN
    except ValueError:  # a lone surrogate, which only the slower json.dumps can write
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class BodyTimeout(Overdue):
    """The body of a request did not arrive in time; no operation was run."""


JSON_MEDIA_TYPE = "application/json"
