"""Postings: which memories have which terms, as an index in memory that only grows.

A memory is a row; its terms come as the bytes that are stored with it. What is the formula is in `lexical`; here it is
computed over columns, and equal to it to the last bit.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError
from recollect.evidence.analysis import MOST, key
from recollect.evidence.lexical import K1, B, Statistics, Weights, weigh
from recollect.model.table import Floats

Eligible = NDArray[np.bool_]
"""For every row whether it counts."""

GROWTH = 8
"""A block of rows is merged into the one before it unless that is more than so many times larger."""

_ENTRY = struct.Struct("<QH")
_ENTRIES = np.dtype([("key", "<u8"), ("count", "<u2")])


def encode(counts: Mapping[str, int]) -> bytes:
    """A memory's terms as they are stored: for each, its key in 8 bytes and its count in 2, by ascending key.

    Numbers are little-endian. A term is there at least once, and at most `MOST` times are counted.
    """
    entries: dict[int, int] = {}
    for term, times in counts.items():
        if times > 0:
            entries[key(term)] = min(entries.get(key(term), 0) + times, MOST)
    return b"".join(_ENTRY.pack(*entry) for entry in sorted(entries.items()))


def decode(blob: bytes) -> dict[int, int]:
    """How often each term is in the memory, by the term's key; what `encode` did not write is refused."""
    entries, _ = _read([blob])
    return dict(zip(entries["key"].tolist(), entries["count"].tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The memories that have each term, and how often; rows are numbered in the order they came.

    It is a value: `append` makes another that shares what is old with this one, so whoever reads this one, in whatever
    thread, goes on reading the same. Rows never go; those that no longer count are not eligible.
    """

    blocks: "tuple[Block, ...]" = ()

    @classmethod
    def of(cls, blobs: Sequence[bytes]) -> Self:
        """The postings of these memories, each given as its terms are stored."""
        return cls((Block.of(blobs),)) if blobs else cls()

    def append(self, blobs: Sequence[bytes]) -> "Postings":
        """The same with further rows; cheap for a few of them, because large blocks are seldom touched."""
        blocks = [*self.blocks, *Postings.of(blobs).blocks]
        while len(blocks) > 1 and len(blocks[-2]) <= GROWTH * len(blocks[-1]):
            blocks[-2:] = [blocks[-2].merged(blocks[-1])]
        return Postings(tuple(blocks))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many terms every row has, repetitions included."""
        return np.concatenate([np.empty(0, np.int64), *(block.lengths for block in self.blocks)])

    def statistics(self, terms: Sequence[str], eligible: Eligible) -> Statistics:
        """How the eligible rows use the terms; statistics of several postings add up."""
        found = Statistics(count=0, total_length=0, frequencies=dict.fromkeys(terms, 0))
        for block, rows in self._with_rows(eligible):
            found += block.statistics(terms, rows)
        return found

    def shares(self, terms: Sequence[str], eligible: Eligible, statistics: Statistics) -> Floats:
        """What `lexical.share` says of every row; NaN for no evidence, and for rows that are not eligible.

        The statistics are those of all eligible memories, of these postings and of whatever belongs to them.
        """
        weights = weigh(terms, statistics)
        blocks = self._with_rows(eligible)
        return np.concatenate([np.empty(0), *(block.shares(weights, rows, statistics) for block, rows in blocks)])

    def _with_rows(self, eligible: Eligible) -> "list[tuple[Block, Eligible]]":
        if eligible.dtype != np.bool_ or eligible.shape != (len(self),):
            raise FieldError(
                f"{eligible.dtype} of shape {eligible.shape} for {len(self)} rows; give true or false for each",
                field="eligible",
            )
        starts = accumulate(map(len, self.blocks), initial=0)
        return [
            (block, eligible[start : start + len(block)]) for block, start in zip(self.blocks, starts, strict=False)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """An inverted index of some rows, numbered from 0, that never changes.

    The rows that have the term `keys[n]` are at `starts[n]` to `starts[n + 1]` of `rows` and `counts`.
    """

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, blobs: Sequence[bytes]) -> Self:
        """The index of these memories' terms."""
        entries, rows = _read(blobs)
        lengths = np.bincount(rows, weights=entries["count"], minlength=len(blobs)).astype(np.int64)
        return cls._inverted(entries["key"].astype(np.uint64), rows, entries["count"].astype(np.uint16), lengths)

    def merged(self, other: "Block") -> "Block":
        """One index of both: these rows and then the other's."""
        return Block._inverted(
            np.concatenate([np.repeat(block.keys, np.diff(block.starts)) for block in (self, other)]),
            np.concatenate([self.rows, other.rows + np.int32(len(self))]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.lengths, other.lengths]),
        )

    @classmethod
    def _inverted(
        cls,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32],
        counts: NDArray[np.uint16],
        lengths: NDArray[np.int64],
    ) -> Self:
        """The index of postings in whatever order, of which each has a key, a row and a count."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), np.bool_), keys[1:] != keys[:-1]]))
        columns = (keys[first], np.append(first, len(keys)), rows[order], counts[order], lengths)
        for column in columns:
            column.flags.writeable = False
        return cls(*columns)

    def __len__(self) -> int:
        return len(self.lengths)

    def statistics(self, terms: Sequence[str], eligible: Eligible) -> Statistics:
        """How the eligible rows use the terms."""
        everyone = bool(eligible.all())
        frequencies = dict.fromkeys(terms, 0)
        for term, rows, _ in self._having(tuple(frequencies)):
            frequencies[term] = len(rows) if everyone else int(np.count_nonzero(eligible[rows]))
        return Statistics(
            count=len(self) if everyone else int(np.count_nonzero(eligible)),
            total_length=int(self.lengths.sum() if everyone else self.lengths[eligible].sum()),
            frequencies=frequencies,
        )

    def shares(self, weights: Weights, eligible: Eligible, statistics: Statistics) -> Floats:
        """The share of every row; NaN for no evidence, and for rows that are not eligible."""
        if not weights.terms:
            return np.full(len(self), np.nan)
        mean = statistics.total_length / statistics.count
        dampened = K1 * (1.0 - B + B * self.lengths.astype(np.float64) / mean)
        totals = np.zeros(len(self))
        for term, rows, counts in self._having(weights.terms):
            times = counts.astype(np.float64)
            totals[rows] += weights.terms[term] * times * (K1 + 1.0) / (times + dampened[rows])
        totals[~eligible | (totals == 0.0)] = np.nan
        return np.minimum(totals / weights.best, 1.0)

    def _having(self, terms: Collection[str]) -> Iterator[tuple[str, NDArray[np.int32], NDArray[np.uint16]]]:
        """The terms that any row has, each with its rows and counts."""
        keys = np.fromiter(map(key, terms), np.uint64, len(terms))
        places = np.searchsorted(self.keys, keys)
        for term, wanted, place in zip(terms, keys, places, strict=True):
            if place < len(self.keys) and self.keys[place] == wanted:
                here = slice(self.starts[place], self.starts[place + 1])
                yield term, self.rows[here], self.counts[here]


def _read(blobs: Sequence[bytes]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The entries of all blobs, one after the other, and the row of each."""
    sizes, left = np.divmod(np.fromiter(map(len, blobs), np.int64, len(blobs)), _ENTRY.size)
    _refuse(np.flatnonzero(left), f"its size is no multiple of {_ENTRY.size} bytes")
    entries = np.frombuffer(b"".join(blobs), _ENTRIES)
    rows = np.repeat(np.arange(len(blobs), dtype=np.int32), sizes)
    keys = entries["key"]
    _refuse(rows[1:][(keys[1:] <= keys[:-1]) & (rows[1:] == rows[:-1])], "its keys do not ascend")
    _refuse(rows[entries["count"] == 0], "it counts a term that is not there")
    return entries, rows


def _refuse(rows: NDArray[np.integer[Any]], problem: str) -> None:
    if rows.size:
        raise FieldError(f"row {rows[0]} is not what `encode` writes: {problem}; analyse its text again", field="terms")
