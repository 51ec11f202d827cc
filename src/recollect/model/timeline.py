"""Timeline: what happened, as one walks through it from years down to single events.

Summary: what a stretch of time was about, each point of it with what it rests on.

Rolled: what a rollup made of what happened in a scope.

Topic: what several memories of a scope are about together.

Graph: names that memories mention, and what is linked by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.conversation import LlmUsage
from recollect.model.enums import Level
from recollect.model.format import format_count, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineNode:
    """A place on the timeline: what it is called, the time it covers, and its record, if there is one by now.

    `key` is by what one goes there: 2026, 2026-03, 2026-W09, 2026-03-01, or the id of a segment, a grip or an event.
    """

    level: Level
    key: str
    title: str
    first: datetime
    last: datetime
    record: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePage:
    """A place with what is below it, in order; without a place, all years. `grips` are those that a segment cites."""

    place: TimelineNode | None
    parts: tuple[TimelineNode, ...]
    grips: tuple[TimelineNode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GripExpansion:
    """The events that a grip is an excerpt of, in order, with some before and after them."""

    record: Memory
    before: tuple[Memory, ...]
    events: tuple[Memory, ...]
    after: tuple[Memory, ...]
    gone: tuple[MemoryId, ...] = ()
    """Events that it was made of and that are not there any more, or were put away."""


MAX_BULLETS = 12
"""How many points a summary has at most."""

MAX_KEYWORDS = 12

MAX_SUMMARY_TITLE_CHARS = 120
MAX_BULLET_CHARS = 400
"""How many characters a title and a point have at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a summariser reads: what somebody said, or a point of a finer summary; and the memories it rests on."""

    text: str
    at: datetime
    cites: tuple[MemoryId, ...]
    speaker: str | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        object.__setattr__(self, "at", validation.require_moment("at", self.at))
        if not self.cites:
            raise FieldError("is empty; a passage rests on at least one memory", field="cites")


@dataclass(frozen=True, slots=True)
class Bullet:
    """One point of a summary, and the memories it rests on."""

    text: str
    cites: tuple[MemoryId, ...]

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        if len(self.text) > MAX_BULLET_CHARS:
            raise FieldError(f"{len(self.text)} characters; a point has at most {MAX_BULLET_CHARS}", field="text")
        if not self.cites:
            raise FieldError("is empty; a point rests on at least one memory", field="cites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a stretch of time was about: a title, points that cite what they rest on, and keywords."""

    title: str
    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        validation.require_line("title", self.title)
        if len(self.title) > MAX_SUMMARY_TITLE_CHARS:
            raise FieldError(
                f"{len(self.title)} characters; at most {MAX_SUMMARY_TITLE_CHARS} are allowed", field="title"
            )
        if not 1 <= len(self.bullets) <= MAX_BULLETS:
            raise FieldError(f"{len(self.bullets)} of them; give 1 to {MAX_BULLETS}", field="bullets")
        if len(self.keywords) > MAX_KEYWORDS:
            raise FieldError(f"{len(self.keywords)} of them; give at most {MAX_KEYWORDS}", field="keywords")
        for one in self.keywords:
            if not validation.require_line("keywords", one).strip():
                raise FieldError(f"{show(one)} is blank", field="keywords")


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupReport:
    """How many records of each level were made, made anew, put away because what they told is gone, and found as they
    should be; and how many periods are under way, so that their records come later. `spent` is what was asked of a
    model meanwhile, and `cost` what that cost, if prices were given.
    """

    scope: Scope
    made: Mapping[Level, int]
    revised: Mapping[Level, int]
    archived: Mapping[Level, int]
    unchanged: Mapping[Level, int]
    under_way: int
    spent: LlmUsage = LlmUsage()
    cost: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could be summed up."""
        return not (self.records_written or self.under_way or any(self.unchanged.values()))

    @property
    def records_written(self) -> int:
        """How many records were written."""
        return sum(sum(one.values()) for one in (self.made, self.revised, self.archived))


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Memories that belong together, the oldest first, and what they are about.

    `mentioned_at` is when one of them was last said, `served` how often any of them was, and `importance` how much it
    matters now: the more memories, and the sooner after it was mentioned. One that is `pruned` was not mentioned for
    long; as soon as it is, it is not.
    """

    id: str
    scope: Scope
    label: str
    keywords: tuple[str, ...]
    memories: tuple[MemoryId, ...]
    created_at: datetime
    mentioned_at: datetime
    served: int
    importance: float
    pruned: bool

    def __repr__(self) -> str:
        of = format_count(len(self.memories), "memory", "memories")
        mark = ", pruned" if self.pruned else ""
        label = make_printable(self.label)
        return f"<Topic {self.id} of {self.scope}, {of}, importance {self.importance:.3f}{mark}: {label}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRefreshReport:
    """What a look at the memories of a scope came to: how many there are, how many of them are of a topic, and how many
    topics there are; `new` ones were not there before, and `gone` ones are not any more.
    """

    scope: Scope
    memories: int
    grouped: int
    topics: int
    new: int
    gone: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, in the one spelling that all who mention it share, and how many memories do."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A memory, and the name by which it is linked."""

    memory: Memory
    through: str


@dataclass(frozen=True, slots=True)
class EntityNeighbors:
    """What is linked to a name or to a memory: names, and memories.

    To a name: those that are mentioned together with it, by how many memories; and the memories that mention it.
    To a memory: the names that it mentions; and other memories that mention one of them, by the rarest.
    """

    of: str | Memory
    entities: tuple[Entity, ...]
    memories: tuple[LinkedMemory, ...]
