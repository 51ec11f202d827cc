"""Topics: what the memories of a scope are about, which of them belong together, and how much that matters by now.

Of a topic it is only noted which memories belong to it. What it is called, how much it matters and whether it has had
its day is found anew whenever it is told, from what its memories say and when they were last said.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

from recollect.errors import FieldError, show
from recollect.lifecycle.extractive_summarizer import titled
from recollect.model import validation
from recollect.model.format import counted
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.summary import MOST_KEYWORDS
from recollect.text.excerpts import sentences
from recollect.text.keywords import Themes, names, read

FEWEST, MOST = 2, 1_000
"""Within how many memories a topic may be told to begin."""

LONGEST_DAYS = 36_500.0
"""How many days anything may take: a century."""

BOOST = 2.0
"""How much more a topic matters that was mentioned within the last day."""

BOOSTED, PLAIN = timedelta(days=1), timedelta(days=7)
"""Until when a mention counts so much more, and from when it counts as any other; in between it is less every day."""

FLOOR = 0.01
"""What a topic matters at least."""

READ = 256
"""How many memories of a topic, the newest, are read for what it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPolicy:
    """How near memories must be to be of one topic, how many make one, how soon it matters half as much, and when it is
    pruned.

    The threshold belongs to an embedder; 0.75 is the seed's.
    """

    threshold: float = 0.75
    least: int = 3
    half_life_days: float = 30.0
    prune_days: float = 90.0

    def __post_init__(self) -> None:
        if validation.a_share("threshold", self.threshold) <= 0.0:
            raise FieldError(f"{show(self.threshold)} is not above 0, so that all would be near", field="threshold")
        if not FEWEST <= validation.a_count("least", self.least) <= MOST:
            raise FieldError(f"{show(self.least)} is not within {FEWEST}..{MOST}", field="least")
        for name in ("half_life_days", "prune_days"):
            if not 0.0 < validation.a_number(name, getattr(self, name)) <= LONGEST_DAYS:
                problem = f"{show(getattr(self, name))} is no number of days up to a century"
                raise FieldError(problem, field=name)

    def importance(self, memories: int, since: timedelta) -> float:
        """How much a topic of so many memories matters so long after it was last mentioned.

        A mention that has not come yet, by a clock that went back, counts as new and never as more.
        """
        since = max(since, timedelta(0))
        fresh = 1.0 - min(max((since - BOOSTED) / (PLAIN - BOOSTED), 0.0), 1.0)
        decay = math.exp2(-since / timedelta(days=self.half_life_days))
        return max(math.log1p(memories) * decay * (1.0 + (BOOST - 1.0) * fresh), FLOOR)

    def pruned(self, since: timedelta) -> bool:
        """Whether a topic has had its day that was last mentioned so long ago."""
        return since > timedelta(days=self.prune_days)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which memories belong to which topic, by its id, as it is noted from one refresh to the next.

    `token` tells what was noted since something was last erased from what was noted before.
    """

    token: str
    topics: Mapping[str, tuple[MemoryId, ...]]

    @classmethod
    def read(cls, text: str) -> "Grouping":
        """What was noted."""
        noted = json.loads(text)
        return cls(noted["token"], {id: tuple(map(MemoryId, members)) for id, members in noted["topics"].items()})

    def text(self) -> str:
        """The same as it is noted."""
        return json.dumps({"token": self.token, "topics": self.topics}, sort_keys=True)

    def regrouped(self, scope: Scope, groups: Sequence[Sequence[MemoryId]]) -> "Grouping":
        """These groups, each with the oldest memory first, instead; whoever shares more than half of the fewer members
        with a former topic has its id, the one that shares most first. Any other gets one by its oldest memory.
        """
        former = {memory: id for id, members in self.topics.items() for memory in members}
        shared = Counter((former[one], place) for place, group in enumerate(groups) for one in group if one in former)
        ids, taken = dict[int, str](), set[str]()
        for (id, place), common in sorted(shared.items(), key=lambda one: (-one[1], one[0])):
            enough = 2 * common > min(len(self.topics[id]), len(groups[place]))
            if enough and place not in ids and id not in taken:
                ids[place] = id
                taken.add(id)
        for place, group in enumerate(groups):
            if place not in ids:
                ids[place] = next(id for id in _ids_by(scope, group[0]) if id not in taken)
                taken.add(ids[place])
        return Grouping(self.token, {ids[place]: tuple(group) for place, group in enumerate(groups)})


def _ids_by(scope: Scope, memory: MemoryId) -> Iterator[str]:
    """Ids for a topic whose oldest memory is this one; the first that is free will do."""
    for turn in count():
        yield f"topic-{hashlib.sha256(json.dumps([str(scope), memory, turn]).encode()).hexdigest()[:12]}"


def about(memories: Sequence[Memory]) -> tuple[str, tuple[str, ...]]:
    """What the memories, the oldest first, are about: a label, and the words that tell it best."""
    texts = [[one.text for one in sentences(memory.embedded_text)] for memory in memories[-READ:]]
    themes = Themes.of(
        [[term for line in lines for term in read(line)] for lines in texts],
        (name for lines in texts for line in lines for name in names(line)),
        {one.speaker for one in memories if one.speaker},
    )
    phrases = themes.phrases(texts)
    label = titled(phrases, [line for lines in texts for line in lines[:1]])
    return label or counted(len(memories), "memory", "memories"), tuple(phrases[:MOST_KEYWORDS])
