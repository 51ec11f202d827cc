"""Format texts, counts and times for people, on one line."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

QUOTE_CHARS = 60
"""How many characters of a text are quoted."""

LOOKAHEAD_FACTOR = 4
"""How many times `QUOTE_CHARS` is read ahead of a cut, because runs of blanks collapse.

A text may have a megabyte, so it is not read whole.
"""

FEEDBACK_PREFIX = "context_id for feedback: "
"""The text before the context id for feedback, wherever a model reads it."""


def make_printable(text: str) -> str:
    """Return the text on one line, with characters that could control a terminal escaped."""
    return escape_unprintable(" ".join(text.split()))


def escape_unprintable(line: str) -> str:
    """Return the line with every unprintable character escaped."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def shorten(text: str, most: int = QUOTE_CHARS) -> str:
    """Return the start of a text on one printable line, with an ellipsis if it was cut."""
    ahead = text[: most * LOOKAHEAD_FACTOR]
    line = make_printable(ahead)
    return line if ahead == text and len(line) <= most else f"{line[:most].rstrip()}…"


def format_count(count: int, one: str, several: str | None = None) -> str:
    """Return the count with its noun; the plural adds an s unless given."""
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def format_moment(at: datetime) -> str:
    """Return the time to the second, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def describe_future(at: datetime, now: datetime) -> str:
    """Return the error text for a time in the future; the distance is rounded up to seconds."""
    ahead = -((now - at) // timedelta(seconds=1)) * timedelta(seconds=1)
    return f"{at.isoformat()} is {ahead} in the future; give a time that has passed"


def format_left_out(counts: Mapping[str, int]) -> str:
    """Return the counts of what was left out, by reason, to end a sentence; empty for none."""
    reasons = [f"{count} by {reason}" for reason, count in counts.items()]
    return f", left out: {', '.join(reasons)}" if reasons else ""
