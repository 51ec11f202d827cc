"""Steps: procedures that several sentences lay down, one after the other."""

import re
from collections.abc import Sequence

from recollect.text.sentences import TextSpan

MAX_PROCEDURE_CHARS = 2000
"""How many characters a procedure may have; a longer one is a document."""

MAX_ASIDE_SENTENCES = 2
"""How many sentences may stand between two steps."""

_FIRST_STEP = re.compile(
    r"(?:(?:in order )?(?:how )?to [^,:.\n]{3,80}[,:] )?"
    r"(?:step (?:1|one)\b|first(?:ly)?,? (?!of all|time|thing|i\b|i'|we\b|he\b|she\b|they\b|my\b|and\b))",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(
    r"(?:and )?(?:step (?:\d{1,2}|[a-z]{3,6})\b|second(?:ly)?,|third(?:ly)?,|then,? |next,? |after that,? |"
    r"afterwards,? |finally,? |lastly,? )",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"\b(?:i|we|he|she|they) (?!(?:must|should|need|have to|always)\b)\w|\b(?:was|were|went|had|did|got|felt|i'm|"
    r"we're|i've|we've)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r":$")


def find_procedures(text: str, spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Where procedures of two steps or more are, of a plain text with its sentences; what is narrated is none."""
    found: list[TextSpan] = []
    place = 0
    while place < len(spans):
        last = _find_last_step(text, spans, place)
        if last > place:
            headed = place > 0 and _HEADING.search(text, *spans[place - 1]) is not None
            begin, end = spans[place - headed][0], spans[last][1]
            if end - begin <= MAX_PROCEDURE_CHARS and _NARRATION.search(text, begin, end) is None:
                found.append((begin, end))
        place = last + 1
    return found


def _find_last_step(text: str, spans: Sequence[TextSpan], place: int) -> int:
    """The place of the last step of the procedure that begins at a place; that place itself where none does."""
    last = place
    if _FIRST_STEP.match(text, *spans[place]):
        for later in range(place + 1, len(spans)):
            if later - last > MAX_ASIDE_SENTENCES + 1:
                break
            if _NEXT_STEP.match(text, *spans[later]):
                last = later
    return last
