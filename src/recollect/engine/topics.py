"""Topics and names: group memories by similarity, and find memories and names that are linked.

Reading topics or names does not count as use. `load_active_memories` loads the scope's own plain memories as columns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import get_visible
from recollect.errors import NotFound, StoreBusy, show
from recollect.lifecycle.topics import TopicAssignments, label_memories
from recollect.model import changeset, validation
from recollect.model.context import Usage
from recollect.model.enums import Kind
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.timeline import Entity, EntityNeighbors, LinkedMemory, Topic, TopicRefreshReport
from recollect.protocols import WriteTransaction
from recollect.retrieval.eligibility import View, find_barrier
from recollect.text.entities import canonicalize_name

if TYPE_CHECKING:
    from recollect.model.table import Rows
    from recollect.retrieval.snapshot import Snapshot
    from recollect.retrieval.vectors import Vectors


TOPICS_CHECKPOINT = "topics"
"""The name of the checkpoint that stores which memories belong together."""

MAX_ATTEMPTS = 5
"""How often a refresh starts over because of an erasure or another refresh."""


class _CheckpointChanged(Exception):
    """Raised when the checkpoint changed since it was read, so that nothing is written."""


def refresh_topics(deps: Dependencies, scope: Scope) -> TopicRefreshReport:
    """Group the scope's own plain memories into topics again.

    Repeating the call changes nothing.
    """
    if not deps.store.stats(scope, below=False).memories:
        return TopicRefreshReport(scope=scope, memories=0, grouped=0, topics=0, new=0, gone=0)
    for _ in range(MAX_ATTEMPTS):
        try:
            return _refresh(deps, scope)
        except _CheckpointChanged:
            continue
    raise StoreBusy(f"topics of {scope} are being refreshed, or memories erased; try again when that is done")


def _refresh(deps: Dependencies, scope: Scope) -> TopicRefreshReport:
    checkpoint = _load_checkpoint(deps, scope)
    memories, groups = _group_memories(deps, scope)

    former = TopicAssignments.read(checkpoint)
    assignments = former.regroup(scope, groups)

    if assignments.to_json() != checkpoint:
        _save_checkpoint(deps, scope, checkpoint, assignments.to_json())
    return TopicRefreshReport(
        scope=scope,
        memories=memories,
        grouped=sum(map(len, groups)),
        topics=len(groups),
        new=len(assignments.topics.keys() - former.topics.keys()),
        gone=len(former.topics.keys() - assignments.topics.keys()),
    )


def _load_checkpoint(deps: Dependencies, scope: Scope) -> str:
    """Load the checkpoint, or write an empty one before anything is read; erasing memories removes it."""
    text = deps.store.checkpoint(scope, TOPICS_CHECKPOINT)
    if text is None:
        text = TopicAssignments(deps.new_id(deps.now()), {}).to_json()
        _save_checkpoint(deps, scope, None, text)
    return text


def _save_checkpoint(deps: Dependencies, scope: Scope, before: str | None, text: str) -> None:
    """Save the checkpoint, unless it changed: by an erasure, or by another refresh."""

    def change(writing: WriteTransaction) -> None:
        if writing.checkpoint(scope, TOPICS_CHECKPOINT) != before:
            raise _CheckpointChanged
        saved = changeset.Checkpoint(scope, TOPICS_CHECKPOINT, text)
        writing.apply(changeset.Changeset(checkpoints=(saved,)))

    deps.store.write(change)


def _group_memories(deps: Dependencies, scope: Scope) -> tuple[int, list[list[MemoryId]]]:
    """Return how many memories were compared, and the groups, the oldest member first."""
    import numpy as np

    from recollect.lifecycle.clustering import find_clusters, find_near_pairs

    rules = deps.topics
    active = load_active_memories(deps, scope, deps.now())
    vectors, table = active.vectors, active.snapshot.columns.table
    pairs = find_near_pairs(vectors, rules.threshold)
    indexes = np.union1d(pairs.first, pairs.second)
    neighbors = pairs.neighbors_among(indexes)
    clusters = find_clusters(vectors[indexes], neighbors, threshold=rules.threshold, least=rules.least)
    dates = table.dates["created_at"]
    groups = [
        sorted(active.rows[indexes[group]].tolist(), key=lambda row: (dates[row], table.ids[row])) for group in clusters
    ]
    return len(active.rows), [[table.ids[row] for row in group] for group in groups]


def list_topics(deps: Dependencies, scope: Scope, *, pruned: bool, limit: int) -> list[Topic]:
    """Return the scope's topics as last grouped, the most important first.

    `pruned` includes those that have not been mentioned for long.
    """
    validation.require_limit("limit", limit)
    rules, now = deps.topics, deps.now()
    groups = [one for one in _load_groups(deps, scope, now) if pruned or not rules.is_pruned(now - one.mentioned_at)]
    ranked = sorted(groups, key=lambda one: (-one.importance(deps, now), one.id))
    return [one.to_topic(deps, now) for one in ranked[:limit]]


def get_topic(deps: Dependencies, scope: Scope, id: str) -> Topic:
    """Return a topic by id, even if it is pruned."""
    validation.require_text("id", id)
    group = next((one for one in _load_groups(deps, scope, deps.now()) if one.id == id), None)
    if group is None:
        raise NotFound(f"there is no topic {show(id)} in {scope}; `topics` lists the existing ones")
    return group.to_topic(deps, deps.now())


class _TopicGroup:
    """The valid memories of a topic, the oldest first, and their usage."""

    def __init__(self, id: str, memories: Sequence[Memory], usage: Sequence[Usage]) -> None:
        self.id, self.memories = id, memories
        dates = [one.observed_at or one.created_at for one in memories]
        self.mentioned_at = max([*dates, *(one.last_echoed_at for one in usage if one.last_echoed_at is not None)])
        self.served = sum(one.served for one in usage)

    def importance(self, deps: Dependencies, now: datetime) -> float:
        return deps.topics.compute_importance(len(self.memories), now - self.mentioned_at)

    def to_topic(self, deps: Dependencies, now: datetime) -> Topic:
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
            importance=self.importance(deps, now),
            pruned=deps.topics.is_pruned(now - self.mentioned_at),
        )


def _load_groups(deps: Dependencies, scope: Scope, now: datetime) -> list[_TopicGroup]:
    """Return the stored groups with their valid memories, without groups that became too small."""
    text = deps.store.checkpoint(scope, TOPICS_CHECKPOINT)
    assignments = {} if text is None else TopicAssignments.read(text).topics
    ids = [id for members in assignments.values() for id in members]
    if not ids:
        return []
    deps.store.settle()  # served counts are deferred writes
    active = {one.id: one for one in deps.store.get(scope, ids) if _is_active(one, scope, now)}
    usage = dict(zip(ids, deps.store.usage(scope, ids), strict=True))
    groups = [(id, [active[one] for one in members if one in active]) for id, members in assignments.items()]
    return [
        _TopicGroup(id, members, [usage[one.id] for one in members])
        for id, members in groups
        if len(members) >= deps.topics.least
    ]


def _is_active(memory: Memory, scope: Scope, now: datetime) -> bool:
    """Return whether this is a plain memory of the scope that is valid now."""
    is_own_plain = memory.scope == scope and memory.level is None and memory.kind is not Kind.EVENT
    return is_own_plain and find_barrier(memory, now, present=True) is None


Mentions = Mapping[MemoryId, Sequence[str]]
"""The names that each memory mentions."""


def list_entities(deps: Dependencies, scope: Scope, limit: int) -> list[Entity]:
    """Return the names that the scope's memories mention, by number of mentions, then name."""
    validation.require_limit("limit", limit)
    return _rank_by_mentions(Counter(name for names in _load_mentions(deps, scope).values() for name in names), limit)


def find_neighbors(deps: Dependencies, scope: Scope, name_or_id: str, limit: int) -> EntityNeighbors:
    """Return the names and memories linked to the memory with this id, or else to this name."""
    validation.require_limit("limit", limit)
    query = validation.require_text("name_or_id", name_or_id)
    mentions = _load_mentions(deps, scope)
    counts = Counter(name for names in mentions.values() for name in names)
    if MemoryId(query) in mentions:
        return _neighbors_of_memory(deps, scope, MemoryId(query), mentions, counts, limit)
    return _neighbors_of_name(deps, scope, _resolve_name(scope, query, counts), mentions, limit)


def _load_mentions(deps: Dependencies, scope: Scope) -> Mentions:
    """Return the names mentioned by every memory that may be recalled now."""
    return deps.store.snapshot(View(scope=scope, at=deps.now(), present=True)).mentions()


def _resolve_name(scope: Scope, query: str, counts: Mapping[str, int]) -> str:
    """Return the mentioned name: an exact match, or the only one that contains it as a word."""
    name = canonicalize_name(query)
    matches = [name] if name in counts else [one for one in counts if name and name in one.split(" ")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        suggestions = ", ".join(sorted(matches)[:MAX_SUGGESTED_NAMES])
        raise NotFound(f"{show(query)} is part of {len(matches)} names in {scope}; use one of them: {suggestions}")
    raise NotFound(f"no memory in {scope} mentions {show(query)} or has that id")


MAX_SUGGESTED_NAMES = 5
"""How many names an error message lists."""


def _neighbors_of_name(deps: Dependencies, scope: Scope, name: str, mentions: Mentions, limit: int) -> EntityNeighbors:
    mentioning = [id for id, names in mentions.items() if name in names]
    cooccurring = Counter(other for id in mentioning for other in mentions[id] if other != name)
    newest = sorted(mentioning, reverse=True)[:limit]  # generated ids sort by time
    return EntityNeighbors(
        name, tuple(_rank_by_mentions(cooccurring, limit)), _load_linked(deps, scope, [(id, name) for id in newest])
    )


def _neighbors_of_memory(
    deps: Dependencies, scope: Scope, id: MemoryId, mentions: Mentions, counts: Mapping[str, int], limit: int
) -> EntityNeighbors:
    own = sorted(mentions[id], key=lambda name: (counts[name], name))
    linked: dict[MemoryId, str] = {}
    for name in own:
        for other in sorted((other for other, names in mentions.items() if name in names), reverse=True):
            if other != id:
                linked.setdefault(other, name)
    names = tuple(Entity(name, counts[name]) for name in own[:limit])
    return EntityNeighbors(get_visible(deps, scope, id), names, _load_linked(deps, scope, list(linked.items())[:limit]))


def _rank_by_mentions(counts: Mapping[str, int], limit: int) -> list[Entity]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Entity(name, times) for name, times in ordered[:limit]]


def _load_linked(deps: Dependencies, scope: Scope, linked: Iterable[tuple[MemoryId, str]]) -> tuple[LinkedMemory, ...]:
    """Load memories with the names that link them; those erased meanwhile are dropped."""
    name_by_id = dict(linked)
    return tuple(LinkedMemory(memory, name_by_id[memory.id]) for memory in deps.store.get(scope, list(name_by_id)))


@dataclass(frozen=True, slots=True, eq=False)
class ActiveMemories:
    """The scope's own valid plain memories: the snapshot, their number, and the rows to compare.

    The rows are sorted by id and leave events out.
    """

    snapshot: "Snapshot"
    active_count: int
    rows: "Rows"

    @property
    def vectors(self) -> "Vectors":
        """The vectors of these rows."""
        import numpy as np

        vectors = self.snapshot.columns.table.vectors
        return np.empty((0, 0), dtype=np.float32) if vectors is None else vectors[self.rows].astype(np.float32)


def load_active_memories(deps: Dependencies, scope: Scope, now: datetime) -> ActiveMemories:
    """Load the scope's own valid plain memories.

    Events are counted but have no row: the same event may happen twice, and says little about the state of things.
    """
    import numpy as np

    from recollect.model.table import KINDS

    view = View(scope=scope, at=now, present=True, levels=frozenset({None}), encoder=deps.encoder)
    snapshot = deps.store.snapshot(view)
    table, scopes = snapshot.columns.table, snapshot.columns.table.labels["scope"]
    own = snapshot.rows[:0]
    if str(scope) in scopes.names:
        own = np.flatnonzero(scopes.codes == scopes.names.index(str(scope)))
    rows = np.intersect1d(snapshot.rows, own)
    active = len(rows)
    if table.kinds is not None:
        rows = rows[table.kinds[rows] != KINDS.index(Kind.EVENT)]
    ordered = sorted(rows.tolist(), key=lambda row: table.ids[row])
    return ActiveMemories(snapshot, active, np.array(ordered, dtype=np.intp))
