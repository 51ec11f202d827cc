"""Carried: whether a text says nothing but what somebody said.

Quotes: whether somebody said that, word for word but for blanks and quotation marks, and where.

Bearing: whether passages bear out what is said to rest on them, as far as words can tell.

Quoting: which of several texts an answer has words of.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from recollect.model.timeline import Passage
from recollect.text.tokenizer import tokenize

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


MAX_QUOTE_TERMS = 3
"""How many terms in a row are a quotation."""

MIN_QUOTE_TERMS = 2
"""A text with fewer terms is not quoted: it would be wherever somebody says that word."""

TermRun = tuple[str, ...]


def find_quoted_texts(answer: str, texts: Sequence[str], question: str = "") -> list[int]:
    """The places of those texts of which terms stand in the answer in a row, one of them theirs alone.

    What the question or another text has too may be from there. An answer that quotes every text of several that can
    be told apart is a copy of them: it prefers none, so none is given.
    """
    found, every = _match_quotes(answer, texts, question)
    return [] if every else found


def quotes_all_texts(answer: str, texts: Sequence[str], question: str = "") -> bool:
    """Whether none is given for that it quotes every text of several."""
    return _match_quotes(answer, texts, question)[1]


def _match_quotes(answer: str, texts: Sequence[str], question: str) -> tuple[list[int], bool]:
    """The places of those that it quotes, and whether these are all of several that can be told apart."""
    said = tokenize(answer)
    told = [tokenize(text) for text in texts]
    having = Counter(term for one in told for term in set(one))
    asked = set(tokenize(question))
    runs = [
        _find_own_runs(one, frozenset(term for term in one if having[term] == 1 and term not in asked)) for one in told
    ]
    there = {length: set(_term_windows(said, length)) for length in range(MIN_QUOTE_TERMS, MAX_QUOTE_TERMS + 1)}
    found = [place for place, one in enumerate(runs) if any(run in there[len(run)] for run in one)]
    able = sum(map(bool, runs))
    return found, 1 < able == len(found)


def _find_own_runs(told: Sequence[str], own: frozenset[str]) -> set[TermRun]:
    """What of a text is a quotation wherever it stands: a row of terms with one of its own, or all of a short one."""
    length = min(MAX_QUOTE_TERMS, len(told))
    return (
        {run for run in _term_windows(told, length) if not own.isdisjoint(run)} if length >= MIN_QUOTE_TERMS else set()
    )


def _term_windows(told: Sequence[str], length: int) -> list[TermRun]:
    """Every so many terms in a row."""
    return list(zip(*(told[start:] for start in range(length)), strict=False))
