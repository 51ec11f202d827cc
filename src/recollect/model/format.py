"""Wording: texts and counts as they are said to people, on one line."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

QUOTE_CHARS = 60
"""How many characters of a text are quoted."""

LOOKAHEAD_FACTOR = 4
"""How many times that much is looked at, for blanks take no room; a text may be a megabyte."""

FEEDBACK_PREFIX = "context_id for feedback: "
"""What is said before the id by which a context is rated, wherever a model is told it."""


def make_printable(text: str) -> str:
    """The text on one line, with whatever could steer a terminal spelled out."""
    return escape_unprintable(" ".join(text.split()))


def escape_unprintable(line: str) -> str:
    """The line, with every character that has no shape as its code."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def shorten(text: str, most: int = QUOTE_CHARS) -> str:
    """How the text begins, on one printable line, with a mark if that is not all."""
    ahead = text[: most * LOOKAHEAD_FACTOR]
    said = make_printable(ahead)
    return said if ahead == text and len(said) <= most else f"{said[:most].rstrip()}…"


def format_count(count: int, one: str, several: str | None = None) -> str:
    """The count with its noun, of which several have an s unless it is said otherwise."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def format_moment(at: datetime) -> str:
    """A moment to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def describe_future(at: datetime, now: datetime) -> str:
    """What is wrong with a moment that is ahead, and by how much, in seconds as they are rounded up."""
    ahead = -((now - at) // timedelta(seconds=1)) * timedelta(seconds=1)
    return f"{at.isoformat()} is {ahead} from now; what has not come yet is not known"


def format_left_out(counts: Mapping[str, int]) -> str:
    """What to add to a sentence about those that are in: how many are not, by reason; nothing if all are."""
    reasons = [f"{count} by {reason}" for reason, count in counts.items()]
    return f", left out: {', '.join(reasons)}" if reasons else ""
