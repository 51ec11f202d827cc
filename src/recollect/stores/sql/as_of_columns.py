"""Former: the shelf of a scope as it stood after a commit, with the usage and the votes known then."""

import json
from collections.abc import Iterator, Mapping, Sequence

from recollect.model.usage import standing, tally_votes
from recollect.retrieval.scope_columns import Shelf, Stamp
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row, Session

Used = Mapping[int, tuple[float, float, float, float | None]]
"""By the number of a memory, how often it was served, helped and misled, and when it was last served."""


def former(db: Session, known: Shelf, number: int, encoder: int, stamp: Stamp) -> Shelf:
    """The shelf of the scope of that number as it stood after the commit of the stamp, made of one that stood before;
    from an empty one everything is read.
    """
    after = known.stamp.changed
    given = {"scope": number, "commit": stamp.changed, "after": after}
    unshared = not known.only_shared or after > 0  # one that is shared no longer must be seen to leave
    found = db.all("entries_known_at", encoder=encoder, unshared=unshared, **given)
    used = _used(db, known, given, {row[0] for row in found})
    shelf = known.with_rows(_with_use(found, used), stamp, most=len(found))
    return shelf.with_uses([(memory, *use) for memory, use in used.items()], stamp) if after else shelf


def _used(db: Session, known: Shelf, given: Mapping[str, object], anew: set[int]) -> Used:
    """What had happened until then to the memories to which anything did since, and to those that are read anew."""
    served = {memory: (count, last) for memory, count, last in db.all("served_known_at", **given)}
    cast = {**rows.by_memory(db.all("votes_known_at", **given))}
    before = known.used(anew | served.keys() | cast.keys())
    unknown = anew - before.keys() if given["after"] else set[int]()  # new ones, and those that were away until now
    if unknown:
        of = {"memories": json.dumps(list(unknown)), "commit": given["commit"]}
        served |= {memory: (count, last) for memory, count, last in db.all("served_until", **of)}
        cast |= rows.by_memory(db.all("votes_until", **of))
    found = dict[int, tuple[float, float, float, float | None]]()
    for memory in anew | served.keys() | cast.keys():
        count, helped, misled, last = before.get(memory, (0, 0, 0, None))
        count, last = served.get(memory, (count, last))
        if memory in cast:
            helped, misled = tally_votes(standing(rows.vote(memory, *row) for row in cast[memory]))
        found[memory] = count, helped, misled, last
    return found


def _with_use(found: list[Row], used: Used) -> Iterator[Row]:
    """The rows as a shelf takes them, with what had happened to each."""
    for *start, session, speaker, end, names, terms, vector in found:
        yield (*start, *used[start[0]], session, speaker, end, names, terms, vector)


def has_departed(states: Sequence[Row], changed: int, commit: int) -> bool:
    """Whether a memory lost the direction of a state after a commit, when one of the same content left the index.

    The state is the last one of a commit, or the version of a number below zero; all of them are given, in their order.
    """
    content = next((own for number, at, own, _ in reversed(states) if changed in (at, -number)), None)
    left = [at for _, at, own, has_left in states if own == content and has_left]
    return bool(left) and min(left) > commit
