"""Twins: two active memories of a scope that say the same of a topic, or are of one topic; there are never two."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.errors import Conflict
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.stores.sql.transaction import Session, seen
from recollect.stores.write_checks import id_taken, said_already, topic_taken
from recollect.text.paraphrase_key import NONE

LOOKS = 8
"""How often is looked for single memories in a scope before there is a thought of getting to know all of it."""

READ_FOR_A_LOOK = 20
"""How many memories are read at most, once more, for every time that was looked for one."""


def refuse_second(db: Session, memory: Memory, *, hash: str, scope: int) -> None:
    """An active memory is refused where another one stands in its place; the hash is its own, the scope's number too.

    The indexes would refuse it as well, and could not say which memory it is.
    """
    found = _in_its_place(db, memory.id, memory.status, hash=hash, scope=scope, topic_key=memory.topic_key)
    if found is not None:
        raise found


def refusal(db: Session, given: Mapping[str, Any]) -> Conflict:
    """Why the statement `add_memory` added none, by what it was given: for a twin's sake, or because of the id."""
    place = {name: given[name] for name in ("hash", "scope", "topic_key")}
    return _in_its_place(db, given["id"], given["status"], **place) or id_taken(given["id"])


def _in_its_place(
    db: Session, id: MemoryId, status: str, *, hash: str, scope: int, topic_key: str | None
) -> Conflict | None:
    if status != Status.ACTIVE:
        return None
    twin = db.one("twin_id", scope=scope, hash=hash, topic_key=topic_key)
    if twin is not None and twin[0] != id:
        return said_already(twin[0])
    if topic_key is None:
        return None
    other = db.one("topic_id", scope=scope, topic_key=topic_key)
    return None if other is None or other[0] == id else topic_taken(other[0], topic_key)


@dataclass(frozen=True, slots=True)
class News:
    """What was not known of a memory that may come, and stays unknown until the transaction adds or changes one.

    No memory that its scope may see is of its id, or none says the same, or none of its own is of its subject.
    """

    memory: Memory
    hash: str
    likeness: str
    of_id: bool
    of_saying: bool
    of_subject: bool

    def is_about(self, scope: Scope, hash: str, likeness: str) -> bool:
        """Whether it tells if something is said in a scope: the memory's own, or one above it."""
        return (hash, likeness) == (self.hash, self.likeness) and scope in (
            self.memory.scope,
            *self.memory.scope.ancestors,
        )

    def knows_none_called(self, scope: Scope, id: MemoryId) -> bool:
        """Whether there is no memory of that id, as the scope sees it."""
        return self.of_id and (scope, id) == (self.memory.scope, self.memory.id)

    def knows_none_of(self, scope: Scope, subject: str) -> bool:
        """Whether the scope has no memory of that subject."""
        return self.of_subject and (scope, subject) == (self.memory.scope, self.memory.subject)


class Hearsay:
    """What one transaction may have heard of; it looks into the database, until it knows a scope well enough.

    Whoever writes many memories into a scope that is not large compared with them reads once what those are called, say
    and are about that it may see. What has changed since is only added, so what is not among it is news for sure.
    """

    def __init__(self, db: Session) -> None:
        self._db = db
        self._looked: Counter[Scope] = Counter()
        self._familiar: set[Scope] = set()
        self._heard: set[tuple[str, str, str]] = set()

    def news(self, memory: Memory, likeness: str) -> News:
        """What is news in a memory; the scope that was entered is its own."""
        scope, id, hash, subject = memory.scope, memory.id, memory.hash, memory.subject
        if scope not in self._familiar:
            self._get_to_know(scope)
        if scope not in self._familiar:
            asked = seen(scope, id=id, hash=hash, likeness=likeness, subject=subject)
            known, said, about = self._db.the("heard_of", **asked)
        else:
            paths = [str(one) for one in (scope, *scope.ancestors)]
            known = any((path, "id", id) in self._heard for path in paths)
            said = any(
                (path, "hash", hash) in self._heard or (path, "likeness", likeness) in self._heard for path in paths
            )
            about = subject is not None and (paths[0], "subject", subject) in self._heard
        return News(memory, hash, likeness, not known, not said, not about)

    def add(self, scope: Scope, id: MemoryId, hash: str, likeness: str, subject: str | None) -> None:
        """Hear of what the transaction writes itself."""
        if self._familiar:
            self._hear(str(scope), id, hash, likeness, subject)

    def _get_to_know(self, scope: Scope) -> None:
        """Read all there is to hear of, if it is little for as often as was looked; now and then."""
        self._looked[scope] += 1
        looked = self._looked[scope]
        if looked < LOOKS or looked & (looked - 1):
            return
        most = looked * READ_FOR_A_LOOK
        found = self._db.all("hearsay", **seen(scope, most=most + 1))
        if len(found) <= most:
            self._familiar.add(scope)
            for row in found:
                self._hear(*row)

    def _hear(self, path: str, id: str, hash: str, likeness: str, subject: str | None) -> None:
        self._heard |= {(path, "id", id), (path, "hash", hash)}
        if likeness != NONE:
            self._heard.add((path, "likeness", likeness))
        if subject is not None:
            self._heard.add((path, "subject", subject))
