"""Amounts: number words as digits, and numbers with their units and currencies in one notation."""

import re
from collections.abc import Sequence
from decimal import Decimal

from recollect.text.lexer import AMBIGUOUS_THOUSANDS, LEADING_NUMBER, SENTENCE_BREAK, Token, singularize
from recollect.text.lexicon import CURRENCY_SYMBOLS, FUNCTION_WORDS, INDEFINITE_ARTICLES, LEXICON, MULTIPLIERS, UNITS


def parse_number_words(sentence: list[Token]) -> list[Token]:
    """Replace number words by digits.

    Only a sentence with one of `NUMBER_WORDS` can change.
    """
    result: list[Token] = []
    at = 0
    while at < len(sentence):
        value, end = _parse_number(sentence, at)
        if value is not None:
            written = " ".join(token.text for token in sentence[at:end])
            result.append(Token(value, "number", written))
            at = end
        else:
            token = sentence[at]
            ordinal = _ORDINAL_WORDS.get(token.key)
            result.append(token if ordinal is None else Token(ordinal, "number", token.text))
            at += 1
    return result


_MAX_DIGITS = 15


def _parse_number(sentence: Sequence[Token], at: int) -> tuple[str | None, int]:
    """Return the number that begins there (None without one), and where it ends."""
    first = sentence[at]
    if first.kind == "number" and first.key not in _SMALL_NUMBERS:
        scale = MULTIPLIERS.get(sentence[at + 1].key) if at + 1 < len(sentence) else None
        if scale is None or len(first.key) > _MAX_DIGITS or not LEADING_NUMBER.fullmatch(first.key):
            return None, at
        if AMBIGUOUS_THOUSANDS.fullmatch(first.key):
            return None, at
        scaled = Decimal(first.key) * scale
        whole = scaled == scaled.to_integral_value()
        return (str(int(scaled)), at + 2) if whole else (None, at)
    after_article = at > 0 and sentence[at - 1].key in INDEFINITE_ARTICLES
    if first.key not in _SMALL_NUMBERS and not (after_article and first.key in MULTIPLIERS):
        return None, at
    total, part, last = 0, 1, 0
    if first.key in _SMALL_NUMBERS:
        part = last = _SMALL_NUMBERS[first.key]
        at += 1
    while at < len(sentence):
        key = sentence[at].key
        if key in MULTIPLIERS and part:
            if key == "hundred":
                part *= 100
            else:
                total, part = total + part * MULTIPLIERS[key], 0
            last = MULTIPLIERS[key]
            at += 1
            if total > 10**_MAX_DIGITS or part > 10**_MAX_DIGITS:
                break
        elif (
            key in _SMALL_NUMBERS
            and 0 < _SMALL_NUMBERS[key] < last
            and (last >= 100 or (last >= 20 and _SMALL_NUMBERS[key] < 10))
        ):
            part, last = part + _SMALL_NUMBERS[key], _SMALL_NUMBERS[key]
            at += 1
        elif key == "and" and last >= 100 and at + 1 < len(sentence) and sentence[at + 1].key in _SMALL_NUMBERS:
            at += 1
        else:
            break
    return str(total + part), at


_MIN_SPELLED_CHARS = 4
"""Shorter units are symbols, in which case matters."""


def merge_units(sentence: list[Token]) -> list[Token]:
    """Merge every number with its unit into one token.

    A sentence without a number does not change.
    """
    return _merge_quantities(_mark_units(sentence))


def _mark_units(sentence: list[Token]) -> list[Token]:
    """Write every unit after a number as its symbol, and currencies after their amounts."""
    result: list[Token] = []
    at = 0
    while at < len(sentence):
        token = sentence[at]
        before = result[-1] if result else SENTENCE_BREAK
        if token.kind == "number" and (before.key in _CURRENCY_KEYS or before.text in _CURRENCY_CODES):
            result[-1:] = [token, Token(before.key.lower(), "unit", before.text)]
        elif before.kind == "number" and not ORDINAL.fullmatch(before.key):
            unit, length = _match_unit(sentence, at)
            result.append(unit)
            at += length - 1
        else:
            result.append(token)
        at += 1
    return result


def _match_unit(sentence: Sequence[Token], at: int) -> tuple[Token, int]:
    """Return what is counted there as one token, and how many tokens it replaces.

    A unit is written as its symbol.
    """
    first = sentence[at]
    if first.key in _UNIT_FIRST_WORDS or first.text in _UNIT_FIRST_WORDS:
        for length in (3, 2, 1):
            parts = sentence[at : at + length]
            spelled = " ".join(part.key for part in parts)
            unit = UNITS.get(first.text) if length == 1 else None
            if unit is None and len(spelled) >= _MIN_SPELLED_CHARS:
                unit = UNITS.get(spelled)
            if unit is not None and len(parts) == length:
                return Token(unit, "unit", " ".join(part.text for part in parts)), length
    after = sentence[at + 1].key if at + 1 < len(sentence) else ""
    if first.text in _LENGTH_SYMBOLS and after in _LENGTH_ADJECTIVES:
        return Token(_LENGTH_SYMBOLS[first.text], "unit", first.text), 1
    key = first.text if _is_unit_symbol(first) else singularize(first)
    return Token(key, first.kind, first.text), 1


def _is_unit_symbol(token: Token) -> bool:
    """Return whether the token may be the symbol of a unit, in which case matters.

    For example in 5 M, 5 Mg and 5 Cal; the name Olu is not one.
    """
    written = token.text
    if len(written) >= _MIN_SPELLED_CHARS or not written.isalpha() or token.key in FUNCTION_WORDS:
        return False
    return len(written) < _MIN_SPELLED_CHARS - 1 or not written[1:].islower() or token.key in _AMBIGUOUS_SYMBOLS


_UNIT_FIRST_WORDS = frozenset(spelling.split()[0] for spelling in UNITS)
_AMBIGUOUS_SYMBOLS = frozenset(LEXICON.words("units.ambiguous_symbols"))
_LENGTH_SYMBOLS = LEXICON.mapping("units.length_symbols")
_LENGTH_ADJECTIVES = frozenset(LEXICON.words("units.length_adjectives"))


def _merge_quantities(sentence: list[Token]) -> list[Token]:
    """Merge numbers and units, in one unit of each size: 500 ms as 0.5 s, 4.50 % as 4.5 %."""
    result: list[Token] = []
    for token in sentence:
        if token.kind != "unit" or not result or result[-1].kind != "number":
            result.append(token)
            continue
        number = result.pop()
        figure, sign = number.key, token.key
        if AMBIGUOUS_THOUSANDS.fullmatch(figure):
            figure = f"{figure}?"  # differs from what 1.0010 becomes, which is certain
        elif _PLAIN_NUMBER.fullmatch(figure):
            sign, times = _UNIT_FACTORS.get(sign, (sign, Decimal(1)))
            figure = format((Decimal(figure) * times).normalize(), "f")
        written = f"{token.text}{number.text}" if token.text in CURRENCY_SYMBOLS else f"{number.text} {token.text}"
        result.append(Token(f"{figure}·{sign}", "number", written))
    return result


_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,6})?")
_UNIT_FACTORS = {
    unit: (base, Decimal(factor))
    for unit, measure in LEXICON.mapping("units.factors").items()
    for factor, base in [measure.split()]
}

ORDINAL = re.compile("[0-9]+th")

_CURRENCY_KEYS = frozenset(CURRENCY_SYMBOLS.values())
_CURRENCY_CODES = frozenset(LEXICON.words("currencies.codes"))


_SMALL_NUMBERS = {word: value for value, word in enumerate(LEXICON.words("numbers.small"))} | {
    word: value for value, word in zip(range(20, 100, 10), LEXICON.words("numbers.tens"), strict=True)
}
_ORDINAL_WORDS = {word: f"{value}th" for value, word in enumerate(LEXICON.words("numbers.ordinals"), start=1)}

NUMBER_WORDS = frozenset([*_SMALL_NUMBERS, *MULTIPLIERS, *_ORDINAL_WORDS])
"""A sentence without one of these has no number words."""
