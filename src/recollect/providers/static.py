"""The embedder of a plain install: a table with one vector per token, no neural network."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.protocols import Purpose
from recollect.providers.base import Lazy, Vectors, clean_texts, normalize_rows, read_tensors
from recollect.providers.bpe import BytePairTokenizer
from recollect.providers.embedder_assets import STATIC_TABLE_FILE, STATIC_TOKENIZER_FILE, WORDLLAMA_REQUIREMENTS

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
