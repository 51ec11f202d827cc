"""The composed form of a text (NFC), in time that grows with the text and no faster."""

import re
import unicodedata

MAX_COMBINING_MARKS = 30
"""After so many marks in a row a joiner is put, as Unicode's stream-safe text has it (annex 15); no script needs more.

Marks are sorted when a text is composed, and that takes quadratic time: a few hundred kilobytes of them, minutes.
"""

JOINER = "\u034f"

_LONG_MARK_RUN = re.compile(f"[\u0300-\U0010ffff]{{{MAX_COMBINING_MARKS + 1},}}")


def to_nfc(text: str) -> str:
    """The text in its composed form; no two texts that differ in more than joiners become the same."""
    return text if text.isascii() else unicodedata.normalize("NFC", to_stream_safe(text))


def to_stream_safe(text: str) -> str:
    """The text with a joiner in every run of marks that is longer than any script has."""
    return _LONG_MARK_RUN.sub(lambda run: _insert_joiners(run[0]), text)


def _insert_joiners(run: str) -> str:
    if not any(map(unicodedata.combining, run)):
        return run
    parts: list[str] = []
    marks = 0
    for character in run:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MAX_COMBINING_MARKS:
            parts.append(JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)
