"""An embedder that is not installed: a store can be read without it, and whatever needs it says what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.errors import ProviderError, RecollectError
from recollect.protocols import Purpose
from recollect.providers.vectors import Vectors


@dataclass(frozen=True, slots=True)
class MissingEmbedder:
    """Stands for the model of a store's vectors where it is not to be had."""

    name: str
    dimensions: int
    problem: RecollectError

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """No vectors, but what is missing, and the other way out."""
        raise ProviderError(
            f"{self.problem}; or change the store's model: `recollect admin re-embed --embedder wordllama`"
        ) from self.problem
