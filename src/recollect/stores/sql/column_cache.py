"""Cache of each scope's columns, loaded on first use and updated with later writes.

`ColumnCache` serves the present columns, which may also be of an earlier commit or moment; the functions at the end
rebuild the columns, usage and votes of an earlier commit.
"""

import json
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.fork_safety import ForkSafeLock
from recollect.model.context import count_votes, select_current_votes
from recollect.model.scope import Scope
from recollect.model.validation import CACHE_BYTES
from recollect.retrieval.eligibility import View
from recollect.retrieval.scope_columns import RECALLABLE_STATUS_NAMES, USAGE_FIELDS, ColumnsVersion, ScopeColumns
from recollect.retrieval.snapshot import MergedColumns
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row, Transaction, read_current_encoder

CURRENT_STATEMENT = "entries"
"""The statement that reads memories with their vectors."""

AS_OF_STATEMENT = "entries_known_at"
"""The statement that reads memories as they were known after a commit."""

CacheKey = tuple[int, int, bool, str]
"""The scope's number, the model's number, whether only shared rows count, and the statement."""

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class RemoteVectors:
    """How to leave vectors in the database: a statement without vectors, and the indexed scope."""

    statement: str
    indexed_scope: int | None = None


MAX_MERGED_COLUMNS = 16
"""Number of merged tables kept, in addition to the columns they are made of."""


class ColumnCache:
    """Cached columns by scope, brought up to date inside the transaction that reads them.

    When they exceed the maximum size in bytes, the least recently used ones are dropped.
    """

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._columns: OrderedDict[CacheKey, ScopeColumns] = OrderedDict()
        self._merged: OrderedDict[tuple[Scope, int, bool, bool], MergedColumns] = OrderedDict()
        self._locks: dict[CacheKey, ForkSafeLock] = defaultdict(ForkSafeLock)
        self._lock = ForkSafeLock()

    def read(
        self, db: Transaction, view: View, encoder: int, remote: RemoteVectors | None = None
    ) -> tuple[MergedColumns, int]:
        """Return all rows the scope may see, now or as known then, and the last known commit."""
        scope, commit = view.scope, _last_known_commit(db, view)
        is_former, parts = False, list[ScopeColumns]()
        for owner, number, stamp in _read_stamps(db, scope):
            if stamp.changed <= commit and stamp.used <= commit:
                key = self._choose_key(db, (number, encoder, owner != scope, CURRENT_STATEMENT), remote)
                parts.append(self._read_scope(db, owner, key, stamp))
            else:  # the scope changed after the known commit
                is_former, key = True, (number, encoder, owner != scope, AS_OF_STATEMENT)
                parts.append(self._read_scope(db, owner, key, ColumnsVersion(commit, commit, stamp.emptied)))
        filled = tuple(part for part in parts if len(part) or part.inactive or part.unindexed)
        present = filled or (ScopeColumns.empty(scope, _read_dimensions(db)),)
        parts_then = _split_revised(db, present, view, encoder, commit)
        if parts_then is not present:
            return MergedColumns(parts_then), commit
        return self._merge(scope, encoder, present, is_former=is_former), commit

    def clear(self) -> None:
        """Drop all cached columns."""
        with self._lock.rlock:
            self._columns.clear()
            self._locks.clear()
            self._merged.clear()

    def _choose_key(self, db: Transaction, full_key: CacheKey, remote: RemoteVectors | None) -> CacheKey:
        """Return the cache key to use: with vectors, or without them where they should stay remote.

        Columns that are already loaded with vectors are used. The vector index covers all of a scope's rows, so it is
        only used for the requesting scope itself: using it for an ancestor would leak how many rows the ancestor does
        not share.
        """
        if remote is None:
            return full_key
        scope, encoder, only_shared, _ = full_key
        key = scope, encoder, only_shared, remote.statement
        with self._lock.rlock:
            has_full, cached = full_key in self._columns, self._columns.get(key)
        if has_full or (scope == remote.indexed_scope and not only_shared):
            return full_key if has_full else key
        row_bytes = _read_dimensions(db) * FLOAT_BYTES
        if cached is not None and len(cached) * row_bytes > self._max_bytes:
            return key
        (count,) = db.fetch_one("entries_count", scope=scope, after=0)  # may have grown since the columns were cached
        return key if count * row_bytes > self._max_bytes else full_key

    def _merge(self, scope: Scope, encoder: int, parts: tuple[ScopeColumns, ...], *, is_former: bool) -> MergedColumns:
        """Return the merged table of these columns; the cached one if they are the same."""
        key = scope, encoder, any(part.contents is not None for part in parts), is_former
        with self._lock.rlock:
            cached = self._merged.get(key)
            same = cached is not None and len(cached.parts) == len(parts)
            if cached is not None and same and all(a is b for a, b in zip(cached.parts, parts, strict=True)):
                self._merged.move_to_end(key)
                return cached
            merged = MergedColumns(parts)
            self._merged[key] = merged
            while len(self._merged) > MAX_MERGED_COLUMNS:
                self._merged.popitem(last=False)
            return merged

    def _read_scope(self, db: Transaction, scope: Scope, key: CacheKey, stamp: ColumnsVersion) -> ScopeColumns:
        with self._lock.rlock:
            cached = self._columns.get(key)
            if cached is not None:
                self._columns.move_to_end(key)
                if cached.stamp == stamp:
                    return cached
            lock = self._locks[key]
        with lock.rlock:
            return self._update_scope(db, scope, key, stamp)

    def _update_scope(self, db: Transaction, scope: Scope, key: CacheKey, stamp: ColumnsVersion) -> ScopeColumns:
        """Return the scope's columns as this transaction sees them, and cache them.

        Columns that are newer than this transaction stay in the cache, except those that show an earlier commit.
        """
        number, encoder, only_shared, statement = key
        with self._lock.rlock:
            cached = self._columns.get(key)
        if cached is not None and cached.stamp == stamp:
            return cached
        usable = cached is not None and cached.stamp.emptied == stamp.emptied and not cached.is_sparse
        is_newer = cached is not None and (cached.stamp.changed > stamp.changed or cached.stamp.used > stamp.used)
        if cached is None or not usable or is_newer:
            without_vectors = statement not in (CURRENT_STATEMENT, AS_OF_STATEMENT)
            cached = ScopeColumns.empty(scope, _read_dimensions(db), only_shared=only_shared, bare=without_vectors)
        if statement == AS_OF_STATEMENT:
            columns = read_columns_as_of(db, cached, number, encoder, stamp)
        else:
            columns = _read_current_columns(db, cached, number, encoder, stamp, statement)
        if not is_newer or statement == AS_OF_STATEMENT:
            with self._lock.rlock:
                self._columns[key] = columns
                self._columns.move_to_end(key)
                self._evict()
        return columns

    def _evict(self) -> None:
        size = sum(columns.nbytes for columns in self._columns.values())
        while len(self._columns) > 1 and size > self._max_bytes:
            key, columns = self._columns.popitem(last=False)
            size -= columns.nbytes
            self._locks.pop(key, None)
            self._merged.clear()


def _last_known_commit(db: Transaction, view: View) -> int:
    """Return the last commit that the view includes."""
    if view.commit is not None:
        return view.commit
    if view.known_at is not None:
        return int(db.fetch_one("commit_known_at", at=rows.to_micros(view.known_at))[0])
    return int(db.fetch_one("last_commit")[0])


def _read_current_columns(
    db: Transaction, cached: ScopeColumns, number: int, encoder: int, stamp: ColumnsVersion, statement: str
) -> ScopeColumns:
    """Return the scope's present columns, updated from earlier ones."""
    after = cached.stamp.changed
    with_unshared = not cached.only_shared or after > 0  # memories no longer shared must be removed
    (most,) = db.fetch_one("entries_count", scope=number, after=after)
    found = db.fetch_each(statement, scope=number, encoder=encoder, after=after, unshared=with_unshared)
    columns = cached.with_rows(found, stamp, most=most)
    if not after:
        return columns
    return columns.with_uses(db.fetch_all("uses_since", scope=number, after=cached.stamp.used), stamp)


def _read_stamps(db: Transaction, scope: Scope) -> list[tuple[Scope, int, ColumnsVersion]]:
    """Return the version of the scope and its ancestors, as far as they have memories.

    The scope itself comes first.
    """
    paths = {str(one): one for one in (scope, *reversed(scope.ancestors))}
    found = {
        path: (paths[path], number, ColumnsVersion(*stamp))
        for path, number, *stamp in db.fetch_all("scope_stamps", paths=json.dumps(list(paths)))
    }
    return [found[path] for path in paths if path in found]


def _read_dimensions(db: Transaction) -> int:
    _, model = read_current_encoder(db)
    return 1 if model is None else model.dimensions


def _split_revised(
    db: Transaction, parts: tuple[ScopeColumns, ...], view: View, encoder: int, commit: int
) -> tuple[ScopeColumns, ...]:
    """Return the columns, plus the former versions that held at the requested time.

    Rows of memories that were revised since are replaced by these versions.
    """
    if view.present:
        return parts
    split: list[ScopeColumns] = []
    for part in parts:
        revised = part.rows_revised_since(view.at)
        if len(revised):
            rows_by_number = {int(part.numbers[row]): row for row in revised.tolist()}
            known = {"encoder": encoder, "commit": commit, "at": rows.to_micros(view.at)}
            params = {"memories": json.dumps(list(rows_by_number)), "unshared": not part.only_shared, **known}
            versions = db.fetch_each("entries_as_of", **params)
            former_rows = [_revised_row(part, rows_by_number[number], number, version) for number, *version in versions]
            revised = np.array([rows_by_number[row[0]] for row in former_rows], dtype=np.intp)
            empty = ScopeColumns.empty(part.scope, part.matrix.shape[1])
            split.append(empty.with_rows(former_rows, part.stamp, most=len(former_rows)))
        split.append(part.without_rows(revised) if len(revised) else part)
    return tuple(split) if len(split) > len(parts) else parts


def _revised_row(columns: ScopeColumns, row: int, number: int, version: Sequence[Any]) -> Row:
    """Return a row with the memory's former version.

    Usage comes from the present row, and so does the status unless the version was already put away.
    """
    changed, status_then, kind, level, *values, until, session, speaker, end, names, terms, vector = version
    status = status_then or (RECALLABLE_STATUS_NAMES[0] if columns.active[row] else RECALLABLE_STATUS_NAMES[1])
    present = {name: float(column[row]) for name, column in columns.columns.items()}
    usage = [present[name] for name in USAGE_FIELDS]
    until = present["valid_until"] if until is None else until
    return (
        *(number, changed, columns.ids[row], kind, level, status, True, bool(columns.pinned[row])),
        *(*values, until, *usage, session, speaker, end, names, terms, vector),
    )


UsageByMemory = Mapping[int, tuple[float, float, float, float | None]]
"""By memory number: how often it was served, helped and misled, and when last served."""


def read_columns_as_of(
    db: Transaction, cached: ScopeColumns, number: int, encoder: int, stamp: ColumnsVersion
) -> ScopeColumns:
    """Return the scope's columns as they were after the stamp's commit.

    They are updated from columns of an earlier commit; from empty ones everything is read.
    """
    after = cached.stamp.changed
    params = {"scope": number, "commit": stamp.changed, "after": after}
    with_unshared = not cached.only_shared or after > 0  # memories no longer shared must be removed
    states = db.fetch_all("entries_known_at", encoder=encoder, unshared=with_unshared, **params)
    usage = _read_usage_as_of(db, cached, params, {row[0] for row in states})
    columns = cached.with_rows(_with_usage(states, usage), stamp, most=len(states))
    return columns.with_uses([(memory, *use) for memory, use in usage.items()], stamp) if after else columns


def _read_usage_as_of(
    db: Transaction, cached: ScopeColumns, params: Mapping[str, object], reread: set[int]
) -> UsageByMemory:
    """Return the usage known then of memories used since the last read, and of reread rows."""
    served = {memory: (count, last) for memory, count, last in db.fetch_all("served_known_at", **params)}
    votes = {**rows.group_by_memory(db.fetch_all("votes_known_at", **params))}
    before = cached.usage_by_number(reread | served.keys() | votes.keys())
    unknown = reread - before.keys() if params["after"] else set[int]()  # new ones, and those not recallable until now
    if unknown:
        unknown_params = {"memories": json.dumps(list(unknown)), "commit": params["commit"]}
        served |= {memory: (count, last) for memory, count, last in db.fetch_all("served_until", **unknown_params)}
        votes |= rows.group_by_memory(db.fetch_all("votes_until", **unknown_params))
    usage = dict[int, tuple[float, float, float, float | None]]()
    for memory in reread | served.keys() | votes.keys():
        count, helped, misled, last = before.get(memory, (0, 0, 0, None))
        count, last = served.get(memory, (count, last))
        if memory in votes:
            helped, misled = count_votes(select_current_votes(rows.parse_vote(memory, *row) for row in votes[memory]))
        usage[memory] = count, helped, misled, last
    return usage


def _with_usage(states: list[Row], usage: UsageByMemory) -> Iterator[Row]:
    """Yield the rows with their usage inserted, as `ScopeColumns` takes them."""
    for *start, session, speaker, end, names, terms, vector in states:
        yield (*start, *usage[start[0]], session, speaker, end, names, terms, vector)


def has_lost_vector(states: Sequence[Row], changed: int, commit: int) -> bool:
    """Whether a memory's state lost its vector after a commit.

    That happens when a state with the same content leaves the vector index. `changed` names the state: the last one of
    that commit, or the version of that number if it is negative. `states` has all states of the memory in order.
    """
    content = next((own for number, at, own, _ in reversed(states) if changed in (at, -number)), None)
    left = [at for _, at, own, has_left in states if own == content and has_left]
    return bool(left) and min(left) > commit
