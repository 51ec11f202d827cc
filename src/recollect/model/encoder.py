"""Encoder: which model the vectors of a store come from."""

from dataclasses import dataclass

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.format import format_count

MAX_DIMENSIONS = 16_384


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model by its name, and how many dimensions its vectors have."""

    name: str
    dimensions: int

    def __post_init__(self) -> None:
        validation.require_id("embedder", self.name)
        validation.require_count("dimensions", self.dimensions)
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise FieldError(f"{show(self.dimensions)} is not within 1..{MAX_DIMENSIONS}", field="dimensions")

    def __str__(self) -> str:
        return f"{self.name} ({format_count(self.dimensions, 'dimension')})"
