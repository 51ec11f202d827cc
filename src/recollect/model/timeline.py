"""The timeline, summaries, rollup results, topics and the entity graph.

The timeline runs from years down to single events; rollups write its summaries. A topic groups memories about the same
thing; the graph links memories by the names they mention.
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
    """A node of the timeline: its title, its time span, and its record, if one exists yet.

    `key` addresses it: 2026, 2026-03, 2026-W09, 2026-03-01, or the id of a segment, a grip or an event.
    """

    level: Level
    key: str
    title: str
    first: datetime
    last: datetime
    record: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePage:
    """A node with its children, in order; without a node, all years.

    `grips` are the excerpts that a segment cites.
    """

    place: TimelineNode | None
    parts: tuple[TimelineNode, ...]
    grips: tuple[TimelineNode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GripExpansion:
    """The events that a grip excerpts, in order, with some before and after them."""

    record: Memory
    before: tuple[Memory, ...]
    events: tuple[Memory, ...]
    after: tuple[Memory, ...]
    gone: tuple[MemoryId, ...] = ()
    """Events of the grip that no longer exist or were put away."""


MAX_BULLETS = 12
"""How many bullets a summary has at most."""

MAX_KEYWORDS = 12

MAX_SUMMARY_TITLE_CHARS = 120
MAX_BULLET_CHARS = 400
"""How many characters a bullet has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An input of a summarizer: an event, or a bullet of a finer summary, with its citations."""

    text: str
    at: datetime
    cites: tuple[MemoryId, ...]
    speaker: str | None = None

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        object.__setattr__(self, "at", validation.require_moment("at", self.at))
        if not self.cites:
            raise FieldError("is empty; cite at least one memory", field="cites")


@dataclass(frozen=True, slots=True)
class Bullet:
    """One point of a summary, and the memories it cites."""

    text: str
    cites: tuple[MemoryId, ...]

    def __post_init__(self) -> None:
        validation.require_content("text", self.text)
        if len(self.text) > MAX_BULLET_CHARS:
            raise FieldError(f"has {len(self.text)} characters; at most {MAX_BULLET_CHARS} are allowed", field="text")
        if not self.cites:
            raise FieldError("is empty; cite at least one memory", field="cites")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a period: a title, bullets with citations, and keywords."""

    title: str
    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        validation.require_line("title", self.title)
        if len(self.title) > MAX_SUMMARY_TITLE_CHARS:
            raise FieldError(
                f"has {len(self.title)} characters; at most {MAX_SUMMARY_TITLE_CHARS} are allowed", field="title"
            )
        if not 1 <= len(self.bullets) <= MAX_BULLETS:
            raise FieldError(f"has {len(self.bullets)} items; give 1 to {MAX_BULLETS}", field="bullets")
        if len(self.keywords) > MAX_KEYWORDS:
            raise FieldError(f"has {len(self.keywords)} items; at most {MAX_KEYWORDS} are allowed", field="keywords")
        for one in self.keywords:
            if not validation.require_line("keywords", one).strip():
                raise FieldError(f"{show(one)} is blank", field="keywords")


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupReport:
    """The result of a rollup: how many records of each level it made, revised, archived or left.

    Records are archived when what they summarize is gone. `under_way` counts the periods that are not over, whose
    records come later. `spent` is the use of a model meanwhile, and `cost` its cost, if prices were given.
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
        """Whether there was nothing to summarize."""
        return not (self.changed or self.under_way or any(self.unchanged.values()))

    @property
    def changed(self) -> int:
        """How many records were written."""
        return sum(sum(one.values()) for one in (self.made, self.revised, self.archived))


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Memories that belong together, oldest first, and what they are about.

    `mentioned_at` is when one of them was last said, and `served` how often its memories were served in total.
    `importance` grows with the number of memories and falls with the time since a mention. A `pruned` topic has not
    been mentioned for long; a new mention makes it active again.
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
    """The result of refreshing the topics of a scope.

    `memories` and `grouped` count the memories and those in a topic; `new` and `gone` compare the topics with those
    before.
    """

    scope: Scope
    memories: int
    grouped: int
    topics: int
    new: int
    gone: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in one spelling for all mentions, and the number of memories that mention it."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True)
class LinkedMemory:
    """A memory, and the name that links it."""

    memory: Memory
    through: str


@dataclass(frozen=True, slots=True)
class EntityNeighbors:
    """The names and memories linked to a name or to a memory.

    For a name: the names mentioned together with it, by the number of shared memories, and the memories that mention
    it. For a memory: the names it mentions, and other memories that mention one of them, linked through the rarest.
    """

    of: str | Memory
    entities: tuple[Entity, ...]
    memories: tuple[LinkedMemory, ...]
