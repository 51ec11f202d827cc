"""Tokenizer: the index terms of a text, the same for every store, memory and question."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import groupby

import Stemmer  # type: ignore[import-not-found]

from recollect.text.lexicon import LEXICON
from recollect.text.normalize import FORMAT_MARKS, VARIATION_SELECTORS

VERSION = "1"
"""Stored with a store's terms; any change to the terms of any text, new stems included, needs a new version."""

MAX_TERM_CHARS = 64
"""Maximum length of a term; longer words are cut, because no query needs their end."""

MAX_TERM_COUNT = 65_535
"""Maximum count of a term in one text, which is what a stored count has room for."""

STOP_WORDS = frozenset(LEXICON.words("search.stop_words"))
"""English words that find nothing, because nearly every text has them.

Negations are among them: terms cannot show that two texts differ by a "not"; code that compares memories must.
"""

MAX_MARKS = 30
"""Maximum combining marks in a row; no script has as many (Unicode, annex 15, stream-safe text)."""


def tokenize(text: str) -> list[str]:
    """Return the terms of a text in order, each as often as it occurs; there may be none.

    English words are stems without stop words; words of other languages stay nearly as they are, but case-folded.
    Scripts without blanks between words give every two neighboring letters.
    """
    if text.isascii():
        return [_stem(word[:MAX_TERM_CHARS]) for word in ASCII_WORD.findall(text.lower()) if word not in STOP_WORDS]
    scripts, terms = _script_patterns(), list[str]()
    for word in scripts.word.findall(_fold_text(text, scripts)):
        if not word.isascii() and scripts.unspaced.match(word):
            letters = scripts.letter.findall(word)
            terms += map(str.__add__, letters, letters[1:]) if len(letters) > 1 else letters
        elif word not in STOP_WORDS:
            terms.append(_stem(word[:MAX_TERM_CHARS]))
    return terms


def count_terms(text: str) -> dict[str, int]:
    """Return how often each term occurs, at most `MAX_TERM_COUNT`, in order of first occurrence."""
    counts = dict(Counter(tokenize(text)))
    if max(counts.values(), default=0) > MAX_TERM_COUNT:
        return {term: min(times, MAX_TERM_COUNT) for term, times in counts.items()}
    return counts


@lru_cache(1 << 15)
def hash_term(term: str) -> int:
    """Return the term as a 64-bit number, the same on every machine.

    Stores save and look up terms by this number.
    """
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def clear_caches() -> None:
    """Forget all words that were seen, as when a text is erased."""
    hash_term.cache_clear()
    _stem.cache_clear()


@dataclass(frozen=True, slots=True)
class _ScriptPatterns:
    """Patterns that need the tables of Unicode."""

    mark_pile: re.Pattern[str]
    """More marks in a row than are read; the two half-width ones become marks when they are normalized."""
    word: re.Pattern[str]
    """Letters and digits with their marks. Stores keep the terms, so a change needs a new `VERSION`."""
    unspaced: re.Pattern[str]
    """A run in a script without blanks between words."""
    letter: re.Pattern[str]
    """A letter with its marks, as a reader sees it."""


@cache
def _script_patterns() -> _ScriptPatterns:
    # Compiled on first use: scanning the Unicode tables would slow down every start of a program.
    marks = "".join(_mark_ranges())
    return _ScriptPatterns(
        mark_pile=re.compile(rf"([{marks}\uff9e\uff9f]{{{MAX_MARKS}}})[{marks}\uff9e\uff9f]+"),
        word=re.compile(rf"\w[\w{marks}]*"),
        unspaced=re.compile(rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"),
        letter=re.compile(rf"[^{marks}][{marks}]*"),
    )


def _fold_text(text: str, scripts: _ScriptPatterns) -> str:
    """Return the text in one spelling, with blanks where scripts change.

    It is case-folded, and invisible characters are removed.
    """
    # Normalization sorts marks in quadratic time: without the cut, a few hundred kilobytes of marks take minutes.
    text = scripts.mark_pile.sub(r"\1", _INVISIBLE_CHARACTER.sub("", text))
    text = unicodedata.normalize("NFKC", text).casefold()
    for mark, instead in _CHARACTER_REPLACEMENTS.items():
        text = text.replace(mark, instead)
    return scripts.unspaced.sub(r" \g<0> ", text)


@lru_cache(1 << 15)
def _stem(word: str) -> str:
    # One stemmer for each word that is not cached: a stemmer that threads share would mix up their words.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


def _mark_ranges() -> Iterator[str]:
    """Yield the combining marks as ranges of a character class; `\\w` does not match them."""
    codes = [code for place in _MARK_CODE_RANGES for code in place if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    for _, neighbors in groupby(enumerate(codes), lambda numbered: numbered[1] - numbered[0]):
        run = [code for _, code in neighbors]
        yield f"{chr(run[0])}-{chr(run[-1])}"


_MARK_CODE_RANGES = (range(0x300, 0x3400), range(0xA000, 0xAC00), range(0xFB00, 0x20000), range(0xE0100, 0xE01F0))
"""Where marks occur at all; without Han and Hangul, which are half of what would have to be searched."""

ASCII_WORD = re.compile("[a-z0-9]+")
"""A word of a lower-case ASCII text: letters and digits. Other texts need the tables of Unicode (`_ScriptPatterns`)."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # Han: radicals, repetition marks and numerals
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CHARACTER_REPLACEMENTS = {"_": " ", "\u02bc": "'", "\u0307": ""}
"""Including an apostrophe that counts as a letter, and the dot that a Turkish capital i leaves behind."""

_INVISIBLE_CHARACTER = re.compile(f"[{FORMAT_MARKS}\u200c\u200d{VARIATION_SELECTORS}]")
"""Soft hyphens, joiners, directions and variants inside words; not U+200B, which shows where a word ends."""
