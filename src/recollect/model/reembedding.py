"""Re-embedding: what a store still has to embed, how far it has come, and what became of it in the end."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.model.encoder import Encoder
from recollect.model.memory import build_embedded_text


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
