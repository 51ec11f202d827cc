"""Carried: whether a text says nothing but what somebody said."""

import re
import unicodedata
from collections.abc import Iterator

MAX_TURN_WORDS = 5_000
"""How many words a turn may have to carry anything; in longer ones nobody finds what was meant."""

DENIAL_WINDOW_WORDS = 3
"""How many words before may deny what follows."""

MIN_STEM_LETTERS = 3
"""How many letters of a word are left at least without its ending."""

_WORD = re.compile(r"\w+(?:['.,:/@+-]\w+)*")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
_SILENT_WORDS = frozenset(
    _WORD.findall("""
    a an the is are was were be been being am has have had having do does did to of in on at for with by as and that
    this it its it's he she they his her hers their theirs him them who which i me my mine we our us myself themselves
    himself herself i'm i've i'd i'll we've we're he's she's they're they've user user's users speaker person
""")
)
"""Words that say nothing by themselves, and those by which a text calls who spoke."""

_DENIAL_WORDS = frozenset(
    _WORD.findall("""
    no not never none nobody nothing neither nor without cannot can't don't doesn't didn't won't isn't aren't wasn't
    weren't hasn't haven't hadn't wouldn't shouldn't couldn't mustn't ain't hardly barely except unless
""")
)
_WORD_ENDINGS = (
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


def is_grounded(text: str, turn: str, speaker: str | None = None) -> bool:
    """Whether all that the text says stands in the turn in just these words, in a row and with no denial before it; but
    for their endings, the name of the speaker at its beginning and words that say nothing by themselves.
    """
    said, told = _content_words(turn), _content_words(text)
    name = _content_words(speaker or "")
    if name and told[: len(name)] == name:
        told = told[len(name) :]
    if len(said) > MAX_TURN_WORDS:
        return False
    forms = [frozenset(_word_forms(word)) for word in told]
    last = len(said) - len(told)
    return any(
        "not" not in said[max(0, at - DENIAL_WINDOW_WORDS) : at]
        and all(not one.isdisjoint(_word_forms(said[at + n])) for n, one in enumerate(forms))
        for at in range(last + 1)
    )


def _content_words(text: str) -> list[str]:
    """The words that say something; every denial as the same one."""
    return ["not" if word in _DENIAL_WORDS else word for word in _split_words(text) if word not in _SILENT_WORDS]


def _split_words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold())


def _word_forms(word: str) -> Iterator[str]:
    """The word, and what it may be without its ending; figures, and names with signs, stay as they are."""
    yield word
    if word.replace("'", "").isalpha():
        for ending, instead in _WORD_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM_LETTERS:
                yield word[: len(word) - len(ending)] + instead
