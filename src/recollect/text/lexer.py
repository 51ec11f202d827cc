"""Lexer: splits a text into sentences of tokens, from which canonical forms are made.

The patterns here are notation: numbers, dates, clock times, code. Words come from the lexicon.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Literal, NamedTuple

from recollect.text.lexicon import (
    ACRONYM_HOMOGRAPHS,
    AMERICAN_SPELLINGS,
    AUXILIARIES,
    CASE_SENSITIVE_NOUNS,
    CLOCK_WORDS,
    CONTRACTION_ENDINGS,
    CONTRACTIONS,
    CURRENCY_SYMBOLS,
    ES_ENDINGS,
    FUNCTION_WORDS,
    FUNCTION_WORDS_AS_TITLES,
    LEXICON,
    MONTHS,
    MULTIPLIERS,
    NAME_HOMOGRAPHS,
    ORDINAL_SUFFIXES,
    RECURRING_TIMES,
    SHORT_MONTHS,
    SHORT_WEEKDAYS,
    SINGULAR_ENDINGS,
    UNITS,
    VERB_FORMS,
    to_american,
)

TokenKind = Literal[
    "number", "date", "time", "unit", "name", "negation", "quantity", "modality", "question", "word", "order", "text"
]
"""The kind of a token or difference; "text" is for texts in which nothing can be read."""


class Token(NamedTuple):
    """One word of a canonical form: its key, its kind, and how the text has it."""

    key: str
    kind: TokenKind
    text: str


SENTENCE_BREAK = Token("|", "word", "")
COMMA = Token(",", "word", ",")
POSSESSIVE = "'s"

_LISTED_KINDS: tuple[TokenKind, ...] = ("negation", "quantity", "modality")
WORD_KINDS: dict[str, TokenKind] = {
    word: kind for kind in _LISTED_KINDS for word in LEXICON.words(f"grammar.kinds.{kind}")
}


def classify_word(word: str) -> TokenKind:
    """Return the kind of a word by itself; "word" for most."""
    return WORD_KINDS.get(word, "word")


def singularize(token: Token) -> str:
    """Return the singular of a noun; a name stays as it is, because it may end in "s"."""
    word = token.key
    if token.text != token.text.lower() or len(word) < 4 or word in RECURRING_TIMES or not word.isalpha():
        return word
    if word.endswith(SINGULAR_ENDINGS) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(ES_ENDINGS) else word[:-1]


def tokenize_sentences(text: str) -> list[list[Token]]:
    """Return the sentences of a text as tokens; a sentence may be empty."""
    builder = _SentenceBuilder()
    for piece in _SCANNER.finditer(_normalize_layout(text)):
        written = piece[0]
        match piece.lastgroup:
            case "words":
                _read_words(builder, written)
            case "word":
                _read_word(builder, written)
            case "comma":
                builder.tokens.append(COMMA)
            case "symbol":
                _read_symbol(builder, written)
            case "kept":
                builder.add(written.replace(" ", ""), "word", written)
            case "end":
                builder.end_sentence(written)
            case "quote":
                _read_quote(builder, written, piece.string[max(piece.start() - 1, 0) : piece.start()])
            case "measure" | "number":
                _read_number(builder, written)
            case "ymd" | "xyz" | "dmy" | "mdy":
                _read_date(builder, piece)
            case "clock":
                _read_clock(builder, piece)
            case "initials":
                builder.add(written.replace(".", ""), "word", written)
            case "link":
                builder.add(written, "word", written)
    return builder.sentences


def _normalize_layout(text: str) -> str:
    """Return the text with one kind of quotes and blanks, and without layout marks."""
    if text.isupper() and len(text.split(maxsplit=2)) > 2:  # capitals throughout carry no information
        text = text.lower()
    if not text.isascii():
        text = _REPLACED_MARK.sub(lambda mark: _MARK_REPLACEMENTS[mark[0]], text)
    if text[:1].isalnum() and "  " not in text and "](" not in text and text.isprintable():  # one line, as most are
        text = f" {text}"
    else:
        text = _LINE_STARTS.sub("\n\n", "\n" + text)
        if "](" in text:
            text = _LINK.sub(r"\1 (\2)", text)
        text = _BLANK_RUN.sub(lambda run: " ; " if run[0].count("\n") > 1 else " ", text)
    if "*" in text or "__" in text:
        text = _EMPHASIS.sub(_unwrap_emphasis, text)
    return text.replace("`", "")


_MARK_REPLACEMENTS = {
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
    **dict.fromkeys("\u00ad\ufeff", ""),
    **dict.fromkeys("\u2014\u2015\u2026", " , "),
}
_REPLACED_MARK = re.compile(f"[{''.join(_MARK_REPLACEMENTS)}]")
_LINE_STARTS = re.compile(r"\n[ \t]*(?:[-*>\u2022](?= +[^\d ])|#{1,6}(?= ))")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\(([^()\s]{1,500})\)")
_BLANK_RUN = re.compile(r"\s(?:\s+|(?<! ))")
"""Any run of whitespace except a single plain blank."""

_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{2,3})(?=[^\s*_])([^*_]*[^\s*_])\1(?![\w*])")


def _unwrap_emphasis(emphasis: re.Match[str]) -> str:
    """Return emphasized text without its marks; a name such as __init__ stays as it is."""
    named = emphasis[1].startswith("_") and emphasis[2].islower() and emphasis[2].isidentifier()
    return emphasis[0] if named else emphasis[2]


NUMBER_PATTERN = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
LEADING_NUMBER = re.compile(rf"[-+]?{NUMBER_PATTERN}")
AMBIGUOUS_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""Three digits behind a point are thousands in half of the world, so such a number equals only itself."""

_MONTH_NUMBERS = {name[:3]: at for at, name in enumerate(MONTHS, start=1)}
_MONTH = rf"(?i:{'|'.join(MONTHS)})\b|(?i:{'|'.join(SHORT_MONTHS)})\b\.?"
_DAY = f"(?:0?[1-9]|[12][0-9]|3[01])(?:{'|'.join(ORDINAL_SUFFIXES)})?"
_YEAR = "[12][0-9]{3}"
_NUMBER_END = r"(?![\w@/\\]|[.,:][0-9]|-[0-9])"
"""What must not follow a number: then it is part of an address, a serial number or the like."""

_NOT_CLOCK = rf"{_NUMBER_END}(?! ?[aApP]\.?[mM]\b)"
_MINUTES = "(?:[:.](?P<mi>[0-5][0-9]))?(?::(?P<s>[0-5][0-9]))?"
_AM_PM = r" ?(?P<half>[aApP])\.?[mM]\b\.?"
_CLOCK_END = r"(?<=:[0-9]{2})(?P<zulu>Z?)(?![\w:]|\.[0-9])"
_JOINED_LETTER = "(?!T[0-9]{2}:[0-9]{2})[^\\W0-9]"

_GLUED_UNIT = "|".join(map(re.escape, LEXICON.words("units.glued")))

_MAX_RUN_WORDS = 50
_WORD_RUN = rf"(?:[A-Za-z]+ (?![0-9])){{1,{_MAX_RUN_WORDS}}}(?:[A-Za-z]+(?=[.,;!?](?: (?![0-9])|\Z)))?"
"""Several plain words at once, none of which can be a month before its day; most of a text matches this."""

_NUMERIC_PATTERNS = (
    rf"(?P<ymd>(?<![\w.-])(?P<y1>{_YEAR})(?P<cut>[-/])(?P<m1>[0-9]{{1,2}})(?P=cut)(?P<d1>[0-9]{{1,2}})(?![0-9/-])(?!{_JOINED_LETTER}))",
    rf"(?P<xyz>(?<![\w./-])(?P<x>[0-9]{{1,2}})/(?P<z>[0-9]{{1,2}})/(?P<y4>{_YEAR})(?![\w/-]))",
    rf"(?P<dmy>(?<![\w.:/-])(?P<d2>{_DAY}) (?:of )?(?P<m2>{_MONTH})(?:,? (?P<y2>{_YEAR}){_NUMBER_END})?)",
    rf"(?P<clock>(?:(?<=[0-9])T|(?<![\w.:]))(?P<h>[01]?[0-9]|2[0-3]){_MINUTES}(?:{_AM_PM}|{_CLOCK_END}))",
    rf"(?P<measure>(?<![\w.])[-+]?{NUMBER_PATTERN}(?:{_GLUED_UNIT}){_NUMBER_END})",
    rf"(?P<number>(?<![\w.,@/])(?:(?<![)\]])[-+])?{NUMBER_PATTERN}{_NUMBER_END})",
)
_CODE_PATTERNS = (
    r"(?<![\w)\]-])-{1,2}[^\W\d_](?:\w|[./:=-](?=\w))*",  # an option: -v, --force
    r"(?<![\w.)\]])(?:\.{0,2}[/\\]|~[/\\]|\.)(?=[^\W\d])(?:\w|[./\\~@+=-](?=\w))*/?",  # a path: ../run, .env
    r"[:;=]['^-]?[()\[\]DPp/\\|](?![\w/])|(?<=\s)[()]-?[:;](?!\S)",  # an emoticon
    r"(?<![\w!?.,;:)\]\"'])!(?=\w)",  # a prefix: !important
    r"\(\)|\[ ?\]|\{\}|(?<=[\w)\]])\((?=\S)|[\[\]{}]",  # brackets of code
    r"(?<=\w )\.{1,2}(?!\S)",  # a folder: . or ..
)
"""Symbols that carry meaning, with the text that belongs to them."""

_TOKEN_PATTERNS = (
    rf"(?P<words>{_WORD_RUN})",
    rf"(?P<kept>(?=[-./\\~:;=!()\[\]{{}}])(?:{'|'.join(_CODE_PATTERNS)})|(?<!\w)(?:[A-DO]|AB)-(?![\w-]))",
    r"(?P<comma>[,()])",
    r"(?P<end>[.;!?]+)",
    r"(?P<quote>[\"']+)",
    rf"(?=[0-9T+-])(?:{'|'.join(_NUMERIC_PATTERNS)})",
    r"(?P<link>[a-z][a-z0-9+.-]{1,20}://[^\s\"<>]*[^\s\"<>.,;:!?)\]'])",
    rf"(?P<mdy>(?<![\w-])(?P<m3>{_MONTH}) (?P<d3>{_DAY}){_NOT_CLOCK}(?:,? (?P<y3>{_YEAR}){_NUMBER_END})?)",
    r"(?P<initials>(?<!\w)(?:[^\W\d_]\.){2,}(?!\w))",
    r"(?P<word>\w(?:[\w\u0300-\u036f]|[.,@/\\:=&'~+*#$%-](?=\w))*(?:\+{1,2}|#)?)",
    r"(?P<symbol>[^\w\s.,;!?()\[\]{}\"']+)",
)
_SCANNER = re.compile("|".join(_TOKEN_PATTERNS))


class _SentenceBuilder:
    """The sentences read so far, and the tokens of the current one."""

    __slots__ = ("begins", "quoted", "sentences", "tokens")

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.sentences = [self.tokens]
        self.begins = True
        self.quoted = ""

    def add(self, key: str, kind: TokenKind, written: str) -> None:
        """Append a token; the next word does not begin a sentence."""
        self.tokens.append(Token(key, kind, written))
        self.begins = False

    @property
    def is_exact(self) -> bool:
        """Whether the sentence is about something case-sensitive."""
        return any(token.key in CASE_SENSITIVE_NOUNS for token in self.tokens[-_EXACT_WINDOW_TOKENS:])

    def end_sentence(self, mark: str) -> None:
        """End the sentence, unless the mark is the full stop of an abbreviation."""
        if mark == "." and self.tokens and self.tokens[-1].text.lower() in _ABBREVIATIONS:
            return
        if "?" in mark:
            self.tokens.append(Token("?", "question", "?"))
        self.tokens = []
        self.sentences.append(self.tokens)
        self.begins = True


_EXACT_WINDOW_TOKENS = 6
"""How many tokens after a case-sensitive noun case still matters."""

_ABBREVIATIONS = frozenset(
    {*LEXICON.words("case.abbreviations.common"), *LEXICON.words("case.abbreviations.references"), *SHORT_WEEKDAYS}
)


def _read_date(builder: _SentenceBuilder, piece: re.Match[str]) -> None:
    """Add a date that exists as year, month and day; add anything else word by word."""
    match piece.lastgroup:
        case "ymd":
            year, month, day = piece["y1"], int(piece["m1"]), int(piece["d1"])
        case "xyz":
            year, month, day = piece["y4"], *sorted((int(piece["x"]), int(piece["z"])))
            if day <= _MONTHS_PER_YEAR and piece["x"] != piece["z"]:  # day and month cannot be told apart
                day = 0
        case "dmy":
            year, month, day = piece["y2"], _MONTH_NUMBERS[piece["m2"][:3].casefold()], _parse_day_number(piece["d2"])
        case _:
            year, month, day = piece["y3"], _MONTH_NUMBERS[piece["m3"][:3].casefold()], _parse_day_number(piece["d3"])
    named = piece["m2"] or piece["m3"]
    if named and not year and named[0].islower():  # "5 may join": a month without a year needs a capital
        day = 0
    if _is_valid_date(int(year or _LEAP_YEAR), month, day):
        builder.add(f"{year or '-'}-{month:02}-{day:02}", "date", piece[0])
        return
    for part in piece[0].split():
        if part[0].isdigit() and part.rstrip(",").isdigit():
            builder.add(part.rstrip(","), "number", part)
        else:
            builder.add(part if piece.lastgroup in ("ymd", "xyz") else part.strip(",.").lower(), "date", part)


_MONTHS_PER_YEAR = 12
_LEAP_YEAR = 2000


def _parse_day_number(text: str) -> int:
    return int(text.rstrip("".join(ORDINAL_SUFFIXES)))


def _is_valid_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


_FIRST_CERTAIN_HOUR = 9
"""From this hour on, a time is read as written; an earlier one may mean the afternoon, unless it begins with 0."""


def _read_clock(builder: _SentenceBuilder, piece: re.Match[str]) -> None:
    hour, written = int(piece["h"]), piece[0]
    rest = f"{piece['mi'] or '00'}{':' + piece['s'] if piece['s'] and piece['s'] != '00' else ''}"
    if piece["half"]:
        if not 1 <= hour <= 12:
            builder.add(written.lower(), "time", written)
            return
        hour = hour % 12 + (12 if piece["half"] in "pP" else 0)
        builder.add(f"{hour:02}:{rest}", "time", written)
    elif hour >= _FIRST_CERTAIN_HOUR or len(piece["h"]) > 1:
        builder.add(f"{hour:02}:{rest}", "time", written)
    else:
        builder.add(f"{hour}:{rest}", "time", written)
    if piece["zulu"]:
        builder.add("utc", "word", "Z")


def _read_number(builder: _SentenceBuilder, written: str) -> None:
    """Add a number without thousands separators, and the unit after it."""
    figure = LEADING_NUMBER.match(written)
    end = figure.end() if figure else len(written)
    if (hour := _HOUR_WITH_H.fullmatch(written)) and builder.tokens and builder.tokens[-1].key == "at":
        builder.add(f"{int(hour[1]):02}:{hour[2] or '00'}", "time", written)
        return
    builder.add(written[:end].replace(",", "").removeprefix("+"), "number", written[:end])
    if written[end:]:
        builder.add(UNITS.get(written[end:], written[end:]), "unit", written[end:])


_HOUR_WITH_H = re.compile("([01]?[0-9]|2[0-3])h([0-5][0-9])?")


def _read_quote(builder: _SentenceBuilder, written: str, before: str) -> None:
    """Track quotation marks; a mark after a number that closes no quotation is a unit.

    About something case-sensitive, an opening mark is a token too.
    """
    mark = '"' if written == "''" else written
    if len(mark) > 1:
        return
    if before.isdigit() and mark not in builder.quoted:
        builder.add(mark, "unit", mark)
    elif mark in builder.quoted:
        builder.quoted = builder.quoted.replace(mark, "")
    elif not before.isalnum():
        builder.quoted += mark
        if builder.is_exact:
            builder.add(mark, "word", written)


def _read_symbol(builder: _SentenceBuilder, written: str) -> None:
    if written in _DASHES:
        builder.tokens.append(Token("-", "word", written))
    elif written == ":":
        builder.tokens.append(Token(":", "word", written))
        builder.begins = True
    elif written == "&":
        builder.add("and", "word", written)
    elif written in CURRENCY_SYMBOLS:
        builder.add(CURRENCY_SYMBOLS[written], "unit", written)
    elif written == "%":
        builder.add("%", "unit", written)
    elif written == "~":
        builder.add("about", "word", written)
    else:
        builder.add(written, "word", written)


_DASHES = frozenset({"-", "--", "---"})

_CODE_CHARACTER = re.compile(r"[\d@/\\_=:,.~*#$%+]")
_NUMBER_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_YEAR_AND_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_ORDINAL_NUMBER = re.compile(f"([0-9]{{1,9}})(?:{'|'.join(ORDINAL_SUFFIXES)})")
_NUMBER_COMPOUND = re.compile(r"([0-9]{1,9})-([a-z]{3,}(?:-[a-z]{3,})*)")
_AMOUNT_SUFFIXES = LEXICON.mapping("numbers.suffixes")
_ABBREVIATED_AMOUNT = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?)({'|'.join(_AMOUNT_SUFFIXES)})")
_VERSION_NUMBER = re.compile(r"[vV]([0-9]+(?:\.[0-9]+)*)")


def _read_words(builder: _SentenceBuilder, written: str) -> None:
    """Add words that consist of letters alone."""
    tokens = builder.tokens
    for word in written.split():
        known = _KNOWN_WORDS.get(word)
        if known is not None:
            tokens.append(known)
        elif word.islower() and word not in CONTRACTIONS:
            tokens.append(Token(to_american(word), "word", word))
        elif word[0].isupper() and word.lower() not in CONTRACTIONS:
            _read_plain_word(builder, word)
            continue
        else:
            _read_word(builder, word)
            continue
        builder.begins = False


_KNOWN_WORDS: dict[str, Token] = {
    **{
        word: Token(to_american(word), classify_word(word), word)
        for word in {*FUNCTION_WORDS, *VERB_FORMS, *VERB_FORMS.values(), *AMERICAN_SPELLINGS, *WORD_KINDS}
        - CONTRACTIONS.keys()
    },
    **{word: Token(hour, "time", word) for word, hour in CLOCK_WORDS.items()},
}
"""Frequent words in lower case, and words that are more than their spelling."""


def _read_word(builder: _SentenceBuilder, written: str) -> None:
    """Add a word, the parts of a contraction or compound, or a code-like word as it is."""
    bare = written.lower()
    if bare in CONTRACTIONS:
        for word in CONTRACTIONS[bare].split():
            builder.add(word, classify_word(word), written)
    elif written.isalpha() and (written == bare or written[0].isupper()):
        _read_plain_word(builder, written)
    elif _CODE_CHARACTER.search(written):
        _read_code(builder, written)
    elif "'" in written:
        _read_apostrophe(builder, written)
    elif (
        "-" in written
        and bare == written
        and all(len(part) > 1 for part in written.split("-"))
        and written not in AMERICAN_SPELLINGS
    ):
        for part in [written] if builder.is_exact else written.split("-"):
            builder.add(to_american(part), classify_word(part), part)
    elif "&" in written:
        builder.add(bare, "word", written)
    elif written[0].islower() and bare != written:
        builder.add(written, "word", written)
    else:
        _read_plain_word(builder, written)


def _read_plain_word(builder: _SentenceBuilder, written: str) -> None:
    bare, begins = written.lower(), builder.begins
    if written in ACRONYM_HOMOGRAPHS:
        builder.add(written, "name", written)
        return
    if bare not in _SPECIAL_WORDS:
        if begins or bare == written:
            builder.add(to_american(bare), "word", written)
        else:  # a name keeps its spelling
            builder.add(bare if len(written) > 1 else written, "name", written)
        return
    if (
        bare == written
        or (written[1:].islower() and bare in FUNCTION_WORDS and (begins or bare not in FUNCTION_WORDS_AS_TITLES))
        or written == "I"
    ):
        key = to_american(bare)
    elif bare in FUNCTION_WORDS or bare in NAME_HOMOGRAPHS:
        key = written
    else:
        key = to_american(bare) if begins else bare
    if written == "A" and not begins:
        key = written
    if bare in CLOCK_WORDS:
        builder.add(CLOCK_WORDS[bare], "time", written)
        return
    if bare in SHORT_WEEKDAYS and bare != written and not begins:
        builder.add(SHORT_WEEKDAYS[bare], "name", written)
        return
    kind = classify_word(bare)
    builder.add(key, "name" if kind == "word" and bare != written and not begins else kind, written)


_SPECIAL_WORDS = FUNCTION_WORDS | NAME_HOMOGRAPHS | CLOCK_WORDS.keys() | SHORT_WEEKDAYS.keys() | WORD_KINDS.keys()
"""Words of which more is known than their spelling."""


def _read_code(builder: _SentenceBuilder, written: str) -> None:
    if (match := _NUMBER_RANGE.fullmatch(written)) and not _YEAR_AND_MONTH.fullmatch(written):
        builder.add(match[1], "number", match[1])
        builder.add("to", "word", "-")
        builder.add(match[2], "number", match[2])
    elif match := _ORDINAL_NUMBER.fullmatch(written.lower()):
        builder.add(f"{match[1]}th", "number", written)
    elif match := _NUMBER_COMPOUND.fullmatch(written):
        builder.add(match[1], "number", match[1])
        for part in match[2].split("-"):
            builder.add(to_american(part), classify_word(part), part)
    elif (match := _ABBREVIATED_AMOUNT.fullmatch(written)) and _is_money_amount(builder, match[1]):
        amount = Decimal(match[1]) * MULTIPLIERS[_AMOUNT_SUFFIXES[match[2]]]
        builder.add(format(amount.normalize(), "f"), "number", written)
    elif _HOUR_WITH_H.fullmatch(written) and builder.tokens and builder.tokens[-1].key == "at":
        _read_number(builder, written)
    elif match := _VERSION_NUMBER.fullmatch(written):
        builder.add("version", "word", written)
        builder.add(match[1], "number", match[1])
    elif written.lower().endswith(POSSESSIVE):
        _read_apostrophe(builder, written)
    elif written in AMERICAN_SPELLINGS:
        builder.add(AMERICAN_SPELLINGS[written], "word", written)
    else:
        builder.add(written, "number" if written[0].isdigit() else "word", written)


def _is_money_amount(builder: _SentenceBuilder, figure: str) -> bool:
    """Return whether a number with k, m or bn behind it is a certain amount of money."""
    return bool(
        builder.tokens and builder.tokens[-1].text in CURRENCY_SYMBOLS and not AMBIGUOUS_THOUSANDS.fullmatch(figure)
    )


_MAX_APOSTROPHES = 10
"""Apostrophes that are split off a word; each one costs another call and another copy of the rest."""


def _read_apostrophe(builder: _SentenceBuilder, written: str) -> None:
    """Add what stands before an apostrophe, and what the rest is short for.

    An 's or 'd stays a token: the words around it decide later what it means.
    """
    before, mark, after = written.rpartition("'")
    after = after.lower()
    if before.count("'") >= _MAX_APOSTROPHES:
        _read_plain_word(builder, written)
    elif after == "t" and before.lower().endswith("n") and before.lower()[:-1] in AUXILIARIES:
        builder.add(before.lower()[:-1], classify_word(before.lower()[:-1]), written)
        builder.add("not", "negation", written)
    elif after in CONTRACTION_ENDINGS and before:
        _read_word(builder, before)
        builder.add(CONTRACTION_ENDINGS[after], classify_word(CONTRACTION_ENDINGS[after]), written)
    elif after in ("s", "d") and before:
        _read_word(builder, before)
        builder.add(mark + after, "word", written)
    else:
        _read_plain_word(builder, written)
