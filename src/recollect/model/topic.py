"""Topic: what several memories of a scope are about together."""

from dataclasses import dataclass
from datetime import datetime

from recollect.model.format import format_count, make_printable
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope


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
