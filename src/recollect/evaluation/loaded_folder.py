"""Loaded: what became of a folder's memories in a store, and which of them it has in mind when a query is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.evaluation.judgments import Query, sees
from recollect.evaluation.measures import Twins
from recollect.model.memory import Memory
from recollect.retrieval.eligibility import as_it_was
from recollect.text.paraphrase_key import alike, likeness


@dataclass(frozen=True, slots=True)
class Course:
    """One memory of the store: those of the folder that it was made of, and its own versions, both the oldest first.

    Only memories of one topic become one; texts that repeat are not merged.
    """

    made_of: tuple[Memory, ...]
    versions: tuple[Memory, ...]

    def state(self, at: datetime) -> Memory:
        """What it was at a moment at which it was there."""
        return as_it_was(self.versions, at) or self.versions[0]

    def written(self, at: datetime) -> dict[str, Memory]:
        """Those that had gone into it by that moment, by their ids."""
        return {one.id: one for one in self.made_of if one.created_at <= at}

    def saying(self, at: datetime) -> list[str]:
        """The ids whose words it had at the moment, or others that say the same, out of those that had gone into it."""
        written = self.written(at)
        if len(self.made_of) == 1:
            return list(written)
        said = self.state(at)
        return [id for id, one in written.items() if _say_the_same(one, said)]

    @property
    def merged(self) -> int:
        """How many of those that it was made of say what one before them said."""
        return len(self.made_of) - len({likeness(one) or one.hash for one in self.made_of})


def _say_the_same(one: Memory, other: Memory) -> bool:
    return one.hash == other.hash or alike(one, other)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The course of the stored memory that each id of the folder went into, by that id."""

    courses: Mapping[str, Course] = field(hash=False)

    @property
    def merged(self) -> int:
        """How many memories of the folder say what an earlier one of their topic does, which is kept in their place."""
        return sum(course.merged for id, course in self.courses.items() if id == course.made_of[0].id)

    def name(self, id: str, at: datetime) -> str:
        """What a stored memory that is found for a moment is called: the first id whose words it has then."""
        return next(iter(self.courses[id].saying(at)), id)

    def twins(self, query: Query) -> Twins:
        """The judged ids that are found under the name of another one, each with that one."""
        named = {id: self.name(id, query.asked_at) for id in self._said(query)}
        return {id: name for id, name in named.items() if id != name}

    def replaced(self, query: Query) -> tuple[str, ...]:
        """The judged ids that were there, but whose words a later one had replaced when it was asked."""
        said = self._said(query)
        return tuple(id for id in self._written(query) if id not in said)

    def outside(self, query: Query) -> tuple[str, ...]:
        """The judged ids whose words were there when it was asked, in a memory that the query did not see."""
        return tuple(id for id in self._said(query) if not sees(query, self.courses[id].state(query.asked_at)))

    def _said(self, query: Query) -> list[str]:
        return [id for id in self._written(query) if id in self.courses[id].saying(query.asked_at)]

    def _written(self, query: Query) -> list[str]:
        """The judged ids of the folder that are no later than the query."""
        there = {id: self.courses[id] for id in query.grades if id in self.courses}
        return [id for id, course in there.items() if id in course.written(query.asked_at)]
