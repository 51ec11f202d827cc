"""Private parts: what the writer of a text fenced off with `<private>`."""

import re

from recollect.text.confusables import CONFUSABLE_CHARACTERS, is_disguised, plain_character, replace_characters

REDACTED_MARK = "[REDACTED]"

_PRIVATE_TAG = re.compile(
    r"<(?P<closing>/?)private(?=[\s/>]|\Z)(?:=\s{0,8}+(?:'[^']*+'|\"[^\"]*+\")|[^>])*+(?:>|\Z)"
    r"|<\s{0,8}(?P<spaced>/?)\s{0,8}private(?:\s[^<>]{0,1000}|/)?>",
    re.IGNORECASE,
)
"""A tag; one that is written as a tag is, without a blank behind `<`, needs no `>`: it may have been cut off."""


def redact_private(text: str) -> str:
    """The text with `[REDACTED]` for each `<private>…</private>`.

    Tags may nest and have attributes, in any case, and characters that no eye sees within them. Whatever is in doubt
    is hidden: an opening without an end hides the rest of the text, an end without an opening all that is before it.
    """
    reading = replace_characters(text, CONFUSABLE_CHARACTERS, plain_character) if is_disguised(text) else None
    parts: list[str] = []
    depth = done = 0
    for tag in _PRIVATE_TAG.finditer(text if reading is None else reading.text):
        start, end = tag.span() if reading is None else (reading.source_offset(at) for at in tag.span())
        if tag["closing"] or tag["spaced"]:
            if not depth:
                parts = [REDACTED_MARK]
            depth = max(0, depth - 1)
        else:
            parts += [] if depth else [text[done:start], REDACTED_MARK]
            depth += 1
        done = end
    return text if not done else "".join([*parts, text[done:] * (depth == 0)])
