"""Keep duplicates out: no two active memories of a scope have the same text or topic.

Memories with the same text are allowed if their topics differ. `DuplicateIndex` finds quickly whether a new memory can
have a match at all.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.errors import Conflict
from recollect.model import changeset
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.stores.sql.rows import duplicate_text_error, id_taken_error, topic_taken_error
from recollect.stores.sql.transaction import Transaction, visible_params
from recollect.text.paraphrase import NO_KEY

LOOKUPS_BEFORE_PRELOAD = 8
"""Number of single lookups in a scope before preloading its keys is considered."""

PRELOADED_MEMORIES_PER_LOOKUP = 20
"""Maximum number of memories to preload, per lookup made so far."""


def refuse_duplicate(db: Transaction, memory: Memory, *, hash: str, scope: int) -> None:
    """Raise Conflict if another active memory has the same text and topic, or the topic.

    `hash` and `scope` (a number) are the memory's own. The unique indexes would refuse the memory as well, but could
    not name the other one.
    """
    conflict = _find_conflict(db, memory.id, memory.status, hash=hash, scope=scope, topic_key=memory.topic_key)
    if conflict is not None:
        raise conflict


def explain_conflict(db: Transaction, params: Mapping[str, Any]) -> Conflict:
    """Return why `add_memory` added no row: a duplicate, or an id that is taken."""
    key = {name: params[name] for name in ("hash", "scope", "topic_key")}
    return _find_conflict(db, params["id"], params["status"], **key) or id_taken_error(params["id"])


def _find_conflict(
    db: Transaction, id: MemoryId, status: str, *, hash: str, scope: int, topic_key: str | None
) -> Conflict | None:
    if status != Status.ACTIVE:
        return None
    twin = db.fetch_first("twin_id", scope=scope, hash=hash, topic_key=topic_key)
    if twin is not None and twin[0] != id:
        return duplicate_text_error(twin[0])
    if topic_key is None:
        return None
    other = db.fetch_first("topic_id", scope=scope, topic_key=topic_key)
    return None if other is None or other[0] == id else topic_taken_error(other[0], topic_key)


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Which keys of a query may be known; a key that is not is certainly new.

    `id`: the scope may see a memory with the id. `text`: the scope or an ancestor has a memory with the same text or
    paraphrase key. `subject`: the scope has one of the subject.
    """

    id: bool = False
    text: bool = False
    subject: bool = False


ALL_KNOWN = KnownKeys(id=True, text=True, subject=True)
"""Every key may be known."""


class DuplicateIndex:
    """The ids, texts and subjects that one transaction may already find in the store.

    It looks into the database for each memory. A transaction that writes many memories into a scope that is small in
    comparison reads all of the scope's keys once instead. Keys are only ever added to them, so a memory whose keys are
    missing is certainly new.
    """

    def __init__(self, db: Transaction) -> None:
        self._db = db
        self._lookups: Counter[Scope] = Counter()
        self._preloaded: set[Scope] = set()
        self._known_keys: set[tuple[str, str, str]] = set()

    def look_up(self, query: changeset.NeighborQuery) -> KnownKeys:
        """Enter the query's scope, and return which of its keys may be known."""
        self._db.enter_scope(query.scope)
        scope, id, hash, likeness, subject = query.scope, query.id, query.hash, query.paraphrase_key, query.subject
        if id is None and hash is None and subject is None:
            return KnownKeys()
        if scope not in self._preloaded:
            self._preload(scope)
        if scope not in self._preloaded:
            params = visible_params(scope, id=id, hash=hash, likeness=likeness, subject=subject)
            return KnownKeys(*map(bool, self._db.fetch_one("heard_of", **params)))
        paths = [str(one) for one in (scope, *scope.ancestors)]
        return KnownKeys(
            id is not None and any((path, "id", id) in self._known_keys for path in paths),
            hash is not None
            and any(
                (path, "hash", hash) in self._known_keys or (path, "likeness", likeness) in self._known_keys
                for path in paths
            ),
            subject is not None and (paths[0], "subject", subject) in self._known_keys,
        )

    def add(self, scope: Scope, id: MemoryId, hash: str, likeness: str, subject: str | None) -> None:
        """Add the keys of a memory that the transaction writes."""
        if self._preloaded:
            self._add_row(str(scope), id, hash, likeness, subject)

    def _preload(self, scope: Scope) -> None:
        """Read all keys of the scope if they are few compared with the lookups made.

        Tried only after 8, 16, 32 … lookups.
        """
        self._lookups[scope] += 1
        lookups = self._lookups[scope]
        if lookups < LOOKUPS_BEFORE_PRELOAD or lookups & (lookups - 1):
            return
        limit = lookups * PRELOADED_MEMORIES_PER_LOOKUP
        keys = self._db.fetch_all("hearsay", **visible_params(scope, most=limit + 1))
        if len(keys) <= limit:
            self._preloaded.add(scope)
            for row in keys:
                self._add_row(*row)

    def _add_row(self, path: str, id: str, hash: str, likeness: str, subject: str | None) -> None:
        self._known_keys |= {(path, "id", id), (path, "hash", hash)}
        if likeness != NO_KEY:
            self._known_keys.add((path, "likeness", likeness))
        if subject is not None:
            self._known_keys.add((path, "subject", subject))
