"""Quotes: whether somebody said that, word for word but for blanks and quotation marks, and where."""

import re

_BLANK_RUN = re.compile(r"\s+")
_SEVERAL_BLANKS = re.compile(r"\s{2,}")
_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»″〝〞＂", '"') | dict.fromkeys("‘’‚‛‹›′`´＇", "'"))
_OUTER_MARKS = " \"'"

SPACED_SCRIPTS_END = "\u0590"
"""Below this character, the scripts (Latin, Greek, Cyrillic …) have blanks between words."""


def fold_quotes(text: str) -> str:
    """The text with one kind of blank, never two in a row, and one kind of each quotation mark."""
    return _BLANK_RUN.sub(" ", text).translate(_PLAIN_QUOTES)


def find_quote(quote: str, text: str, as_folded: str) -> str | None:
    """The words of the text that the quote is, as they stand there; none if it is not there, or begins within a word.

    The quote is `fold_quotes`, and `as_folded` is the text so: both are looked at more than once.
    """
    wanted = quote.strip()
    for one in dict.fromkeys((wanted, wanted.strip(_OUTER_MARKS))):  # a model may put marks around a quote
        place = _find_whole_words(one, as_folded) if one else None
        if place is not None:
            return text[_unfolded_offset(text, place) : _unfolded_offset(text, place + len(one) - 1) + 1]
    return None


def _find_whole_words(wanted: str, text: str) -> int | None:
    """Where it occurs as whole words, for the first time; occurrences that overlap are not looked for."""
    place = text.find(wanted)
    while place >= 0:
        end = place + len(wanted)
        if not _is_within_word(text, place) and not _is_within_word(text, end):
            return place
        place = text.find(wanted, end)
    return None


def _is_within_word(text: str, place: int) -> bool:
    """Whether a word goes on across that place."""
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and around.isalnum() and max(around) < SPACED_SCRIPTS_END


def _unfolded_offset(text: str, place: int) -> int:
    """Where the character at that place of the folded text is in the text."""
    gone = 0
    for blanks in _SEVERAL_BLANKS.finditer(text):
        if blanks.start() - gone >= place:
            break
        gone += len(blanks[0]) - 1
    return place + gone
