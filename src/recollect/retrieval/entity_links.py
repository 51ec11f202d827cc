"""Linking: how a question is linked to memories by the names that both mention, or that memories share.

A name tells the more, the fewer memories mention it. What a memory has of the names of a question counts by its share
of what all of them tell: of a long request that names ten things, one of them alone says little.

`linked` in plain Python is the oracle. `Index.link_rows` computes the same over columns, equal to the last bit: both
take nothing but sums, products and quotients in the order written here, and of several ways the best, ties by name.

Mentions: the names that the rows of a shelf mention, as they are stored, and their index when it is first needed.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recollect.model.memory import build_searched_text
from recollect.model.table import NO_LABEL, Floats, Labels, Rows
from recollect.retrieval.lock_free_property import lock_free_property
from recollect.text.entities import find_entities, may_be_name, speaker_entity

HOP_WEIGHT = 0.5
"""What a link counts that goes through another memory, of one that does not."""

MAX_SHARED_MEMORIES = 200
"""A name that more memories mention leads nowhere: it would link everything to everything."""

MIN_SHARED_LIMIT, SHARED_LIMIT_DIVISOR = 4, 10
"""And so does one that more than one in `SHARED_LIMIT_DIVISOR` mention, unless these are at most so few."""

PATH_ARROW = " → "
"""Between the name that a question has and the one that a memory has, where these are linked by a third."""

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class EntityLink:
    """How firmly a memory is linked, above 0 and at most 1; by a name of the question's, and through which other."""

    value: float
    query_name: str
    through: str = ""

    @property
    def path(self) -> str:
        """The names from the question to the memory."""
        return f"{self.query_name}{PATH_ARROW}{self.through}" if self.through else self.query_name


def rarity(having: int, count: int) -> float:
    """How much a name tells that so many of all memories mention: 1 if it is one of them, 0 if it is all."""
    return 1.0 if having <= 1 else math.log(count / having) / math.log(count)


def weigh_names(asked: Sequence[str], having: Callable[[str], int], count: int) -> dict[str, float]:
    """What each of a question's names counts where it is mentioned: its rarity, by its share of all their rarities."""
    worth = {name: rarity(having(name), count) for name in asked}
    total = math.fsum(worth.values())
    return {name: one * one / total for name, one in worth.items() if one > 0.0}


def can_link(having: int, count: int) -> bool:
    """Whether memories are linked by a name that so many of all mention."""
    return 2 <= having <= min(MAX_SHARED_MEMORIES, max(MIN_SHARED_LIMIT, count // SHARED_LIMIT_DIVISOR))


def match_names(
    sought: Iterable[str], having: Callable[[str], int], with_word: Callable[[str], Iterable[str]]
) -> list[str]:
    """The names that a question means, sorted: those it has, and the only one of several words that has one of its.

    `having` says how many memories mention a name, and `with_word` which names of several words have a word.
    """
    found: set[str] = set()
    for one in sought:
        if having(one):
            found.add(one)
        if " " not in one and may_be_name(one):
            wider = [name for name in with_word(one) if having(name)]
            if len(wider) == 1:
                found.update(wider)
    return sorted(found)


def link_memories(mentioned: Mapping[int, Names], sought: Iterable[str]) -> dict[int, EntityLink]:
    """How the question is linked to each of the memories, given as the names that each mentions, each once."""
    having, count = Counter(name for names in mentioned.values() for name in names), len(mentioned)
    by_word = _names_by_word(having)
    asked = match_names(sought, lambda name: having.get(name, 0), lambda word: by_word.get(word, ()))
    counted = weigh_names(asked, lambda name: having[name], count)
    direct: dict[int, EntityLink] = {}
    for row, names in mentioned.items():
        shared = [name for name in counted if name in names]
        if shared:
            value = 0.0
            for name in shared:
                value += counted[name]
            direct[row] = EntityLink(min(value, 1.0), min(shared, key=lambda name: (-counted[name], name)))
    nearest: dict[str, EntityLink] = {}
    for row, link in direct.items():
        for name in mentioned[row]:
            if name not in asked and can_link(having[name], count):
                nearest[name] = _best_link([link, nearest.get(name, link)]) or link
    found = dict(direct)
    for row, names in mentioned.items():
        met = [(nearest[name], name) for name in names if name in nearest]
        ways = [
            EntityLink(HOP_WEIGHT * link.value * rarity(having[name], count), link.query_name, name)
            for link, name in met
        ]
        best = _best_link(ways)
        if best is not None and (row not in direct or best.value > direct[row].value):
            found[row] = best
    return found


def _best_link(ways: Iterable[EntityLink]) -> EntityLink | None:
    """The firmest of them, ties by name; none if none is worth anything."""
    firm = (way for way in ways if way.value > 0.0)
    return min(firm, key=lambda way: (-way.value, way.through, way.query_name), default=None)


def _names_by_word(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of several words by each of these."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        words = name.split(" ")
        for word in set(words) if len(words) > 1 else ():
            found[word].append(name)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class EntityIndex:
    """Which rows of how many mention which names: `rows[n]` mentions `names[codes[n]]`, each once.

    Names are sorted, so that of two the one of the smaller number comes first.
    """

    size: int
    names: Names
    numbers: Mapping[str, int]
    by_word: Mapping[str, Names]
    rows: Rows
    codes: Rows

    @classmethod
    def of(cls, size: int, names: Iterable[str], rows: Rows, codes: Rows) -> "EntityIndex":
        """The index of so many rows, whatever the order of the names."""
        given = list(names)
        order = sorted(range(len(given)), key=given.__getitem__)
        places = np.empty(len(given), dtype=np.intp)
        places[order] = np.arange(len(given))
        there = [given[place] for place in order]
        numbers = {name: number for number, name in enumerate(there)}
        return cls(size, there, numbers, _names_by_word(there), rows, places[codes])

    def names_by_row(self, eligible: NDArray[np.bool_] | None) -> dict[int, list[str]]:
        """The names that each eligible row mentions, sorted; every such row is there, also one that mentions none."""
        every = range(self.size) if eligible is None else np.flatnonzero(eligible).tolist()
        found: dict[int, list[str]] = {row: [] for row in every}
        rows, codes = self._eligible_mentions(eligible)
        pairs: list[tuple[int, int]] = sorted(zip(rows.tolist(), codes.tolist(), strict=True))
        for row, code in pairs:
            found[row].append(self.names[code])
        return found

    def link_rows(self, sought: Iterable[str], eligible: NDArray[np.bool_] | None) -> tuple[Floats, Labels] | None:
        """How the question is linked to each eligible row, NaN where it is not, and by which names.

        Nothing at all if it is linked to none.
        """
        rows, codes = self._eligible_mentions(eligible)
        count = self.size if eligible is None else int(np.count_nonzero(eligible))
        having = np.bincount(codes, minlength=len(self.names))
        names = self._match_names(sought, having)
        asked = [self.numbers[name] for name in names]
        values, most, by = np.zeros(self.size), np.zeros(self.size), np.full(self.size, NO_LABEL, dtype=np.intp)
        for name, part in weigh_names(names, lambda name: int(having[self.numbers[name]]), count).items():
            here = rows[codes == self.numbers[name]]
            values[here] += part
            more = here[part > most[here]]
            most[more], by[more] = part, self.numbers[name]
        if not values.any():
            return None

        np.minimum(values, 1.0, out=values)
        worth = _rarity_column(having, count)
        leads = np.array([can_link(times, count) for times in range(min(count, MAX_SHARED_MEMORIES) + 2)])
        onward = leads[np.minimum(having, len(leads) - 1)]
        onward[asked] = False
        near, source = np.zeros(len(self.names)), np.full(len(self.names), NO_LABEL, dtype=np.intp)
        steps = onward[codes] & (values[rows] > 0.0)
        first = _find_group_maxima(codes[steps], values[rows[steps]], by[rows[steps]])
        there, met = codes[steps][first], rows[steps][first]
        near[there], source[there] = values[met], by[met]

        steps = near[codes] > 0.0
        to, through = rows[steps], codes[steps]
        reach = HOP_WEIGHT * near[through] * worth[through]
        first = _find_group_maxima(to, reach, through)
        first = first[reach[first] > values[to[first]]]
        values[to[first]], by[to[first]] = reach[first], len(self.names) + through[first]
        return np.where(values > 0.0, values, np.nan), self._paths(by, source)

    def _eligible_mentions(self, eligible: NDArray[np.bool_] | None) -> tuple[Rows, Rows]:
        """What the eligible rows mention."""
        if eligible is None:
            return self.rows, self.codes
        here = eligible[self.rows]
        return self.rows[here], self.codes[here]

    def _match_names(self, sought: Iterable[str], having: NDArray[np.intp]) -> list[str]:
        def times(name: str) -> int:
            number = self.numbers.get(name)
            return 0 if number is None else int(having[number])

        return match_names(sought, times, lambda word: self.by_word.get(word, ()))

    def _paths(self, by: Rows, source: Rows) -> Labels:
        """The path of each row: by a name of the question's, or by one after all of these through another."""
        there = by != NO_LABEL
        numbers, places = np.unique(by[there], return_inverse=True)
        codes = np.full(len(by), NO_LABEL, dtype=np.intp)
        codes[there] = places
        return Labels(codes, tuple(self._path(number, source) for number in numbers.tolist()))

    def _path(self, number: int, source: Rows) -> str:
        through = number - len(self.names)
        link = (
            EntityLink(1.0, self.names[number])
            if through < 0
            else EntityLink(1.0, self.names[int(source[through])], self.names[through])
        )
        return link.path


def _rarity_column(having: NDArray[np.intp], count: int) -> Floats:
    """The rarity of every name; each is computed as the oracle does, for NumPy has other logarithms."""
    times, places = np.unique(having, return_inverse=True)
    worth = np.array([rarity(one, count) for one in times.tolist()], dtype=np.float64)
    return worth[places]


def _find_group_maxima(groups: Rows, values: Floats, ties: Rows) -> Rows:
    """Where the largest value of each group is, of equal ones the one with the smallest tie."""
    order: Rows = np.lexsort((ties, -values, groups))
    sorted_groups = groups[order]
    begins = np.append(True, sorted_groups[1:] != sorted_groups[:-1])[: len(order)]
    found: Rows = order[begins]
    return found


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
