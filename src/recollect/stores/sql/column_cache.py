"""Library: the shelves of a store, read when first needed and kept up with what other processes write."""

import json
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recollect.fork_safety import Lock
from recollect.model.scope import Scope
from recollect.model.validation import CACHE_BYTES
from recollect.retrieval.evidence import Probe
from recollect.retrieval.scope_columns import HELD, USED, Shelf, Stamp
from recollect.stores.sql import rows
from recollect.stores.sql.as_of_columns import former
from recollect.stores.sql.merged_columns import View
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Row, Session

ENTRIES = "entries"
"""The statement that reads memories with their vectors."""

KNOWN = "entries_known_at"
"""The statement that reads them as they were known after a commit."""

Key = tuple[int, int, bool, str]
"""Which shelf: the scope's number, the encoder's, whether only what it shares is on it, and what reads its entries."""

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Bare:
    """That vectors may stay in the tables: what reads entries without them, and the scope that an index is of."""

    entries: str
    indexed: int | None = None


MOST_VIEWS = 16
"""How many scopes have their columns joined at a time, beside the shelves that these are of."""


class Library:
    """Shelves by scope. A shelf is brought up to date inside the reading transaction that asks for it.

    Beyond so many bytes of them, the ones longest unused go.
    """

    def __init__(self, largest: int = CACHE_BYTES) -> None:
        self._largest = largest
        self._shelves: OrderedDict[Key, Shelf] = OrderedDict()
        self._views: OrderedDict[tuple[Scope, int, bool, bool], View] = OrderedDict()
        self._locks: dict[Key, Lock] = defaultdict(Lock)
        self._lock = Lock()

    def view(self, db: Session, probe: Probe, encoder: int, bare: Bare | None = None) -> tuple[View, int]:
        """All that the scope may see, now or as it was known then, and the last commit that was known."""
        scope, commit = probe.scope, _last_known(db, probe)
        former, shelves = False, list[Shelf]()
        for whose, number, stamp in _stamps(db, scope):
            if stamp.changed <= commit and stamp.used <= commit:
                key = self._key(db, (number, encoder, whose != scope, ENTRIES), bare)
                shelves.append(self._shelf(db, whose, key, stamp))
            else:  # something came to it since
                former, key = True, (number, encoder, whose != scope, KNOWN)
                shelves.append(self._shelf(db, whose, key, Stamp(commit, commit, stamp.emptied)))
        known = _worth_it(db, scope, shelves)
        then = _as_of(db, known, probe, encoder, commit)
        return self._view(scope, encoder, known, former=former) if then is known else View(then), commit

    def forget(self) -> None:
        """Let go of every shelf."""
        with self._lock.here:
            self._shelves.clear()
            self._locks.clear()
            self._views.clear()

    def _key(self, db: Session, whole: Key, bare: Bare | None) -> Key:
        """Which shelf to look at: the whole one, or a bare one if vectors may stay in the tables and had better.

        Where the vectors are here already, use is made of them. An index is of all that a scope has, so it is asked for
        the scope itself alone: whom it shares some of it with would learn how much there is besides.
        """
        if bare is None:
            return whole
        scope, encoder, only_shared, _ = whole
        key = scope, encoder, only_shared, bare.entries
        with self._lock.here:
            here, known = whole in self._shelves, self._shelves.get(key)
        if here or (scope == bare.indexed and not only_shared):
            return whole if here else key
        row = _dimensions(db) * FLOAT_BYTES
        if known is not None and len(known) * row > self._largest:
            return key
        (count,) = db.the("entries_count", scope=scope, after=0)  # which may be more than when it was looked at
        return key if count * row > self._largest else whole

    def _view(self, scope: Scope, encoder: int, shelves: tuple[Shelf, ...], *, former: bool) -> View:
        """The view of these shelves; the one made before, if they are the same."""
        key = scope, encoder, any(shelf.contents is not None for shelf in shelves), former
        with self._lock.here:
            known = self._views.get(key)
            same = known is not None and len(known.shelves) == len(shelves)
            if known is not None and same and all(a is b for a, b in zip(known.shelves, shelves, strict=True)):
                self._views.move_to_end(key)
                return known
            view = View(shelves)
            self._views[key] = view
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
            return view

    def _shelf(self, db: Session, scope: Scope, key: Key, stamp: Stamp) -> Shelf:
        with self._lock.here:
            known = self._shelves.get(key)
            if known is not None:
                self._shelves.move_to_end(key)
                if known.stamp == stamp:
                    return known
            turn = self._locks[key]
        with turn.here:
            return self._updated(db, scope, key, stamp)

    def _updated(self, db: Session, scope: Scope, key: Key, stamp: Stamp) -> Shelf:
        """The shelf as this transaction sees it; one that is already further along is left to the others, unless it is
        one of what was known after a commit.
        """
        number, encoder, only_shared, entries = key
        with self._lock.here:
            known = self._shelves.get(key)
        if known is not None and known.stamp == stamp:
            return known
        usable = known is not None and known.stamp.emptied == stamp.emptied and not known.sparse
        ahead = known is not None and (known.stamp.changed > stamp.changed or known.stamp.used > stamp.used)
        if known is None or not usable or ahead:
            bare = entries not in (ENTRIES, KNOWN)
            known = Shelf.empty(scope, _dimensions(db), only_shared=only_shared, bare=bare)
        if entries == KNOWN:
            shelf = former(db, known, number, encoder, stamp)
        else:
            shelf = _present(db, known, number, encoder, stamp, entries)
        if not ahead or entries == KNOWN:
            with self._lock.here:
                self._shelves[key] = shelf
                self._shelves.move_to_end(key)
                self._make_room()
        return shelf

    def _make_room(self) -> None:
        size = sum(shelf.nbytes for shelf in self._shelves.values())
        while len(self._shelves) > 1 and size > self._largest:
            key, shelf = self._shelves.popitem(last=False)
            size -= shelf.nbytes
            self._locks.pop(key, None)
            self._views.clear()


def _last_known(db: Session, probe: Probe) -> int:
    """The last commit that is known, as the probe says."""
    if probe.commit is not None:
        return probe.commit
    if probe.known_at is not None:
        return int(db.the("commit_known_at", at=rows.micros(probe.known_at))[0])
    return int(db.the("last_commit")[0])


def _present(db: Session, known: Shelf, number: int, encoder: int, stamp: Stamp, entries: str) -> Shelf:
    """The shelf of the scope of that number as it stands, made of one that was so before."""
    after = known.stamp.changed
    unshared = not known.only_shared or after > 0  # one that is shared no longer must be seen to leave
    (most,) = db.the("entries_count", scope=number, after=after)
    found = db.each(entries, scope=number, encoder=encoder, after=after, unshared=unshared)
    shelf = known.with_rows(found, stamp, most=most)
    return shelf.with_uses(db.all("uses_since", scope=number, after=known.stamp.used), stamp) if after else shelf


def _stamps(db: Session, scope: Scope) -> list[tuple[Scope, int, Stamp]]:
    """The scope and its ancestors, as far as they have memories; the scope itself first."""
    paths = {str(one): one for one in (scope, *reversed(scope.ancestors))}
    found = {
        path: (paths[path], number, Stamp(*stamp))
        for path, number, *stamp in db.all("scope_stamps", paths=json.dumps(list(paths)))
    }
    return [found[path] for path in paths if path in found]


def _dimensions(db: Session) -> int:
    _, model = present_model(db)
    return 1 if model is None else model.dimensions


def _worth_it(db: Session, scope: Scope, shelves: Sequence[Shelf]) -> tuple[Shelf, ...]:
    """The shelves that have anything on them; an empty one if none has."""
    there = tuple(shelf for shelf in shelves if len(shelf) or shelf.away or shelf.unindexed)
    return there or (Shelf.empty(scope, _dimensions(db)),)


def _as_of(db: Session, shelves: tuple[Shelf, ...], probe: Probe, encoder: int, commit: int) -> tuple[Shelf, ...]:
    """The shelves, and beside them what memories said at the probe's moment that have been revised since."""
    if probe.present:
        return shelves
    found: list[Shelf] = []
    for shelf in shelves:
        revised = shelf.revised_since(probe.at)
        if len(revised):
            places = {int(shelf.numbers[row]): row for row in revised.tolist()}
            known = {"encoder": encoder, "commit": commit, "at": rows.micros(probe.at)}
            asked = {"memories": json.dumps(list(places)), "unshared": not shelf.only_shared, **known}
            versions = db.each("entries_as_of", **asked)
            then = [_then(shelf, places[number], number, version) for number, *version in versions]
            revised = np.array([places[row[0]] for row in then], dtype=np.intp)
            empty = Shelf.empty(shelf.scope, shelf.matrix.shape[1])
            found.append(empty.with_rows(then, shelf.stamp, most=len(then)))
        found.append(shelf.without(revised) if len(revised) else shelf)
    return tuple(found) if len(found) > len(shelves) else shelves


def _then(shelf: Shelf, row: int, number: int, version: Sequence[Any]) -> Row:
    """What the memory of a row was in a version; its standing, unless it was away, and its use are those of the row."""
    changed, away, kind, level, *values, until, session, speaker, end, names, terms, vector = version
    status = away or (HELD[0] if shelf.active[row] else HELD[1])
    now = {name: float(column[row]) for name, column in shelf.columns.items()}
    used = [now[name] for name in USED]
    until = now["valid_until"] if until is None else until
    return (
        *(number, changed, shelf.ids[row], kind, level, status, True, bool(shelf.pinned[row])),
        *(*values, until, *used, session, speaker, end, names, terms, vector),
    )
