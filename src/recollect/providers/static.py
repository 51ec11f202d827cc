"""The embedder of a plain install: a table with one vector per token, no neural network.

Its tokenizer is byte-pair encoding as SentencePiece does it. It reads the JSON file of the library `tokenizers` and
gives the same ids. It supports what that file needs: spaces written as ▁, no pre-tokenizer, special tokens, and bytes
for characters outside the vocabulary.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from recollect.protocols import Purpose
from recollect.providers.base import Lazy, Vectors, clean_texts, normalize_rows, read_tensors
from recollect.providers.embedder_assets import STATIC_TABLE_FILE, STATIC_TOKENIZER_FILE, WORDLLAMA_REQUIREMENTS

SPACE_MARK = "▁"
WORD_PATTERN = re.compile(f"{SPACE_MARK}+[^{SPACE_MARK}]*|[^{SPACE_MARK}]+")
"""Matches spaces and the word after them.

No token has a space after a letter, so no merge joins two of these.
"""

MAX_CACHED_WORDS = 20_000
MAX_CACHED_CHARS = 40
"""Longer words are not cached: they are rare, and the cache would have no size limit."""


class BytePairTokenizer:
    """Splits texts into the tokens of one vocabulary."""

    def __init__(self, content: bytes) -> None:
        settings = json.loads(content)
        self._ids: dict[str, int] = settings["model"]["vocab"]
        self._ranks: dict[str, int] = {pair: rank for rank, pair in enumerate(settings["model"]["merges"])}
        special = "|".join(re.escape(token["content"]) for token in settings["added_tokens"])
        self._special = re.compile(f"({special})")
        self._cached_word_ids = lru_cache(MAX_CACHED_WORDS)(self._word_ids)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of the text; a special token in it, such as `<s>`, is one token."""
        ids: list[int] = []
        for position, part in enumerate(self._special.split(text)):
            if position % 2 == 1:
                ids.append(self._ids[part])
            elif part:
                for word in WORD_PATTERN.findall(SPACE_MARK + part.replace(" ", SPACE_MARK)):
                    ids += self._cached_word_ids(word) if len(word) <= MAX_CACHED_CHARS else self._word_ids(word)
        return ids

    def _word_ids(self, word: str) -> tuple[int, ...]:
        symbols: list[str] = []
        for character in word:
            if character in self._ids:
                symbols.append(character)
            else:  # not in the vocabulary: a symbol for each UTF-8 byte
                symbols += [f"<0x{byte:02X}>" for byte in character.encode()]
        return tuple(self._ids[token] for token in self._merge(symbols))

    def _merge(self, symbols: list[str]) -> Iterator[str]:
        """Merge neighbors, lowest rank first and then leftmost, until no pair has a rank.

        The merged symbol replaces the left one, and the right one becomes empty. `before` and `after` link the
        symbols that are left. The heap holds every pair with a rank, so n symbols take n log n steps.
        """
        end = len(symbols)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))
        heap: list[tuple[int, int]] = []

        def rank(left: int, right: int) -> int | None:
            return self._ranks.get(f"{symbols[left]} {symbols[right]}")

        def push(left: int, right: int) -> None:
            if (pair_rank := rank(left, right)) is not None:
                heappush(heap, (pair_rank, left))

        for right in range(1, end):
            push(right - 1, right)
        while heap:
            pair_rank, left = heappop(heap)
            right = after[left]
            if right == end or rank(left, right) != pair_rank:
                continue  # another merge has changed this pair since
            symbols[left] += symbols[right]
            symbols[right] = ""
            after[left] = after[right]
            if after[left] < end:
                before[after[left]] = left
                push(left, after[left])
            if before[left] >= 0:
                push(before[left], left)
        return filter(None, symbols)


MODEL_NAME = "wordllama-256"
DIMENSIONS = 256
TENSOR_NAME = "embedding.weight"
CHUNK_TOKENS = 4096
"""How many tokens are summed at once, to limit the memory that a long text needs."""


class StaticEmbedder:
    """Averages the vectors of a text's tokens, as wordllama does, from wordllama's table.

    A text without tokens, which is only the empty one, gives `blank_vector`. The table is loaded on first use.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        WORDLLAMA_REQUIREMENTS.check()
        self._table = Lazy(_load_table)

    def __repr__(self) -> str:
        return "StaticEmbedder()"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return a row of numbers for each text, in order."""
        rows = [self._table().sum_vectors(text) for text in clean_texts(texts)]
        return normalize_rows(np.array(rows).reshape(len(rows), DIMENSIONS))


@dataclass(frozen=True, slots=True)
class _TokenTable:
    """A vector for each token, in half precision as published."""

    vectors: NDArray[np.float16]
    tokenizer: BytePairTokenizer

    def sum_vectors(self, text: str) -> NDArray[np.float64]:
        """Return the sum of the token vectors, which has the direction of their mean."""
        tokens = self.tokenizer.encode(text)
        total = np.zeros(DIMENSIONS)
        for start in range(0, len(tokens), CHUNK_TOKENS):
            total += self.vectors[tokens[start : start + CHUNK_TOKENS]].sum(axis=0, dtype=np.float32)
        return total


def _load_table() -> _TokenTable:
    return _TokenTable(
        read_tensors(STATIC_TABLE_FILE.read())[TENSOR_NAME], BytePairTokenizer(STATIC_TOKENIZER_FILE.read())
    )
