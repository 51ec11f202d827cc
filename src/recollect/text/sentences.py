"""Sentences: what one speaker said in a turn, sentence by sentence, with the words of others left out."""

import re
from collections.abc import Iterator

MAX_SENTENCE_CHARS = 300
"""How many characters a sentence may have: rules look at no longer one, so that all of them end soon on any text."""

TextSpan = tuple[int, int]
"""Where something begins and ends in a text."""

_PLAIN_CHARACTERS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"})
_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_CITATION_MARK = re.compile(r"\s{0,8}[>|]")
_SPEAKER_LABEL = re.compile(r"\s{0,8}([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2}) ?:(?=[ \t]+\S)")
_NON_SPEAKER_LABELS = frozenset(
    {
        "correction",
        "decision",
        "definition",
        "edit",
        "fyi",
        "important",
        "note",
        "ps",
        "reminder",
        "remember",
        "step",
        "update",
    }
)
_NOTE = re.compile(r"\[[^\[\]\n]{0,400}\]|<[^<>\n]{0,400}>")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[)\"']*+(?=\s)|(?<=[^\w\s.,;:!?'\"()&/-])\s(?=[A-Z])")
_ABBREVIATION_WITH_DOT = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|jr|sr|u\.s|a\.m|p\.m)|(?<![\w'])(?-i:[A-HJ-Z]))\.$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*+(?:[-*•]\s++)?")


def replace_typography(text: str) -> str:
    """The text with plain quotation marks, dashes and blanks, each character in its place."""
    return text.translate(_PLAIN_CHARACTERS)


def find_sentence_spans(text: str, speaker: str | None) -> Iterator[TextSpan]:
    """Where the sentences of a plain text are that are short enough to be looked at, and the speaker's own.

    Left out is what stands in code, behind a mark of citation or another's name, between brackets, or within quotation
    marks that an earlier sentence of the line opened.
    """
    for begin, end in _find_own_lines(text, speaker):
        quoted = False
        for first, last in _split_at_notes(text, begin, end):
            if not quoted and last - first <= MAX_SENTENCE_CHARS:
                yield first, last
            quoted ^= text.count('"', first, last) % 2 == 1


def _find_own_lines(text: str, speaker: str | None) -> Iterator[TextSpan]:
    """Where the lines are that the speaker says in their own words."""
    place, fenced = 0, False
    for line in text.splitlines(keepends=True):
        begin, place = place, place + len(line)
        if _FENCE.match(line):
            fenced = not fenced
        elif not (fenced or line.isspace() or _CITATION_MARK.match(line)):
            named = _SPEAKER_LABEL.match(line)
            if named is None or not _may_be_speaker(named[1]):
                yield begin, place
            elif speaker is not None and named[1].casefold() == speaker.casefold():
                yield begin + named.end(), place


def _may_be_speaker(words: str) -> bool:
    """Whether the words before a colon can be a name."""
    return all(word[0].isupper() for word in words.split()) and words.split()[0].casefold() not in _NON_SPEAKER_LABELS


def _split_at_notes(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Where the sentences are between two places; notes in brackets stand between sentences and are none."""
    place = begin
    for note in _NOTE.finditer(text, begin, end):
        yield from _split_at_marks(text, place, note.start())
        place = note.end()
    yield from _split_at_marks(text, place, end)


def _split_at_marks(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Where the sentences are between two places, each with the mark that ends it."""
    place = begin
    for mark in _SENTENCE_END.finditer(text, begin, end):
        if not _continues_after_dots(text, max(place, mark.end() - 8), mark.end()):
            yield from _trim_span(text, place, mark.end())
            place = mark.end()
    yield from _trim_span(text, place, end)


def _continues_after_dots(text: str, begin: int, end: int) -> bool:
    """Whether the dots before a place end no sentence: an abbreviation, or a pause before a small letter."""
    if text[end - 1] not in ".…":
        return False
    pauses = text[end - 1] == "…" or text[end - 2 : end] == ".."
    return (pauses and text[end + 1 : end + 2].islower()) or _ABBREVIATION_WITH_DOT.search(text, begin, end) is not None


def _trim_span(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """The span without a bullet and blanks around it, if anything is left."""
    bullet = _BULLET.match(text, begin, end)
    first = begin if bullet is None else bullet.end()
    last = end
    while last > first and text[last - 1].isspace():
        last -= 1
    if first < last:
        yield first, last
