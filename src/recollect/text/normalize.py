"""Normalization of text that is disguised by invisible or look-alike characters.

The screening of texts reads the plain characters, and finds their places in the original again.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache

BARRIER = "\x00"
"""Stands for text that cannot be read; no pattern crosses it."""

# Parts of character classes, for the sets of invisible characters in this package. The sets differ: terms, sentences
# and screening need other characters removed, and stores keep the terms.

FORMAT_MARKS = "\u00ad\u034f\u061c\u180b-\u180f\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
"""Soft hyphens, directions and other marks that no word needs."""

FILLERS = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and patterns without a glyph."""

VARIATION_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Marks that choose a variant of the character before them, such as an emoji or a Han character."""


class NormalizedText:
    """A text as it reads, built piece by piece, with the place of each piece in the original."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._result_offsets, self._source_offsets = [0], [0]

    def add(self, words: str, start: int, end: int) -> None:
        """Append what the original text from `start` to `end` reads as."""
        self._parts.append(words)
        self._result_offsets += (self._length, self._length + len(words))
        self._source_offsets += (start, end)
        self._length += len(words)

    @property
    def text(self) -> str:
        """The whole text as it reads."""
        return "".join(self._parts)

    def source_offset(self, at: int) -> int:
        """Return where this place is in the original text."""
        segment = bisect_right(self._result_offsets, at) - 1
        return self._source_offsets[segment] + at - self._result_offsets[segment]


def replace_characters(text: str, odd: re.Pattern[str], replace: Callable[[str], str]) -> NormalizedText:
    """Replace every match of `odd` by what it means."""
    normalized = NormalizedText()
    done = 0
    for match in odd.finditer(text):
        normalized.add(text[done : match.start()], done, match.start())
        normalized.add(replace(match[0]), match.start(), match.end())
        done = match.end()
    normalized.add(text[done:], done, len(text))
    return normalized


def is_disguised(text: str) -> bool:
    """Return whether a character that reads as another, or as nothing, may hide something."""
    if text.isascii() and not _CONTROL_CHARACTERS.search(text):
        return False
    return any(_may_hide(text, match.start()) for match in CONFUSABLE_CHARACTERS.finditer(text))


def _may_hide(text: str, at: int) -> bool:
    """Return whether the character at this place may hide something.

    A dash between two words with blanks around it cannot, and a part of an emoji cannot.
    """
    before, after, plain = text[at - 1 : at], text[at + 1 : at + 2], plain_character(text[at])
    if plain in (" ", "-"):
        return before.isalnum() and after.isalnum()
    return plain != text[at] if plain else " " <= before <= "~" or "!" <= after <= "~"


@cache
def plain_character(character: str) -> str:
    """Return what the character reads as.

    Nothing if it is invisible; the ASCII letter, digit or mark of which it is a variant; otherwise itself.
    """
    if _CONTROL_CHARACTERS.match(character):
        return ""
    if character.isascii():
        return character
    if _INVISIBLE_CHARACTER.match(character) or unicodedata.category(character) == "Cf":
        return ""
    if character in _DASHES:
        return "-"
    simple = unicodedata.normalize("NFKC", character)
    if len(simple) == 1 and simple.isascii():
        return simple
    return str(digit) if (digit := unicodedata.decimal(character, -1)) >= 0 else character


_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2212\ufe63")
_INVISIBLE_CHARACTER = re.compile(f"[\u034f\u180b-\u180f{FILLERS}{VARIATION_SELECTORS}]")
"""Invisible characters of other Unicode categories than "Cf", the format characters."""

_CONTROL_CHARACTERS = re.compile("[\\x01-\\x08\\x0b\\x0c\\x0d\\x0e-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
"""Characters without width in a line, except tabs and line feeds."""

CONFUSABLE_CHARACTERS = re.compile(
    "["
    "\\x01-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029"
    "\\xa0\\xad\\u034f\\u061c\\u0660-\\u0669\\u06f0-\\u06f9\\u0966-\\u096f\\u09e6-\\u09ef\\u0e50-\\u0e59\\u115f\\u1160\\u17b4\\u17b5"
    "\\u180b-\\u180f\\u2000-\\u2013\\u202a-\\u202f\\u205f-\\u209c\\u2102-\\u2149\\u2212\\u2460-\\u2468\\u24b6-\\u24ea\\u2800\\u3000"
    "\\u3164\\ufe00-\\ufe0f\\ufe4d-\\ufe6b\\ufeff\\uff01-\\uff5e\\uffa0\\ufff9-\\ufffb\\U0001d400-\\U0001d7ff\\U0001f130-\\U0001f149"
    "\\U000e0001-\\U000e007f\\U000e0100-\\U000e01ef"
    "]"
)
"""Characters worth passing to `plain_character`; most letters outside ASCII are only themselves."""
