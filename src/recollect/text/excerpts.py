"""Excerpts: what was said as a person wants to read it again, sentence by sentence."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ELLIPSIS = "…"
"""What stands where a text was cut."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line; `aside` if it only goes with what was said: code, or a note between brackets."""

    text: str
    aside: bool = False


def to_single_line(text: str) -> str:
    """The text on one line, without characters that only steer how others look."""
    if text.isascii() and text.isprintable() and "  " not in text:  # which most are, and sooner told
        return text.strip()
    return " ".join(_INVISIBLE_CHARACTER.sub("", _CONTROL_CHARACTER.sub(" ", text)).split())


def truncate(text: str, most: int) -> str:
    """The line if it is short enough, or as much of its beginning as fits with a mark behind it, cut behind a word."""
    if len(text) <= most:
        return text
    begins = text[: most - len(ELLIPSIS) + 1]
    cut = begins.rfind(" ")
    if cut < most // 2:  # a word without end, or a script without blanks
        cut = most - len(ELLIPSIS)
        while cut > most // 2 and _belong_together(text[cut - 1], text[cut]):
            cut -= 1
    return f"{text[:cut].rstrip(_LOOSE_MARKS)}{ELLIPSIS}"


def join_sentences(lines: Sequence[str]) -> str:
    """The sentences one behind the other, with a mark between those that end without one."""
    return "".join([f"{line}; " if line[-1].isalnum() else f"{line} " for line in lines[:-1]]) + lines[-1]


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of a text without its marks of layout, each on one line; none if nothing in it can be seen."""
    found = list[Sentence]()
    fenced = False
    for line in text.splitlines():
        if _CODE_FENCE.match(line):
            fenced = not fenced
        elif fenced:
            found += _clean_sentence(line, aside=True)
        elif _HORIZONTAL_RULE.fullmatch(line) is None:
            found += _split_line(_strip_markup(line))
    return found or [Sentence(line, aside=True) for line in [to_single_line(text)] if line]


def _split_line(line: str) -> Iterator[Sentence]:
    """The sentences of a line; what stands between brackets is one of its own."""
    place = 0
    for note in _BRACKET_NOTE.finditer(line):
        yield from _split_segment(line[place : note.start()])
        yield from _clean_sentence(note[0], aside=True)
        place = note.end()
    yield from _split_segment(line[place:] if place else line)


def _split_segment(text: str) -> Iterator[Sentence]:
    place = 0
    for end in _MARK_AND_BLANK.finditer(text):
        if not _continues_after(text, end):
            yield from _clean_sentence(text[place : end.end()], aside=False)
            place = end.end()
    yield from _clean_sentence(text[place:], aside=False)


def _continues_after(text: str, end: re.Match[str]) -> bool:
    """Whether the marks end no sentence: a word is shortened, or a pause is made before a small letter."""
    if end[0][0] not in ".…":
        return False
    follows = text[end.end() : end.end() + 1]
    return (
        follows.islower()
        or _LIST_NUMBER.search(text, max(end.start() - 4, 0), end.start()) is not None
        or _ABBREVIATION.search(text, max(end.start() - 8, 0), end.start()) is not None
    )


def _clean_sentence(text: str, *, aside: bool) -> Iterator[Sentence]:
    line = to_single_line(text)
    if any(map(str.isalnum, line)):
        yield Sentence(line, aside)
    elif line and not line.isascii():  # something to see, though no word
        yield Sentence(line, aside=True)


def _strip_markup(line: str) -> str:
    """The line without the marks of Markdown and HTML."""
    if _MARKUP.search(line) is None:
        return line
    line = _LINE_PREFIX.sub("", line)
    line = _HTML_TAG.sub(" ", _MARKDOWN_LINK.sub(r"\1", line))
    line = _STRONG.sub(r"\2", line)
    line = _EMPHASIS.sub(r"\1", line).replace("`", "")
    return line.replace("|", " ") if line.count("|") > 1 else line


def _belong_together(before: str, character: str) -> bool:
    """Whether a character is a mark on the one before, or one of both joins them."""
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character in _JOINING_CHARACTERS
        or before == _ZERO_WIDTH_JOINER
    )


_ZERO_WIDTH_JOINER = "\u200d"
_JOINING_CHARACTERS = "\u200c\u200d\ufe0e\ufe0f"
_LOOSE_MARKS = " ,;:-–—(\u200c\u200d"
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE_CHARACTER = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""What nobody sees; not joiners and variants, without which some words and emoji look otherwise."""

_CODE_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
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
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|approx|jr|sr|u\.s|a\.m|p\.m)|(?<![\w'])(?-i:[A-HJ-Z]))$",
    re.IGNORECASE,
)
