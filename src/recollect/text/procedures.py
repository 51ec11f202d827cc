"""Steps: procedures that several sentences lay down, one after the other."""

import re
from collections.abc import Sequence

from recollect.text.sentences import Span

LONGEST = 2000
"""How many characters a procedure may have; a longer one is a document."""

ASIDES = 2
"""How many sentences may stand between two steps."""

_FIRST = re.compile(
    r"(?:(?:in order )?(?:how )?to [^,:.\n]{3,80}[,:] )?"
    r"(?:step (?:1|one)\b|first(?:ly)?,? (?!of all|time|thing|i\b|i'|we\b|he\b|she\b|they\b|my\b|and\b))",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"(?:and )?(?:step (?:\d{1,2}|[a-z]{3,6})\b|second(?:ly)?,|third(?:ly)?,|then,? |next,? |after that,? |"
    r"afterwards,? |finally,? |lastly,? )",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:i|we|he|she|they) (?!(?:must|should|need|have to|always)\b)\w|\b(?:was|were|went|had|did|got|felt|i'm|"
    r"we're|i've|we've)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r":$")


def procedures(text: str, spans: Sequence[Span]) -> list[Span]:
    """Where procedures of two steps or more are, of a plain text with its sentences; what is narrated is none."""
    found: list[Span] = []
    place = 0
    while place < len(spans):
        last = _last_step(text, spans, place)
        if last > place:
            headed = place > 0 and _HEADING.search(text, *spans[place - 1]) is not None
            begin, end = spans[place - headed][0], spans[last][1]
            if end - begin <= LONGEST and _TOLD.search(text, begin, end) is None:
                found.append((begin, end))
        place = last + 1
    return found


def _last_step(text: str, spans: Sequence[Span], place: int) -> int:
    """The place of the last step of the procedure that begins at a place; that place itself where none does."""
    last = place
    if _FIRST.match(text, *spans[place]):
        for later in range(place + 1, len(spans)):
            if later - last > ASIDES + 1:
                break
            if _NEXT.match(text, *spans[later]):
                last = later
    return last
