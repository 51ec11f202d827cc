"""Statuses: which status a call ends with that is refused, and what it says to programs."""

from collections.abc import Mapping
from typing import NoReturn

import grpc

from recollect.api.problems import Code, Problem
from recollect.grpc.v1 import recollect_pb2

DETAILS = "recollect-problem-bin"
"""The trailing metadata that has the problem, as a message."""

MOST_BYTES = 1_000
"""How long a text may be that goes into metadata, of which clients take 8 KiB in all, percent-encoded."""

STATUSES: Mapping[Code, grpc.StatusCode] = {
    Code.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Code.TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Code.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    Code.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    Code.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Code.CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    Code.BUSY: grpc.StatusCode.UNAVAILABLE,
    Code.OVERDUE: grpc.StatusCode.DEADLINE_EXCEEDED,
    Code.PROVIDER: grpc.StatusCode.UNKNOWN,
    Code.STORE: grpc.StatusCode.INTERNAL,
    Code.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The status of each code. `UNAVAILABLE` alone is one that clients send again by themselves."""


def refuse(context: grpc.ServicerContext, problem: Problem) -> NoReturn:
    """End the call with the problem."""
    message = as_message(problem)
    context.set_trailing_metadata(((DETAILS, message.SerializeToString()),))
    end(context, STATUSES[problem.code], message.message)


def end(context: grpc.ServicerContext, status: grpc.StatusCode, why: str) -> NoReturn:
    """End the call."""
    context.abort(status, why)
    raise AssertionError("abort has raised already")


def as_message(problem: Problem) -> recollect_pb2.Problem:
    """The problem, as short as metadata must be."""
    return recollect_pb2.Problem(
        code=problem.code.value,
        message=_short(problem.message),
        field=None if problem.field is None else _short(problem.field),
        line=problem.line,
        retryable=problem.retryable,
    )


def _short(text: str) -> str:
    """The text as far as metadata can carry it."""
    written = text.encode("utf-8", "backslashreplace")
    if len(written) <= MOST_BYTES:
        return written.decode("utf-8")
    return written[: MOST_BYTES - 3].decode("utf-8", "ignore") + "…"
