"""Former: the shelf of a scope as it stood after a commit, with the usage and the votes known then."""

import json
from collections.abc import Iterator, Mapping, Sequence

from recollect.model.usage import count_votes, select_current_votes
from recollect.retrieval.scope_columns import ColumnsVersion, ScopeColumns
from recollect.stores.sql import rows
from recollect.stores.sql.transaction import Row, Transaction

UsageByMemory = Mapping[int, tuple[float, float, float, float | None]]
"""By the number of a memory, how often it was served, helped and misled, and when it was last served."""


def read_columns_as_of(
    db: Transaction, known: ScopeColumns, number: int, encoder: int, stamp: ColumnsVersion
) -> ScopeColumns:
    """The shelf of the scope of that number as it stood after the commit of the stamp, made of one that stood before;
    from an empty one everything is read.
    """
    after = known.stamp.changed
    given = {"scope": number, "commit": stamp.changed, "after": after}
    unshared = not known.only_shared or after > 0  # one that is shared no longer must be seen to leave
    found = db.fetch_all("entries_known_at", encoder=encoder, unshared=unshared, **given)
    used = _read_usage_as_of(db, known, given, {row[0] for row in found})
    shelf = known.with_rows(_with_usage(found, used), stamp, most=len(found))
    return shelf.with_uses([(memory, *use) for memory, use in used.items()], stamp) if after else shelf


def _read_usage_as_of(
    db: Transaction, known: ScopeColumns, given: Mapping[str, object], anew: set[int]
) -> UsageByMemory:
    """What had happened until then to the memories to which anything did since, and to those that are read anew."""
    served = {memory: (count, last) for memory, count, last in db.fetch_all("served_known_at", **given)}
    cast = {**rows.group_by_memory(db.fetch_all("votes_known_at", **given))}
    before = known.usage_by_number(anew | served.keys() | cast.keys())
    unknown = anew - before.keys() if given["after"] else set[int]()  # new ones, and those that were away until now
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
    """The rows as a shelf takes them, with what had happened to each."""
    for *start, session, speaker, end, names, terms, vector in found:
        yield (*start, *used[start[0]], session, speaker, end, names, terms, vector)


def has_lost_vector(states: Sequence[Row], changed: int, commit: int) -> bool:
    """Whether a memory lost the direction of a state after a commit, when one of the same content left the index.

    The state is the last one of a commit, or the version of a number below zero; all of them are given, in their order.
    """
    content = next((own for number, at, own, _ in reversed(states) if changed in (at, -number)), None)
    left = [at for _, at, own, has_left in states if own == content and has_left]
    return bool(left) and min(left) > commit
