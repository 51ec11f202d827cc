"""Token counters: how many tokens a text has in a model's vocabulary."""

import re
from dataclasses import dataclass, field
from typing import Protocol


class TokenCounter(Protocol):
    """Counts the tokens of a text; `exact` says whether the count is a model's own."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def __call__(self, text: str) -> int: ...


_TOKEN_PATTERN = re.compile(
    rb"""
      [ ][A-Z]?[a-z]{1,6}+                    # a word, or the first half of a long one
    | (?<![0-9A-Za-z])[A-Z]?[a-z]{1,6}+
    | [0-9]{1,3}+
    | (?<=[0-9])[A-Za-z]                      # in an id, a letter after a digit is a token of its own
    | (?<=[a-z])[A-Z](?![a-z]{2})             # and so is a capital that does not start a word
    | (?<=[a-z]{12})[a-z]{1,2}                # letters this long are not a word
    | [A-Z]?[a-z]{1,6}+
    | [ ]?[A-Z]{1,2}
    | [ ]?["'(</][!-/:-@\[-`{-~]              # quotes and brackets go with the punctuation after them
    | [ ]?([!-/:-@\[-`{-~])\1{0,15}           # a run of the same mark
    | [ ]?(?:[\xcd-\xdf].|\xe0..){1,2}        # Greek, Cyrillic, Hebrew, Arabic; the scripts of India, Thai
    | [ ]?[\xc2-\xcc].                        # Latin letters with accents
    | [ ]?\xe1[\x80-\x83\x9e\x9f\xb8-\xbf].   # Burmese, Georgian, Khmer; Vietnamese vowels
    | [ ]?\xe2\x80.                           # dashes and quotation marks
    | \xe3[\x80-\x8f].|[\xe4-\xe9]..          # kana; Han
    | \xea[\xb0-\xbf].|[\xeb-\xed]..          # Hangul
    | \xef[\xbc\xbd].                         # full-width punctuation
    | \xf0\x9f                                # of an emoji's four bytes, two go together
    | [ ]+
    | \n+
    | .                                       # of everything else, every byte
    """,
    re.DOTALL | re.VERBOSE,
)
"""One match is about one token in current byte-pair vocabularies, on UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A cautious estimate without a model: seldom too low, about a fifth too high for English.

    Random letters and rare Han characters are undercounted. Vocabularies older than o200k take more tokens than this
    for scripts other than Latin.
    """

    name: str = field(default="estimate", init=False)
    exact: bool = field(default=False, init=False)

    def __call__(self, text: str) -> int:
        return len(_TOKEN_PATTERN.findall(text.encode("utf-8", "surrogatepass")))
