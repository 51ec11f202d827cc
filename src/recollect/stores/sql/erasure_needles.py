"""Pieces: the bytes by which what was erased would be known again, wherever they are left."""

from collections.abc import Iterator

PIECE = 24
"""Bytes of a piece: whatever is left of a text is found if it is at least twice as long."""

ANCHOR = 8
"""Bytes that are compared first; what is shorter is in every file, so it is not looked for."""

DISTINCT = 4
"""How many different bytes an anchor has, at least."""


def cut(said: bytes) -> Iterator[bytes]:
    """The pieces by which bytes are known again, also where a database has spread them over several pages."""
    starts = [*range(0, len(said) - PIECE, PIECE), max(len(said) - PIECE, 0)]
    return filter(_tells, (said[start : start + PIECE] for start in starts))


def _tells(piece: bytes) -> bool:
    """Whether it is worth looking for: blanks and zeros are everywhere."""
    return len(set(piece[:ANCHOR])) >= DISTINCT
