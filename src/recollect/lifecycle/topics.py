"""Topics: which memories of a scope belong together, their label and importance.

Only the assignment of memories to topics is stored. Label, importance and pruning are computed on every read, from the
memories and when they were last mentioned.
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
"""The limits for the smallest number of memories in a topic."""

MAX_DAYS = 36_500.0
"""The highest number of days in a setting: a century."""

RECENT_BOOST = 2.0
"""The factor on the importance of a topic mentioned within the last day."""

FULL_BOOST_AGE, NO_BOOST_AGE = timedelta(days=1), timedelta(days=7)
"""Up to which age a mention has the full boost, and from which none; in between it falls."""

MIN_IMPORTANCE = 0.01
"""The lowest importance of a topic."""

MAX_LABEL_MEMORIES = 256
"""How many memories of a topic, the newest, are read for its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPolicy:
    """How similar memories of a topic are, its size, its half-life, and when it is pruned.

    The threshold belongs to an embedder; 0.75 is the seed's.
    """

    threshold: float = 0.75
    least: int = 3
    half_life_days: float = 30.0
    prune_days: float = 90.0

    def __post_init__(self) -> None:
        if validation.require_fraction("threshold", self.threshold) <= 0.0:
            raise FieldError(
                f"{show(self.threshold)} is not above 0; use a similarity above 0, at most 1", field="threshold"
            )
        if not MIN_TOPIC_MEMORIES <= validation.require_count("least", self.least) <= MAX_TOPIC_MEMORIES:
            raise FieldError(
                f"{show(self.least)} is not within {MIN_TOPIC_MEMORIES}..{MAX_TOPIC_MEMORIES}", field="least"
            )
        for name in ("half_life_days", "prune_days"):
            if not 0.0 < validation.require_number(name, getattr(self, name)) <= MAX_DAYS:
                problem = f"{show(getattr(self, name))} is not a number of days up to a century"
                raise FieldError(problem, field=name)

    def compute_importance(self, memories: int, since: timedelta) -> float:
        """Return the importance of a topic by its number of memories and time since a mention.

        A mention in the future, after a clock was set back, counts as one made now.
        """
        since = max(since, timedelta(0))
        fresh = 1.0 - min(max((since - FULL_BOOST_AGE) / (NO_BOOST_AGE - FULL_BOOST_AGE), 0.0), 1.0)
        decay = math.exp2(-since / timedelta(days=self.half_life_days))
        return max(math.log1p(memories) * decay * (1.0 + (RECENT_BOOST - 1.0) * fresh), MIN_IMPORTANCE)

    def is_pruned(self, since: timedelta) -> bool:
        """Return whether a topic last mentioned that long ago is pruned."""
        return since > timedelta(days=self.prune_days)


@dataclass(frozen=True, slots=True)
class TopicAssignments:
    """The memories of each topic by topic id, stored from one refresh to the next.

    An erasure removes the assignments; `token` distinguishes new ones from those before.
    """

    token: str
    topics: Mapping[str, tuple[MemoryId, ...]]

    @classmethod
    def read(cls, text: str) -> "TopicAssignments":
        """Read stored assignments."""
        stored = json.loads(text)
        return cls(stored["token"], {id: tuple(map(MemoryId, members)) for id, members in stored["topics"].items()})

    def to_json(self) -> str:
        """Return the assignments as JSON."""
        return json.dumps({"token": self.token, "topics": self.topics}, sort_keys=True)

    def regroup(self, scope: Scope, groups: Sequence[Sequence[MemoryId]]) -> "TopicAssignments":
        """Return assignments for new groups, each with its oldest memory first.

        A group keeps the id of a former topic if they share more than half of the smaller one's members; the largest
        overlap comes first. Any other group gets a new id, from its oldest memory.
        """
        former = {memory: id for id, members in self.topics.items() for memory in members}
        shared = Counter((former[one], place) for place, group in enumerate(groups) for one in group if one in former)
        ids, used_ids = dict[int, str](), set[str]()
        for (id, place), common in sorted(shared.items(), key=lambda one: (-one[1], one[0])):
            enough = 2 * common > min(len(self.topics[id]), len(groups[place]))
            if enough and place not in ids and id not in used_ids:
                ids[place] = id
                used_ids.add(id)
        for place, group in enumerate(groups):
            if place not in ids:
                ids[place] = next(id for id in _candidate_ids(scope, group[0]) if id not in used_ids)
                used_ids.add(ids[place])
        return TopicAssignments(self.token, {ids[place]: tuple(group) for place, group in enumerate(groups)})


def _candidate_ids(scope: Scope, memory: MemoryId) -> Iterator[str]:
    """Yield ids for a topic with this oldest memory; the first free one is used."""
    for turn in count():
        yield f"topic-{hashlib.sha256(json.dumps([str(scope), memory, turn]).encode()).hexdigest()[:12]}"


def label_memories(memories: Sequence[Memory]) -> tuple[str, tuple[str, ...]]:
    """Return a label and the keywords of these memories, which come oldest first."""
    texts = [[one.text for one in split_sentences(memory.embedded_text)] for memory in memories[-MAX_LABEL_MEMORIES:]]
    themes = TopicTerms.of(
        [[term for line in lines for term in extract_terms(line)] for lines in texts],
        (name for lines in texts for line in lines for name in extract_name_terms(line)),
        {one.speaker for one in memories if one.speaker},
    )
    phrases = themes.top_phrases(texts)
    label = make_title(phrases, [line for lines in texts for line in lines[:1]])
    return label or format_count(len(memories), "memory", "memories"), tuple(phrases[:MAX_KEYWORDS])
