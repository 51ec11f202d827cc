"""Problem: what went wrong, as every face tells it; each face has its own table from codes to its statuses."""

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
)


class Code(StrEnum):
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


CODES: Mapping[type[RecollectError], Code] = {
    TooLarge: Code.TOO_LARGE,
    InvalidInput: Code.INVALID,
    SignalMissing: Code.INVALID,
    Unauthenticated: Code.UNAUTHENTICATED,
    AccessDenied: Code.FORBIDDEN,
    NotFound: Code.NOT_FOUND,
    Conflict: Code.CONFLICT,
    Overdue: Code.OVERDUE,
    ServerBusy: Code.BUSY,
    ProviderError: Code.PROVIDER,
    StoreError: Code.STORE,
    RecollectError: Code.INTERNAL,
}
"""Which code an error has: that of the first class that fits."""


SCOPE: Final = "scope"
"""The field that a scope which names nothing is told of, as everything but what speaks for others calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong: a code, a sentence with the remedy, the field it is about, and whether a retry may help."""

    code: Code
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


INTERNAL = Problem(code=Code.INTERNAL, message="something went wrong that should not; the log of the server has it")
"""What is told of a fault of ours; nothing of what it was about leaves the server."""


def problem_of(error: RecollectError) -> Problem:
    """The problem that an error is to whoever asked."""
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    if error.retryable and code in (Code.STORE, Code.PROVIDER):
        code = Code.BUSY
    found = error if isinstance(error, FieldError) else None
    unnamed = SCOPE if isinstance(error, ScopeError) else None
    return Problem(
        code=code,
        message=str(error),
        field=unnamed if found is None else found.field,
        line=None if found is None else found.line,
        retryable=error.retryable,
    )
