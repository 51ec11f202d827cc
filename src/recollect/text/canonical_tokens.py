"""Tokens: the words of a canonical form, each with what it is and how the text has it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

TokenKind = Literal[
    "number", "date", "time", "unit", "name", "negation", "quantity", "modality", "question", "word", "order", "text"
]
"""What a difference is one of; "text" is of texts in which nothing can be read."""


class Token(NamedTuple):
    """One word of a canonical form: its key, what it is, and how the text has it."""

    key: str
    kind: TokenKind
    text: str


SENTENCE_BREAK = Token("|", "word", "")
COMMA = Token(",", "word", ",")
POSSESSIVE = "'s"


def matches_phrase(sentence: Sequence[Token], at: int, phrase: Sequence[str]) -> bool:
    """Whether the sentence has the phrase there."""
    if len(sentence) - at < len(phrase):
        return False
    for word in phrase:
        if sentence[at].key != word:
            return False
        at += 1
    return True
