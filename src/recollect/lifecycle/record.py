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
from recollect.model.level import NODES, Level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.summary import LONGEST_BULLET, Bullet, Summary

POINT = "- "
"""What each point of a record begins with in its text."""

MOST_CITED = 8
"""How many memories a point names at most: what is coarser rests on what is finer, which has them all."""

NOTES = ("cites", "keywords", "first", "last", "events", "inputs")
"""What rollups keep in the metadata of a record."""

_DIGITS = 24
_SCOPE_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a memory tells of a stretch of time: its points with what they rest on, keywords, its first and last moment,
    and how many events there were.
    """

    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...]
    first: datetime
    last: datetime
    events: int

    @classmethod
    def of(cls, memory: Memory) -> "Record":
        """What the memory tells. Points that were put in by hand rest on all that it is made of."""
        noted = memory.metadata
        cited, keywords = noted.get("cites"), noted.get("keywords")
        points = (line.removeprefix(POINT).strip()[:LONGEST_BULLET] for line in memory.text.splitlines())
        lines = [point for point in points if point]
        cites = [_ids(some) for some in cited] if isinstance(cited, list) else []
        every = tuple(map(MemoryId, memory.derived_from[:MOST_CITED])) or (memory.id,)
        cites = cites if len(cites) == len(lines) else [every] * len(lines)
        return cls(
            bullets=tuple(Bullet(line, some or every) for line, some in zip(lines, cites, strict=True)),
            keywords=_ids(keywords),
            first=_moment(noted.get("first"), memory.created_at),
            last=_moment(noted.get("last"), memory.created_at),
            events=events if type(events := noted.get("events")) is int else 1,
        )

    @property
    def cited(self) -> tuple[MemoryId, ...]:
        """All that its points rest on, each once."""
        return tuple(dict.fromkeys(id for one in self.bullets for id in one.cites))


def _ids(noted: object) -> tuple[MemoryId, ...]:
    """The texts of a list, if it is one; whoever changed it by hand may have put anything there."""
    return tuple(MemoryId(one) for one in noted if isinstance(one, str)) if isinstance(noted, list) else ()


def _moment(text: object, otherwise: datetime) -> datetime:
    """The moment that is noted, if it is one."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else otherwise
    except ValueError:
        return otherwise
    return otherwise if found.tzinfo is None else found


_NOTED = {Level.EPISODE: episodes.NOTES, Level.SESSION: sessions.NOTES}
"""What is noted of records that no rollup made."""


def with_notes(metadata: Mapping[str, Any], record: Memory) -> dict[str, Any]:
    """What somebody notes of a record by hand, with what rollups, episodes or sessions noted of it, which is theirs."""
    notes = NOTES if record.level is None else _NOTED.get(record.level, NOTES)
    return {**metadata, **{name: record.metadata[name] for name in notes if name in record.metadata}}


def told(summary: Summary) -> str:
    """A summary as the text of a memory: one point a line."""
    return "\n".join(f"{POINT}{' '.join(one.text.split())}" for one in summary.bullets)


def noted(summary: Summary, *, first: datetime, last: datetime, events: int, inputs: str) -> dict[str, Any]:
    """What a memory keeps of a summary beside its text; `inputs` tells what it was made of from all else."""
    return {
        "cites": [list(one.cites[:MOST_CITED]) for one in summary.bullets],
        "keywords": list(summary.keywords),
        "first": first.isoformat(),
        "last": last.isoformat(),
        "events": events,
        "inputs": inputs,
    }


def inputs_of(parts: Iterable[Sequence[object]], *, by: str) -> str:
    """A digest that differs whenever anything differs that a record is made of, or by whom."""
    said = json.dumps([by, [[str(one) for one in part] for part in parts]], ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()[:_DIGITS]


def made_of(metadata: Mapping[str, Any]) -> str | None:
    """The digest of what a record was made of."""
    found = metadata.get("inputs")
    return found if isinstance(found, str) else None


def period_id(scope: Scope, period: Period) -> MemoryId:
    """The id of the record of a period: always the same, so that it is found without a search, and made once."""
    return MemoryId(f"{period.level.value}-{period.key}-{_digest(str(scope))[:_SCOPE_DIGITS]}")


def period_of(record: Memory) -> Period | None:
    """The period that a record is of, if it is one that a rollup made of the calendar."""
    if record.level is None or record.level not in NODES:
        return None
    try:
        found = Period.parse(record.level, record.id.removeprefix(f"{record.level.value}-")[: -_SCOPE_DIGITS - 1])
    except FieldError:
        return None
    return found if period_id(record.scope, found) == record.id else None


def stretch_id(level: Level, scope: Scope, *events: MemoryId) -> MemoryId:
    """The id of a segment by its first event, or of a grip by its first and last."""
    return MemoryId(f"{level.value}-{_digest(chr(10).join([str(scope), *events]))[:_DIGITS]}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
