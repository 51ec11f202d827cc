"""Every exception of recollect.

RecollectError                      retryable = False
├── InvalidInput (ValueError)       the request is invalid
│   ├── BudgetError                 the budget is too small for anything to fit
│   ├── EmbedderMismatch            the store's vectors come from another model
│   ├── FieldError                  a field has an invalid value; names the field and the line
│   ├── ProfileError                a ranking profile is invalid
│   ├── SchemesDiffer (TypeError)   scores of two profiles or moments were compared
│   ├── ScopeError                  a scope is invalid
│   └── TooLarge                    the request is larger than the server accepts
├── AccessDenied                    the API key lacks a right for the request
│   └── Unauthenticated             the API key is missing or invalid
├── NotFound (LookupError)          the named memory, profile or context does not exist
├── Conflict                        the data changed since it was read
├── ServerBusy                      the server's queue is full; try again (retryable)
│   └── Overdue                     the request took longer than the server waits
├── SignalMissing                   a profile needs evidence that the candidates lack
├── StoreError                      the store failed; the driver's error is the cause
│   ├── StoreBusy                   other writers hold the store; try again (retryable)
│   └── SchemaMismatch              the file is from another version, or not a recollect store
└── ProviderError                   an embedder or a language model failed
    └── ProviderBusy                the model is unavailable; try again (retryable)
"""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

_SHORT_REPR = reprlib.Repr()
_SHORT_REPR.maxlevel = 2
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = _SHORT_REPR.maxlong = 60


def show(value: object) -> str:
    """Return a short representation of any value for a message, however large or nested."""
    try:
        return _SHORT_REPR.repr(value)
    except ValueError:  # an integer with more digits than Python will print
        return f"a very long {type(value).__name__}"


def show_name(name: object) -> str:
    """Return a name unchanged if it is a string, otherwise a short representation of it."""
    return name if isinstance(name, str) else show(name)


def suggest(given: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the most similar known one, or all of them."""
    names = list(known)
    similar = get_close_matches(given, names, n=1, cutoff=0.7)
    return f"did you mean {similar[0]!r}?" if similar else f"known are {', '.join(names) or 'none'}"


def list_frames(error: BaseException) -> list[str]:
    """Return the code locations in an error's traceback, without any values."""
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames


class RecollectError(Exception):
    """Base class of recollect's errors; catch it to catch all of them."""

    retryable: ClassVar[bool] = False


class InvalidInput(RecollectError, ValueError):
    """The request is invalid; the message says why and what to do."""


class BudgetError(InvalidInput):
    """The budget is too small for anything to fit."""


class EmbedderMismatch(InvalidInput):
    """The store's vectors come from another model; the message names the command to re-embed."""


class FieldError(InvalidInput):
    """A field has an invalid value; `field` names it, and `line` its line if a file was read."""

    def __init__(self, problem: str, *, field: str | None = None, line: int | None = None) -> None:
        self.problem = problem
        self.field = field
        self.line = line
        places = [f"line {line}"] if line is not None else []
        places += [f"field {field!r}"] if field is not None else []
        super().__init__(f"{', '.join(places)}: {problem}" if places else problem)

    def at_line(self, line: int) -> "FieldError":
        """Return the same error with a line number."""
        return FieldError(self.problem, field=self.field, line=line)


class ProfileError(InvalidInput):
    """A ranking profile is invalid."""


class SchemesDiffer(InvalidInput, TypeError):
    """Scores of different profiles or moments cannot be compared; `fuse` merges by rank instead."""


class ScopeError(InvalidInput):
    """A scope is invalid."""


class TooLarge(InvalidInput):
    """A request is larger than the server accepts; the message says the limit."""


class AccessDenied(RecollectError):
    """The API key lacks a right for this request; the message names it."""


class Unauthenticated(AccessDenied):
    """The API key is missing or invalid; the message does not say which."""


class NotFound(RecollectError, LookupError):
    """The named memory, profile or context does not exist."""


class Conflict(RecollectError):
    """The data changed since it was read, or a key was reused for something else."""


class ServerBusy(RecollectError):
    """The server's queue is full; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True


class Overdue(ServerBusy):
    """The request took longer than the server waits.

    Its write may still complete; a retry with the same idempotency key is harmless.
    """


class SignalMissing(RecollectError):
    """A profile needs evidence that the candidates do not have."""


class StoreError(RecollectError):
    """The store failed; the driver's error is the cause."""


class StoreBusy(StoreError):
    """Other writers hold the store; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True


class SchemaMismatch(StoreError):
    """The file was written by another version of recollect, or is not a recollect store."""


class ProviderError(RecollectError):
    """An embedder or a language model failed."""


class ProviderBusy(ProviderError):
    """An embedder or a language model is unavailable; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True
