"""Entities: the names that a text mentions, found by spelling, without a model.

A name is written with capitals (Ana Souza, Rio de Janeiro, NASA), as code (`parse_line`, DictionaryStore), as an
address, a path or a handle, or between quotation marks. Every sentence begins with a capital, so an ordinary word there
is not a name. A name that is missed or wrong does little harm, because names are weighted by how rare they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from recollect.model.validation import find_invisible_character, to_nfc
from recollect.text.data_files import load_data_file
from recollect.text.lexicon import MONTHS, SHORT_MONTHS, VERB_ENDINGS, WEEKDAYS
from recollect.text.questions import ROLE_LABELS
from recollect.text.tokenizer import STOP_WORDS

VERSION = "1"
"""Stored with a store's names; any change to the names of any text needs a new version."""

MAX_ENTITIES = 32
"""Maximum number of names kept per text; the first ones are kept."""

MAX_NAME_CHARS = 80
"""Maximum length of a name; anything longer is a sentence."""

MAX_TEXT_CHARS = 65_536
"""Characters of a text that are searched for names; the rest is ignored."""

MAX_NAME_WORDS = 6
"""Maximum words in a name; a longer run of capitals is a heading."""

MAX_QUESTION_WORDS = 64
"""Words of a question that are tried as names; the rest of a long request is ignored."""


def find_entities(text: str, speaker: str | None = None) -> tuple[str, ...]:
    """Return the names in a text in order, each once, then the speaker if that is a name.

    At most `MAX_ENTITIES` from the text. They are normalized: composed (NFC), case-folded, without a possessive, any
    run of blanks as one.
    """
    composed = to_nfc(text[:MAX_TEXT_CHARS])
    marked_names = _find_marked_names(composed)
    names_by_place = [
        *((one.start, one.name) for one in marked_names),
        *_find_capitalized_names(_mask_names(composed, marked_names)),
    ]
    names = dict.fromkeys([name for _, name in sorted(names_by_place)])
    visible_names = (name for name in names if find_invisible_character(name) is None)
    kept_names, speaker_name = tuple(islice(visible_names, MAX_ENTITIES)), speaker_entity(speaker)
    return kept_names if speaker_name is None or speaker_name in kept_names else (*kept_names, speaker_name)


def speaker_entity(speaker: str | None) -> str | None:
    """Return the speaker's name; None if it is a role such as `user`."""
    name = None if speaker is None else canonicalize_name(speaker)
    return None if not name or name in ROLE_LABELS or find_invisible_character(name) is not None else name


def canonicalize_name(name: str) -> str:
    """Return the normalized spelling of a name; empty if it is too long to be one."""
    if len(name) > 4 * MAX_NAME_CHARS:
        return ""
    folded = to_nfc(" ".join(to_nfc(name).casefold().split()))
    folded = _POSSESSIVE.sub("", folded)
    return folded if len(folded) <= MAX_NAME_CHARS else ""


def find_candidate_names(question: str) -> tuple[str, ...]:
    """Return every phrase of a question that may be a name.

    These are its own names, and every run of a few consecutive words; the caller checks which of them are known names.
    If a word inside a sentence has a capital, the writer is taken to capitalize all names; otherwise names may be in
    lower case too.
    """
    words = list(islice(_iter_words(to_nfc(question[:MAX_TEXT_CHARS])), MAX_QUESTION_WORDS))
    careful = any(not word.first and _is_capitalized(word) for word in words)
    phrases = dict.fromkeys(find_entities(question))
    for many in range(1, MAX_NAME_WORDS + 1):
        for first in range(len(words) - many + 1):
            run = [word.name for word in words[first : first + many]]
            if (_is_capitalized(words[first]) or not careful) and (many > 1 or may_be_name(run[0])):
                phrases[" ".join(run)] = None
    return tuple(phrases)


def may_be_name(word: str) -> bool:
    """Return whether a lower-case word may stand for a name that contains it."""
    return len(word) > 1 and word not in _NEVER_NAMES_ALONE and word not in _ORDINARY_WORDS


@dataclass(frozen=True, slots=True)
class _MarkedName:
    """A name with special spelling (code, quoted title, address …) and its place."""

    start: int
    end: int
    name: str


def _find_marked_names(text: str) -> list[_MarkedName]:
    """Return code in backticks, quoted titles, addresses, paths, handles and identifiers."""
    quoted = _find_quoted_names(text)
    marked = list(quoted)
    inside = iter([*quoted, _MarkedName(len(text), len(text), "")])
    here = next(inside)
    for mark in _SPECIAL_MARK.finditer(text):
        start, end = _unspaced_start(text, mark.start()), mark.end()
        while here.end <= start and here.name:
            here = next(inside)
        if end <= here.start:
            written = text[start:end].strip(_SURROUNDING_MARKS)
            name = _parse_special_name(written) if len(written) <= MAX_NAME_CHARS else ""
            if name:
                marked.append(_MarkedName(start, end, name))
    return marked


def _find_quoted_names(text: str) -> list[_MarkedName]:
    if _OPENING_QUOTE.search(text) is None:
        return []
    return [one for one in map(_read_quoted_name, _QUOTED_TEXT.finditer(text)) if one is not None]


def _read_quoted_name(match: "re.Match[str]") -> _MarkedName | None:
    """Return what is between two quotation marks or backticks, if it is a title or code."""
    code, title = match["code"], match["title"]
    if code is None and not _is_title(title):
        return None
    name = canonicalize_name(code or title)
    return _MarkedName(match.start(), match.end(), name) if any(map(str.isalpha, name)) else None


def _unspaced_start(text: str, at: int) -> int:
    """Return where the text without blanks around this place begins."""
    while at and not text[at - 1].isspace():
        at -= 1
    return at


def _is_title(quoted: str) -> bool:
    """Return whether the text is written like a title: capitals except for small words inside."""
    if quoted.rstrip()[-1:] in ".!?,;":
        return False
    words = _WORD.findall(quoted)
    if not words or len(words) > MAX_NAME_WORDS + 2 or not words[0][0].isupper():
        return False
    alone = canonicalize_name(words[0]) if len(words) == 1 else ""
    small = (word.casefold() in _SMALL_WORDS for word in words[1:])
    return (
        alone not in _ORDINARY_WORDS
        and alone not in _NEVER_NAMES_ALONE
        and all(word[0].isupper() or word[0].isdigit() or fine for word, fine in zip(words[1:], small, strict=True))
    )


def _parse_special_name(written: str) -> str:
    """Return the name in one address, path, handle or identifier; empty for any other word."""
    name = ""
    if "://" in written:
        name = written.split("://", 1)[1].split("/", 1)[0].split("?", 1)[0].rpartition("@")[2].partition(":")[0]
        name = name.casefold().removeprefix("www.")
    elif "@" in written and (_HANDLE.fullmatch(written) or _MAIL.fullmatch(written)):
        name = written
    elif "." in written and _HOST.fullmatch(written):
        name = written.casefold().removeprefix("www.")
    elif _is_path(written):
        name = written.rstrip("/")
    elif "_" in written and _IDENTIFIER.fullmatch(written):
        name = written.removesuffix("()")
    return canonicalize_name(name) if name else ""


def _is_path(written: str) -> bool:
    """Return whether it is a path or a file name; `and/or` is neither."""
    if not written.startswith(("/", "~", ".")) and written.count("/") < 2 and not _FILE.search(written):
        return False
    return _PATH.fullmatch(written) is not None and any(map(str.isalpha, written))


def _mask_names(text: str, marked: Sequence[_MarkedName]) -> str:
    """Replace the names that were found by special spelling with characters that form no word."""
    if not marked:
        return text
    parts, done = list[str](), 0
    for one in sorted(marked, key=lambda one: one.start):
        parts += text[done : one.start], "\N{OBJECT REPLACEMENT CHARACTER}" * (one.end - one.start)
        done = one.end
    return "".join([*parts, text[done:]])


class _TextWord(NamedTuple):
    """A word: its place, its spelling, its normalized form, and whether it starts a sentence."""

    start: int
    end: int
    written: str
    name: str
    first: bool


def _fold_word(word: str) -> str:
    """Return a word of a composed (NFC) text as a normalized name has it."""
    folded = word.casefold()
    return folded if word.isalnum() else _POSSESSIVE.sub("", folded)


def _find_capitalized_names(text: str) -> list[tuple[int, str]]:
    """Return the names that are written with capitals, with their places."""
    words = _find_capital_candidates(text)
    if _is_all_caps(words, text):
        return []
    capitals = [word for word in words if _is_capitalized(word)]
    small, inside = _LowercaseWords(text, words), {word.name for word in capitals if not word.first}
    names, run = list[tuple[int, str]](), list[_TextWord]()
    for word in capitals:
        between = _find_connectors(run[-1], word, text) if run else None
        if between is None:
            names += _trim_name(run, small, inside)
            run = [word]
        else:
            run += (*between, word)
    names += _trim_name(run, small, inside)
    return names


def _find_capital_candidates(text: str) -> list[_TextWord]:
    """Return the words with a character other than a-z and 0-9; most words have none."""
    words = list[_TextWord]()
    for found in _CAPITAL_CANDIDATE.finditer(text):
        start, end = found.span()
        begins = False
        if not found.lastindex:  # most follow another word and a blank
            start = _word_start(text, start)
            begins = _starts_sentence(text, start)
        written = text[start:end]
        words.append(_TextWord(start, end, written, _fold_word(written), begins))
    return words


def _word_start(text: str, at: int) -> int:
    """Return where the word begins that has a letter here or just before."""
    while at and (text[at - 1].isalnum() or (text[at - 1] in _WORD_JOINERS and at > 1 and text[at - 2].isalnum())):
        at -= 1
    return at


def _starts_sentence(text: str, start: int) -> bool:
    """Return whether the word that starts here begins a sentence."""
    end = start
    while end and start - end < _MAX_GAP_CHARS and not text[end - 1].isalnum():
        end -= 1
    if not end or start - end >= _MAX_GAP_CHARS:
        return True
    gap = text[end:start]
    if gap == " " or _SENTENCE_START.search(gap) is None:
        return False
    return gap.rstrip() != "." or not _is_abbreviation(text[_word_start(text, end) : end])


def _iter_words(text: str) -> Iterator[_TextWord]:
    for found in _WORD.finditer(text):
        yield _TextWord(
            found.start(), found.end(), found[0], _fold_word(found[0]), _starts_sentence(text, found.start())
        )


def _is_abbreviation(word: str) -> bool:
    """Return whether a full stop after the word only abbreviates it: Dr. Smith, J. Doe."""
    return word.casefold() in _PERSON_TITLES or (len(word) == 1 and word.isupper())


def _find_connectors(last: _TextWord, word: _TextWord, text: str) -> list[_TextWord] | None:
    """Return the small words that join two parts of one name; None if they are two names.

    The list is often empty.
    """
    if text[last.end : word.start] in _BLANKS:
        return []
    if _NAME_LINK.fullmatch(text, last.end, word.start) is None:
        return None
    if any(_starts_sentence(text, stop.end()) for stop in _FULL_STOP.finditer(text, last.end, word.start)):
        return None
    small = _WORD.finditer(text, last.end, word.start)
    return [_TextWord(one.start(), one.end(), one[0], one[0], first=False) for one in small]


def _is_capitalized(word: _TextWord) -> bool:
    return len(word.name) > 1 and _has_capital(word.written) and not _is_contraction(word.name)


def _has_capital(written: str) -> bool:
    return written[0].isupper() or _CAMEL_CASE.search(written) is not None


def _is_contraction(name: str) -> bool:
    plain = name.isalnum() and name.isascii()  # some apostrophes count as letters
    return not plain and _CONTRACTION.search(name) is not None


def _is_all_caps(words: Sequence[_TextWord], text: str) -> bool:
    """Return whether most of the text is in capitals, so that they do not mark names."""
    loud = sum([word.written.isupper() and len(word.written) > 1 for word in words])
    return loud > 1 and 3 < sum(1 for _ in islice(_WORD.finditer(text), 2 * loud)) < 2 * loud


class _LowercaseWords:
    """The words of a text that are written in lower case."""

    def __init__(self, text: str, candidates: Sequence[_TextWord]) -> None:
        self._text = text
        self._candidates = candidates
        self._names: set[str] | None = None

    def has(self, name: str) -> bool:
        """Return whether the word is among them.

        Most are not; for a short text a substring search shows that without splitting it into words.
        """
        if self._names is None:
            if (
                len(self._text) <= _MAX_SEARCHED_CHARS and name not in self._text
            ):  # only words with inner capitals are left
                return any(word.name == name and word.written[0].islower() for word in self._candidates)
            self._names = {_fold_word(word) for word in _WORD.findall(self._text) if word[0].islower()}
        return name in self._names


def _trim_name(run: Sequence[_TextWord], small: _LowercaseWords, inside: set[str]) -> tuple[tuple[int, str], ...]:
    """Trim ordinary words off a run of capitalized words; return at most one name."""
    first, end = 0, len(run)
    while end and run[end - 1].name in _NEVER_NAMES:
        end -= 1
    while first < end and _is_ordinary(run[first], small, inside):
        first += 1
    if not 0 < end - first <= MAX_NAME_WORDS:
        return ()
    name = " ".join([word.name for word in run[first:end]])
    if len(name) > MAX_NAME_CHARS or (end - first == 1 and name in _NEVER_NAMES_ALONE):
        return ()
    return ((run[first].start, name),)


def _is_ordinary(word: _TextWord, small: _LowercaseWords, inside: set[str]) -> bool:
    """Return whether the word has its capital for another reason than being a name."""
    name, written = word.name, word.written
    if name in _NEVER_NAMES or name in _PERSON_TITLES:
        return True
    if not word.first or name in inside or (len(name) > 1 and written.isupper()):
        return False
    inflected = name.endswith(VERB_ENDINGS) and name not in _IN_ING_OR_ED
    common = name in _ORDINARY_WORDS or name in STOP_WORDS or inflected or small.has(name)
    return common and _CAMEL_CASE.search(written) is None


_ENGLISH = load_data_file("recollect.text", "en/entities.toml")

_MAX_GAP_CHARS = 200
"""Maximum characters between two words that are searched for a sentence start; a longer gap counts as one."""

_MAX_SEARCHED_CHARS = 2048
"""Maximum length of a text that is searched for single words; the words of a longer one are collected once."""

_WORD_JOINERS = "'\u2019\u02bc&-"
_WORD = re.compile(rf"[^\W_]+(?:[{_WORD_JOINERS}][^\W_]+)*")
"""A word of a name, with its hyphens, apostrophes and "&"; stores keep the names, so it must not change."""

_CAPITAL_CANDIDATE = re.compile(rf"[^\W_a-z0-9](?:(?<=[^\W_] .)())?[^\W_]*(?:[{_WORD_JOINERS}][^\W_]+)*")
"""A word from its first character other than a-z and 0-9; the group is set if a word and a blank stand before it."""

_SPECIAL_MARK = re.compile(r"(?:@|/|_|~|\.(?=\w))\S*")
"""A character that every address, path, handle or identifier has, with the rest up to a blank."""

_OPENING_QUOTE = re.compile('[`"\u201c\u201e\u00ab]')
_QUOTED_TEXT = re.compile(
    rf"`(?P<code>[^`\n]{{2,{MAX_NAME_CHARS}}})`"
    rf'|["\u201c\u201e\u00ab](?P<title>[^"\u201c\u201d\u201e\u00ab\u00bb\n]{{2,{MAX_NAME_CHARS}}})["\u201c\u201d\u00bb]'
)
_SURROUNDING_MARKS = "()[]{}<>,;:!?\"'`.*\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
_SENTENCE_START = re.compile(
    r"[.!?:;\n\r\"\u201c\u201d\u201e\u00ab\u00bb(\[\u3010\u3011\u2022*\u2026>|\u2014\u2013]|(?:^|\s)-\s"
)
_POSSESSIVE = re.compile(r"(?:['\u2019\u02bc]s|(?<=s)['\u2019\u02bc])$")
_CONTRACTION = re.compile(_ENGLISH.pattern("patterns.contraction"))
_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
_HANDLE = re.compile(r"@\w[\w.-]{0,63}")
_MAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_HOST = re.compile(_ENGLISH.pattern("patterns.host"), re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/?[\w@%+=-][\w.@%+=-]*(?:/[\w.@%+=-]+)*/?|/[\w.@%+=-]+(?:/[\w.@%+=-]+)*/?")
_FILE = re.compile(_ENGLISH.pattern("patterns.file"), re.IGNORECASE)
_IDENTIFIER = re.compile(r"[\w.]*[^\W_]_[^\W_][\w.]*(?:\(\))?")

_CONNECTORS = frozenset(_ENGLISH.words("names.connectors"))
"""Small words inside names: Rio de Janeiro, Bank of America."""

_BLANKS = (" ", "\N{NO-BREAK SPACE}")
_FULL_STOP = re.compile(r"\. ?")
_NAME_LINK = re.compile(rf"(?:[ \u00a0]|\. ?)(?:(?:{'|'.join(sorted(_CONNECTORS))})(?:[ \u00a0]|\. ?))*")
"""What may stand between two words of a name."""

_SMALL_WORDS = STOP_WORDS | _CONNECTORS

_PERSON_TITLES = frozenset(_ENGLISH.words("people.titles") + _ENGLISH.words("people.other_titles"))
"""Titles that stand before a name and are not part of it."""

_STOP_WORDS_AS_NAMES = frozenset(_ENGLISH.words("names.stop_words"))
_NEVER_NAMES = (STOP_WORDS - _STOP_WORDS_AS_NAMES).union(_CONNECTORS, ROLE_LABELS, _ENGLISH.words("names.never"))
"""Words that are never a name; stop words that are also given names (Will, May) are left out."""

_CALENDAR_WORDS = {*MONTHS, *SHORT_MONTHS, *WEEKDAYS, *(name[:3] for name in WEEKDAYS)}
_NEVER_NAMES_ALONE = (STOP_WORDS - _STOP_WORDS_AS_NAMES).union(
    _CALENDAR_WORDS, _CONNECTORS, _PERSON_TITLES, _ENGLISH.words("names.never_alone")
)
"""Words that are not a name alone; Black Friday is one."""

_IN_ING_OR_ED = frozenset(_ENGLISH.words("names.in_ing_or_ed"))
_ORDINARY_WORDS = frozenset(_ENGLISH.words("names.sentence_starters"))
"""Ordinary words that sentences begin with."""
