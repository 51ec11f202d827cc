"""Every exception of recollect.

RecollectError                      retryable = False
├── InvalidInput (ValueError)       the caller asked for something that cannot be
│   ├── BudgetError                 a budget nothing could fit
│   ├── EmbedderMismatch            the store's vectors come from another model
│   ├── FieldError                  a value that cannot be; says which field, and which line
│   ├── ProfileError                a rank profile that makes no sense
│   ├── SchemesDiffer (TypeError)   scores of two profiles or moments were about to be mixed
│   ├── ScopeError                  a scope that names nothing
│   └── TooLarge                    more than a server takes at once
├── AccessDenied                    the caller's key does not reach that far
│   └── Unauthenticated             no key was given, or none that holds
├── NotFound (LookupError)          the memory, profile or context named is not there
├── Conflict                        it has changed, or was said otherwise, since you looked
├── ServerBusy                      more is waiting than a server lets wait; try again (retryable)
│   └── Overdue                     it takes longer than a server waits
├── SignalMissing                   a profile needs evidence that is not there
├── StoreError                      the store failed; the driver's error is the cause
│   ├── StoreBusy                   others are writing; try again (retryable)
│   └── SchemaMismatch              the file is older or newer than this program, or is none of ours
└── ProviderError                   an embedder or a language model failed
    └── ProviderBusy                try again (retryable)
"""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

_SHORT_REPR = reprlib.Repr()
_SHORT_REPR.maxlevel = 2
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = _SHORT_REPR.maxlong = 60


def show(value: object) -> str:
    """The value as a message can carry it: however large or deep, in a few words."""
    try:
        return _SHORT_REPR.repr(value)
    except ValueError:  # an integer with more digits than Python will print
        return f"a very long {type(value).__name__}"


def show_name(name: object) -> str:
    """A name as it was given, if it is a text at all, or else as a message can carry it."""
    return name if isinstance(name, str) else show(name)


def suggest(given: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown name: the known one it looks like, or else all of them."""
    names = list(known)
    near = get_close_matches(given, names, n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names) or 'none'}"


def list_frames(error: BaseException) -> list[str]:
    """The places in the code that an error went through; of what was in hand there, nothing."""
    found, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return found


class RecollectError(Exception):
    """Anything recollect refuses or fails at; catch this to catch all of them."""

    retryable: ClassVar[bool] = False


class InvalidInput(RecollectError, ValueError):
    """The caller asked for something that cannot be; the message names it and the remedy."""


class BudgetError(InvalidInput):
    """A budget nothing could fit."""


class EmbedderMismatch(InvalidInput):
    """The store's vectors come from another model; the message names the command that re-embeds."""


class FieldError(InvalidInput):
    """A value that cannot be: `field` says which, and `line` where, if lines were read."""

    def __init__(self, problem: str, *, field: str | None = None, line: int | None = None) -> None:
        self.problem = problem
        self.field = field
        self.line = line
        places = [f"line {line}"] if line is not None else []
        places += [f"field {field!r}"] if field is not None else []
        super().__init__(f"{', '.join(places)}: {problem}" if places else problem)

    def at_line(self, line: int) -> "FieldError":
        """The same error, told with the line it was read from."""
        return FieldError(self.problem, field=self.field, line=line)


class ProfileError(InvalidInput):
    """A rank profile that makes no sense."""


class SchemesDiffer(InvalidInput, TypeError):
    """Scores of two profiles or moments were about to be mixed; `fuse` merges by rank instead."""


class ScopeError(InvalidInput):
    """A scope that names nothing."""


class TooLarge(InvalidInput):
    """More than a server takes at once; the message says how much it does."""


class AccessDenied(RecollectError):
    """The caller's key does not reach that far; the message names the right that is missing."""


class Unauthenticated(AccessDenied):
    """No key was given, or none that holds; which of the two is not told."""


class NotFound(RecollectError, LookupError):
    """The memory, profile or context named is not there."""


class Conflict(RecollectError):
    """It has changed, or was said otherwise under the same key, since you looked."""


class ServerBusy(RecollectError):
    """More is waiting than a server lets wait; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True


class Overdue(ServerBusy):
    """It takes longer than a server waits. What it writes may still be written; a retry under its key is harmless."""


class SignalMissing(RecollectError):
    """A profile needs evidence that is not there."""


class StoreError(RecollectError):
    """The store failed; the driver's error is the cause."""


class StoreBusy(StoreError):
    """Others are writing; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True


class SchemaMismatch(StoreError):
    """The file was written by another version of recollect, or is none of its files."""


class ProviderError(RecollectError):
    """An embedder or a language model failed."""


class ProviderBusy(ProviderError):
    """An embedder or a language model is not to be had now; the same call may succeed in a moment."""

    retryable: ClassVar[bool] = True
