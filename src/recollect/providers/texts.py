"""Texts as an embedder takes them: a list of well-formed Unicode."""

from collections.abc import Sequence

from recollect.errors import InvalidInput, show


def clean_texts(texts: Sequence[str]) -> list[str]:
    """The texts, each well formed; one text instead of a list is refused, for its letters are not meant."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise InvalidInput(f"texts is {show(texts)}; give a list of texts")
    return [_repair_surrogates(place, text) for place, text in enumerate(texts)]


def _repair_surrogates(place: int, text: str) -> str:
    """The text with U+FFFD for half a character (a lone surrogate), as decoders do; two halves become one."""
    if not isinstance(text, str):
        raise InvalidInput(f"texts has {show(text)} at {place}, which is no text")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
