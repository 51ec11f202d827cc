"""Problem: what went wrong, as every face tells it; each face has its own table from codes to its statuses.

Faults: what should not have happened, logged in one way whichever face it was asked through, and told by an id.
"""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from recollect.errors import (
    AccessDenied,
    Conflict,
    FieldError,
    InvalidInput,
    NotFound,
    Overdue,
    ProviderError,
    RecollectError,
    ScopeError,
    ServerBusy,
    SignalMissing,
    StoreError,
    TooLarge,
    Unauthenticated,
    list_frames,
)


class ProblemCode(StrEnum):
    """What a program can go by."""

    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    BUSY = "busy"
    OVERDUE = "overdue"
    PROVIDER = "provider"
    STORE = "store"
    INTERNAL = "internal"


CODES_BY_ERROR: Mapping[type[RecollectError], ProblemCode] = {
    TooLarge: ProblemCode.TOO_LARGE,
    InvalidInput: ProblemCode.INVALID,
    SignalMissing: ProblemCode.INVALID,
    Unauthenticated: ProblemCode.UNAUTHENTICATED,
    AccessDenied: ProblemCode.FORBIDDEN,
    NotFound: ProblemCode.NOT_FOUND,
    Conflict: ProblemCode.CONFLICT,
    Overdue: ProblemCode.OVERDUE,
    ServerBusy: ProblemCode.BUSY,
    ProviderError: ProblemCode.PROVIDER,
    StoreError: ProblemCode.STORE,
    RecollectError: ProblemCode.INTERNAL,
}
"""Which code an error has: that of the first class that fits."""


SCOPE_FIELD: Final = "scope"
"""The field that a scope which names nothing is told of, as everything but what speaks for others calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong: a code, a sentence with the remedy, the field it is about, and whether a retry may help."""

    code: ProblemCode
    message: str
    field: str | None = None
    line: int | None = None
    retryable: bool = False

    def fields(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "code": self.code.value,
            "message": self.message,
            "field": self.field,
            "line": self.line,
            "retryable": self.retryable,
        }


INTERNAL_PROBLEM = Problem(
    code=ProblemCode.INTERNAL, message="something went wrong that should not; the log of the server has it"
)
"""What is told of a fault of ours; nothing of what it was about leaves the server."""


def problem_of(error: RecollectError) -> Problem:
    """The problem that an error is to whoever asked."""
    code = next(code for kind, code in CODES_BY_ERROR.items() if isinstance(error, kind))
    if error.retryable and code in (ProblemCode.STORE, ProblemCode.PROVIDER):
        code = ProblemCode.BUSY
    found = error if isinstance(error, FieldError) else None
    unnamed = SCOPE_FIELD if isinstance(error, ScopeError) else None
    return Problem(
        code=code,
        message=str(error),
        field=unnamed if found is None else found.field,
        line=None if found is None else found.line,
        retryable=error.retryable,
    )


_LOG = logging.getLogger(__name__)


def log_internal_error(face: str, error: BaseException) -> Problem:
    """Log a fault of ours under an id, without a word of what it was about, and give what is told of it."""
    id = secrets.token_hex(6)
    told = {"id": id, "face": face, "error": type(error).__name__, "frames": list_frames(error)}
    _LOG.error("broke", extra=told)
    return Problem(code=INTERNAL_PROBLEM.code, message=f"{INTERNAL_PROBLEM.message} under {id}")
