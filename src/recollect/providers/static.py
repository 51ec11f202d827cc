"""The embedder that a plain install brings: a table with one vector per token, no network to run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.protocols import Purpose
from recollect.providers.bpe import BytePairTokenizer
from recollect.providers.embedder_assets import TABLE, TABLE_TOKENIZER, WORDLLAMA
from recollect.providers.lazy_value import Lazily
from recollect.providers.tensors import tensors
from recollect.providers.texts import clean
from recollect.providers.vectors import Vectors, unit

NAME = "wordllama-256"
DIMENSIONS = 256
TENSOR = "embedding.weight"
AT_ONCE = 4096
"""How many tokens are added up at once, so that a long text does not take memory for all of its vectors."""


class Static:
    """Averages the vectors of a text's tokens, as wordllama does, from wordllama's table.

    A text without tokens, which is only the empty one, gives the direction `blank`. The table is loaded when it is
    first needed.
    """

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        WORDLLAMA.check()
        self._table = Lazily(_load)

    def __repr__(self) -> str:
        return "Static()"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A row of numbers for each text, in their order."""
        rows = [self._table().total(text) for text in clean(texts)]
        return unit(np.array(rows).reshape(len(rows), DIMENSIONS))


@dataclass(frozen=True, slots=True)
class _Table:
    """A vector for each token; half precision, because that is how they are published."""

    vectors: NDArray[np.float16]
    tokenizer: BytePairTokenizer

    def total(self, text: str) -> NDArray[np.float64]:
        """The sum of the text's tokens, which points where their mean does."""
        tokens = self.tokenizer.encode(text)
        total = np.zeros(DIMENSIONS)
        for start in range(0, len(tokens), AT_ONCE):
            total += self.vectors[tokens[start : start + AT_ONCE]].sum(axis=0, dtype=np.float32)
        return total


def _load() -> _Table:
    return _Table(tensors(TABLE.read())[TENSOR], BytePairTokenizer(TABLE_TOKENIZER.read()))
