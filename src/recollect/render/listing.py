"""Memories in a list, and figures of many: what the row of each says."""

from collections.abc import Iterable, Mapping
from datetime import UTC

from recollect.model.format import format_moment, make_printable
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.stats import Stats
from recollect.ranking.result import Ranking
from recollect.render.table import TextTable
from recollect.render.text import describe_replacement, format_day, format_headline, format_marks

Replacements = Mapping[MemoryId, Memory]
"""The memories that took the place of others, as far as they are known."""


def ranking_table(ranking: Ranking, instead: Replacements | None = None) -> TextTable:
    """What a search found, best first."""
    rows = [
        (
            f"{float(one.score):.3f}",
            one.id,
            one.memory.kind.value,
            format_day(one.memory),
            _memory_text(one.memory, instead),
        )
        for one in ranking
    ]
    return TextTable(("score", "id", "kind", "date", "text"), rows)


def memory_table(memories: Iterable[Memory], instead: Replacements | None = None) -> TextTable:
    """Memories in the order given."""
    rows = [
        (one.id, str(one.scope), one.kind.value, format_day(one), format_marks(one), _memory_text(one, instead))
        for one in memories
    ]
    return TextTable(("id", "scope", "kind", "date", "marks", "text"), rows)


def version_table(versions: Iterable[Memory], instead: Replacements | None = None) -> TextTable:
    """The versions of one memory in the order given, each with when the store took it in, and by which run."""
    rows = [
        (
            str(one.revisions),
            "" if one.recorded_at is None else format_moment(one.recorded_at),
            "" if one.commit is None else str(one.commit),
            format_marks(one),
            _memory_text(one, instead),
        )
        for one in versions
    ]
    return TextTable(("revision", "recorded", "run", "marks", "text"), rows)


def _memory_text(memory: Memory, instead: Replacements | None) -> str:
    """What it says, behind until when it holds, if it ends, and before what took its place or keeps it apart."""
    until = "" if memory.valid_until is None else f"[until {memory.valid_until.astimezone(UTC).date().isoformat()}] "
    by = None if instead is None or memory.superseded_by is None else instead.get(memory.superseded_by)
    apart = memory.remark if memory.status is Status.QUARANTINED else None
    behind = "".join(f" [{make_printable(why)}]" for why in (describe_replacement(memory, by), apart) if why)
    return f"{until}{format_headline(memory)}{behind}"


def stats_table(stats: Stats) -> TextTable:
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
    return TextTable(("what", "count", "which"), [(what, str(count), which) for what, count, which in rows])
