"""Decide whether a value can be a secret, or is a placeholder, code or plain words."""

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType

from recollect.text.data_files import load_data_file


def is_varied(value: str) -> bool:
    """Return whether the value mixes characters as chance does, unlike words, repeated characters and masks."""
    lower, upper, digits = _count_character_classes(value)
    return len(set(value)) > 5 and (digits > 0 or (lower > 1 and upper > 1) or (upper > 15 and _is_unspeakable(value)))


def looks_random(value: str) -> bool:
    """Return whether the value looks random: not a placeholder, and not words with a number at the end."""
    if is_placeholder(value) or len(set(value)) < 5:
        return False
    lower, upper, digits = _count_character_classes(value)
    if not digits and len(value) >= 10 and lower and upper:
        return _count_case_changes(value) >= len(value) // 4 and (
            len(value) >= 20 or _count_vowels(value) < 0.3 * len(value)
        )
    return digits > 0 and lower + upper > 0 and not is_wordy(value)


def is_password(value: str) -> bool:
    """Return whether the value can be an unquoted password in code: not a placeholder, plain word or expression."""
    return _is_mixed(value) and not is_placeholder(value) and not is_code(value)


def is_listed_password(value: str) -> bool:
    """Return whether the value can be a password after a colon: a dot may be part of it, a call may not."""
    return _is_mixed(value) and not is_placeholder(value) and not _is_expression(value)


def is_quoted_password(value: str) -> bool:
    """Return whether the value can be a password in quotes, where it may be a plain word."""
    if is_placeholder(value):
        return False
    return (_is_mixed(value) and not is_reference(value)) or (len(value) > 5 and value.isalpha())


def is_spoken_password(value: str) -> bool:
    """Return whether the value can be a password in a sentence: not only words, except a word with a number."""
    return is_password(value) and (not is_wordy(value) or _WORD_WITH_NUMBER.fullmatch(value) is not None)


def is_settings_value(value: str) -> bool:
    """Return whether the value can be a password in a settings file."""
    return not is_placeholder(value) and not is_reference(value) and not value.isdecimal()


def is_passphrase(value: str) -> bool:
    """Return whether the value can be a passphrase: at least four different words, none typical of a sentence."""
    words = _WORD_SEPARATOR.split(value)
    return len(set(words)) > 3 and not any(map(_is_sentence_word, words))


def is_odd_word(value: str) -> bool:
    """Return whether a quoted word can be a password: not one that sentences about passwords use."""
    return not is_placeholder(value) and not _is_sentence_word(value)


def is_quoted_token(value: str) -> bool:
    """Return whether the value can be a token in quotes."""
    return len(value) > 7 and looks_random(value) and not is_reference(value)


def is_bare_token(value: str) -> bool:
    """Return whether the value can be a token without quotes."""
    return len(value) > 9 and looks_random(value) and not is_code(value)


def is_credential(value: str) -> bool:
    """Return whether the value can follow `Authorization:`: a token, or user:password in base64."""
    return (not is_placeholder(value) and not is_code(value) and is_varied(value)) or is_basic(value)


def is_code(value: str) -> bool:
    """Return whether the value is an expression, an attribute, or a file path."""
    if _ATTRIBUTE.fullmatch(value):
        lower, upper, _ = _count_character_classes(value)
        return is_wordy(value) or lower < 2 or upper < 2  # a name has no digit among letters of both cases
    return _is_expression(value)


def is_reference(value: str) -> bool:
    """Return whether the value refers to a secret, even in quotes: a template, path, constant or dotted name."""
    if _REFERENCE.match(value):
        return True
    return (value[:1] == "/" or bool(_ATTRIBUTE.fullmatch(value))) and is_wordy(value)


def is_wordy(value: str) -> bool:
    """Return whether the value consists of words, some with small numbers at the end."""
    return _WORDY.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Return whether the value is a placeholder for a secret."""
    if _MASK.match(value) or len(set(value)) < 3:
        return True
    words = _WORD.findall(value)
    return len(_WORD.sub("", value).strip(_SEPARATORS)) < 2 and all(word.lower() in _PLACEHOLDERS for word in words)


def is_not_placeholder(value: str) -> bool:
    """Return whether the value is not a placeholder for a secret."""
    return not is_placeholder(value)


def is_card(value: str) -> bool:
    """Return whether the value is a valid card number: by issuer, length and Luhn's check."""
    digits = [int(character) for character in value if character.isdecimal()]
    number = "".join(map(str, digits))
    if not _CARD.fullmatch(number) or len(set(number)) < 3:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def is_iban(value: str) -> bool:
    """Return whether its two check digits are right (ISO 13616)."""
    bare = value.replace(" ", "")
    return int("".join(str(int(character, 36)) for character in bare[4:] + bare[:4])) % 97 == 1


def is_basic(value: str) -> bool:
    """Return whether the value is user:password in base64."""
    return ":" in (decode_base64(value) or "")


def is_decimal(value: str) -> bool:
    """Return whether the value has only digits."""
    return value.isdecimal()


def has_base64_line(value: str) -> bool:
    """Return whether a part of the value can be a line of base64."""
    return _BASE64_LINE.search(value) is not None


def has_eight_characters(value: str) -> bool:
    """Return whether the value has at least eight different characters."""
    return len(set(value)) > 7


def has_random_digits(value: str) -> bool:
    """Return whether the value looks random and has at least three digits."""
    return looks_random(value) and _count_character_classes(value)[2] > 2


def accept_any(value: str) -> bool:
    """Return whether the value is not empty."""
    return bool(value)


def decode_base64(run: str) -> str | None:
    """Return the text that base64 encodes, or `None` if it is not text."""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = a2b_base64(plain + "=" * (-len(plain) % 4)).decode()
    except (NotBase64, ValueError):
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None


VALUE_TESTS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        test.__name__: test
        for test in (
            accept_any,
            is_not_placeholder,
            is_varied,
            looks_random,
            has_base64_line,
            has_eight_characters,
            has_random_digits,
            is_password,
            is_listed_password,
            is_quoted_password,
            is_spoken_password,
            is_passphrase,
            is_odd_word,
            is_settings_value,
            is_quoted_token,
            is_bare_token,
            is_credential,
            is_basic,
            is_decimal,
            is_card,
            is_iban,
        )
    }
)
"""The tests that a rule in secrets.toml can name."""


def _count_vowels(value: str) -> int:
    return sum(character in "aeiouAEIOU" for character in value)


def _is_unspeakable(value: str) -> bool:
    """Return whether upper-case letters look random: too few vowels, or too many consonants in a row."""
    return _count_vowels(value) <= len(value) // 5 or _CONSONANTS.search(value) is not None


def _is_sentence_word(word: str) -> bool:
    lower = word.lower()
    return lower in _PLACEHOLDERS or lower in _COMMON_WORDS or lower.endswith(_SENTENCE_ENDINGS)


def _is_expression(value: str) -> bool:
    return is_reference(value) or _EXPRESSION.match(value) is not None


def _is_mixed(value: str) -> bool:
    """Return whether the value has more than letters of one case, and is not a decimal number."""
    lower, upper, digits = _count_character_classes(value)
    marks = len(value) - lower - upper - digits - value.count("_") - value.count("-") - value.count(".")
    if lower + upper + digits == 0 or _NUMBER.fullmatch(value):
        return False
    return digits > 0 or marks > 0 or (lower > 1 and upper > 1 and _count_case_changes(value) > 2)


def _count_character_classes(value: str) -> tuple[int, int, int]:
    """Return the number of lower-case letters, upper-case letters and digits."""
    return (
        sum(character.islower() for character in value),
        sum(character.isupper() for character in value),
        sum(character.isdecimal() for character in value),
    )


def _count_case_changes(value: str) -> int:
    """Return how often it changes between lower and upper case."""
    return sum(a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha())


_WORD = re.compile(r"[A-Z]?[a-z]++|[A-Z]++")
_SEPARATORS = "_-. :/"
_WORDY = re.compile(r"[_\-./:+@~]*+(?:(?:[A-Za-z]++\d{0,3}|v?\d{1,4})(?:[_\-./:+@~ ]++|$))++")
_WORD_WITH_NUMBER = re.compile(r"[A-Za-z]{3,}\d{1,3}")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=]{16}")
_MASK = re.compile(
    r"<[^<>]*>?$|\([A-Za-z]*\)?$|\[[^\[\]]*\]?$|\{.*\}|[*#%•●.…\\_-]+$|\*{3}|%\(?\w*\)?s?%?$|(?:%[sdr]\W?)+$|\$[{(]|\$[A-Za-z_]+$|\.\.\.|…|[xX]{4}"
    r"|(?i:sha-?\d|utf-?\d|base-?64|md5|ed25519|oauth|redacted)"
)
_EXPRESSION = re.compile(r"[\w.]+\(.*\)?$|[A-Za-z_][\w.]*\[.*\]?$|@\w+$|.*::")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_REFERENCE = re.compile(
    r"[A-Z][A-Z0-9]*_[A-Z0-9_]+$|\\|.*(?:\{\w*\}|->)|[A-Za-z_][\w.]*(?:\([^()]*\)|\[[^\[\]]*\])$"
    r"|(?:[a-z]+:)?//|\.{1,2}/|~/|[A-Za-z]:\\"
)
_NUMBER = re.compile(r"[-+~]?\d+[.,]\d+%?")
_CONSONANTS = re.compile(r"[B-DF-HJ-NP-TV-XZ]{5}")
_CARD = re.compile(
    r"4\d{15}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|(?:6011|64[4-9]\d|65\d\d|35\d\d)\d{12}|3[068]\d{12}|62\d{14,17}"
)
_WORD_SEPARATOR = re.compile(r"[ -]")

_WORDS = load_data_file("recollect.admission", "secret_words.toml")
_PLACEHOLDERS = frozenset(_WORDS.words("placeholders"))
_COMMON_WORDS = frozenset(_WORDS.words("common"))
_SENTENCE_ENDINGS = _WORDS.words("endings")
