"""Detect text that gives instructions to a model instead of stating something.

The rules are in `en/prompt_injection.toml`.
"""

import re

from recollect.text.data_files import load_data_file

_FILE = load_data_file("recollect.admission", "en/prompt_injection.toml")
_INJECTION_RULES = tuple(
    (tuple(row["words"]), re.compile(_FILE.expand(row["pattern"]), re.IGNORECASE)) for row in _FILE.rows("rule")
)
"""Rules as (words, pattern); a text without any of the words is not searched."""

_BLANKS = re.compile(r"\s+")

MAX_SHOWN_CHARS = 60
"""How many characters of a match are shown."""


def find_injection(text: str) -> str | None:
    """Return the first text that reads like instructions to a model, on one line, or `None`."""
    collapsed = _BLANKS.sub(_collapse_blanks, text)  # runs of blanks would cause backtracking
    folded = collapsed.casefold().replace("\n", " ")
    matches = (
        pattern.search(collapsed) for words, pattern in _INJECTION_RULES if any(word in folded for word in words)
    )
    first = min((one for one in matches if one is not None), key=lambda one: one.start(), default=None)
    if first is None:
        return None
    words = " ".join(first[0].split())
    return repr(words if len(words) <= MAX_SHOWN_CHARS else f"{words[:MAX_SHOWN_CHARS]}…")


def _collapse_blanks(blanks: re.Match[str]) -> str:
    return "\n" if "\n" in blanks[0] else " "
