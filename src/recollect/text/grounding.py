"""Checks whether a generated text rests on its sources: wording, quotes, claims, citations.

In reading order: whether a text says only what a turn says, where a quote stands in a text, whether passages support a
claim, and which texts an answer quotes. All of them compare words; none is a proof.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from recollect.model.timeline import Passage
from recollect.text.data_files import load_data_file
from recollect.text.tokenizer import tokenize

MAX_TURN_WORDS = 5_000
"""Maximum words in a turn; a longer one grounds nothing."""

DENIAL_WINDOW_WORDS = 3
"""Words before a match that may deny it."""

MIN_STEM_LETTERS = 3
"""Minimum letters left of a word without its ending."""

_WORD = re.compile(r"\w+(?:['.,:/@+-]\w+)*")
"""A word, number or address in one piece: 3.5, 10:30 and a@b.org must occur whole to ground a text."""

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
_ENGLISH = load_data_file("recollect.text", "en/sentences.toml")

_IGNORED_WORDS = frozenset(_ENGLISH.words("grounding.ignored"))
"""Words without meaning of their own, and words by which a text refers to the speaker."""

_DENIAL_WORDS = frozenset(_ENGLISH.words("grounding.denials"))
_WORD_ENDINGS = tuple(
    (ending, instead) for ending, _, instead in (pair.partition(":") for pair in _ENGLISH.words("grounding.endings"))
)


def is_grounded(text: str, turn: str, speaker: str | None = None) -> bool:
    """Return whether the turn has all words of the text in a row, with no denial before them.

    Word endings, words without meaning of their own, and the speaker's name at the beginning of the text are ignored.
    """
    turn_words, text_words = _content_words(turn), _content_words(text)
    speaker_words = _content_words(speaker or "")
    if speaker_words and text_words[: len(speaker_words)] == speaker_words:
        text_words = text_words[len(speaker_words) :]
    if len(turn_words) > MAX_TURN_WORDS:
        return False
    forms = [frozenset(_word_forms(word)) for word in text_words]
    last = len(turn_words) - len(text_words)
    return any(
        "not" not in turn_words[max(0, at - DENIAL_WINDOW_WORDS) : at]
        and all(not one.isdisjoint(_word_forms(turn_words[at + n])) for n, one in enumerate(forms))
        for at in range(last + 1)
    )


def _content_words(text: str) -> list[str]:
    """Return the words that carry meaning; every denial becomes "not"."""
    folded = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold()
    return ["not" if word in _DENIAL_WORDS else word for word in _WORD.findall(folded) if word not in _IGNORED_WORDS]


def _word_forms(word: str) -> Iterator[str]:
    """Yield the word, and what it may be without its ending.

    Numbers, and names with symbols in them, stay as they are.
    """
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
"""Scripts below this character (Latin, Greek, Cyrillic …) have blanks between words."""


def fold_quotes(text: str) -> str:
    """Return the text with single blanks of one kind, and one kind of each quotation mark."""
    return _BLANK_RUN.sub(" ", text).translate(_PLAIN_QUOTES)


def find_quote(quote: str, text: str, as_folded: str) -> str | None:
    """Return the quote as it stands in the text; None if it is absent or cuts a word.

    `quote` is already folded by `fold_quotes`, and `as_folded` is the folded text: callers use both more than once.
    """
    stripped = quote.strip()
    # A model may put quotation marks around a quote.
    for one in dict.fromkeys((stripped, stripped.strip(_OUTER_MARKS))):
        place = _find_whole_words(one, as_folded) if one else None
        if place is not None:
            return text[_unfolded_offset(text, place) : _unfolded_offset(text, place + len(one) - 1) + 1]
    return None


def _find_whole_words(words: str, text: str) -> int | None:
    """Return the first place where it stands as whole words.

    Overlapping occurrences are not tried.
    """
    place = text.find(words)
    while place >= 0:
        end = place + len(words)
        if not _is_within_word(text, place) and not _is_within_word(text, end):
            return place
        place = text.find(words, end)
    return None


def _is_within_word(text: str, place: int) -> bool:
    """Return whether a word continues across this place."""
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and around.isalnum() and max(around) < SPACED_SCRIPTS_END


def _unfolded_offset(text: str, place: int) -> int:
    """Return where this character of the folded text is in the original text."""
    dropped_blanks = 0
    for blanks in _SEVERAL_BLANKS.finditer(text):
        if blanks.start() - dropped_blanks >= place:
            break
        dropped_blanks += len(blanks[0]) - 1
    return place + dropped_blanks


STEM_CHARS = 4
"""How many first letters identify a word with any ending."""

MIN_DISTINCTIVE_STEMS = 8
"""With fewer stems to compare, a text that shares none may still be a paraphrase."""

CONTEXT_PASSAGES = 10
"""Passages before the cited one that may supply the context: "I booked it" does not mention Lisbon."""

_WORD_OR_NUMBER = re.compile(r"\d+|[^\W\d_]+")
_MARKS_BEFORE_CAPITAL = frozenset(".!?:;\"'“”„«»‘’(–—-•*")
"""After these, a capital need not mean a name."""


class ClaimSupport:
    """The content of passages, as stems of their words.

    This is not a proof: a lie in the passages' own words passes. It detects claims that have nothing to do with any
    passage, and claims that come from other passages than the cited ones, as when a prompt injection in one passage
    puts words into another.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._dates = [_date_numbers(one.at) for one in passages]
        self._stems = [_text_stems(one.text) for one in passages]
        self._speakers = _union(_text_stems(one.speaker) for one in passages if one.speaker is not None)
        self._all = _union(self._stems)
        # more than a short word that every text has
        self._distinctive = {stem for stem in self._all if len(stem) >= STEM_CHARS or max(stem) >= SPACED_SCRIPTS_END}

    def supports(self, text: str, places: Collection[int]) -> bool:
        """Return whether the text can come from the passages at these places.

        It must share a word with some passage, and half of its names and numbers that occur in any passage must occur
        in the cited ones or just before them.
        """
        touches = len(self._distinctive) < MIN_DISTINCTIVE_STEMS or not _text_stems(text).isdisjoint(
            self._distinctive | self._speakers
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
    """Return the stems of the words, and the numbers.

    Where a script has no blanks between words, all pairs of characters.
    """
    return frozenset(stem for word in _WORD_OR_NUMBER.findall(text.casefold()) for stem in _word_stems(word))


def _word_stems(word: str) -> Collection[str]:
    if word.isdigit():
        return (word,)
    if max(word) >= SPACED_SCRIPTS_END:
        return {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
    return (word[:STEM_CHARS],)


def _name_stems(text: str) -> frozenset[str]:
    """Return the stems of names and numbers: digits, or a capital that starts no sentence."""
    return _union(
        _text_stems(word[0])
        for word in _WORD_OR_NUMBER.finditer(text)
        if _is_name_or_number(word[0], text[: word.start()])
    )


def _is_name_or_number(word: str, before: str) -> bool:
    if word.isdigit() or any(map(str.isupper, word[1:])):
        return True
    end = before.rstrip()[-1:]
    return len(word) > 1 and word[0].isupper() and bool(end) and end not in _MARKS_BEFORE_CAPITAL


def _date_numbers(at: datetime) -> frozenset[str]:
    """Return the numbers of that day, as they may be written."""
    return frozenset(f"{number:{form}}" for number in (at.year, at.month, at.day) for form in ("d", "02d"))


MAX_QUOTE_TERMS = 3
"""Number of terms in a row that make a quotation."""

MIN_QUOTE_TERMS = 2
"""Minimum terms in a quotable text: one common word would count as a quotation everywhere."""

TermRun = tuple[str, ...]


def find_quoted_texts(answer: str, texts: Sequence[str], question: str = "") -> list[int]:
    """Return the places of the texts that the answer quotes.

    A quotation is a row of terms, one of which no other text has. Terms of the question do not count, as they may come
    from there. If the answer quotes every one of several texts that can be told apart, it is a copy of them and prefers
    none: the result is empty.
    """
    found, every = _match_quotes(answer, texts, question)
    return [] if every else found


def quotes_all_texts(answer: str, texts: Sequence[str], question: str = "") -> bool:
    """Return whether no text is given because the answer quotes every one of several."""
    return _match_quotes(answer, texts, question)[1]


def _match_quotes(answer: str, texts: Sequence[str], question: str) -> tuple[list[int], bool]:
    """Return the places of the quoted texts, and whether they are all of several distinct ones."""
    answer_terms = tokenize(answer)
    terms_of_texts = [tokenize(text) for text in texts]
    text_counts = Counter(term for one in terms_of_texts for term in set(one))
    question_terms = set(tokenize(question))
    own_runs = [
        _find_own_runs(one, frozenset(term for term in one if text_counts[term] == 1 and term not in question_terms))
        for one in terms_of_texts
    ]
    windows = {
        length: set(_term_windows(answer_terms, length)) for length in range(MIN_QUOTE_TERMS, MAX_QUOTE_TERMS + 1)
    }
    quoted = [place for place, one in enumerate(own_runs) if any(run in windows[len(run)] for run in one)]
    quotable_count = sum(map(bool, own_runs))
    return quoted, 1 < quotable_count == len(quoted)


def _find_own_runs(terms: Sequence[str], own_terms: frozenset[str]) -> set[TermRun]:
    """Return the rows of terms that count as a quotation of the text.

    A row needs one of the text's own terms; a short text counts as a whole.
    """
    length = min(MAX_QUOTE_TERMS, len(terms))
    return (
        {run for run in _term_windows(terms, length) if not own_terms.isdisjoint(run)}
        if length >= MIN_QUOTE_TERMS
        else set()
    )


def _term_windows(terms: Sequence[str], length: int) -> list[TermRun]:
    """Return every row of that many consecutive terms."""
    return list(zip(*(terms[start:] for start in range(length)), strict=False))
