"""The reading half of a SQL store: ranking reads cached columns, everything else reads rows.

`SqlReader` comes first; the functions below it count the rows of a store and read timeline records and checkpoints.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from recollect.model import changeset, validation
from recollect.model.archive import MAX_NAMED_SCOPES, Lineage, Stats
from recollect.model.context import NO_USAGE, ContextRecord, Sign, Usage, Use, Vote, select_current_votes
from recollect.model.encoder import Encoder
from recollect.model.enums import Kind, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.eligibility import View
from recollect.retrieval.snapshot import MergedColumns, Snapshot
from recollect.stores.sql import rows
from recollect.stores.sql.column_cache import ColumnCache, RemoteVectors, has_lost_vector
from recollect.stores.sql.neighbors import read_all_neighbors
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.stores.sql.transaction import Row, Transaction, read_current_encoder, subtree_params, visible_params
from recollect.text import tokenizer

T = TypeVar("T")

MEMORIES_PER_PAGE = 500
"""Number of memories read at a time when a scope is listed."""


class SqlReader(ABC):
    """The reading half of a store; a database adds transactions that see one moment."""

    def __init__(self, cache_bytes: int) -> None:
        self._column_cache = ColumnCache(cache_bytes)

    @abstractmethod
    def _read(self, scope: Scope | None, read: Callable[[Transaction], T], *, below: bool = False) -> T:
        """Return what `read` returns in one transaction: for a scope and its ancestors, or for all.

        With `below`, it also sees all scopes below. `read` may be called more than once if the connection is lost.
        """

    def encoder(self) -> Encoder | None:
        return self._read(None, lambda db: read_current_encoder(db)[1])

    def snapshot(self, view: View) -> Snapshot:
        def read(db: Transaction) -> tuple[MergedColumns, int, int, RemoteVectors | None]:
            number, model = read_current_encoder(db)
            refuse_other_encoder(model, view.encoder)
            remote = None
            if view.remote_vectors and view.is_latest and number > 0:  # the database compares only present vectors
                remote = self._choose_remote_vectors(db, view.scope, number, use_index=view.use_index)
            return *self._column_cache.read(db, view, number, remote), number, remote

        columns, commit, number, remote = self._read(view.scope, read)
        indexed = None if remote is None else remote.indexed_scope
        found = Snapshot.of(view, columns, commit, encoder_number=number, indexed_scope=indexed)
        dropped = self._find_dropped_vectors(found)
        return replace(found, dropped_vectors=dropped) if dropped else found

    def load(self, snapshot: Snapshot, indices: Sequence[int]) -> list[Memory | None]:
        columns = snapshot.columns

        def read(db: Transaction) -> list[Row | None]:
            versions = columns.memory_versions(indices)
            current = [place for place in versions if place[1] >= 0]
            found = {number: tuple(row) for number, *row in db.fetch_all("memories_now", places=json.dumps(current))}
            since = [place for place in current if place[0] not in found]
            if since:
                found |= {
                    number: tuple(row) for number, *row in db.fetch_all("memories_then", places=json.dumps(since))
                }
            return [
                db.fetch_first("memory_in_version", memory=number, version=-changed, commit=snapshot.commit)
                if changed < 0
                else found.get(number)
                for number, changed in versions
            ]

        memories = [None if row is None else rows.parse_memory(row) for row in self._read(snapshot.view.scope, read)]
        return [one and columns.with_row_status(row, one) for row, one in zip(indices, memories, strict=True)]

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        def read(db: Transaction) -> list[Row]:
            if known_at is None:
                return _fetch_by_id(db, scope, ids)
            (commit,) = db.fetch_one("commit_known_at", at=rows.to_micros(known_at))
            found = [db.fetch_first("memory_known_at", **visible_params(scope, id=id, commit=commit)) for id in ids]
            return [row for row in found if row is not None]

        return [rows.parse_memory(row) for row in self._read(scope, read)] if ids else []

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        params = visible_params(scope, ids=json.dumps(list(ids)))
        rows_by_id = {id: row for id, *row in self._read(scope, lambda db: db.fetch_all("usage_of", **params))}
        return [rows.parse_usage(tuple(rows_by_id[id])) if id in rows_by_id else NO_USAGE for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        params = visible_params(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        votes = self._read(scope, lambda db: db.fetch_all("votes_in", **params))
        return sorted(
            select_current_votes(rows.parse_vote(*row) for row in votes),
            key=lambda one: (one.context, one.memory, one.by),
        )

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        params = visible_params(scope, contexts=json.dumps(list(dict.fromkeys(contexts))))
        found = sorted(self._read(scope, lambda db: db.fetch_all("signs_in", **params)))
        return [Sign(context, MemoryId(id), Use(use)) for context, id, use in found]

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        def read(db: Transaction) -> list[Row]:
            present = _fetch_by_id(db, scope, [id])
            return [*db.fetch_all("history", id=id), *present] if present else []

        versions = [rows.parse_memory(row) for row in self._read(scope, read)]
        return [one for one in versions if one.scope == scope or one.shared]

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        status_names = json.dumps(sorted({one.value for one in statuses}))
        params = {"path": str(scope), "below": below, "statuses": status_names, "passed": after or "", "limit": limit}
        size = MEMORIES_PER_PAGE if limit is None else limit

        def read(db: Transaction) -> tuple[list[int], list[Row]]:
            numbers = [number for (number,) in db.fetch_all("numbers_below", **params)]
            return numbers[size:], _fetch_by_number(db, numbers[:size], status_names)

        later, page = self._read(scope, read, below=below)
        yield from map(rows.parse_memory, page)
        for first in range(0, len(later), MEMORIES_PER_PAGE):
            numbers = later[first : first + MEMORIES_PER_PAGE]
            page = self._read(scope, partial(_fetch_by_number, numbers=numbers, statuses=status_names), below=below)
            yield from map(rows.parse_memory, page)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return rows.parse_lineage(self._read(scope, lambda db: db.fetch_all("lineage", path=str(scope), every=True)))

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self._read(scope, lambda db: read_timeline(db, scope, levels, since, before, statuses))

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._read(scope, lambda db: read_changed_dates(db, scope, level, after))

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._read(scope, lambda db: read_checkpoint(db, scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        params = {"encoder": 0, **subtree_params(scope, below=True)}
        found = self._read(scope, lambda db: db.fetch_all("counts", **params), below=True)
        return [Scope.parse(path) for path in sorted({path for path, *_ in found})]

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        row = self._read(scope, lambda db: db.fetch_first("context", id=id, path=str(scope)))
        return None if row is None else rows.parse_context(row[0])

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        found = self._read(scope, lambda db: db.fetch_all("context_ids", path=str(scope)))
        names = [name for (name,) in found]
        for first in range(0, len(names), MEMORIES_PER_PAGE):
            page = json.dumps(names[first : first + MEMORIES_PER_PAGE])
            texts = self._read(scope, lambda db, page=page: db.fetch_all("saved_contexts", contexts=page))  # type: ignore[misc]
            traces = [rows.parse_context(text) for (text,) in texts]
            yield from sorted(traces, key=lambda one: (one.made_at, one.id))

    def neighbors(self, queries: Sequence[changeset.NeighborQuery]) -> list[changeset.Neighbors]:
        found: dict[int, changeset.Neighbors] = {}
        for scope in dict.fromkeys(query.scope for query in queries):
            places = [place for place, query in enumerate(queries) if query.scope == scope]
            own = [queries[place] for place in places]
            found |= zip(places, self._read(scope, partial(read_all_neighbors, queries=own)), strict=True)
        return [found[place] for place in range(len(queries))]

    def _choose_remote_vectors(
        self, db: Transaction, scope: Scope, encoder: int, *, use_index: bool
    ) -> RemoteVectors | None:
        """Return how to leave vectors in the database, if it can compare them."""
        return None

    def _find_dropped_vectors(self, snapshot: Snapshot) -> list[int]:
        """Return the admitted rows that lost their vector after the snapshot's commit.

        A present view has none, since nothing came later. A view without a query needs none.
        """
        if snapshot.view.is_latest or snapshot.view.encoder is None or not snapshot.encoder_number:
            return []
        rows_without, mask = snapshot.columns.rows_without_vector, snapshot.eligible
        without: list[int] = (rows_without if mask is None else rows_without[mask[rows_without]]).tolist()
        if not without:
            return []
        versions = dict(zip(without, snapshot.columns.memory_versions(without), strict=True))
        numbers = json.dumps([number for number, _ in versions.values()])
        found = self._read(snapshot.view.scope, lambda db: db.fetch_all("states_of", memories=numbers))
        states = rows.group_by_memory(found)
        return [
            row
            for row, (number, changed) in versions.items()
            if has_lost_vector(states[number], changed, snapshot.commit)
        ]


def _fetch_by_number(db: Transaction, numbers: Sequence[int], statuses: str) -> list[Row]:
    """Return the rows of these memory numbers, in order, that still exist with these statuses."""
    return db.fetch_all("memories_numbered", numbers=json.dumps(numbers), statuses=statuses) if numbers else []


def _fetch_by_id(db: Transaction, scope: Scope, ids: Sequence[MemoryId]) -> list[Row]:
    """Return the rows of these memory ids that the scope may see, in order."""
    found = {row[0]: row for row in db.fetch_all("memories_by_id", **visible_params(scope, ids=json.dumps(list(ids))))}
    return [found[id] for id in ids if id in found]


def count_stats(db: Transaction, scope: Scope | None, *, below: bool, schema: int, size: int) -> Stats:
    """Return the figures of a scope, with `below` also of the scopes below it, or of all."""
    params = subtree_params(scope, below=below)
    model, encoder = read_current_encoder(db)
    scopes, statuses, kinds = Counter[str](), Counter[Status](), Counter[Kind]()
    unembedded = 0
    for path, status, kind, count, lacking in db.fetch_all("counts", encoder=model, **params):
        scopes[path] += count
        statuses[Status(status)] += count
        kinds[Kind(kind)] += count
        unembedded += lacking if status == Status.ACTIVE else 0
    former, contexts, served, echoed, helped, misled, quoted, followed = db.fetch_one("more_counts", **params)
    largest = sorted(scopes.items(), key=lambda one: (-one[1], one[0]))[:MAX_NAMED_SCOPES]
    return Stats(
        memories=scopes.total(),
        statuses=dict(sorted(statuses.items())),
        kinds=dict(sorted(kinds.items())),
        scopes=len(scopes),
        largest=tuple((Scope.parse(path), count) for path, count in largest),
        versions=scopes.total() + former,
        contexts=contexts,
        uses={
            Use.SERVED: int(served),
            Use.HELPED: int(helped),
            Use.MISLED: int(misled),
            Use.ECHOED: int(echoed),
            Use.QUOTED: int(quoted),
            Use.FOLLOWED: int(followed),
        },
        unembedded=unembedded,
        encoder=encoder,
        analyser=tokenizer.VERSION,
        schema=schema,
        bytes=size,
    )


def read_timeline(
    db: Transaction,
    scope: Scope,
    levels: Sequence[Level],
    since: datetime | None,
    before: datetime | None,
    statuses: Sequence[Status],
) -> list[Memory]:
    """Return the scope's own records of these levels in a time range, ordered by time and id."""
    found = db.fetch_all(
        "timeline",
        path=str(scope),
        levels=json.dumps([one.value for one in levels]),
        since=rows.to_micros(since or validation.EARLIEST_DATETIME),
        before=rows.to_micros(before or validation.LATEST_DATETIME),
        statuses=json.dumps([one.value for one in statuses]),
    )
    return [rows.parse_memory(row) for row in found]


def read_changed_dates(db: Transaction, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
    """Return the times of a level's records changed after a commit, and their last commit."""
    found = db.fetch_all("touched", path=str(scope), level=level.value, after=after)
    return [rows.from_micros(at) for at, _ in found], max((commit for _, commit in found), default=after)


def read_checkpoint(db: Transaction, scope: Scope, name: str) -> str | None:
    """Return the value of the scope's checkpoint, or None."""
    row = db.fetch_first("checkpoint", path=str(scope), name=name)
    return None if row is None else str(row[0])
