"""An embedder that gives every text the one direction it was made with: for recalling what is known already."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.protocols import Purpose
from recollect.providers.vectors import Vector, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class ConstantEmbedder:
    """Speaks for a model that need not be installed, as long as only this direction is asked for."""

    name: str
    vector: Vector

    @property
    def dimensions(self) -> int:
        return len(self.vector)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """The same row of numbers for each text."""
        return np.tile(self.vector, (len(texts), 1))
