"""Encoder: which model the vectors of a store come from.

Re-embedding: what a store still has to embed, how far it has come, and what became of it in the end.

Indexing: the indexes of the nearest that an operator had made, each for one scope.
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


@dataclass(frozen=True, slots=True)
class ContentRow:
    """What a memory says or once said, by the number that the store gave it."""

    number: int
    title: str | None
    text: str
    speaker: str | None = None

    @property
    def embedded_text(self) -> str:
        """What of it gets a direction, as `Memory.embedded_text`."""
        return build_embedded_text(self.title, self.text, self.speaker)


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    """The next contents that lack a vector, in the order of their numbers; `last` is the highest number of all."""

    contents: tuple[ContentRow, ...]
    last: int


@dataclass(frozen=True, slots=True)
class VectorRemoval:
    """How many vectors of former models a step removed, and up to which content, of the highest there is."""

    count: int
    reached: int
    last: int

    @property
    def done(self) -> bool:
        """Whether none are left."""
        return self.reached >= self.last


class ReembeddingStage(StrEnum):
    """What is being done."""

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
    """Which model a store's vectors come from now, which they came from before, and how much this run did.

    What an earlier run did that was interrupted does not count.
    """

    encoder: Encoder
    former: Encoder | None
    embedded: int
    removed: int

    @property
    def changed(self) -> bool:
        """Whether it is another model than before."""
        return self.former != self.encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeVectorIndex:
    """An index of the vectors of a scope, and how much is in it.

    `scope` is nothing if the scope was erased, and `model` if it is not known any more; `present` if that is the model
    that the store's vectors come from. One that is not `valid` is being built, or was interrupted. `vectors` are those
    it had when the server last counted. `built` if it was not there before it was asked for.
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
        """Whether a question can be answered by it."""
        return self.valid and self.present and self.scope is not None
