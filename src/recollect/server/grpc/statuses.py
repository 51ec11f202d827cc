"""Statuses: which status a call ends with that is refused, and what it says to programs."""

from collections.abc import Mapping
from typing import NoReturn

import grpc

from recollect.api.problems import Problem, ProblemCode
from recollect.grpc.v1 import recollect_pb2

PROBLEM_METADATA = "recollect-problem-bin"
"""The trailing metadata that has the problem, as a message."""

MAX_METADATA_BYTES = 1_000
"""How long a text may be that goes into metadata, of which clients take 8 KiB in all, percent-encoded."""

STATUSES: Mapping[ProblemCode, grpc.StatusCode] = {
    ProblemCode.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    ProblemCode.TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ProblemCode.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    ProblemCode.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    ProblemCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ProblemCode.CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    ProblemCode.BUSY: grpc.StatusCode.UNAVAILABLE,
    ProblemCode.OVERDUE: grpc.StatusCode.DEADLINE_EXCEEDED,
    ProblemCode.PROVIDER: grpc.StatusCode.UNKNOWN,
    ProblemCode.STORE: grpc.StatusCode.INTERNAL,
    ProblemCode.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The status of each code. `UNAVAILABLE` alone is one that clients send again by themselves."""


def abort_with_problem(context: grpc.ServicerContext, problem: Problem) -> NoReturn:
    """End the call with the problem."""
    message = problem_to_message(problem)
    context.set_trailing_metadata(((PROBLEM_METADATA, message.SerializeToString()),))
    abort_call(context, STATUSES[problem.code], message.message)


def abort_call(context: grpc.ServicerContext, status: grpc.StatusCode, why: str) -> NoReturn:
    """End the call."""
    context.abort(status, why)
    raise AssertionError("abort has raised already")


def problem_to_message(problem: Problem) -> recollect_pb2.Problem:
    """The problem, as short as metadata must be."""
    return recollect_pb2.Problem(
        code=problem.code.value,
        message=_shorten(problem.message),
        field=None if problem.field is None else _shorten(problem.field),
        line=problem.line,
        retryable=problem.retryable,
    )


def _shorten(text: str) -> str:
    """The text as far as metadata can carry it."""
    written = text.encode("utf-8", "backslashreplace")
    if len(written) <= MAX_METADATA_BYTES:
        return written.decode("utf-8")
    return written[: MAX_METADATA_BYTES - 3].decode("utf-8", "ignore") + "…"
