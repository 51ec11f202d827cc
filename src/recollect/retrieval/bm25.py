"""BM25: the formula in plain Python, and an in-memory index that computes it with NumPy.

`score_terms` is the reference; `Postings.score_rows` equals it to the last bit. Both add up over the query's terms in
order of first occurrence, and use only sums, products and quotients in the order written here.

In the index a memory is a row, and its terms come as the bytes that are stored with it. The index only grows.
"""

import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from recollect.errors import FieldError, InvalidInput, show
from recollect.model.table import Floats
from recollect.text.tokenizer import MAX_TERM_COUNT, hash_term

K1 = 1.2
"""The term-frequency saturation of BM25."""

B = 0.4
"""The length normalization of BM25, from 0 (none) to 1 (full)."""

UNKNOWN_TERM_FACTOR = 0.5
"""The weight, in the best attainable score, of a query term that no eligible memory has."""

MAX_COUNTED_TERMS = 10
"""The number of rarest query terms that make up the best attainable score.

No memory has more of the terms of a long query.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How often the eligible memories use a query's terms.

    The weights depend on nothing else. `frequencies` has, for each distinct term, how many of the `count` memories
    contain it.
    """

    count: int
    total_length: float
    frequencies: Mapping[str, int]

    def __post_init__(self) -> None:
        most = max(self.frequencies.values(), default=0)
        if min(self.frequencies.values(), default=0) < 0 or not most <= self.count or not most <= self.total_length:
            raise InvalidInput(
                f"statistics of {self.count} memories with {self.total_length:g} words cannot have a term in {most} "
                "of them; count memories, their words and those that have a term over the same memories"
            )

    def __add__(self, other: "TermStatistics") -> "TermStatistics":
        """Add the statistics of two sets of memories that have no memory in common."""
        if self.frequencies.keys() != other.frequencies.keys():
            raise InvalidInput("statistics of two queries cannot be added; count the same terms in both")
        return TermStatistics(
            count=self.count + other.count,
            total_length=self.total_length + other.total_length,
            frequencies={term: times + other.frequencies[term] for term, times in self.frequencies.items()},
        )


@dataclass(frozen=True, slots=True)
class TermWeights:
    """The weight of each query term that some memory has, and the best attainable score."""

    terms: Mapping[str, float]
    best: float


def count_terms(
    terms: Iterable[str], eligible: Iterable[Mapping[str, int]], total_length: float | None = None
) -> TermStatistics:
    """Count the terms in memories; pass `total_length` if earlier turns add to their lengths."""
    memories = list(eligible)
    return TermStatistics(
        count=len(memories),
        total_length=sum(sum(counts.values()) for counts in memories) if total_length is None else total_length,
        frequencies={term: sum(counts.get(term, 0) > 0 for counts in memories) for term in dict.fromkeys(terms)},
    )


def weigh_terms(terms: Iterable[str], statistics: TermStatistics) -> TermWeights:
    """Return the weight of each term; a term that fewer eligible memories have weighs more."""
    known: dict[str, float] = {}
    attainable: list[float] = []
    for term in dict.fromkeys(terms):
        if term not in statistics.frequencies:
            raise InvalidInput(f"the statistics have no count of {show(term)}; count all terms of the query")
        frequency = statistics.frequencies[term]
        weight = math.log(1.0 + (statistics.count - frequency + 0.5) / (frequency + 0.5))
        attainable.append(weight if frequency else weight * UNKNOWN_TERM_FACTOR)
        if frequency:
            known[term] = weight
    # fsum, because the plain sum of floats is not the same in every version of Python.
    return TermWeights(known, (K1 + 1.0) * math.fsum(sorted(attainable, reverse=True)[:MAX_COUNTED_TERMS]))


def score_terms(
    terms: Iterable[str], counts: Mapping[str, float], statistics: TermStatistics, length: float | None = None
) -> float | None:
    """Return a memory's share of the best attainable score, above 0 and at most 1, or `None`.

    `None` means that the memory has none of the terms, which is no evidence, as in `Candidate.lexical`. The profile
    decides what that is worth: the built-in profiles count 0 and show it as assumed; a fused relevance ignores the
    lexical match and uses the similarity alone. Without `length`, the memory is as long as the sum of its counts.
    """
    weights = weigh_terms(terms, statistics)
    length, total = sum(counts.values()) if length is None else length, 0.0
    for term, weight in weights.terms.items():
        times = counts.get(term, 0)
        if times > 0:
            dampened = K1 * (1.0 - B + B * length / (statistics.total_length / statistics.count))
            total += weight * times * (K1 + 1.0) / (times + dampened)
    return min(total / weights.best, 1.0) if total > 0.0 else None


EligibleRows = NDArray[np.bool_]
"""A boolean for every row: whether the row is eligible."""

BLOCK_GROWTH_FACTOR = 8
"""The size ratio above which a block of rows is not merged into the one before it."""

_ENTRY = struct.Struct("<QH")
_ENTRIES = np.dtype([("key", "<u8"), ("count", "<u2")])


def encode_terms(counts: Mapping[str, int]) -> bytes:
    """Encode a memory's terms for storage: an 8-byte key and a 2-byte count each, sorted by key.

    Numbers are little-endian. A count is at least 1 and at most `MAX_TERM_COUNT`.
    """
    entries: dict[int, int] = {}
    for term, times in counts.items():
        if times > 0:
            number = hash_term(term)
            entries[number] = min(entries.get(number, 0) + times, MAX_TERM_COUNT)
    return struct.pack("<" + len(entries) * "QH", *chain.from_iterable(sorted(entries.items())))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """An inverted index: which memories have each term, and how often.

    Rows are numbered in the order they were added. The index is an immutable value: `append` returns a new one that
    shares the old blocks, so readers in other threads keep a consistent view. Rows are never removed; those that no
    longer count are passed as not eligible.
    """

    blocks: "tuple[PostingsBlock, ...]" = ()

    @classmethod
    def of(cls, blobs: Sequence[bytes]) -> Self:
        """Index memories given as encoded terms."""
        return cls((PostingsBlock.of(blobs),)) if blobs else cls()

    def append(self, *others: "Postings") -> "Postings":
        """Return an index with the rows of others added.

        Adding few rows is cheap, because large blocks are seldom rewritten.
        """
        blocks, new = list(self.blocks), [block for other in others for block in other.blocks]
        while new and blocks and len(blocks[-1]) <= BLOCK_GROWTH_FACTOR * sum(map(len, new)):
            new.insert(0, blocks.pop())
        return Postings((*blocks, PostingsBlock.join(new)) if new else tuple(blocks))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def nbytes(self) -> int:
        """The size of the index in bytes."""
        columns = (getattr(block, one.name) for block in self.blocks for one in fields(PostingsBlock))
        return sum(column.nbytes for column in columns)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of terms in each row, including repetitions."""
        return np.concatenate([np.empty(0, np.int64), *(block.lengths for block in self.blocks)])

    def rows_having(self, term: str) -> tuple[NDArray[np.intp], Floats]:
        """Return the rows that have a term, in order, and how often each has it."""
        rows, counts, first = [np.empty(0, np.intp)], [np.empty(0)], 0
        for block in self.blocks:
            for _, here, times in block.iter_terms((term,)):
                rows.append(here.astype(np.intp) + first)
                counts.append(times.astype(np.float64))
            first += len(block)
        return np.concatenate(rows), np.concatenate(counts)

    def statistics(self, terms: Sequence[str], eligible: EligibleRows) -> TermStatistics:
        """Count the terms in the eligible rows; the statistics of several indexes add up."""
        found = TermStatistics(count=0, total_length=0, frequencies=dict.fromkeys(terms, 0))
        for block, rows in self._split_eligible(eligible):
            found += block.statistics(terms, rows)
        return found

    def score_rows(self, terms: Sequence[str], eligible: EligibleRows, statistics: TermStatistics) -> Floats:
        """Return `score_terms` for every row; NaN without evidence and for rows not eligible.

        `statistics` must cover all eligible memories, including those in other indexes.
        """
        weights = weigh_terms(terms, statistics)
        parts = [block.score_rows(weights, rows, statistics) for block, rows in self._split_eligible(eligible)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def _split_eligible(self, eligible: EligibleRows) -> "list[tuple[PostingsBlock, EligibleRows]]":
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
class PostingsBlock:
    """An immutable inverted index of some rows, numbered from 0.

    The rows that have the term `keys[n]` are at `starts[n]` to `starts[n + 1]` of `rows` and `counts`.
    """

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, blobs: Sequence[bytes]) -> Self:
        """Index memories given as encoded terms."""
        entries, rows = _read_entries(blobs)
        lengths = np.bincount(rows, weights=entries["count"], minlength=len(blobs)).astype(np.int64)
        order = np.argsort(entries["key"], kind="stable")
        every = entries["key"][order]
        first = np.flatnonzero(np.concatenate([np.ones(min(len(every), 1), np.bool_), every[1:] != every[:-1]]))
        keys, counts = every[first].astype(np.uint64), entries["count"][order].astype(np.uint16)
        return cls._freeze(keys, np.append(first, len(every)), rows[order], counts, lengths)

    @classmethod
    def join(cls, blocks: "Sequence[PostingsBlock]") -> "PostingsBlock":
        """Join blocks into one; the rows of each follow those of the block before it.

        Each posting is copied to its place: sorting all postings again would take several times their memory.
        """
        if len(blocks) == 1:
            return blocks[0]
        keys = np.unique(np.concatenate([block.keys for block in blocks]))
        places = [np.searchsorted(keys, block.keys) for block in blocks]
        sizes = np.zeros(len(keys), np.int64)
        for block, place in zip(blocks, places, strict=True):
            sizes[place] += np.diff(block.starts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        rows, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
        free, before = starts[:-1].copy(), 0
        for block, place in zip(blocks, places, strict=True):
            held = np.diff(block.starts)
            to = np.repeat(free[place] - block.starts[:-1], held) + np.arange(len(block.rows))
            rows[to], counts[to] = block.rows + np.int32(before), block.counts
            free[place] += held
            before += len(block)
        return cls._freeze(keys, starts, rows, counts, np.concatenate([block.lengths for block in blocks]))

    @classmethod
    def _freeze(cls, *columns: NDArray[Any]) -> Self:
        """Build a block with read-only columns."""
        for column in columns:
            column.flags.writeable = False
        return cls(*columns)

    def __len__(self) -> int:
        return len(self.lengths)

    def statistics(self, terms: Sequence[str], eligible: EligibleRows) -> TermStatistics:
        """Count the terms in the eligible rows."""
        everyone = bool(eligible.all())
        frequencies = dict.fromkeys(terms, 0)
        for term, rows, _ in self.iter_terms(tuple(frequencies)):
            frequencies[term] = len(rows) if everyone else int(np.count_nonzero(eligible[rows]))
        return TermStatistics(
            count=len(self) if everyone else int(np.count_nonzero(eligible)),
            total_length=int(self.lengths.sum() if everyone else self.lengths[eligible].sum()),
            frequencies=frequencies,
        )

    def score_rows(self, weights: TermWeights, eligible: EligibleRows, statistics: TermStatistics) -> Floats:
        """Return the score of every row; NaN without evidence and for rows not eligible."""
        if not weights.terms:
            return np.full(len(self), np.nan)
        # Step by step in place, to avoid an array for each step.
        dampened = self.lengths.astype(np.float64)
        dampened *= B
        dampened /= statistics.total_length / statistics.count
        dampened += 1.0 - B
        dampened *= K1
        totals = np.zeros(len(self))
        for term, rows, counts in self.iter_terms(weights.terms):
            share, here = counts.astype(np.float64), rows.astype(np.intp)  # converted once here, not at each use
            below = dampened.take(here)
            below += share
            share *= weights.terms[term]
            share *= K1 + 1.0
            share /= below
            totals[here] += share
        silent = totals == 0.0
        if not eligible.all():
            silent |= ~eligible
        totals /= weights.best
        np.minimum(totals, 1.0, out=totals)
        totals[silent] = np.nan
        return totals

    def iter_terms(self, terms: Collection[str]) -> Iterator[tuple[str, NDArray[np.int32], NDArray[np.uint16]]]:
        """Yield each term that some row has, with its rows and counts."""
        keys = np.fromiter(map(hash_term, terms), np.uint64, len(terms))
        places = np.searchsorted(self.keys, keys)
        for term, wanted, place in zip(terms, keys, places, strict=True):
            if place < len(self.keys) and self.keys[place] == wanted:
                here = slice(self.starts[place], self.starts[place + 1])
                yield term, self.rows[here], self.counts[here]


def _read_entries(blobs: Sequence[bytes]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Read the entries of all blobs in order, and the row of each entry."""
    sizes, left = np.divmod(np.fromiter(map(len, blobs), np.int64, len(blobs)), _ENTRY.size)
    _refuse_rows(np.flatnonzero(left), f"its size is not a multiple of {_ENTRY.size} bytes")
    entries = np.frombuffer(b"".join(blobs), _ENTRIES)
    rows = np.repeat(np.arange(len(blobs), dtype=np.int32), sizes)
    keys = entries["key"]
    _refuse_rows(rows[1:][(keys[1:] <= keys[:-1]) & (rows[1:] == rows[:-1])], "its keys are not in ascending order")
    _refuse_rows(rows[entries["count"] == 0], "it has a term with a count of 0")
    return entries, rows


def _refuse_rows(rows: NDArray[np.integer[Any]], problem: str) -> None:
    if rows.size:
        problem = f"row {rows[0]} was not written by `encode_terms`: {problem}; tokenize its text again"
        raise FieldError(problem, field="terms")
