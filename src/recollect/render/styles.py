"""Looks: what a part of a text is to a reader; whoever prints it decides what that looks like."""

from collections.abc import Callable
from enum import StrEnum


class TextStyle(StrEnum):
    """What a part of a text is to a reader."""

    STRONG = "strong"
    FAINT = "faint"
    BAR = "bar"
    SCORE = "score"
    TYPED = "typed"


Paint = Callable[[TextStyle, str], str]
"""Gives a part of a text its look."""


def paint_plain(_: TextStyle, text: str) -> str:
    """The text as it is."""
    return text
