"""Topics: which memories of a scope belong together is looked for and noted, and told with what holds now."""

from collections.abc import Sequence
from datetime import datetime

from recollect.engine.active_memories import plain
from recollect.engine.dependencies import World
from recollect.errors import NotFound, StoreBusy, show
from recollect.lifecycle.topics import Grouping, about
from recollect.model import validation
from recollect.model.memory import Kind, Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.topic import Refreshed, Topic
from recollect.model.usage import Usage
from recollect.protocols import Writing
from recollect.retrieval.eligibility import barrier

CHECKPOINT = "topics"
"""Under which name it is noted which memories of a scope belong together."""

ATTEMPTS = 5
"""How often it begins anew because something was erased meanwhile, or somebody else was quicker."""


class _Overtaken(Exception):
    """What was noted is not what it was, so nothing that was read may be written."""


def refresh_topics(world: World, scope: Scope) -> Refreshed:
    """Look anew which of the scope's own plain memories belong together. The same again changes nothing."""
    if not world.store.stats(scope, below=False).memories:
        return Refreshed(scope=scope, memories=0, grouped=0, topics=0, new=0, gone=0)
    for _ in range(ATTEMPTS):
        try:
            return _refreshed(world, scope)
        except _Overtaken:
            continue
    raise StoreBusy(f"others erase memories of {scope}, or refresh its topics; do it when that is done")


def _refreshed(world: World, scope: Scope) -> Refreshed:
    noted = _begun(world, scope)
    memories, groups = _grouped(world, scope)

    former = Grouping.read(noted)
    found = former.regrouped(scope, groups)

    if found.text() != noted:
        _note(world, scope, noted, found.text())
    return Refreshed(
        scope=scope,
        memories=memories,
        grouped=sum(map(len, groups)),
        topics=len(groups),
        new=len(found.topics.keys() - former.topics.keys()),
        gone=len(former.topics.keys() - found.topics.keys()),
    )


def _begun(world: World, scope: Scope) -> str:
    """What is noted. That something is, is noted before anything is read: erasing takes the note away."""
    text = world.store.checkpoint(scope, CHECKPOINT)
    if text is None:
        text = Grouping(world.new_id(world.now()), {}).text()
        _note(world, scope, None, text)
    return text


def _note(world: World, scope: Scope, before: str | None, text: str) -> None:
    """Note it, unless what was noted before has changed: something was erased, or somebody else was quicker."""

    def change(writing: Writing) -> None:
        if writing.checkpoint(scope, CHECKPOINT) != before:
            raise _Overtaken
        writing.set_checkpoint(scope, CHECKPOINT, text)

    world.store.write(change)


def _grouped(world: World, scope: Scope) -> tuple[int, list[list[MemoryId]]]:
    """How many memories were looked at, and those that belong together, the oldest first."""
    import numpy as np

    from recollect.lifecycle.clusters import clusters
    from recollect.lifecycle.near_pairs import near_pairs

    rules = world.topics
    here = plain(world, scope, world.now())
    vectors, table = here.vectors, here.found.table
    pairs = near_pairs(vectors, rules.threshold)
    places = np.union1d(pairs.first, pairs.second)
    found = clusters(vectors[places], pairs.among(places), threshold=rules.threshold, least=rules.least)
    dates = table.dates["created_at"]
    groups = [
        sorted(here.rows[places[group]].tolist(), key=lambda row: (dates[row], table.ids[row])) for group in found
    ]
    return len(here.rows), [[table.ids[row] for row in group] for group in groups]


def topics(world: World, scope: Scope, *, pruned: bool, limit: int) -> list[Topic]:
    """The most important topics of the scope, as they were last grouped, of those that are told; looking counts as no
    use.
    """
    validation.a_limit("limit", limit)
    rules, now = world.topics, world.now()
    groups = [one for one in _known(world, scope, now) if pruned or not rules.pruned(now - one.mentioned_at)]
    ranked = sorted(groups, key=lambda one: (-one.importance(world, now), one.id))
    return [one.told(world, now) for one in ranked[:limit]]


def topic(world: World, scope: Scope, id: str) -> Topic:
    """The topic of that id, whether or not it is pruned."""
    validation.a_text("id", id)
    found = next((one for one in _known(world, scope, world.now()) if one.id == id), None)
    if found is None:
        raise NotFound(f"there is no topic {show(id)} in {scope}; `topics` tells those that there are")
    return found.told(world, world.now())


class _Group:
    """The memories of a topic that hold now, the oldest first, and what happened to them."""

    def __init__(self, id: str, memories: Sequence[Memory], usage: Sequence[Usage]) -> None:
        self.id, self.memories = id, memories
        said = [one.observed_at or one.created_at for one in memories]
        self.mentioned_at = max([*said, *(one.last_echoed_at for one in usage if one.last_echoed_at is not None)])
        self.served = sum(one.served for one in usage)

    def importance(self, world: World, now: datetime) -> float:
        return world.topics.importance(len(self.memories), now - self.mentioned_at)

    def told(self, world: World, now: datetime) -> Topic:
        label, keywords = about(self.memories)
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
            pruned=world.topics.pruned(now - self.mentioned_at),
        )


def _known(world: World, scope: Scope, now: datetime) -> list[_Group]:
    """What was last grouped, as far as it still holds: of each group the memories that do, unless these are too few."""
    text = world.store.checkpoint(scope, CHECKPOINT)
    noted = {} if text is None else Grouping.read(text).topics
    ids = [id for members in noted.values() for id in members]
    if not ids:
        return []
    world.store.settle()  # what was served is counted soon
    there = {one.id: one for one in world.store.get(scope, ids) if _holds(one, scope, now)}
    usage = dict(zip(ids, world.store.usage(scope, ids), strict=True))
    found = [(id, [there[one] for one in members if one in there]) for id, members in noted.items()]
    return [
        _Group(id, members, [usage[one.id] for one in members])
        for id, members in found
        if len(members) >= world.topics.least
    ]


def _holds(memory: Memory, scope: Scope, now: datetime) -> bool:
    """Whether it is a plain memory of the scope that holds now."""
    own = memory.scope == scope and memory.level is None and memory.kind is not Kind.EVENT
    return own and barrier(memory, now, present=True) is None
