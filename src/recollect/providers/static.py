"""The embedder that a plain install brings: a table with one vector per token, no network to run."""

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
"""How many tokens are added up at once, so that a long text does not take memory for all of its vectors."""


class StaticEmbedder:
    """Averages the vectors of a text's tokens, as wordllama does, from wordllama's table.

    A text without tokens, which is only the empty one, gives the direction `blank`. The table is loaded when it is
    first needed.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        WORDLLAMA_REQUIREMENTS.check()
        self._table = Lazy(_load_table)

    def __repr__(self) -> str:
        return "StaticEmbedder()"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A row of numbers for each text, in their order."""
        rows = [self._table().sum_vectors(text) for text in clean_texts(texts)]
        return normalize_rows(np.array(rows).reshape(len(rows), DIMENSIONS))


@dataclass(frozen=True, slots=True)
class _TokenTable:
    """A vector for each token; half precision, because that is how they are published."""

    vectors: NDArray[np.float16]
    tokenizer: BytePairTokenizer

    def sum_vectors(self, text: str) -> NDArray[np.float64]:
        """The sum of the text's tokens, which points where their mean does."""
        tokens = self.tokenizer.encode(text)
        total = np.zeros(DIMENSIONS)
        for start in range(0, len(tokens), CHUNK_TOKENS):
            total += self.vectors[tokens[start : start + CHUNK_TOKENS]].sum(axis=0, dtype=np.float32)
        return total


def _load_table() -> _TokenTable:
    return _TokenTable(
        read_tensors(STATIC_TABLE_FILE.read())[TENSOR_NAME], BytePairTokenizer(STATIC_TOKENIZER_FILE.read())
    )
