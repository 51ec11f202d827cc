"""Sentence splitting: spans of a speaker's own sentences, and readable sentences of a text.

`_split_at_ends` splits; what ends a sentence differs. The first half finds spans for extraction rules, and leaves out
code and the words of others. The second half makes single-line sentences for excerpts, and keeps code and notes as
asides.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recollect.text.data_files import load_data_file
from recollect.text.lexicon import LEXICON
from recollect.text.normalize import FILLERS, FORMAT_MARKS

MAX_SENTENCE_CHARS = 300
"""Maximum length of a sentence; rules read no longer one, so that they end quickly on any text."""

_MAX_ABBREVIATION_CHARS = 8
"""Characters before a mark that are searched for an abbreviation."""

TextSpan = tuple[int, int]
"""Where something begins and ends in a text."""

_ENGLISH = load_data_file("recollect.text", "en/sentences.toml", LEXICON)

_PLAIN_CHARACTERS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"})
_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_CITATION_MARK = re.compile(r"\s{0,8}[>|]")
_SPEAKER_LABEL = re.compile(r"\s{0,8}([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2}) ?:(?=[ \t]+\S)")
_NON_SPEAKER_LABELS = frozenset(_ENGLISH.words("line_labels"))
_NOTE = re.compile(r"\[[^\[\]\n]{0,400}\]|<[^<>\n]{0,400}>")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[)\"']*+(?=\s)|(?<=[^\w\s.,;:!?'\"()&/-])\s(?=[A-Z])")
_ABBREVIATION_WITH_DOT = re.compile(rf"{_ENGLISH.pattern('patterns.abbreviation_or_initial')}\.$", re.IGNORECASE)
_BULLET = re.compile(r"\s*+(?:[-*•]\s++)?")


def replace_typography(text: str) -> str:
    """Return the text with plain quotation marks, dashes and blanks; no character moves."""
    return text.translate(_PLAIN_CHARACTERS)


def _split_at_ends(
    text: str, begin: int, end: int, marks: re.Pattern[str], continues: Callable[[str, int, re.Match[str]], bool]
) -> Iterator[TextSpan]:
    """Yield the spans of the sentences between two places, each with the mark that ends it.

    `continues` takes the text, the start of the sentence and a match of `marks`, and returns whether the sentence goes
    on after it.
    """
    start = begin
    for mark in marks.finditer(text, begin, end):
        if not continues(text, start, mark):
            yield start, mark.end()
            start = mark.end()
    yield start, end


def find_sentence_spans(text: str, speaker: str | None) -> Iterator[TextSpan]:
    """Yield the spans of the speaker's own sentences of at most `MAX_SENTENCE_CHARS`.

    Left out are code, cited lines, lines labeled with another name, notes between brackets, and text within quotation
    marks that an earlier sentence of the line opened.
    """
    for begin, end in _find_own_lines(text, speaker):
        quoted = False
        for first, last in _split_at_notes(text, begin, end):
            if not quoted and last - first <= MAX_SENTENCE_CHARS:
                yield first, last
            quoted ^= text.count('"', first, last) % 2 == 1


def _find_own_lines(text: str, speaker: str | None) -> Iterator[TextSpan]:
    """Yield the spans of the lines that the speaker says in their own words."""
    place, fenced = 0, False
    for line in text.splitlines(keepends=True):
        begin, place = place, place + len(line)
        if _FENCE.match(line):
            fenced = not fenced
        elif not (fenced or line.isspace() or _CITATION_MARK.match(line)):
            label = _SPEAKER_LABEL.match(line)
            if label is None or not _may_be_speaker(label[1]):
                yield begin, place
            elif speaker is not None and label[1].casefold() == speaker.casefold():
                yield begin + label.end(), place


def _may_be_speaker(words: str) -> bool:
    """Return whether the words before a colon can be a name."""
    return all(word[0].isupper() for word in words.split()) and words.split()[0].casefold() not in _NON_SPEAKER_LABELS


def _split_at_notes(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the sentences between two places; notes in brackets separate them and are left out."""
    place = begin
    for note in _NOTE.finditer(text, begin, end):
        yield from _split_at_marks(text, place, note.start())
        place = note.end()
    yield from _split_at_marks(text, place, end)


def _split_at_marks(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the sentences between two places, without a bullet and blanks around them."""
    for first, last in _split_at_ends(text, begin, end, _SENTENCE_END, _continues_after_dots):
        yield from _trim_span(text, first, last)


def _continues_after_dots(text: str, start: int, mark: re.Match[str]) -> bool:
    """Return whether the dots do not end the sentence: an abbreviation, or a pause."""
    end = mark.end()
    if text[end - 1] not in ".…":
        return False
    pauses = text[end - 1] == "…" or text[end - 2 : end] == ".."
    if pauses and text[end + 1 : end + 2].islower():
        return True
    return _ABBREVIATION_WITH_DOT.search(text, max(start, end - _MAX_ABBREVIATION_CHARS), end) is not None


def _trim_span(text: str, begin: int, end: int) -> Iterator[TextSpan]:
    """Yield the span without a bullet and blanks around it, if anything is left."""
    bullet = _BULLET.match(text, begin, end)
    first = begin if bullet is None else bullet.end()
    last = end
    while last > first and text[last - 1].isspace():
        last -= 1
    if first < last:
        yield first, last


ELLIPSIS = "…"
"""Marks where a text was cut."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line; `aside` marks code and notes between brackets."""

    text: str
    aside: bool = False


def to_single_line(text: str) -> str:
    """Return the text on one line, without control characters and invisible characters."""
    if text.isascii() and text.isprintable() and "  " not in text:  # the usual case, found quickly
        return text.strip()
    return " ".join(_INVISIBLE_CHARACTER.sub("", _CONTROL_CHARACTER.sub(" ", text)).split())


def truncate(text: str, max_chars: int) -> str:
    """Return the text; if it is too long, its beginning, cut after a word, with an ellipsis."""
    if len(text) <= max_chars:
        return text
    beginning = text[: max_chars - len(ELLIPSIS) + 1]
    cut = beginning.rfind(" ")
    if cut < max_chars // 2:  # a very long word, or a script without blanks
        cut = max_chars - len(ELLIPSIS)
        while cut > max_chars // 2 and _belong_together(text[cut - 1], text[cut]):
            cut -= 1
    return f"{text[:cut].rstrip(_LOOSE_MARKS)}{ELLIPSIS}"


def join_sentences(lines: Sequence[str]) -> str:
    """Join sentences, with a semicolon after each that ends without a mark."""
    return "".join([f"{line}; " if line[-1].isalnum() else f"{line} " for line in lines[:-1]]) + lines[-1]


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text without markup, each on one line; empty if none is visible."""
    sentences = list[Sentence]()
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            sentences += _clean_sentence(line, aside=True)
        elif _HORIZONTAL_RULE.fullmatch(line) is None:
            sentences += _split_line(_strip_markup(line))
    return sentences or [Sentence(line, aside=True) for line in [to_single_line(text)] if line]


def _split_line(line: str) -> Iterator[Sentence]:
    """Yield the sentences of a line; a note between brackets is a separate sentence."""
    place = 0
    for note in _BRACKET_NOTE.finditer(line):
        yield from _split_segment(line[place : note.start()])
        yield from _clean_sentence(note[0], aside=True)
        place = note.end()
    yield from _split_segment(line[place:] if place else line)


def _split_segment(text: str) -> Iterator[Sentence]:
    for first, last in _split_at_ends(text, 0, len(text), _MARK_AND_BLANK, _continues_after_mark):
        yield from _clean_sentence(text[first:last], aside=False)


def _continues_after_mark(text: str, _: int, mark: re.Match[str]) -> bool:
    """Return whether the mark does not end the sentence: an abbreviation, a list number or a pause."""
    if mark[0][0] not in ".…":
        return False
    if text[mark.end() : mark.end() + 1].islower():
        return True
    before = mark.start()
    return (
        _LIST_NUMBER.search(text, max(before - 4, 0), before) is not None
        or _ABBREVIATION.search(text, max(before - _MAX_ABBREVIATION_CHARS, 0), before) is not None
    )


def _clean_sentence(text: str, *, aside: bool) -> Iterator[Sentence]:
    line = to_single_line(text)
    if any(map(str.isalnum, line)):
        yield Sentence(line, aside)
    elif line and not line.isascii():  # visible, but not a word
        yield Sentence(line, aside=True)


def _strip_markup(line: str) -> str:
    """Strip the marks of Markdown and HTML."""
    if _MARKUP.search(line) is None:
        return line
    line = _LINE_PREFIX.sub("", line)
    line = _HTML_TAG.sub(" ", _MARKDOWN_LINK.sub(r"\1", line))
    line = _STRONG.sub(r"\2", line)
    line = _EMPHASIS.sub(r"\1", line).replace("`", "")
    return line.replace("|", " ") if line.count("|") > 1 else line


def _belong_together(before: str, character: str) -> bool:
    """Return whether the character is a mark on the one before, or either joins the two."""
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character in _JOINING_CHARACTERS
        or before == _ZERO_WIDTH_JOINER
    )


_ZERO_WIDTH_JOINER = "\u200d"
_JOINING_CHARACTERS = "\u200c\u200d\ufe0e\ufe0f"
_LOOSE_MARKS = " ,;:-–—(\u200c\u200d"
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE_CHARACTER = re.compile(f"[{FORMAT_MARKS}{FILLERS}\u200b\ufff0-\ufffb\U000e0000-\U000e0fff]")
"""Invisible characters; not joiners and variation selectors, without which some words and emoji look different."""

_HORIZONTAL_RULE = re.compile(r"[\s|:=_*-]*")
_MARKUP = re.compile(r"[*_`#>|<\[•]|^\s*[-+]\s")
_LINE_PREFIX = re.compile(r"^\s*(?:(?:#{1,6}|[-*+•]|\[[ xX]\])\s+|>\s*)*")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,2000}\)")
_HTML_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_STRONG = re.compile(r"(?<!\w)(\*\*|__|~~)(?=\S)([^*_~]{1,300})(?<=\S)\1(?!\w)")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*]{1,300})(?<=\S)\*(?![\w*])")
_BRACKET_NOTE = re.compile(r"\[[^\[\]]{1,400}\]|【[^【】]{1,400}】")
_MARK_AND_BLANK = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)]*+\s++|(?<![。！？｡])[。！？｡]++[」』”’）]*+\s*+")
_LIST_NUMBER = re.compile(r"(?<![\w.,])\d{1,2}$")
_ABBREVIATION = re.compile(rf"{_ENGLISH.pattern('patterns.abbreviation_or_initial')}$", re.IGNORECASE)
