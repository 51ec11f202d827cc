"""Twins: two active memories of a scope that say the same of a topic, or are of one topic; there are never two."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.errors import Conflict
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.stores.sql.transaction import Transaction, visible_params
from recollect.stores.write_checks import duplicate_text_error, id_taken_error, topic_taken_error
from recollect.text.paraphrase import NO_KEY

LOOKUPS_BEFORE_PRELOAD = 8
"""How often is looked for single memories in a scope before there is a thought of getting to know all of it."""

PRELOADED_MEMORIES_PER_LOOKUP = 20
"""How many memories are read at most, once more, for every time that was looked for one."""


def refuse_duplicate(db: Transaction, memory: Memory, *, hash: str, scope: int) -> None:
    """An active memory is refused where another one stands in its place; the hash is its own, the scope's number too.

    The indexes would refuse it as well, and could not say which memory it is.
    """
    found = _find_conflict(db, memory.id, memory.status, hash=hash, scope=scope, topic_key=memory.topic_key)
    if found is not None:
        raise found


def explain_conflict(db: Transaction, given: Mapping[str, Any]) -> Conflict:
    """Why the statement `add_memory` added none, by what it was given: for a twin's sake, or because of the id."""
    place = {name: given[name] for name in ("hash", "scope", "topic_key")}
    return _find_conflict(db, given["id"], given["status"], **place) or id_taken_error(given["id"])


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
class MissingMatches:
    """What was not known of a memory that may come, and stays unknown until the transaction adds or changes one.

    No memory that its scope may see is of its id, or none says the same, or none of its own is of its subject.
    """

    memory: Memory
    hash: str
    paraphrase_key: str
    lacks_id: bool
    lacks_text: bool
    lacks_subject: bool

    def covers_text(self, scope: Scope, hash: str, likeness: str) -> bool:
        """Whether it tells if something is said in a scope: the memory's own, or one above it."""
        return (hash, likeness) == (self.hash, self.paraphrase_key) and scope in (
            self.memory.scope,
            *self.memory.scope.ancestors,
        )

    def covers_id(self, scope: Scope, id: MemoryId) -> bool:
        """Whether there is no memory of that id, as the scope sees it."""
        return self.lacks_id and (scope, id) == (self.memory.scope, self.memory.id)

    def covers_subject(self, scope: Scope, subject: str) -> bool:
        """Whether the scope has no memory of that subject."""
        return self.lacks_subject and (scope, subject) == (self.memory.scope, self.memory.subject)


class DuplicateIndex:
    """What one transaction may have heard of; it looks into the database, until it knows a scope well enough.

    Whoever writes many memories into a scope that is not large compared with them reads once what those are called, say
    and are about that it may see. What has changed since is only added, so what is not among it is news for sure.
    """

    def __init__(self, db: Transaction) -> None:
        self._db = db
        self._lookups: Counter[Scope] = Counter()
        self._preloaded: set[Scope] = set()
        self._known_keys: set[tuple[str, str, str]] = set()

    def find_missing(self, memory: Memory, likeness: str) -> MissingMatches:
        """What is news in a memory; the scope that was entered is its own."""
        scope, id, hash, subject = memory.scope, memory.id, memory.hash, memory.subject
        if scope not in self._preloaded:
            self._preload(scope)
        if scope not in self._preloaded:
            asked = visible_params(scope, id=id, hash=hash, likeness=likeness, subject=subject)
            known, said, about = self._db.fetch_one("heard_of", **asked)
        else:
            paths = [str(one) for one in (scope, *scope.ancestors)]
            known = any((path, "id", id) in self._known_keys for path in paths)
            said = any(
                (path, "hash", hash) in self._known_keys or (path, "likeness", likeness) in self._known_keys
                for path in paths
            )
            about = subject is not None and (paths[0], "subject", subject) in self._known_keys
        return MissingMatches(memory, hash, likeness, not known, not said, not about)

    def add(self, scope: Scope, id: MemoryId, hash: str, likeness: str, subject: str | None) -> None:
        """Hear of what the transaction writes itself."""
        if self._preloaded:
            self._add_row(str(scope), id, hash, likeness, subject)

    def _preload(self, scope: Scope) -> None:
        """Read all there is to hear of, if it is little for as often as was looked; now and then."""
        self._lookups[scope] += 1
        looked = self._lookups[scope]
        if looked < LOOKUPS_BEFORE_PRELOAD or looked & (looked - 1):
            return
        most = looked * PRELOADED_MEMORIES_PER_LOOKUP
        found = self._db.fetch_all("hearsay", **visible_params(scope, most=most + 1))
        if len(found) <= most:
            self._preloaded.add(scope)
            for row in found:
                self._add_row(*row)

    def _add_row(self, path: str, id: str, hash: str, likeness: str, subject: str | None) -> None:
        self._known_keys |= {(path, "id", id), (path, "hash", hash)}
        if likeness != NO_KEY:
            self._known_keys.add((path, "likeness", likeness))
        if subject is not None:
            self._known_keys.add((path, "subject", subject))
