"""Escaping: text that cannot close a tag, forge one or hide from a reader, and can be read back."""

import re

_INVISIBLE_CHARS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # what has no shape
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"  # Arabic and Syriac format characters
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # zero width, bidirectional, line separators
    r"\ufe00-\ufe0f\ufff0-\ufffb"  # variation selectors; annotations
    r"\ud800-\udfff"  # lone surrogates
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # more format
    r"\U000e0000-\U000e0fff"  # tags, and the rest of the variation selectors
    r"\ufe64\ufe65\uff02\uff06\uff1c\uff1e"  # what becomes a tag, a quote or an ampersand when normalised
)
_IN_TEXT = re.compile(f"[&<>{_INVISIBLE_CHARS}]")
_IN_ATTRIBUTE = re.compile(f'[&<>"\t\n{_INVISIBLE_CHARS}]')
_EMOJI_SELECTOR = "\ufe0f"
"""One of these after an emoji gives it its colours; a second one, or one after nothing, only hides."""

_NAMED_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape_text(value: str) -> str:
    """The value as it may stand between tags."""
    return _IN_TEXT.sub(_escape_match, value)


def escape_attribute(value: str) -> str:
    """The value as it may stand between the double quotes of an attribute, on one line."""
    return _IN_ATTRIBUTE.sub(_escape_match, value)


def _escape_match(match: re.Match[str]) -> str:
    character, start = match[0], match.start()
    if character == _EMOJI_SELECTOR and start > 0 and match.string[start - 1] != _EMOJI_SELECTOR:
        return character
    return _NAMED_REFERENCES.get(character) or f"&#{ord(character)};"
