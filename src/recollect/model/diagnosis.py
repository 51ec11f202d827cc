"""The result of one check of the doctor: its status, what was found, and the remedy."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.errors import InvalidInput, RecollectError


class CheckStatus(StrEnum):
    """The status of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; a warning or a problem comes with a remedy."""

    name: str
    finding: CheckStatus
    seen: str
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.remedy is None) != (self.finding is CheckStatus.OK):
            raise InvalidInput(f"check {self.name!r}: a remedy is for what is not well, and only for that")


def ok(name: str, seen: str) -> Check:
    """Return a passed check."""
    return Check(name, CheckStatus.OK, seen)


def warning(name: str, seen: str, remedy: str) -> Check:
    """Return a check that found something to improve."""
    return Check(name, CheckStatus.WARNING, seen, remedy)


def problem(name: str, seen: str, remedy: str) -> Check:
    """Return a check that failed."""
    return Check(name, CheckStatus.PROBLEM, seen, remedy)


def check_from_error(name: str, error: RecollectError, finding: CheckStatus = CheckStatus.PROBLEM) -> Check:
    """Return the check for an error whose message ends in the remedy."""
    seen, _, remedy = str(error).rpartition("; ")
    return Check(name, finding, seen or remedy, remedy if seen else "see what it says")
