"""Record: what a memory of some level tells of the time it is about, and how that is kept in it."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.errors import FieldError
from recollect.lifecycle import episodes, sessions
from recollect.lifecycle.periods import Period
from recollect.model.level import CALENDAR_LEVELS, Level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.summary import MAX_BULLET_CHARS, Bullet, Summary

BULLET_PREFIX = "- "
"""What each point of a record begins with in its text."""

MAX_CITED_MEMORIES = 8
"""How many memories a point names at most: what is coarser rests on what is finer, which has them all."""

ROLLUP_METADATA_FIELDS = ("cites", "keywords", "first", "last", "events", "inputs")
"""What rollups keep in the metadata of a record."""

_DIGEST_DIGITS = 24
_SCOPE_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupRecord:
    """What a memory tells of a stretch of time: its points with what they rest on, keywords, its first and last moment,
    and how many events there were.
    """

    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...]
    first: datetime
    last: datetime
    events: int

    @classmethod
    def of(cls, memory: Memory) -> "RollupRecord":
        """What the memory tells. Points that were put in by hand rest on all that it is made of."""
        noted = memory.metadata
        cited, keywords = noted.get("cites"), noted.get("keywords")
        points = (line.removeprefix(BULLET_PREFIX).strip()[:MAX_BULLET_CHARS] for line in memory.text.splitlines())
        lines = [point for point in points if point]
        cites = [_read_ids(some) for some in cited] if isinstance(cited, list) else []
        every = tuple(map(MemoryId, memory.derived_from[:MAX_CITED_MEMORIES])) or (memory.id,)
        cites = cites if len(cites) == len(lines) else [every] * len(lines)
        return cls(
            bullets=tuple(Bullet(line, some or every) for line, some in zip(lines, cites, strict=True)),
            keywords=_read_ids(keywords),
            first=_read_moment(noted.get("first"), memory.created_at),
            last=_read_moment(noted.get("last"), memory.created_at),
            events=events if type(events := noted.get("events")) is int else 1,
        )

    @property
    def cited_ids(self) -> tuple[MemoryId, ...]:
        """All that its points rest on, each once."""
        return tuple(dict.fromkeys(id for one in self.bullets for id in one.cites))


def _read_ids(noted: object) -> tuple[MemoryId, ...]:
    """The texts of a list, if it is one; whoever changed it by hand may have put anything there."""
    return tuple(MemoryId(one) for one in noted if isinstance(one, str)) if isinstance(noted, list) else ()


def _read_moment(text: object, otherwise: datetime) -> datetime:
    """The moment that is noted, if it is one."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else otherwise
    except ValueError:
        return otherwise
    return otherwise if found.tzinfo is None else found


_METADATA_FIELDS_BY_LEVEL = {
    Level.EPISODE: episodes.EPISODE_METADATA_FIELDS,
    Level.SESSION: sessions.SESSION_METADATA_FIELDS,
}
"""What is noted of records that no rollup made."""


def keep_metadata(metadata: Mapping[str, Any], record: Memory) -> dict[str, Any]:
    """What somebody notes of a record by hand, with what rollups, episodes or sessions noted of it, which is theirs."""
    notes = (
        ROLLUP_METADATA_FIELDS
        if record.level is None
        else _METADATA_FIELDS_BY_LEVEL.get(record.level, ROLLUP_METADATA_FIELDS)
    )
    return {**metadata, **{name: record.metadata[name] for name in notes if name in record.metadata}}


def render_summary(summary: Summary) -> str:
    """A summary as the text of a memory: one point a line."""
    return "\n".join(f"{BULLET_PREFIX}{' '.join(one.text.split())}" for one in summary.bullets)


def build_rollup_metadata(
    summary: Summary, *, first: datetime, last: datetime, events: int, inputs: str
) -> dict[str, Any]:
    """What a memory keeps of a summary beside its text; `inputs` tells what it was made of from all else."""
    return {
        "cites": [list(one.cites[:MAX_CITED_MEMORIES]) for one in summary.bullets],
        "keywords": list(summary.keywords),
        "first": first.isoformat(),
        "last": last.isoformat(),
        "events": events,
        "inputs": inputs,
    }


def digest_inputs(parts: Iterable[Sequence[object]], *, by: str) -> str:
    """A digest that differs whenever anything differs that a record is made of, or by whom."""
    said = json.dumps([by, [[str(one) for one in part] for part in parts]], ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()[:_DIGEST_DIGITS]


def read_inputs(metadata: Mapping[str, Any]) -> str | None:
    """The digest of what a record was made of."""
    found = metadata.get("inputs")
    return found if isinstance(found, str) else None


def make_period_id(scope: Scope, period: Period) -> MemoryId:
    """The id of the record of a period: always the same, so that it is found without a search, and made once."""
    return MemoryId(f"{period.level.value}-{period.key}-{_digest(str(scope))[:_SCOPE_DIGITS]}")


def period_of(record: Memory) -> Period | None:
    """The period that a record is of, if it is one that a rollup made of the calendar."""
    if record.level is None or record.level not in CALENDAR_LEVELS:
        return None
    try:
        found = Period.parse(record.level, record.id.removeprefix(f"{record.level.value}-")[: -_SCOPE_DIGITS - 1])
    except FieldError:
        return None
    return found if make_period_id(record.scope, found) == record.id else None


def make_stretch_id(level: Level, scope: Scope, *events: MemoryId) -> MemoryId:
    """The id of a segment by its first event, or of a grip by its first and last."""
    return MemoryId(f"{level.value}-{_digest(chr(10).join([str(scope), *events]))[:_DIGEST_DIGITS]}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
