"""Neighbors: the stored memories that are looked up before a memory is written.

`find_neighbors` says what is looked up, over a `NeighborSource`; `SqlNeighborSource` reads from a SQL database, in the
transaction that writes or outside of it.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from recollect.model import changeset, validation
from recollect.model.draft import IdempotencyRecord
from recollect.model.enums import Kind, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.vectors import Vector, decode_vector
from recollect.stores.sql import rows
from recollect.stores.sql.duplicate_guard import ALL_KNOWN, DuplicateIndex, KnownKeys
from recollect.stores.sql.transaction import Transaction, read_current_encoder, visible_params


class NeighborSource(Protocol):
    """Single lookups in the scope of one query."""

    def get_retried(self, key: str) -> IdempotencyRecord | None:
        """Return the record of a retry key."""
        ...

    def get(self, id: MemoryId) -> Memory | None:
        """Return the scope's own memory with this id, whatever its status."""
        ...

    def get_visible(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories with these ids that the scope may see."""
        ...

    def get_topic(self, topic_key: str) -> Memory | None:
        """Return the active memory of a topic."""
        ...

    def find_duplicates(self, scope: Scope) -> list[Memory]:
        """Return the memories of a scope with the same text or paraphrase key."""
        ...

    def find_former_duplicates(self) -> list[Memory]:
        """Return the memories whose earlier versions had the same text."""
        ...

    def find_same_subject(self, subject: str, since: datetime) -> list[Memory]:
        """Return the memories of a subject that had not ended by then."""
        ...

    def get_before(self, memory: Memory) -> Memory | None:
        """Return the version before this one."""
        ...

    def get_vector(self, memory: Memory) -> Vector | None:
        """Return the vector of the present text."""
        ...

    def get_status_since(self, memory: Memory) -> datetime | None:
        """Return when the memory got its present status."""
        ...

    def is_echoed(self, memory: Memory, at: datetime) -> bool:
        """Return whether an echo of the memory is recorded for exactly this moment."""
        ...


def find_neighbors(
    source: NeighborSource, query: changeset.NeighborQuery, known: KnownKeys = ALL_KNOWN
) -> changeset.Neighbors:
    """Look up everything that the query names; most memories have no `known` key, and then little is read."""
    retried = None if query.retry_key is None else source.get_retried(query.retry_key)
    retried_memory = None if retried is None else source.get(retried.memory)
    topic = None if query.topic_key is None else source.get_topic(query.topic_key)
    duplicates = source.find_duplicates(query.scope) if known.text else []
    shared = [
        one
        for scope in (query.scope.ancestors if known.text and query.shared else ())
        for one in source.find_duplicates(scope)
        if one.shared and one.status is Status.ACTIVE
    ]
    former = source.find_former_duplicates() if query.former else []
    inactive = [one for one in duplicates if one.status is not Status.ACTIVE]
    merged_into = _follow_merges(source, inactive)
    inactive += merged_into.values()
    candidates = {one.id: one for one in (*duplicates, *former, topic, retried_memory) if one is not None}
    timed = candidates.values() if query.former else inactive
    stated_at = query.stated_at
    return changeset.Neighbors(
        retried=retried,
        retried_memory=retried_memory,
        same_id=source.get(query.id) if known.id and query.id is not None else None,
        topic=topic,
        duplicates=tuple(duplicates),
        shared_duplicates=tuple(shared),
        former_duplicates=tuple(former),
        same_subject=_find_same_subject(source, query, [topic, *duplicates], known),
        origins={one.id: one for one in source.get_visible(query.origins)} if query.origins else {},
        merged_into=merged_into,
        before_forgotten=_find_before_forgotten(source, inactive),
        vectors={
            one.id: vector
            for one in (*duplicates, *shared)
            if one.hash != query.hash and one.kind is not Kind.EVENT and (vector := source.get_vector(one)) is not None
        },
        status_since={one.id: since for one in timed if (since := source.get_status_since(one)) is not None},
        echoed=frozenset(
            one.id for one in candidates.values() if stated_at is not None and source.is_echoed(one, stated_at)
        ),
        taken_topics=frozenset(
            one.topic_key
            for one in inactive
            if one.topic_key is not None and source.get_topic(one.topic_key) is not None
        ),
    )


def _find_same_subject(
    source: NeighborSource, query: changeset.NeighborQuery, others: Sequence[Memory | None], known: KnownKeys
) -> dict[str, tuple[Memory, ...]]:
    """Return the memories of each subject that the memory may get, from itself, its topic or a duplicate."""
    if query.since is None:
        return {}
    subjects = dict.fromkeys(one.subject for one in others if one is not None and one.subject is not None)
    if query.subject is not None and known.subject:
        subjects = {query.subject: None, **subjects}
    found = ((subject, tuple(source.find_same_subject(subject, query.since))) for subject in subjects)
    return {subject: memories for subject, memories in found if memories}


def _follow_merges(source: NeighborSource, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """Return for each consolidated memory what it was merged into, and for that, if it was merged too."""
    results: dict[MemoryId, Memory] = {}
    waiting = [one for one in memories if one.status is Status.CONSOLIDATED]
    while waiting:
        memory = waiting.pop()
        result = None if memory.superseded_by is None else source.get(memory.superseded_by)
        if result is not None and memory.id not in results:
            results[memory.id] = result
            waiting += [result] if result.status is Status.CONSOLIDATED else []
    return results


def _find_before_forgotten(source: NeighborSource, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """Return the last version of each forgotten memory before it was forgotten, if there is one."""
    versions: dict[MemoryId, Memory] = {}
    for memory in memories:
        version: Memory | None = memory
        while version is not None and version.status is Status.FORGOTTEN:
            version = source.get_before(version)
        if memory.status is Status.FORGOTTEN and version is not None:
            versions[memory.id] = version
    return versions


class SqlNeighborSource:
    """Lookups for one query, in an open transaction of a SQL database."""

    def __init__(self, db: Transaction, query: changeset.NeighborQuery, encoder: int) -> None:
        self._db = db
        self._query = query
        self._path = str(query.scope)
        self._encoder = encoder

    def get_retried(self, key: str) -> IdempotencyRecord | None:
        row = self._db.fetch_first("key", path=self._path, key=key)
        return None if row is None else rows.parse_kept_key(self._query.scope, key, row)

    def get(self, id: MemoryId) -> Memory | None:
        row = self._db.fetch_first("own_memory", path=self._path, id=id)
        return None if row is None else rows.parse_memory(row)

    def get_visible(self, ids: Sequence[str]) -> list[Memory]:
        found = self._db.fetch_all("memories_by_id", **visible_params(self._query.scope, ids=json.dumps(list(ids))))
        return [rows.parse_memory(row) for row in found]

    def get_topic(self, topic_key: str) -> Memory | None:
        row = self._db.fetch_first("topic", path=self._path, topic_key=topic_key)
        return None if row is None else rows.parse_memory(row)

    def find_duplicates(self, scope: Scope) -> list[Memory]:
        found = self._db.fetch_all(
            "sayings",
            path=str(scope),
            hash=self._query.hash,
            likeness=self._query.paraphrase_key,
            topic_key=self._query.topic_key,
            most=validation.MAX_NEIGHBORS,
        )
        return [rows.parse_memory(row) for row in found]

    def find_former_duplicates(self) -> list[Memory]:
        found = self._db.fetch_all("said_before", path=self._path, hash=self._query.hash, most=validation.MAX_NEIGHBORS)
        return [rows.parse_memory(row) for row in found]

    def find_same_subject(self, subject: str, since: datetime) -> list[Memory]:
        after = rows.to_micros(since)
        found = self._db.fetch_all(
            "about", path=self._path, subject=subject, after=after, most=validation.MAX_NEIGHBORS
        )
        return [rows.parse_memory(row) for row in found]

    def get_before(self, memory: Memory) -> Memory | None:
        found = read_version(self._db, memory.scope, memory.id, before=memory.commit or 0, encoder=self._encoder)
        return None if found is None else found[0]

    def get_vector(self, memory: Memory) -> Vector | None:
        row = self._db.fetch_first("direction", id=memory.id, encoder=self._encoder)
        return None if row is None else decode_vector(row[0])

    def get_status_since(self, memory: Memory) -> datetime | None:
        row = self._db.fetch_first("away_since", id=memory.id)
        return None if row is None else rows.from_optional_micros(row[0])

    def is_echoed(self, memory: Memory, at: datetime) -> bool:
        return self._db.fetch_first("echoed_at", id=memory.id, at=rows.to_micros(at)) is not None


def read_version(
    db: Transaction, scope: Scope, id: MemoryId, *, before: int, encoder: int
) -> tuple[Memory, Vector | None] | None:
    """Return the scope's own memory and its vector as of before a commit."""
    row = db.fetch_first("memory_before", path=str(scope), id=id, commit=before, encoder=encoder)
    return None if row is None else (rows.parse_memory(row[:-1]), decode_vector(row[-1]))


def read_all_neighbors(db: Transaction, queries: Sequence[changeset.NeighborQuery]) -> list[changeset.Neighbors]:
    """Return the neighbors for several queries of one scope."""
    encoder, _ = read_current_encoder(db)
    duplicates = DuplicateIndex(db)
    return [
        find_neighbors(SqlNeighborSource(db, query, encoder), query, duplicates.look_up(query)) for query in queries
    ]
