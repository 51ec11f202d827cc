"""Quoting: which of several texts an answer has words of."""

from collections import Counter
from collections.abc import Sequence

from recollect.text.tokenizer import tokenize

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
