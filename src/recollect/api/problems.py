"""Problem codes for errors, the same on every transport.

Each transport has its own table from codes to statuses. An unexpected error is logged under an id; the caller gets only
the id.
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
    """Machine-readable code of a problem."""

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
"""The code of each error class; the first class that matches wins."""


SCOPE_FIELD: Final = "scope"
"""The field that is reported for a ScopeError, which names none.

Only compatibility APIs have another name for it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong: a code, a message with the remedy, the field, and whether a retry may help."""

    code: ProblemCode
    message: str
    field: str | None = None
    line: int | None = None
    retryable: bool = False

    def fields(self) -> dict[str, Any]:
        """Return it as JSON fields."""
        return {
            "code": self.code.value,
            "message": self.message,
            "field": self.field,
            "line": self.line,
            "retryable": self.retryable,
        }


INTERNAL_PROBLEM = Problem(code=ProblemCode.INTERNAL, message="internal error; the server log has the details")
"""What a caller learns about an internal error; no details leave the server."""


def problem_of(error: RecollectError) -> Problem:
    """Return the problem for an error.

    A retryable error of the store or a provider has the code BUSY.
    """
    code = next(code for kind, code in CODES_BY_ERROR.items() if isinstance(error, kind))
    if error.retryable and code in (ProblemCode.STORE, ProblemCode.PROVIDER):
        code = ProblemCode.BUSY
    field_error = error if isinstance(error, FieldError) else None
    default_field = SCOPE_FIELD if isinstance(error, ScopeError) else None
    return Problem(
        code=code,
        message=str(error),
        field=default_field if field_error is None else field_error.field,
        line=None if field_error is None else field_error.line,
        retryable=error.retryable,
    )


_LOG = logging.getLogger(__name__)


def log_internal_error(transport: str, error: BaseException) -> Problem:
    """Log an unexpected error under an id and return the problem that names the id.

    The log has the type and the frames of the error, not its message, which could quote a memory.
    """
    id = secrets.token_hex(6)
    fields = {"id": id, "face": transport, "error": type(error).__name__, "frames": list_frames(error)}
    _LOG.error("internal_error", extra=fields)
    return Problem(code=INTERNAL_PROBLEM.code, message=f"{INTERNAL_PROBLEM.message} under {id}")
