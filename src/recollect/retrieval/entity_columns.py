"""Mentions: the names that the rows of a shelf mention, as they are stored, and their index when it is first needed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from recollect.model.memory import build_searched_text
from recollect.model.table import Rows
from recollect.retrieval.entity_links import EntityIndex
from recollect.retrieval.lock_free_property import lock_free_property
from recollect.text.entities import find_entities, speaker_entity

MENTIONS_GROWTH_FACTOR = 8
"""A block of rows is merged into the one before it unless that is more than so many times larger."""

TEXT_OVERHEAD_BYTES = 56
"""What a text in memory takes beside its characters."""


def encode_names(title: str | None, text: str) -> str:
    """The names in what a memory says, as they are stored: one a line."""
    return "\n".join(find_entities(build_searched_text(title, text)))


def add_speaker_names(names: Sequence[str], speakers: Sequence[str | None]) -> list[str]:
    """What some rows mention: the names as they are stored, and who said it where that is a name."""
    called = {speaker: speaker_entity(speaker) for speaker in set(speakers)}
    return [
        "\n".join(filter(None, (stored, name))) if (name := called[speaker]) is not None else stored
        for stored, speaker in zip(names, speakers, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _MentionsBlock:
    """What some rows mention, which never changes."""

    texts: tuple[str, ...]

    @lock_free_property
    def name_codes(self) -> tuple[list[str], Rows, Rows]:
        """The names, and which row has which of them."""
        numbers: dict[str, int] = {}
        pairs = [
            (row, numbers.setdefault(name, len(numbers)))
            for row, text in enumerate(self.texts)
            if text
            for name in dict.fromkeys(text.split("\n"))
        ]
        rows, codes = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return list(numbers), rows, codes


@dataclass(frozen=True, eq=False)
class EntityMentions:
    """What rows mention, in the order they came. It is a value: `append` makes another."""

    blocks: tuple[_MentionsBlock, ...] = ()
    _bytes: int = field(default=0)

    def append(self, texts: Sequence[str]) -> "EntityMentions":
        """The same with more rows."""
        if not texts:
            return self
        blocks, new = list(self.blocks), tuple(texts)
        while blocks and len(blocks[-1].texts) <= MENTIONS_GROWTH_FACTOR * len(new):
            new = (*blocks.pop().texts, *new)
        return EntityMentions(
            (*blocks, _MentionsBlock(new)), self._bytes + sum(TEXT_OVERHEAD_BYTES + len(text) for text in texts)
        )

    @property
    def nbytes(self) -> int:
        """How much memory it takes, nearly, before it is indexed."""
        return self._bytes


def build_entity_index(shelves: Iterable[EntityMentions]) -> EntityIndex:
    """The index of the rows of several shelves, one below the other."""
    numbers: dict[str, int] = {}
    rows, codes, first = [np.empty(0, np.intp)], [np.empty(0, np.intp)], 0
    for block in (block for mentions in shelves for block in mentions.blocks):
        names, here, mentioned = block.name_codes
        places = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.intp, len(names))
        rows.append(here + first)
        codes.append(places[mentioned])
        first += len(block.texts)
    return EntityIndex.of(first, numbers, np.concatenate(rows), np.concatenate(codes))
