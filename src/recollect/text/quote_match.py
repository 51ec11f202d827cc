"""Quotes: whether somebody said that, word for word but for blanks and quotation marks, and where."""

import re

_BLANKS = re.compile(r"\s+")
_SEVERAL = re.compile(r"\s{2,}")
_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″〝〞＂", '"') | dict.fromkeys("‘’‚‛‹›′`´＇", "'"))
_AROUND = " \"'"

WITH_BLANKS = "\u0590"
"""Below this character, the scripts (Latin, Greek, Cyrillic …) have blanks between words."""


def folded(text: str) -> str:
    """The text with one kind of blank, never two in a row, and one kind of each quotation mark."""
    return _BLANKS.sub(" ", text).translate(_MARKS)


def said(quote: str, text: str, as_folded: str) -> str | None:
    """The words of the text that the quote is, as they stand there; none if it is not there, or begins within a word.

    The quote is `folded`, and `as_folded` is the text so: both are looked at more than once.
    """
    wanted = quote.strip()
    for one in dict.fromkeys((wanted, wanted.strip(_AROUND))):  # a model may put marks around a quote
        place = _place(one, as_folded) if one else None
        if place is not None:
            return text[_unfolded(text, place) : _unfolded(text, place + len(one) - 1) + 1]
    return None


def _place(wanted: str, text: str) -> int | None:
    """Where it occurs as whole words, for the first time; occurrences that overlap are not looked for."""
    place = text.find(wanted)
    while place >= 0:
        end = place + len(wanted)
        if not _within_word(text, place) and not _within_word(text, end):
            return place
        place = text.find(wanted, end)
    return None


def _within_word(text: str, place: int) -> bool:
    """Whether a word goes on across that place."""
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and around.isalnum() and max(around) < WITH_BLANKS


def _unfolded(text: str, place: int) -> int:
    """Where the character at that place of the folded text is in the text."""
    gone = 0
    for blanks in _SEVERAL.finditer(text):
        if blanks.start() - gone >= place:
            break
        gone += len(blanks[0]) - 1
    return place + gone
