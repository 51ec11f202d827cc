"""Carried: whether a text says nothing but what somebody said."""

import re
import unicodedata
from collections.abc import Iterator

LEAST = 3
"""How many letters of a word are left at least without its ending."""

_WORD = re.compile(r"\w+(?:['.,:/@+-]\w+)*")
_MARKS = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
_SILENT = frozenset(
    _WORD.findall("""
    a an the is are was were be been being am has have had having do does did to of in on at for with by as and that
    this it its it's he she they his her hers their theirs him them who which i me my mine we our us myself themselves
    himself herself user user's users speaker person
""")
)
"""Words that say nothing by themselves, and those by which a text calls who spoke."""

_DENIALS = frozenset(
    _WORD.findall("""
    no not never none nobody nothing neither nor without cannot can't don't doesn't didn't won't isn't aren't wasn't
    weren't hasn't haven't hadn't wouldn't shouldn't couldn't mustn't ain't hardly barely except unless
""")
)
_ENDINGS = (
    ("'s", ""),
    ("s", ""),
    ("es", ""),
    ("ed", ""),
    ("d", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ies", "y"),
    ("ied", "y"),
)


def carried(text: str, turn: str, speaker: str | None = None) -> bool:
    """Whether every word, figure and name of the text occurs in the turn, but for the speaker's name and words that say
    nothing by themselves; and one denies something only if the other does.
    """
    said, told = _words(turn), _words(text)
    if bool(_DENIALS.intersection(said)) is not bool(_DENIALS.intersection(told)):
        return False
    known = {form for word in (*said, *_words(speaker or "")) for form in _forms(word)}
    telling = (word for word in told if word not in _SILENT and word not in _DENIALS)
    return all(any(form in known for form in _forms(word)) for word in telling)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_MARKS).casefold())


def _forms(word: str) -> Iterator[str]:
    """The word, and what it may be without its ending; figures, and names with signs, stay as they are."""
    yield word
    if word.replace("'", "").isalpha():
        for ending, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= LEAST:
                yield word[: len(word) - len(ending)] + instead
