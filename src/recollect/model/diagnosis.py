"""Check: one thing that was looked at, what was seen, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.errors import InvalidInput, RecollectError


class CheckStatus(StrEnum):
    """How it stands: well; well enough, but worth knowing; or not at all."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """What was seen where one thing was looked at; whatever is not well comes with a remedy."""

    name: str
    finding: CheckStatus
    seen: str
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.remedy is None) != (self.finding is CheckStatus.OK):
            raise InvalidInput(f"check {self.name!r}: a remedy is for what is not well, and only for that")


def ok(name: str, seen: str) -> Check:
    """It is well."""
    return Check(name, CheckStatus.OK, seen)


def warning(name: str, seen: str, remedy: str) -> Check:
    """It will do, but could be better."""
    return Check(name, CheckStatus.WARNING, seen, remedy)


def problem(name: str, seen: str, remedy: str) -> Check:
    """It will not do."""
    return Check(name, CheckStatus.PROBLEM, seen, remedy)


def check_from_error(name: str, error: RecollectError, finding: CheckStatus = CheckStatus.PROBLEM) -> Check:
    """What an error says, whose message ends in the remedy."""
    seen, _, remedy = str(error).rpartition("; ")
    return Check(name, finding, seen or remedy, remedy if seen else "see what it says")
