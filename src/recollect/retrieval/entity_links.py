"""Link a query to memories through the names that both mention, or that memories share.

The fewer memories mention a name, the more it counts. Each name counts by its share of the weight of all names in the
query: in a long query that names ten things, one alone counts little.

`link_memories` in plain Python is the reference. `EntityIndex.link_rows` computes the same over columns, equal to the
last bit: both use only sums, products and quotients in the order written here and, if there are several paths, take the
strongest; ties break by name. `EntityMentions` holds the stored names of a scope's rows; its index is built on first
use.
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
"""The factor for a link that goes through another memory."""

MAX_SHARED_MEMORIES = 200
"""A name mentioned by more memories than this creates no links, because it would connect everything."""

MIN_SHARED_LIMIT, SHARED_LIMIT_DIVISOR = 4, 10
"""The largest share of memories that may mention a linking name: one in this many.

A name that at most 4 memories mention may link them, whatever the share.
"""

PATH_ARROW = " → "
"""Separates the names of the query and the memory when a third memory links them."""

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class EntityLink:
    """The strength of a link, above 0 and at most 1, and the names that make it.

    `through` is the name in between if a third memory makes the link.
    """

    value: float
    query_name: str
    through: str = ""

    @property
    def path(self) -> str:
        """The names from the query to the memory."""
        return f"{self.query_name}{PATH_ARROW}{self.through}" if self.through else self.query_name


def rarity(having: int, count: int) -> float:
    """Return the weight of a name: 1 if one memory mentions it, 0 if all do."""
    return 1.0 if having <= 1 else math.log(count / having) / math.log(count)


def weigh_names(asked: Sequence[str], having: Callable[[str], int], count: int) -> dict[str, float]:
    """Return the weight of each name in a query: its rarity times its share of all rarities."""
    rarities = {name: rarity(having(name), count) for name in asked}
    total = math.fsum(rarities.values())
    return {name: value * value / total for name, value in rarities.items() if value > 0.0}


def can_link(having: int, count: int) -> bool:
    """Return whether a name that `having` of `count` memories mention can link memories."""
    return 2 <= having <= min(MAX_SHARED_MEMORIES, max(MIN_SHARED_LIMIT, count // SHARED_LIMIT_DIVISOR))


def match_names(
    sought: Iterable[str], having: Callable[[str], int], with_word: Callable[[str], Iterable[str]]
) -> list[str]:
    """Return the known names that a query means, sorted.

    These are the names in the query itself, and for a single word the one longer name that contains it, if there is
    exactly one. `having` counts the memories that mention a name; `with_word` returns the names of several words that
    contain a word.
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
    """Return how the query is linked to memories, given as the distinct names of each."""
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
        reachable = [(nearest[name], name) for name in names if name in nearest]
        candidates = [
            EntityLink(HOP_WEIGHT * link.value * rarity(having[name], count), link.query_name, name)
            for link, name in reachable
        ]
        best = _best_link(candidates)
        if best is not None and (row not in direct or best.value > direct[row].value):
            found[row] = best
    return found


def _best_link(candidates: Iterable[EntityLink]) -> EntityLink | None:
    """Return the strongest link, ties by name; `None` if no link is above 0."""
    nonzero = (link for link in candidates if link.value > 0.0)
    return min(nonzero, key=lambda link: (-link.value, link.through, link.query_name), default=None)


def _names_by_word(names: Iterable[str]) -> dict[str, list[str]]:
    """Group the names of several words by each of their words."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        words = name.split(" ")
        for word in set(words) if len(words) > 1 else ():
            found[word].append(name)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class EntityIndex:
    """An index of names by row: `rows[n]` mentions `names[codes[n]]`, each pair once.

    Names are sorted, so the smaller code is the first by name.
    """

    size: int
    names: Names
    numbers: Mapping[str, int]
    by_word: Mapping[str, Names]
    rows: Rows
    codes: Rows

    @classmethod
    def of(cls, size: int, names: Iterable[str], rows: Rows, codes: Rows) -> "EntityIndex":
        """Build the index of `size` rows from names in any order."""
        given = list(names)
        order = sorted(range(len(given)), key=given.__getitem__)
        places = np.empty(len(given), dtype=np.intp)
        places[order] = np.arange(len(given))
        sorted_names = [given[place] for place in order]
        numbers = {name: number for number, name in enumerate(sorted_names)}
        return cls(size, sorted_names, numbers, _names_by_word(sorted_names), rows, places[codes])

    def names_by_row(self, eligible: NDArray[np.bool_] | None) -> dict[int, list[str]]:
        """Return the sorted names of each eligible row; rows without names have an empty list."""
        every = range(self.size) if eligible is None else np.flatnonzero(eligible).tolist()
        found: dict[int, list[str]] = {row: [] for row in every}
        rows, codes = self._eligible_mentions(eligible)
        pairs: list[tuple[int, int]] = sorted(zip(rows.tolist(), codes.tolist(), strict=True))
        for row, code in pairs:
            found[row].append(self.names[code])
        return found

    def link_rows(self, sought: Iterable[str], eligible: NDArray[np.bool_] | None) -> tuple[Floats, Labels] | None:
        """Return the link strength of each eligible row, NaN without a link, and its path.

        Returns `None` if no row is linked.
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
        rarities = _rarity_column(having, count)
        linkable = np.array([can_link(times, count) for times in range(min(count, MAX_SHARED_MEMORIES) + 2)])
        can_hop = linkable[np.minimum(having, len(linkable) - 1)]
        can_hop[asked] = False
        near, source = np.zeros(len(self.names)), np.full(len(self.names), NO_LABEL, dtype=np.intp)
        steps = can_hop[codes] & (values[rows] > 0.0)
        first = _find_group_maxima(codes[steps], values[rows[steps]], by[rows[steps]])
        hop_names, hop_rows = codes[steps][first], rows[steps][first]
        near[hop_names], source[hop_names] = values[hop_rows], by[hop_rows]

        steps = near[codes] > 0.0
        to, through = rows[steps], codes[steps]
        reach = HOP_WEIGHT * near[through] * rarities[through]
        first = _find_group_maxima(to, reach, through)
        first = first[reach[first] > values[to[first]]]
        values[to[first]], by[to[first]] = reach[first], len(self.names) + through[first]
        return np.where(values > 0.0, values, np.nan), self._paths(by, source)

    def _eligible_mentions(self, eligible: NDArray[np.bool_] | None) -> tuple[Rows, Rows]:
        """Return the mentions in eligible rows, as rows and name codes."""
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
        """Return the path of each row; codes from `len(names)` on link through another name."""
        linked = by != NO_LABEL
        numbers, places = np.unique(by[linked], return_inverse=True)
        codes = np.full(len(by), NO_LABEL, dtype=np.intp)
        codes[linked] = places
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
    """Compute each rarity with `math.log`, as the reference does; NumPy's logarithm differs."""
    times, places = np.unique(having, return_inverse=True)
    rarities = np.array([rarity(one, count) for one in times.tolist()], dtype=np.float64)
    return rarities[places]


def _find_group_maxima(groups: Rows, values: Floats, ties: Rows) -> Rows:
    """Return the position of each group's largest value; equal values go by smallest `ties`."""
    order: Rows = np.lexsort((ties, -values, groups))
    sorted_groups = groups[order]
    begins = np.append(True, sorted_groups[1:] != sorted_groups[:-1])[: len(order)]
    found: Rows = order[begins]
    return found


MENTIONS_GROWTH_FACTOR = 8
"""The size ratio above which a block of rows is not merged into the one before it."""

TEXT_OVERHEAD_BYTES = 56
"""The memory that a Python string takes beside its characters."""


def encode_names(names: Iterable[str]) -> str:
    """Encode the names in a memory's text for storage, one per line."""
    return "\n".join(names)


def find_stored_names(title: str | None, text: str) -> str:
    """Return the names in a memory's title and text, encoded for storage."""
    return encode_names(find_entities(build_searched_text(title, text)))


def add_speaker_names(names: Sequence[str], speakers: Sequence[str | None]) -> list[str]:
    """Add each row's speaker to its stored names, if the speaker is a name."""
    called = {speaker: speaker_entity(speaker) for speaker in set(speakers)}
    return [
        "\n".join(filter(None, (stored, name))) if (name := called[speaker]) is not None else stored
        for stored, speaker in zip(names, speakers, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _MentionsBlock:
    """The names that some rows mention; immutable."""

    texts: tuple[str, ...]

    @lock_free_property
    def name_codes(self) -> tuple[list[str], Rows, Rows]:
        """The distinct names, and the pairs of row and name code."""
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
    """The stored names of rows, in the order they were added; immutable.

    `append` returns another value.
    """

    blocks: tuple[_MentionsBlock, ...] = ()
    _bytes: int = field(default=0)

    def append(self, texts: Sequence[str]) -> "EntityMentions":
        """Return the mentions with more rows added."""
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
        """The approximate size in bytes before the index is built."""
        return self._bytes


def build_entity_index(mentions_by_scope: Iterable[EntityMentions]) -> EntityIndex:
    """Build one index of the mentions of several scopes, their rows numbered in sequence."""
    numbers: dict[str, int] = {}
    rows, codes, first = [np.empty(0, np.intp)], [np.empty(0, np.intp)], 0
    for block in (block for mentions in mentions_by_scope for block in mentions.blocks):
        names, here, mentioned = block.name_codes
        places = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.intp, len(names))
        rows.append(here + first)
        codes.append(places[mentioned])
        first += len(block.texts)
    return EntityIndex.of(first, numbers, np.concatenate(rows), np.concatenate(codes))
