"""Topics: which memories of a scope belong together is looked for and noted, and told with what holds now."""

from collections.abc import Sequence
from datetime import datetime

from recollect.engine.active_memories import load_active_memories
from recollect.engine.dependencies import Dependencies
from recollect.errors import NotFound, StoreBusy, show
from recollect.lifecycle.topics import TopicAssignments, label_memories
from recollect.model import validation
from recollect.model.memory import Kind, Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.topic import Topic, TopicRefreshReport
from recollect.model.usage import Usage
from recollect.protocols import WriteTransaction
from recollect.retrieval.eligibility import find_barrier

TOPICS_CHECKPOINT = "topics"
"""Under which name it is noted which memories of a scope belong together."""

MAX_ATTEMPTS = 5
"""How often it begins anew because something was erased meanwhile, or somebody else was quicker."""


class _CheckpointChanged(Exception):
    """What was noted is not what it was, so nothing that was read may be written."""


def refresh_topics(world: Dependencies, scope: Scope) -> TopicRefreshReport:
    """Look anew which of the scope's own plain memories belong together. The same again changes nothing."""
    if not world.store.stats(scope, below=False).memories:
        return TopicRefreshReport(scope=scope, memories=0, grouped=0, topics=0, new=0, gone=0)
    for _ in range(MAX_ATTEMPTS):
        try:
            return _refresh(world, scope)
        except _CheckpointChanged:
            continue
    raise StoreBusy(f"others erase memories of {scope}, or refresh its topics; do it when that is done")


def _refresh(world: Dependencies, scope: Scope) -> TopicRefreshReport:
    noted = _load_checkpoint(world, scope)
    memories, groups = _group_memories(world, scope)

    former = TopicAssignments.read(noted)
    found = former.regroup(scope, groups)

    if found.to_json() != noted:
        _save_checkpoint(world, scope, noted, found.to_json())
    return TopicRefreshReport(
        scope=scope,
        memories=memories,
        grouped=sum(map(len, groups)),
        topics=len(groups),
        new=len(found.topics.keys() - former.topics.keys()),
        gone=len(former.topics.keys() - found.topics.keys()),
    )


def _load_checkpoint(world: Dependencies, scope: Scope) -> str:
    """What is noted. That something is, is noted before anything is read: erasing takes the note away."""
    text = world.store.checkpoint(scope, TOPICS_CHECKPOINT)
    if text is None:
        text = TopicAssignments(world.new_id(world.now()), {}).to_json()
        _save_checkpoint(world, scope, None, text)
    return text


def _save_checkpoint(world: Dependencies, scope: Scope, before: str | None, text: str) -> None:
    """Note it, unless what was noted before has changed: something was erased, or somebody else was quicker."""

    def change(writing: WriteTransaction) -> None:
        if writing.checkpoint(scope, TOPICS_CHECKPOINT) != before:
            raise _CheckpointChanged
        writing.set_checkpoint(scope, TOPICS_CHECKPOINT, text)

    world.store.write(change)


def _group_memories(world: Dependencies, scope: Scope) -> tuple[int, list[list[MemoryId]]]:
    """How many memories were looked at, and those that belong together, the oldest first."""
    import numpy as np

    from recollect.lifecycle.clusters import find_clusters
    from recollect.lifecycle.near_pairs import find_near_pairs

    rules = world.topics
    here = load_active_memories(world, scope, world.now())
    vectors, table = here.vectors, here.evidence.table
    pairs = find_near_pairs(vectors, rules.threshold)
    places = np.union1d(pairs.first, pairs.second)
    found = find_clusters(vectors[places], pairs.neighbors_among(places), threshold=rules.threshold, least=rules.least)
    dates = table.dates["created_at"]
    groups = [
        sorted(here.rows[places[group]].tolist(), key=lambda row: (dates[row], table.ids[row])) for group in found
    ]
    return len(here.rows), [[table.ids[row] for row in group] for group in groups]


def list_topics(world: Dependencies, scope: Scope, *, pruned: bool, limit: int) -> list[Topic]:
    """The most important topics of the scope, as they were last grouped, of those that are told; looking counts as no
    use.
    """
    validation.require_limit("limit", limit)
    rules, now = world.topics, world.now()
    groups = [one for one in _load_groups(world, scope, now) if pruned or not rules.is_pruned(now - one.mentioned_at)]
    ranked = sorted(groups, key=lambda one: (-one.importance(world, now), one.id))
    return [one.to_topic(world, now) for one in ranked[:limit]]


def get_topic(world: Dependencies, scope: Scope, id: str) -> Topic:
    """The topic of that id, whether or not it is pruned."""
    validation.require_text("id", id)
    found = next((one for one in _load_groups(world, scope, world.now()) if one.id == id), None)
    if found is None:
        raise NotFound(f"there is no topic {show(id)} in {scope}; `topics` tells those that there are")
    return found.to_topic(world, world.now())


class _TopicGroup:
    """The memories of a topic that hold now, the oldest first, and what happened to them."""

    def __init__(self, id: str, memories: Sequence[Memory], usage: Sequence[Usage]) -> None:
        self.id, self.memories = id, memories
        said = [one.observed_at or one.created_at for one in memories]
        self.mentioned_at = max([*said, *(one.last_echoed_at for one in usage if one.last_echoed_at is not None)])
        self.served = sum(one.served for one in usage)

    def importance(self, world: Dependencies, now: datetime) -> float:
        return world.topics.compute_importance(len(self.memories), now - self.mentioned_at)

    def to_topic(self, world: Dependencies, now: datetime) -> Topic:
        label, keywords = label_memories(self.memories)
        return Topic(
            id=self.id,
            scope=self.memories[0].scope,
            label=label,
            keywords=keywords,
            memories=tuple(one.id for one in self.memories),
            created_at=self.memories[0].created_at,
            mentioned_at=self.mentioned_at,
            served=self.served,
            importance=self.importance(world, now),
            pruned=world.topics.is_pruned(now - self.mentioned_at),
        )


def _load_groups(world: Dependencies, scope: Scope, now: datetime) -> list[_TopicGroup]:
    """What was last grouped, as far as it still holds: of each group the memories that do, unless these are too few."""
    text = world.store.checkpoint(scope, TOPICS_CHECKPOINT)
    noted = {} if text is None else TopicAssignments.read(text).topics
    ids = [id for members in noted.values() for id in members]
    if not ids:
        return []
    world.store.settle()  # what was served is counted soon
    there = {one.id: one for one in world.store.get(scope, ids) if _is_active(one, scope, now)}
    usage = dict(zip(ids, world.store.usage(scope, ids), strict=True))
    found = [(id, [there[one] for one in members if one in there]) for id, members in noted.items()]
    return [
        _TopicGroup(id, members, [usage[one.id] for one in members])
        for id, members in found
        if len(members) >= world.topics.least
    ]


def _is_active(memory: Memory, scope: Scope, now: datetime) -> bool:
    """Whether it is a plain memory of the scope that holds now."""
    own = memory.scope == scope and memory.level is None and memory.kind is not Kind.EVENT
    return own and find_barrier(memory, now, present=True) is None
