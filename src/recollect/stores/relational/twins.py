"""Twins: two active memories of a scope that say the same of a topic, or are of one topic; there are never two."""

from recollect.model.memory import Memory, Status
from recollect.stores.refusals import said_already, topic_taken
from recollect.stores.relational.session import Session


def refuse_second(db: Session, memory: Memory, *, hash: str, scope: int) -> None:
    """An active memory is refused where another one stands in its place; the hash is its own, the scope's number too.

    The indexes would refuse it as well, and could not say which memory it is.
    """
    if memory.status is not Status.ACTIVE:
        return
    twin = db.one("twin_id", scope=scope, hash=hash, topic_key=memory.topic_key)
    if twin is not None and twin[0] != memory.id:
        raise said_already(twin[0])
    if memory.topic_key is None:
        return
    other = db.one("topic_id", scope=scope, topic_key=memory.topic_key)
    if other is not None and other[0] != memory.id:
        raise topic_taken(other[0], memory.topic_key)
