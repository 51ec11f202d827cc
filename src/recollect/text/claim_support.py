"""Bearing: whether passages bear out what is said to rest on them, as far as words can tell."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from recollect.model.summary import Passage
from recollect.text.quote_match import WITH_BLANKS

STEM = 4
"""How many letters tell one word from another, whatever its ending."""

FEW = 8
"""With fewer stems to go by, what has none of them may well say the same in other words."""

BEFORE = 10
"""How many passages before one may tell what is meant in it: "I booked it" says nothing of Lisbon."""

_WORD = re.compile(r"\d+|[^\W\d_]+")
_ENDS = frozenset(".!?:;\"'“”„«»‘’(–—-•*")
"""After these a capital need not be that of a name."""


class Bearing:
    """What passages say, by the stems of their words.

    No proof: a lie in their own words passes. It finds out what has nothing to do with any of them, and what comes from
    others than those that are named for it, as orders to a model in one passage would have it said of another.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._dates = [_digits(one.at) for one in passages]
        self._stems = [_stems(one.text) for one in passages]
        self._speakers = _union(_stems(one.speaker) for one in passages if one.speaker is not None)
        self._all = _union(self._stems)
        self._telling = {stem for stem in self._all if _tells(stem)}

    def bears_out(self, text: str, places: Collection[int]) -> bool:
        """Whether the text can be from the passages at these places: it has a word of some passage, and half of the
        names and numbers in it that were said at all were said there, or just before."""
        touches = len(self._telling) < FEW or not _stems(text).isdisjoint(self._telling | self._speakers)
        return touches and self._names_fit(text, places)

    def _names_fit(self, text: str, places: Collection[int]) -> bool:
        dates = _union(self._dates[place] for place in places)
        names = (_names(text) - self._speakers - dates) & self._all
        near = {one for place in places for one in range(max(place - BEFORE, 0), place + 1)}
        return 2 * sum(any(name in self._stems[place] for place in near) for name in names) >= len(names)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _stems(text: str) -> frozenset[str]:
    """The beginnings of its words, and its numbers; all pairs of characters where words have no blanks between them."""
    return frozenset(stem for word in _WORD.findall(text.casefold()) for stem in _parts(word))


def _parts(word: str) -> Collection[str]:
    if word.isdigit():
        return (word,)
    if max(word) >= WITH_BLANKS:
        return {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
    return (word[:STEM],)


def _tells(stem: str) -> bool:
    """Whether it is more than one of the little words that are in every text."""
    return len(stem) >= STEM or max(stem) >= WITH_BLANKS


def _names(text: str) -> frozenset[str]:
    """The stems of its names and numbers: what is of digits, or has a capital where no sentence begins."""
    return _union(_stems(word[0]) for word in _WORD.finditer(text) if _is_name(word[0], text[: word.start()]))


def _is_name(word: str, before: str) -> bool:
    if word.isdigit() or any(map(str.isupper, word[1:])):
        return True
    end = before.rstrip()[-1:]
    return len(word) > 1 and word[0].isupper() and bool(end) and end not in _ENDS


def _digits(at: datetime) -> frozenset[str]:
    """The numbers of that day, as they may be written."""
    return frozenset(f"{number:{form}}" for number in (at.year, at.month, at.day) for form in ("d", "02d"))
