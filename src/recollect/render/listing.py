"""Memories in a list, and figures of many: what the row of each says."""

from collections.abc import Iterable

from recollect.model.memory import Memory
from recollect.model.stats import Stats
from recollect.ranking.result import Ranking
from recollect.render.table import Table
from recollect.render.text import date, headline, marks, moment


def found(ranking: Ranking) -> Table:
    """What a search found, best first."""
    rows = [
        (f"{float(one.score):.3f}", one.id, one.memory.kind.value, date(one.memory), headline(one.memory))
        for one in ranking
    ]
    return Table(("score", "id", "kind", "date", "text"), rows)


def memories(memories: Iterable[Memory]) -> Table:
    """Memories in the order given."""
    rows = [(one.id, str(one.scope), one.kind.value, date(one), marks(one), headline(one)) for one in memories]
    return Table(("id", "scope", "kind", "date", "marks", "text"), rows)


def versions(versions: Iterable[Memory]) -> Table:
    """The versions of one memory in the order given, each with when the store took it in."""
    rows = [
        (str(one.revisions), "" if one.recorded_at is None else moment(one.recorded_at), marks(one), headline(one))
        for one in versions
    ]
    return Table(("revision", "recorded", "marks", "text"), rows)


def stats(stats: Stats) -> Table:
    """How much there is, one figure a row, with which of them it counts."""
    rows = [
        ("memories", stats.memories, ""),
        *(("status", count, status.value) for status, count in stats.statuses.items()),
        *(("kind", count, kind.value) for kind, count in stats.kinds.items()),
        ("scopes", stats.scopes, ""),
        *(("scope", count, str(scope)) for scope, count in stats.largest),
        ("versions", stats.versions, ""),
        ("contexts", stats.contexts, ""),
        *(("use", count, use.value) for use, count in stats.uses.items()),
        ("unembedded", stats.unembedded, ""),
        *(("dimensions", one.dimensions, one.name) for one in [stats.encoder] if one is not None),
        ("schema", stats.schema, f"analyser {stats.analyser}"),
        ("bytes", stats.bytes, ""),
    ]
    return Table(("what", "count", "which"), [(what, str(count), which) for what, count, which in rows])
