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
from recollect.retrieval.evidence import EvidenceRequest
from recollect.retrieval.scope_columns import RECALLABLE_STATUS_NAMES, USAGE_FIELDS, ColumnsVersion, ScopeColumns
from recollect.stores.sql import rows
from recollect.stores.sql.merged_columns import MergedColumns
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

    def __init__(self, largest: int = CACHE_BYTES) -> None:
        self._max_bytes = largest
        self._columns: OrderedDict[CacheKey, ScopeColumns] = OrderedDict()
        self._merged: OrderedDict[tuple[Scope, int, bool, bool], MergedColumns] = OrderedDict()
        self._locks: dict[CacheKey, ForkSafeLock] = defaultdict(ForkSafeLock)
        self._lock = ForkSafeLock()

    def read(
        self, db: Transaction, probe: EvidenceRequest, encoder: int, bare: RemoteVectors | None = None
    ) -> tuple[MergedColumns, int]:
        """Return all rows the scope may see, now or as known then, and the last known commit."""
        scope, commit = probe.scope, _last_known_commit(db, probe)
        former, shelves = False, list[ScopeColumns]()
        for whose, number, stamp in _read_stamps(db, scope):
            if stamp.changed <= commit and stamp.used <= commit:
                key = self._choose_key(db, (number, encoder, whose != scope, CURRENT_STATEMENT), bare)
                shelves.append(self._read_scope(db, whose, key, stamp))
            else:  # the scope changed after the known commit
                former, key = True, (number, encoder, whose != scope, AS_OF_STATEMENT)
                shelves.append(self._read_scope(db, whose, key, ColumnsVersion(commit, commit, stamp.emptied)))
        known = _drop_empty(db, scope, shelves)
        then = _split_revised(db, known, probe, encoder, commit)
        return self._merge(scope, encoder, known, former=former) if then is known else MergedColumns(then), commit

    def clear(self) -> None:
        """Drop all cached columns."""
        with self._lock.rlock:
            self._columns.clear()
            self._locks.clear()
            self._merged.clear()

    def _choose_key(self, db: Transaction, whole: CacheKey, bare: RemoteVectors | None) -> CacheKey:
        """Return the cache key to use: with vectors, or without them where they should stay remote.

        Columns that are already loaded with vectors are used. The vector index covers all of a scope's rows, so it is
        only used for the requesting scope itself: using it for an ancestor would leak how many rows the ancestor does
        not share.
        """
        if bare is None:
            return whole
        scope, encoder, only_shared, _ = whole
        key = scope, encoder, only_shared, bare.statement
        with self._lock.rlock:
            here, known = whole in self._columns, self._columns.get(key)
        if here or (scope == bare.indexed_scope and not only_shared):
            return whole if here else key
        row = _read_dimensions(db) * FLOAT_BYTES
        if known is not None and len(known) * row > self._max_bytes:
            return key
        (count,) = db.fetch_one("entries_count", scope=scope, after=0)  # may have grown since the columns were cached
        return key if count * row > self._max_bytes else whole

    def _merge(self, scope: Scope, encoder: int, shelves: tuple[ScopeColumns, ...], *, former: bool) -> MergedColumns:
        """Return the merged table of these columns; the cached one if they are the same."""
        key = scope, encoder, any(shelf.contents is not None for shelf in shelves), former
        with self._lock.rlock:
            known = self._merged.get(key)
            same = known is not None and len(known.parts) == len(shelves)
            if known is not None and same and all(a is b for a, b in zip(known.parts, shelves, strict=True)):
                self._merged.move_to_end(key)
                return known
            view = MergedColumns(shelves)
            self._merged[key] = view
            while len(self._merged) > MAX_MERGED_COLUMNS:
                self._merged.popitem(last=False)
            return view

    def _read_scope(self, db: Transaction, scope: Scope, key: CacheKey, stamp: ColumnsVersion) -> ScopeColumns:
        with self._lock.rlock:
            known = self._columns.get(key)
            if known is not None:
                self._columns.move_to_end(key)
                if known.stamp == stamp:
                    return known
            turn = self._locks[key]
        with turn.rlock:
            return self._update_scope(db, scope, key, stamp)

    def _update_scope(self, db: Transaction, scope: Scope, key: CacheKey, stamp: ColumnsVersion) -> ScopeColumns:
        """Return the scope's columns as this transaction sees them, and cache them.

        Columns that are newer than this transaction stay in the cache, except those that show an earlier commit.
        """
        number, encoder, only_shared, entries = key
        with self._lock.rlock:
            known = self._columns.get(key)
        if known is not None and known.stamp == stamp:
            return known
        usable = known is not None and known.stamp.emptied == stamp.emptied and not known.is_sparse
        ahead = known is not None and (known.stamp.changed > stamp.changed or known.stamp.used > stamp.used)
        if known is None or not usable or ahead:
            bare = entries not in (CURRENT_STATEMENT, AS_OF_STATEMENT)
            known = ScopeColumns.empty(scope, _read_dimensions(db), only_shared=only_shared, bare=bare)
        if entries == AS_OF_STATEMENT:
            shelf = read_columns_as_of(db, known, number, encoder, stamp)
        else:
            shelf = _read_current_columns(db, known, number, encoder, stamp, entries)
        if not ahead or entries == AS_OF_STATEMENT:
            with self._lock.rlock:
                self._columns[key] = shelf
                self._columns.move_to_end(key)
                self._evict()
        return shelf

    def _evict(self) -> None:
        size = sum(shelf.nbytes for shelf in self._columns.values())
        while len(self._columns) > 1 and size > self._max_bytes:
            key, shelf = self._columns.popitem(last=False)
            size -= shelf.nbytes
            self._locks.pop(key, None)
            self._merged.clear()


def _last_known_commit(db: Transaction, probe: EvidenceRequest) -> int:
    """Return the last commit that the request may know of."""
    if probe.commit is not None:
        return probe.commit
    if probe.known_at is not None:
        return int(db.fetch_one("commit_known_at", at=rows.to_micros(probe.known_at))[0])
    return int(db.fetch_one("last_commit")[0])


def _read_current_columns(
    db: Transaction, known: ScopeColumns, number: int, encoder: int, stamp: ColumnsVersion, entries: str
) -> ScopeColumns:
    """Return the scope's present columns, updated from earlier ones."""
    after = known.stamp.changed
    unshared = not known.only_shared or after > 0  # memories no longer shared must be removed
    (most,) = db.fetch_one("entries_count", scope=number, after=after)
    found = db.fetch_each(entries, scope=number, encoder=encoder, after=after, unshared=unshared)
    shelf = known.with_rows(found, stamp, most=most)
    return shelf.with_uses(db.fetch_all("uses_since", scope=number, after=known.stamp.used), stamp) if after else shelf


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


def _drop_empty(db: Transaction, scope: Scope, shelves: Sequence[ScopeColumns]) -> tuple[ScopeColumns, ...]:
    """Drop columns without rows; if none is left, return empty ones."""
    there = tuple(shelf for shelf in shelves if len(shelf) or shelf.inactive or shelf.unindexed)
    return there or (ScopeColumns.empty(scope, _read_dimensions(db)),)


def _split_revised(
    db: Transaction, shelves: tuple[ScopeColumns, ...], probe: EvidenceRequest, encoder: int, commit: int
) -> tuple[ScopeColumns, ...]:
    """Return the columns, plus the former versions that held at the requested time.

    Rows of memories that were revised since are replaced by these versions.
    """
    if probe.present:
        return shelves
    found: list[ScopeColumns] = []
    for shelf in shelves:
        revised = shelf.rows_revised_since(probe.at)
        if len(revised):
            places = {int(shelf.numbers[row]): row for row in revised.tolist()}
            known = {"encoder": encoder, "commit": commit, "at": rows.to_micros(probe.at)}
            asked = {"memories": json.dumps(list(places)), "unshared": not shelf.only_shared, **known}
            versions = db.fetch_each("entries_as_of", **asked)
            then = [_revised_row(shelf, places[number], number, version) for number, *version in versions]
            revised = np.array([places[row[0]] for row in then], dtype=np.intp)
            empty = ScopeColumns.empty(shelf.scope, shelf.matrix.shape[1])
            found.append(empty.with_rows(then, shelf.stamp, most=len(then)))
        found.append(shelf.without_rows(revised) if len(revised) else shelf)
    return tuple(found) if len(found) > len(shelves) else shelves


def _revised_row(shelf: ScopeColumns, row: int, number: int, version: Sequence[Any]) -> Row:
    """Return a row with the memory's former version.

    Usage comes from the present row, and so does the status unless the version was already put away.
    """
    changed, away, kind, level, *values, until, session, speaker, end, names, terms, vector = version
    status = away or (RECALLABLE_STATUS_NAMES[0] if shelf.active[row] else RECALLABLE_STATUS_NAMES[1])
    now = {name: float(column[row]) for name, column in shelf.columns.items()}
    used = [now[name] for name in USAGE_FIELDS]
    until = now["valid_until"] if until is None else until
    return (
        *(number, changed, shelf.ids[row], kind, level, status, True, bool(shelf.pinned[row])),
        *(*values, until, *used, session, speaker, end, names, terms, vector),
    )


UsageByMemory = Mapping[int, tuple[float, float, float, float | None]]
"""By memory number: how often it was served, helped and misled, and when last served."""


def read_columns_as_of(
    db: Transaction, known: ScopeColumns, number: int, encoder: int, stamp: ColumnsVersion
) -> ScopeColumns:
    """Return the scope's columns as they were after the stamp's commit.

    They are updated from columns of an earlier commit; from empty ones everything is read.
    """
    after = known.stamp.changed
    given = {"scope": number, "commit": stamp.changed, "after": after}
    unshared = not known.only_shared or after > 0  # memories no longer shared must be removed
    found = db.fetch_all("entries_known_at", encoder=encoder, unshared=unshared, **given)
    used = _read_usage_as_of(db, known, given, {row[0] for row in found})
    shelf = known.with_rows(_with_usage(found, used), stamp, most=len(found))
    return shelf.with_uses([(memory, *use) for memory, use in used.items()], stamp) if after else shelf


def _read_usage_as_of(
    db: Transaction, known: ScopeColumns, given: Mapping[str, object], anew: set[int]
) -> UsageByMemory:
    """Return the usage known then of memories used since the last read, and of rows read anew."""
    served = {memory: (count, last) for memory, count, last in db.fetch_all("served_known_at", **given)}
    cast = {**rows.group_by_memory(db.fetch_all("votes_known_at", **given))}
    before = known.usage_by_number(anew | served.keys() | cast.keys())
    unknown = anew - before.keys() if given["after"] else set[int]()  # new ones, and those not recallable until now
    if unknown:
        of = {"memories": json.dumps(list(unknown)), "commit": given["commit"]}
        served |= {memory: (count, last) for memory, count, last in db.fetch_all("served_until", **of)}
        cast |= rows.group_by_memory(db.fetch_all("votes_until", **of))
    found = dict[int, tuple[float, float, float, float | None]]()
    for memory in anew | served.keys() | cast.keys():
        count, helped, misled, last = before.get(memory, (0, 0, 0, None))
        count, last = served.get(memory, (count, last))
        if memory in cast:
            helped, misled = count_votes(select_current_votes(rows.parse_vote(memory, *row) for row in cast[memory]))
        found[memory] = count, helped, misled, last
    return found


def _with_usage(found: list[Row], used: UsageByMemory) -> Iterator[Row]:
    """Yield the rows with their usage inserted, as `ScopeColumns` takes them."""
    for *start, session, speaker, end, names, terms, vector in found:
        yield (*start, *used[start[0]], session, speaker, end, names, terms, vector)


def has_lost_vector(states: Sequence[Row], changed: int, commit: int) -> bool:
    """Whether a memory's state lost its vector after a commit.

    That happens when a state with the same content leaves the vector index. `changed` names the state: the last one of
    that commit, or the version of that number if it is negative. `states` has all states of the memory in order.
    """
    content = next((own for number, at, own, _ in reversed(states) if changed in (at, -number)), None)
    left = [at for _, at, own, has_left in states if own == content and has_left]
    return bool(left) and min(left) > commit
