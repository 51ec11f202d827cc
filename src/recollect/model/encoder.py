"""Encoder: the embedding model of a store's vectors, and the progress of re-embedding.

The last part describes the vector indexes that an operator had built, each for one scope.
"""

from dataclasses import dataclass
from enum import StrEnum

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.format import format_count
from recollect.model.memory import build_embedded_text

MAX_DIMENSIONS = 16_384


@dataclass(frozen=True, slots=True)
class Encoder:
    """An embedding model: its name and the number of dimensions."""

    name: str
    dimensions: int

    def __post_init__(self) -> None:
        validation.require_id("embedder", self.name)
        validation.require_count("dimensions", self.dimensions)
        if not 1 <= self.dimensions <= MAX_DIMENSIONS:
            raise FieldError(f"{show(self.dimensions)} is not within 1..{MAX_DIMENSIONS}", field="dimensions")

    def __str__(self) -> str:
        return f"{self.name} ({format_count(self.dimensions, 'dimension')})"


@dataclass(frozen=True, slots=True)
class ContentRow:
    """A text that a memory has or had, with the number that the store gave it."""

    number: int
    title: str | None
    text: str
    speaker: str | None = None

    @property
    def embedded_text(self) -> str:
        """The text to embed, as `Memory.embedded_text`."""
        return build_embedded_text(self.title, self.text, self.speaker)


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    """The next contents that lack a vector, by number; `last` is the highest number of all."""

    contents: tuple[ContentRow, ...]
    last: int


@dataclass(frozen=True, slots=True)
class VectorRemoval:
    """How many vectors of former models a step removed; the other fields are content numbers.

    `reached` is the last content that was looked at, `last` the highest there is.
    """

    count: int
    reached: int
    last: int

    @property
    def done(self) -> bool:
        """Whether no vectors of former models are left."""
        return self.reached >= self.last


class ReembeddingStage(StrEnum):
    """A stage of re-embedding."""

    EMBEDDING = "embedding"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True)
class ReembeddingProgress:
    """How far a stage has come."""

    stage: ReembeddingStage
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembeddingReport:
    """The result of re-embedding: the current model, the former one, and the work of this run.

    Work of an earlier, interrupted run does not count.
    """

    encoder: Encoder
    former: Encoder | None
    embedded: int
    removed: int

    @property
    def changed(self) -> bool:
        """Whether the model differs from the former one."""
        return self.former != self.encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeVectorIndex:
    """A vector index of one scope, and how many vectors it holds.

    `scope` is `None` if the scope was erased, and `model` if it is unknown. `present` means that the index is for the
    store's current model. An index that is not `valid` is being built or its build was interrupted. `vectors` is the
    server's last count. `built` means that this call built it.
    """

    name: str
    scope: str | None
    model: str | None
    vectors: int
    bytes: int
    valid: bool
    present: bool
    built: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether a query can use it."""
        return self.valid and self.present and self.scope is not None
