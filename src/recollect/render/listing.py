"""Memories in a list, and figures of many: what the row of each says."""

from collections.abc import Iterable, Mapping
from datetime import UTC

from recollect.model.format import moment, printable
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.stats import Stats
from recollect.ranking.result import Ranking
from recollect.render.table import Table
from recollect.render.text import date, headline, marks, replaced

Replacements = Mapping[MemoryId, Memory]
"""The memories that took the place of others, as far as they are known."""


def found(ranking: Ranking, instead: Replacements | None = None) -> Table:
    """What a search found, best first."""
    rows = [
        (f"{float(one.score):.3f}", one.id, one.memory.kind.value, date(one.memory), _said(one.memory, instead))
        for one in ranking
    ]
    return Table(("score", "id", "kind", "date", "text"), rows)


def memories(memories: Iterable[Memory], instead: Replacements | None = None) -> Table:
    """Memories in the order given."""
    rows = [(one.id, str(one.scope), one.kind.value, date(one), marks(one), _said(one, instead)) for one in memories]
    return Table(("id", "scope", "kind", "date", "marks", "text"), rows)


def versions(versions: Iterable[Memory], instead: Replacements | None = None) -> Table:
    """The versions of one memory in the order given, each with when the store took it in, and by which run."""
    rows = [
        (
            str(one.revisions),
            "" if one.recorded_at is None else moment(one.recorded_at),
            "" if one.commit is None else str(one.commit),
            marks(one),
            _said(one, instead),
        )
        for one in versions
    ]
    return Table(("revision", "recorded", "run", "marks", "text"), rows)


def _said(memory: Memory, instead: Replacements | None) -> str:
    """What it says, behind until when it holds, if it ends, and before what took its place or keeps it apart."""
    until = "" if memory.valid_until is None else f"[until {memory.valid_until.astimezone(UTC).date().isoformat()}] "
    by = None if instead is None or memory.superseded_by is None else instead.get(memory.superseded_by)
    apart = memory.remark if memory.status is Status.QUARANTINED else None
    behind = "".join(f" [{printable(why)}]" for why in (replaced(memory, by), apart) if why)
    return f"{until}{headline(memory)}{behind}"


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
