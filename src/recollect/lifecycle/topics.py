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
from recollect.lifecycle.extractive_summarizer import make_title
from recollect.model import validation
from recollect.model.format import format_count
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import MAX_KEYWORDS
from recollect.text.keywords import TopicTerms, extract_name_terms, extract_terms
from recollect.text.sentences import split_sentences

MIN_TOPIC_MEMORIES, MAX_TOPIC_MEMORIES = 2, 1_000
"""Within how many memories a topic may be told to begin."""

MAX_DAYS = 36_500.0
"""How many days anything may take: a century."""

RECENT_BOOST = 2.0
"""How much more a topic matters that was mentioned within the last day."""

FULL_BOOST_AGE, NO_BOOST_AGE = timedelta(days=1), timedelta(days=7)
"""Until when a mention counts so much more, and from when it counts as any other; in between it is less every day."""

MIN_IMPORTANCE = 0.01
"""What a topic matters at least."""

MAX_LABEL_MEMORIES = 256
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
        if validation.require_fraction("threshold", self.threshold) <= 0.0:
            raise FieldError(f"{show(self.threshold)} is not above 0, so that all would be near", field="threshold")
        if not MIN_TOPIC_MEMORIES <= validation.require_count("least", self.least) <= MAX_TOPIC_MEMORIES:
            raise FieldError(
                f"{show(self.least)} is not within {MIN_TOPIC_MEMORIES}..{MAX_TOPIC_MEMORIES}", field="least"
            )
        for name in ("half_life_days", "prune_days"):
            if not 0.0 < validation.require_number(name, getattr(self, name)) <= MAX_DAYS:
                problem = f"{show(getattr(self, name))} is no number of days up to a century"
                raise FieldError(problem, field=name)

    def compute_importance(self, memories: int, since: timedelta) -> float:
        """How much a topic of so many memories matters so long after it was last mentioned.

        A mention that has not come yet, by a clock that went back, counts as new and never as more.
        """
        since = max(since, timedelta(0))
        fresh = 1.0 - min(max((since - FULL_BOOST_AGE) / (NO_BOOST_AGE - FULL_BOOST_AGE), 0.0), 1.0)
        decay = math.exp2(-since / timedelta(days=self.half_life_days))
        return max(math.log1p(memories) * decay * (1.0 + (RECENT_BOOST - 1.0) * fresh), MIN_IMPORTANCE)

    def is_pruned(self, since: timedelta) -> bool:
        """Whether a topic has had its day that was last mentioned so long ago."""
        return since > timedelta(days=self.prune_days)


@dataclass(frozen=True, slots=True)
class TopicAssignments:
    """Which memories belong to which topic, by its id, as it is noted from one refresh to the next.

    `token` tells what was noted since something was last erased from what was noted before.
    """

    token: str
    topics: Mapping[str, tuple[MemoryId, ...]]

    @classmethod
    def read(cls, text: str) -> "TopicAssignments":
        """What was noted."""
        noted = json.loads(text)
        return cls(noted["token"], {id: tuple(map(MemoryId, members)) for id, members in noted["topics"].items()})

    def to_json(self) -> str:
        """The same as it is noted."""
        return json.dumps({"token": self.token, "topics": self.topics}, sort_keys=True)

    def regroup(self, scope: Scope, groups: Sequence[Sequence[MemoryId]]) -> "TopicAssignments":
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
                ids[place] = next(id for id in _candidate_ids(scope, group[0]) if id not in taken)
                taken.add(ids[place])
        return TopicAssignments(self.token, {ids[place]: tuple(group) for place, group in enumerate(groups)})


def _candidate_ids(scope: Scope, memory: MemoryId) -> Iterator[str]:
    """Ids for a topic whose oldest memory is this one; the first that is free will do."""
    for turn in count():
        yield f"topic-{hashlib.sha256(json.dumps([str(scope), memory, turn]).encode()).hexdigest()[:12]}"


def label_memories(memories: Sequence[Memory]) -> tuple[str, tuple[str, ...]]:
    """What the memories, the oldest first, are about: a label, and the words that tell it best."""
    texts = [[one.text for one in split_sentences(memory.embedded_text)] for memory in memories[-MAX_LABEL_MEMORIES:]]
    themes = TopicTerms.of(
        [[term for line in lines for term in extract_terms(line)] for lines in texts],
        (name for lines in texts for line in lines for name in extract_name_terms(line)),
        {one.speaker for one in memories if one.speaker},
    )
    phrases = themes.top_phrases(texts)
    label = make_title(phrases, [line for lines in texts for line in lines[:1]])
    return label or format_count(len(memories), "memory", "memories"), tuple(phrases[:MAX_KEYWORDS])
