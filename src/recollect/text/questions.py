"""Question analysis: whom a question names, and whether it is about the person who asks."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from recollect.model.validation import to_nfc
from recollect.text.data_files import load_data_file
from recollect.text.tokenizer import ASCII_WORD, STOP_WORDS

_ENGLISH = load_data_file("recollect.text", "en/entities.toml")

USER_LABELS = frozenset(_ENGLISH.words("people.user_labels"))
"""Speaker labels, in lower case, that mean the person who asks."""

ROLE_LABELS = USER_LABELS.union(_ENGLISH.words("people.role_labels"))
"""Speaker labels that are roles and not names; in a text they are words like any other."""

QUESTION_MARKS = ("?", "？", "؟", "⁇")
QUESTION_END_CHARS = 32
"""Characters at the end of a text that are searched for a question mark; blanks may follow it."""

MIN_FOLDED_LETTERS = 3
"""Shorter names are found only as they are written, because most of them are also words."""


def find_named_speakers(text: str, speakers: Collection[str]) -> tuple[str, ...]:
    """Return the speakers whom the text names, sorted: by whole label or by its first word.

    A name is whole words, in any case and however its letters are composed. One that is also a stop word (Will, May),
    or shorter than `MIN_FOLDED_LETTERS`, must be written as the label has it. In scripts without blanks a name may be
    anywhere. Roles (`ROLE_LABELS`) are never names.
    """
    words, folded = _WordIndex.of(text), text.casefold()
    candidates = [label for label in set(speakers) if _may_have_label(folded, label)]
    return tuple(sorted(label for label in candidates if any(words.contain(name) for name in _speaker_names(label))))


def _may_have_label(folded: str, label: str) -> bool:
    """Return whether the folded text may contain the label.

    It looks only for the beginning of the label, which quickly rules out most speakers.
    """
    first = ASCII_WORD.search(label.casefold()) if label.isascii() else None
    return first is None or first[0] in folded


def rephrase_as_speaker(text: str, name: str) -> str:
    """Put a question in the first person: "my" for "Caroline's", "I" for "Caroline".

    A text that does not name them, by the rules of `find_named_speakers`, is returned unchanged. Verbs stay as they
    are.
    """
    words = _WordIndex.of(text)
    places: dict[int, int] = {}
    for one in reversed(_speaker_names(name)):  # the whole label last: where both begin, the longer is replaced
        places |= dict(words.find_places(one))
    if not places:
        return text
    parts, done = list[str](), 0
    for first, last in sorted(places.items()):
        start, end = words.matches[first].start(), words.matches[last].end()
        if start >= done:
            owned = _find_possessive_end(words.text, start, end)
            parts += words.text[done:start], "my" if owned else "I"
            done = owned or end
    return "".join([*parts, words.text[done:]])


def is_question(text: str) -> bool:
    """Return whether the text ends with a question."""
    return text[-QUESTION_END_CHARS:].rstrip()[-1:] in QUESTION_MARKS


def is_first_person(text: str) -> bool:
    """Return whether the text says I, me, my, mine, we, us, our or ours; the US is a country."""
    return _FIRST_PERSON.search(text) is not None


def is_user_label(label: str) -> bool:
    """Return whether this speaker label means the person who asks."""
    return label.strip().casefold() in USER_LABELS


@dataclass(frozen=True, slots=True)
class _SpeakerName:
    """What a speaker may be called: words with a blank before, between and after them."""

    words: str
    exact: bool
    """Whether it must be written exactly so; if not, the words are case-folded."""


@dataclass(frozen=True, slots=True)
class _WordIndex:
    """The words of a text on one line, with blanks around them, as written and case-folded."""

    text: str
    matches: Sequence[re.Match[str]]
    exact: str
    folded: str

    @classmethod
    def of(cls, text: str) -> "_WordIndex":
        text = to_nfc(text)
        matches = list(_WORD.finditer(text))
        words = [word[0] for word in matches]
        return cls(text, matches, _pad_words(words), _pad_words([word.casefold() for word in words]))

    def contain(self, name: _SpeakerName) -> bool:
        """Return whether the words of the name follow each other in the text."""
        return name.words in (self.exact if name.exact else self.folded)

    def find_places(self, name: _SpeakerName) -> Iterator[tuple[int, int]]:
        """Yield where they do: the numbers of the first and of the last word."""
        line, many = self.exact if name.exact else self.folded, name.words.count(" ") - 1
        first, before = 0, 0
        place = line.find(name.words)
        while place >= 0:
            first, before = first + line.count(" ", before, place), place
            yield first, first + many - 1
            place = line.find(name.words, place + len(name.words) - 1)


def _speaker_names(label: str) -> list[_SpeakerName]:
    """Return what this speaker is called: the whole label and its first word, if they are names."""
    composed = to_nfc(label)
    spellings = [words for part in (composed, *composed.split(maxsplit=1)[:1]) if (words := _WORD.findall(part))]
    names = [_make_name(words) for words in spellings if " ".join(words).casefold() not in _NON_NAMES]
    return list(dict.fromkeys(names))


def _make_name(words: Sequence[str]) -> _SpeakerName:
    folded = [word.casefold() for word in words]
    exact = " ".join(folded) in STOP_WORDS or len("".join(words)) < MIN_FOLDED_LETTERS
    return _SpeakerName(_pad_words(words if exact else folded), exact)


def _pad_words(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _find_possessive_end(text: str, start: int, end: int) -> int | None:
    """Return where the possessive of the name between these places ends, if it has one.

    The quotation mark after 'James' is not a possessive.
    """
    mark = _POSSESSIVE.match(text, end)
    if mark is None or (len(mark[0]) == 1 and text[max(start - 1, 0) : start] in _SINGLE_QUOTES):
        return None
    return mark.end()


_NON_NAMES = ROLE_LABELS.union(_ENGLISH.words("people.titles"), _ENGLISH.words("people.label_starts"))
"""Words that are not a name, nor the first word of one."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han
)
"""Scripts without blanks between words: each letter is read as a word, so that names in them are found."""

_COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c2\u05c4-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe20-\ufe2f"
)
"""Marks inside words, and the letters beside them, which `\\w` does not match."""

_WORD = re.compile(rf"[^\W_\u02bc{_UNSPACED}](?:[^\W_\u02bc{_UNSPACED}]|[{_COMBINING_MARKS}])*|[{_UNSPACED}]")
"""A part of a name: it ends at every hyphen, apostrophe and underscore, so that "Ana" is found in "Ana's"."""

_SINGLE_QUOTES = {"'", "\u2018", "\u201b"}
_POSSESSIVE = re.compile(r"['\u2019\u02bc][sS](?![^\W_])|(?<=[sSxXzZ])['\u2019\u02bc](?![^\W_])")
_FIRST_PERSON = re.compile(_ENGLISH.pattern("patterns.first_person"))
