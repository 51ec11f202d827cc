"""Finding: where pieces of what was erased are in the bytes of a file."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sql.erasure_needles import ANCHOR_BYTES, NEEDLE_BYTES

MAX_PLACES_PER_NEEDLE = 10_000
"""How many places of one piece are looked at: what is in so many rows that stay cannot be told from what they say."""

_HASH_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
"""Odd numbers, one for each eight bytes of a piece, that make a hash of them."""


class NeedleFinder:
    """Looks for many pieces at once: at every place, a hash of eight bytes says whether it is worth a closer look."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._needles: dict[int, list[bytes]] = defaultdict(list)
        for one in sorted(one for one in pieces if len(one) >= ANCHOR_BYTES):
            self._needles[int.from_bytes(one[:ANCHOR_BYTES], "little")].append(one)
        known = [one for pieces in self._needles.values() for one in pieces]
        whole = b"".join(one for one in known if len(one) == NEEDLE_BYTES)
        short = b"".join(one[:ANCHOR_BYTES] for one in known if len(one) < NEEDLE_BYTES)
        self._short = np.unique(np.frombuffer(short, dtype="<u8"))
        self._whole = np.unique(
            _hash_words(np.frombuffer(whole, dtype="<u8").reshape(-1, NEEDLE_BYTES // ANCHOR_BYTES))
        )
        self._bits = 16 if len(known) < 1_000 else 22
        self._hash_filter = np.zeros(1 << self._bits, dtype=np.bool_)
        self._hash_filter[self._hashes(np.array(list(self._needles), dtype=np.uint64))] = True

    def find(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Every piece that is in the block, with its place."""
        padded = block + bytes(NEEDLE_BYTES)
        for shift in range(ANCHOR_BYTES):
            windows = np.frombuffer(padded, dtype="<u8", offset=shift, count=(len(padded) - shift) // ANCHOR_BYTES)
            near = np.flatnonzero(self._hash_filter[self._hashes(windows[: 1 - NEEDLE_BYTES // ANCHOR_BYTES])])
            sums = _hash_words(windows[near[:, None] + np.arange(NEEDLE_BYTES // ANCHOR_BYTES)])
            for index in near[_are_among(sums, self._whole) | _are_among(windows[near], self._short)].tolist():
                place = shift + ANCHOR_BYTES * index
                for one in self._needles[int(windows[index])]:
                    if block.startswith(one, place):
                        yield place, one

    def _hashes(self, windows: NDArray[np.uint64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = ((windows * _HASH_FACTORS[0]) >> np.uint64(64 - self._bits)).view(np.int64)
        return found


def _hash_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number for each row of words, which tells nearly all rows apart."""
    found: NDArray[np.uint64] = (words * _HASH_FACTORS).sum(axis=1, dtype=np.uint64)
    return found


def _are_among(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the values are known; these are sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=np.bool_)
    return np.asarray(known[np.searchsorted(known, values) % len(known)] == values)


def find_needles(blocks: Iterable[tuple[int, bytes]], finder: NeedleFinder) -> dict[int, int]:
    """Where in the blocks of a file, each given with its place, a piece begins, and how long it is; of one that is
    everywhere, not all of its places.
    """
    found: dict[int, int] = {}
    seen: Counter[bytes] = Counter()
    for start, block in blocks:
        for place, one in finder.find(block):
            seen[one] += 1
            if seen[one] <= MAX_PLACES_PER_NEEDLE:
                found[start + place] = max(len(one), found.get(start + place, 0))
    return found


def join_ranges(places: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Where pieces lie without a gap, each given with its length: from where to where."""
    begin = end = -1
    for place, length in sorted(places.items()):
        if place > end:
            if end > begin:
                yield begin, end
            begin = place
        end = max(end, place + length)
    if end > begin:
        yield begin, end
