"""Loaded: what became of a folder's memories in a store, and which of them it has in mind when a query is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.evaluation.judgments import JudgedQuery, can_see
from recollect.evaluation.measures import Twins
from recollect.model.memory import Memory
from recollect.retrieval.eligibility import version_at
from recollect.text.paraphrase_key import are_paraphrases, paraphrase_key


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """One memory of the store: those of the folder that it was made of, and its own versions, both the oldest first.

    Only memories of one topic become one; texts that repeat are not merged.
    """

    sources: tuple[Memory, ...]
    versions: tuple[Memory, ...]

    def version_at(self, at: datetime) -> Memory:
        """What it was at a moment at which it was there."""
        return version_at(self.versions, at) or self.versions[0]

    def sources_until(self, at: datetime) -> dict[str, Memory]:
        """Those that had gone into it by that moment, by their ids."""
        return {one.id: one for one in self.sources if one.created_at <= at}

    def ids_saying(self, at: datetime) -> list[str]:
        """The ids whose words it had at the moment, or others that say the same, out of those that had gone into it."""
        written = self.sources_until(at)
        if len(self.sources) == 1:
            return list(written)
        said = self.version_at(at)
        return [id for id, one in written.items() if _say_the_same(one, said)]

    @property
    def merged_count(self) -> int:
        """How many of those that it was made of say what one before them said."""
        return len(self.sources) - len({paraphrase_key(one) or one.hash for one in self.sources})


def _say_the_same(one: Memory, other: Memory) -> bool:
    return one.hash == other.hash or are_paraphrases(one, other)


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The course of the stored memory that each id of the folder went into, by that id."""

    histories: Mapping[str, StoredHistory] = field(hash=False)

    @property
    def merged_count(self) -> int:
        """How many memories of the folder say what an earlier one of their topic does, which is kept in their place."""
        return sum(course.merged_count for id, course in self.histories.items() if id == course.sources[0].id)

    def name_at(self, id: str, at: datetime) -> str:
        """What a stored memory that is found for a moment is called: the first id whose words it has then."""
        return next(iter(self.histories[id].ids_saying(at)), id)

    def find_twins(self, query: JudgedQuery) -> Twins:
        """The judged ids that are found under the name of another one, each with that one."""
        named = {id: self.name_at(id, query.asked_at) for id in self._current_ids(query)}
        return {id: name for id, name in named.items() if id != name}

    def find_replaced(self, query: JudgedQuery) -> tuple[str, ...]:
        """The judged ids that were there, but whose words a later one had replaced when it was asked."""
        said = self._current_ids(query)
        return tuple(id for id in self._earlier_ids(query) if id not in said)

    def find_invisible(self, query: JudgedQuery) -> tuple[str, ...]:
        """The judged ids whose words were there when it was asked, in a memory that the query did not see."""
        return tuple(
            id for id in self._current_ids(query) if not can_see(query, self.histories[id].version_at(query.asked_at))
        )

    def _current_ids(self, query: JudgedQuery) -> list[str]:
        return [id for id in self._earlier_ids(query) if id in self.histories[id].ids_saying(query.asked_at)]

    def _earlier_ids(self, query: JudgedQuery) -> list[str]:
        """The judged ids of the folder that are no later than the query."""
        there = {id: self.histories[id] for id in query.grades if id in self.histories}
        return [id for id, course in there.items() if id in course.sources_until(query.asked_at)]
