"""Private parts: what the writer of a text fenced off with `<private>`."""

import re

HIDDEN = "[REDACTED]"

_TAG = re.compile(r"<\s{0,8}(?P<closing>/?)\s{0,8}private(?:\s[^<>]{0,1000}|/)?>", re.IGNORECASE)


def without_private(text: str) -> str:
    """The text with `[REDACTED]` for each `<private>…</private>`.

    Tags may nest and have attributes, in any case. An opening without an end hides the rest of the text; an end
    without an opening is dropped.
    """
    parts: list[str] = []
    depth = done = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            parts.append(text[done : tag.start()])
        if not tag["closing"]:
            parts += [HIDDEN] * (depth == 0)
            depth += 1
        elif depth:
            depth -= 1
        done = tag.end()
    return text if not done else "".join([*parts, text[done:] * (depth == 0)])
