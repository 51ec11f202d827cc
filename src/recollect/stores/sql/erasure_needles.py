"""Pieces: the bytes by which what was erased would be known again, wherever they are left."""

from collections.abc import Iterator

NEEDLE_BYTES = 24
"""Bytes of a piece: whatever is left of a text is found if it is at least twice as long."""

ANCHOR_BYTES = 8
"""Bytes that are compared first; what is shorter is in every file, so it is not looked for."""

MIN_DISTINCT_BYTES = 4
"""How many different bytes an anchor has, at least."""


def cut_needles(said: bytes) -> Iterator[bytes]:
    """The pieces by which bytes are known again, also where a database has spread them over several pages."""
    starts = [*range(0, len(said) - NEEDLE_BYTES, NEEDLE_BYTES), max(len(said) - NEEDLE_BYTES, 0)]
    return filter(_is_distinctive, (said[start : start + NEEDLE_BYTES] for start in starts))


def _is_distinctive(piece: bytes) -> bool:
    """Whether it is worth looking for: blanks and zeros are everywhere."""
    return len(set(piece[:ANCHOR_BYTES])) >= MIN_DISTINCT_BYTES
