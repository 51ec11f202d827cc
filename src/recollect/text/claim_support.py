"""Bearing: whether passages bear out what is said to rest on them, as far as words can tell."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from recollect.model.summary import Passage
from recollect.text.quote_match import SPACED_SCRIPTS_END

STEM_CHARS = 4
"""How many letters tell one word from another, whatever its ending."""

MIN_TELLING_STEMS = 8
"""With fewer stems to go by, what has none of them may well say the same in other words."""

CONTEXT_PASSAGES = 10
"""How many passages before one may tell what is meant in it: "I booked it" says nothing of Lisbon."""

_WORD_OR_NUMBER = re.compile(r"\d+|[^\W\d_]+")
_MARKS_BEFORE_CAPITAL = frozenset(".!?:;\"'“”„«»‘’(–—-•*")
"""After these a capital need not be that of a name."""


class ClaimSupport:
    """What passages say, by the stems of their words.

    No proof: a lie in their own words passes. It finds out what has nothing to do with any of them, and what comes from
    others than those that are named for it, as orders to a model in one passage would have it said of another.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._dates = [_date_numbers(one.at) for one in passages]
        self._stems = [_text_stems(one.text) for one in passages]
        self._speakers = _union(_text_stems(one.speaker) for one in passages if one.speaker is not None)
        self._all = _union(self._stems)
        self._telling = {stem for stem in self._all if _is_telling_stem(stem)}

    def supports(self, text: str, places: Collection[int]) -> bool:
        """Whether the text can be from the passages at these places: it has a word of some passage, and half of the
        names and numbers in it that were said at all were said there, or just before."""
        touches = len(self._telling) < MIN_TELLING_STEMS or not _text_stems(text).isdisjoint(
            self._telling | self._speakers
        )
        return touches and self._names_match(text, places)

    def _names_match(self, text: str, places: Collection[int]) -> bool:
        dates = _union(self._dates[place] for place in places)
        names = (_name_stems(text) - self._speakers - dates) & self._all
        near = {one for place in places for one in range(max(place - CONTEXT_PASSAGES, 0), place + 1)}
        return 2 * sum(any(name in self._stems[place] for place in near) for name in names) >= len(names)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _text_stems(text: str) -> frozenset[str]:
    """The beginnings of its words, and its numbers; all pairs of characters where words have no blanks between them."""
    return frozenset(stem for word in _WORD_OR_NUMBER.findall(text.casefold()) for stem in _word_stems(word))


def _word_stems(word: str) -> Collection[str]:
    if word.isdigit():
        return (word,)
    if max(word) >= SPACED_SCRIPTS_END:
        return {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
    return (word[:STEM_CHARS],)


def _is_telling_stem(stem: str) -> bool:
    """Whether it is more than one of the little words that are in every text."""
    return len(stem) >= STEM_CHARS or max(stem) >= SPACED_SCRIPTS_END


def _name_stems(text: str) -> frozenset[str]:
    """The stems of its names and numbers: what is of digits, or has a capital where no sentence begins."""
    return _union(
        _text_stems(word[0]) for word in _WORD_OR_NUMBER.finditer(text) if _is_name(word[0], text[: word.start()])
    )


def _is_name(word: str, before: str) -> bool:
    if word.isdigit() or any(map(str.isupper, word[1:])):
        return True
    end = before.rstrip()[-1:]
    return len(word) > 1 and word[0].isupper() and bool(end) and end not in _MARKS_BEFORE_CAPITAL


def _date_numbers(at: datetime) -> frozenset[str]:
    """The numbers of that day, as they may be written."""
    return frozenset(f"{number:{form}}" for number in (at.year, at.month, at.day) for form in ("d", "02d"))
