"""Rollups: cut sessions into segments, and build the records of segments and periods.

In order: the segments of a session; what a record keeps in its text and metadata; the checkpoint of a scope's rollup,
kept from one run to the next; and the targets, the records that should exist, with their inputs.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any

from recollect.errors import FieldError
from recollect.lifecycle import episodes, sessions
from recollect.lifecycle.periods import Period
from recollect.model.enums import CALENDAR_LEVELS, TRUST_BY_PROVENANCE, Kind, Level, Provenance, lowest_trust
from recollect.model.memory import Memory, MemoryId, build_embedded_text
from recollect.model.scope import Scope
from recollect.model.timeline import MAX_BULLET_CHARS, Bullet, Passage, Summary

DEFAULT_SEGMENT_GAP = timedelta(minutes=30)
"""The longest gap between two events of a segment."""

DEFAULT_SEGMENT_TOKENS = 4_000
"""How many tokens a segment has at most, unless a single event has more."""

MAX_SEGMENT_EVENTS = 512
"""How many events a segment has at most, however short they are."""


def group_by_session(events: Iterable[Memory]) -> list[list[Memory]]:
    """Group events by session, in order of their first events.

    The events without a session are one group.
    """
    groups = dict[str | None, list[Memory]]()
    for event in sorted(events, key=_event_key):
        groups.setdefault(event.session, []).append(event)
    return list(groups.values())


def split_into_segments(
    events: Iterable[Memory],
    *,
    gap: timedelta = DEFAULT_SEGMENT_GAP,
    most_tokens: int = DEFAULT_SEGMENT_TOKENS,
    count: Callable[[str], int],
) -> list[tuple[Memory, ...]]:
    """Split the events of one session into segments, ordered by time and id.

    A segment ends before a gap that is too long, and before an event that would make it too long. A late event changes
    the segment it falls into, or joins two. It changes later segments only up to the next gap, and only if it makes one
    too long.
    """
    stretches, tokens = list[list[Memory]](), 0
    for event in sorted(events, key=_event_key):
        more = count(event.text)
        if stretches and _continues_segment(stretches[-1], event, gap) and tokens + more <= most_tokens:
            stretches[-1].append(event)
            tokens += more
        else:
            stretches.append([event])
            tokens = more
    return [tuple(stretch) for stretch in stretches]


def is_segment_closed(
    stretch: Sequence[Memory], later: bool, now: datetime, gap: timedelta = DEFAULT_SEGMENT_GAP
) -> bool:
    """Return whether no future event can belong to the segment.

    This is the case if a later segment of the session has begun, or the gap has passed since its last event.
    """
    return later or now - stretch[-1].created_at > gap


def _continues_segment(stretch: Sequence[Memory], event: Memory, gap: timedelta) -> bool:
    """Return whether the event follows the segment within the gap, and the segment has room for it."""
    return event.created_at - stretch[-1].created_at <= gap and len(stretch) < MAX_SEGMENT_EVENTS


def _event_key(event: Memory) -> tuple[datetime, MemoryId]:
    return event.created_at, event.id


BULLET_PREFIX = "- "
"""The start of each bullet in the text of a record."""

MAX_CITED_MEMORIES = 8
"""How many memories a bullet cites; a coarse record cites finer ones, which cite the rest."""

ROLLUP_METADATA_FIELDS = ("cites", "keywords", "first", "last", "events", "inputs")
"""The metadata fields that rollups write."""

_DIGEST_DIGITS = 24
_SCOPE_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupRecord:
    """The content of a rollup record: bullets with citations, keywords, time span, event count."""

    bullets: tuple[Bullet, ...]
    keywords: tuple[str, ...]
    first: datetime
    last: datetime
    events: int

    @classmethod
    def of(cls, memory: Memory) -> "RollupRecord":
        """Read the content of a record; bullets edited by hand cite all its sources."""
        metadata = memory.metadata
        cited, keywords = metadata.get("cites"), metadata.get("keywords")
        points = (line.removeprefix(BULLET_PREFIX).strip()[:MAX_BULLET_CHARS] for line in memory.text.splitlines())
        lines = [point for point in points if point]
        cites = [_read_ids(some) for some in cited] if isinstance(cited, list) else []
        every = tuple(map(MemoryId, memory.derived_from[:MAX_CITED_MEMORIES])) or (memory.id,)
        cites = cites if len(cites) == len(lines) else [every] * len(lines)
        return cls(
            bullets=tuple(Bullet(line, some or every) for line, some in zip(lines, cites, strict=True)),
            keywords=_read_ids(keywords),
            first=_read_moment(metadata.get("first"), memory.created_at),
            last=_read_moment(metadata.get("last"), memory.created_at),
            events=events if type(events := metadata.get("events")) is int else 1,
        )

    @property
    def cited_ids(self) -> tuple[MemoryId, ...]:
        """All ids that its bullets cite, without duplicates."""
        return tuple(dict.fromkeys(id for one in self.bullets for id in one.cites))


def _read_ids(stored: object) -> tuple[MemoryId, ...]:
    """Read the ids from a list; a manual edit may have put anything there."""
    return tuple(MemoryId(one) for one in stored if isinstance(one, str)) if isinstance(stored, list) else ()


def _read_moment(text: object, otherwise: datetime) -> datetime:
    """Read a stored time, or return `otherwise` if it is invalid."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else otherwise
    except ValueError:
        return otherwise
    return otherwise if moment.tzinfo is None else moment


_METADATA_FIELDS_BY_LEVEL = {
    Level.EPISODE: episodes.EPISODE_METADATA_FIELDS,
    Level.SESSION: sessions.SESSION_METADATA_FIELDS,
}
"""The metadata fields of records that are not made by a rollup."""


def keep_metadata(metadata: Mapping[str, Any], record: Memory) -> dict[str, Any]:
    """Return metadata set by hand, with the fields that rollups, episodes or sessions own kept."""
    owned = (
        ROLLUP_METADATA_FIELDS
        if record.level is None
        else _METADATA_FIELDS_BY_LEVEL.get(record.level, ROLLUP_METADATA_FIELDS)
    )
    return {**metadata, **{name: record.metadata[name] for name in owned if name in record.metadata}}


def render_summary(summary: Summary) -> str:
    """Return a summary as the text of a memory: one bullet a line."""
    return "\n".join(f"{BULLET_PREFIX}{' '.join(one.text.split())}" for one in summary.bullets)


def build_rollup_metadata(
    summary: Summary, *, first: datetime, last: datetime, events: int, inputs: str
) -> dict[str, Any]:
    """Return the metadata for a summary; `inputs` is the digest of its sources."""
    return {
        "cites": [list(one.cites[:MAX_CITED_MEMORIES]) for one in summary.bullets],
        "keywords": list(summary.keywords),
        "first": first.isoformat(),
        "last": last.isoformat(),
        "events": events,
        "inputs": inputs,
    }


def digest_inputs(parts: Iterable[Sequence[object]], *, by: str) -> str:
    """Return a digest that changes whenever an input of a record or its maker changes."""
    serialized = json.dumps([by, [[str(one) for one in part] for part in parts]], ensure_ascii=True)
    return hashlib.sha256(serialized.encode()).hexdigest()[:_DIGEST_DIGITS]


def read_inputs(metadata: Mapping[str, Any]) -> str | None:
    """Read the digest of a record's inputs."""
    digest = metadata.get("inputs")
    return digest if isinstance(digest, str) else None


def make_period_id(scope: Scope, period: Period) -> MemoryId:
    """Return the id of a period's record.

    The id is derived, so that the record is found without a search and made only once.
    """
    return MemoryId(f"{period.level.value}-{period.key}-{_digest(str(scope))[:_SCOPE_DIGITS]}")


def period_of(record: Memory) -> Period | None:
    """Return the period of a record, or `None` if no rollup of a period made it."""
    if record.level is None or record.level not in CALENDAR_LEVELS:
        return None
    try:
        period = Period.parse(record.level, record.id.removeprefix(f"{record.level.value}-")[: -_SCOPE_DIGITS - 1])
    except FieldError:
        return None
    return period if make_period_id(record.scope, period) == record.id else None


def make_stretch_id(level: Level, scope: Scope, *events: MemoryId) -> MemoryId:
    """Return the id of a segment, from its first event, or of a grip, from its first and last."""
    return MemoryId(f"{level.value}-{_digest(chr(10).join([str(scope), *events]))[:_DIGEST_DIGITS]}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class RollupCheckpoint:
    """How far a rollup got: the last commits seen, the rules, and the periods under way.

    An erasure removes the checkpoint; `token` distinguishes a new one from the one before.
    """

    commits: Mapping[Level, int]
    by: str
    under_way: tuple[Period, ...]
    token: str

    @classmethod
    def read(cls, text: str | None, by: str) -> "RollupCheckpoint | None":
        """Read a checkpoint; if the rules have changed, only the token is kept."""
        if text is None:
            return None
        stored = json.loads(text)
        if stored["by"] != by:
            return cls({}, "", (), stored["token"])
        under_way = tuple(Period.parse(Level(level), key) for level, key in stored["under_way"])
        return cls(
            {Level(level): commit for level, commit in stored["commits"].items()}, by, under_way, stored["token"]
        )

    def to_json(self) -> str:
        """Return the checkpoint as JSON."""
        under_way = [[one.level.value, one.key] for one in self.under_way]
        return json.dumps({"commits": self.commits, "by": self.by, "under_way": under_way, "token": self.token})


MAX_POINTS_BY_LEVEL: Mapping[Level, int] = {
    Level.SEGMENT: 5,
    Level.DAY: 7,
    Level.WEEK: 7,
    Level.MONTH: 10,
    Level.YEAR: 12,
}
"""How many bullets the records of each level have at most."""

MAX_EXCERPT_CHARS = 4_000
"""How many characters of events a grip shows."""

_STEP = timedelta(microseconds=1)
"""The time between the bullets of one record as passages, which keeps their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupTarget:
    """A record that should exist: its parts, the passages to summarize, and their digest."""

    id: MemoryId
    scope: Scope
    level: Level
    parts: tuple[Memory, ...]
    passages: tuple[Passage, ...]
    first: datetime
    last: datetime
    events: int
    inputs: str
    period_name: str | None = None
    """The name of the period, for a calendar level."""

    def to_memory(self, summary: Summary, by: Provenance | None) -> Memory:
        """Build the record; its trust is the lowest of its parts, and of `by` if it is given."""
        return _make_record(
            self.id,
            self.scope,
            self.level,
            self.parts,
            title=summary.title if self.period_name is None else f"{self.period_name}: {summary.title}",
            text=render_summary(summary),
            at=self.last,
            by=by,
            metadata=build_rollup_metadata(
                summary, first=self.first, last=self.last, events=self.events, inputs=self.inputs
            ),
        )


def segment_target(scope: Scope, events: Sequence[Memory], *, by: str) -> RollupTarget:
    """Return the target for a segment of these events, which are in order."""
    return RollupTarget(
        id=make_stretch_id(Level.SEGMENT, scope, events[0].id),
        scope=scope,
        level=Level.SEGMENT,
        parts=tuple(events),
        passages=tuple(
            Passage(text=one.text, at=one.created_at, cites=(one.id,), speaker=one.speaker) for one in events
        ),
        first=events[0].created_at,
        last=events[-1].created_at,
        events=len(events),
        inputs=digest_inputs(((one.id, one.speaker or "", one.text, *_origin_inputs(one)) for one in events), by=by),
    )


def period_target(scope: Scope, period: Period, parts: Sequence[Memory], *, by: str) -> RollupTarget:
    """Return the target for a period, made from finer records, which are in order."""
    records = [RollupRecord.of(one) for one in parts]
    return RollupTarget(
        id=make_period_id(scope, period),
        scope=scope,
        level=period.level,
        parts=tuple(parts),
        passages=tuple(
            Passage(text=one.text, at=record.last + place * _STEP, cites=one.cites)
            for record in records
            for place, one in enumerate(record.bullets)
        ),
        first=min(one.first for one in records),
        last=max(one.last for one in records),
        events=sum(one.events for one in records),
        inputs=digest_inputs(
            ((one.id, one.title or "", one.text, _metadata_inputs(one), *_origin_inputs(one)) for one in parts), by=by
        ),
        period_name=str(period),
    )


def _metadata_inputs(record: Memory) -> str:
    """Return the metadata of a finer record that a coarser one depends on."""
    return repr([record.metadata.get(name) for name in ("cites", "first", "last", "events")])


def _origin_inputs(part: Memory) -> tuple[str, str]:
    """Return the provenance and trust of a part, which the record inherits."""
    return part.provenance.value, part.trust.value


def cite_grips(target: RollupTarget, summary: Summary) -> tuple[Summary, list[Memory]]:
    """Return the summary of a segment with grips cited in place of events, and the grips.

    Each run of consecutive events that a bullet cites becomes one grip.
    """
    places = {one.id: place for place, one in enumerate(target.parts)}
    grips: dict[MemoryId, Memory] = {}
    bullets = []
    for bullet in summary.bullets:
        runs = [
            _make_grip(target, run)
            for run in islice(_consecutive_runs(places[id] for id in bullet.cites), MAX_CITED_MEMORIES)
        ]
        grips.update({one.id: one for one in runs})
        bullets.append(Bullet(bullet.text, tuple(one.id for one in runs)))
    return Summary(title=summary.title, bullets=tuple(bullets), keywords=summary.keywords), list(grips.values())


def _consecutive_runs(places: Iterable[int]) -> Iterator[list[int]]:
    """Yield the runs of consecutive indexes."""
    for _, run in groupby(enumerate(sorted(set(places))), key=lambda pair: pair[1] - pair[0]):
        yield [place for _, place in run]


def _make_grip(target: RollupTarget, run: Sequence[int]) -> Memory:
    """Build the excerpt of these events of a segment."""
    events = target.parts[run[0] : run[-1] + 1]
    excerpt = "\n".join(map(_attribute, events))
    inputs = digest_inputs(((one.id, one.speaker or "", one.text) for one in events), by="")
    return _make_record(
        make_stretch_id(Level.GRIP, target.scope, events[0].id, events[-1].id),
        target.scope,
        Level.GRIP,
        events,
        title=None,
        text=excerpt if len(excerpt) <= MAX_EXCERPT_CHARS else f"{excerpt[: MAX_EXCERPT_CHARS - 1]}…",
        at=events[-1].created_at,
        by=None,
        metadata={
            "first": events[0].created_at.isoformat(),
            "last": events[-1].created_at.isoformat(),
            "events": len(events),
            "inputs": inputs,
        },
    )


def _attribute(event: Memory) -> str:
    """Return the text after the speaker's name, which occurs once."""
    text = build_embedded_text(None, event.text, event.speaker)
    return text if event.speaker is None else f"{event.speaker}: {text}"


def _make_record(
    id: MemoryId,
    scope: Scope,
    level: Level,
    parts: Sequence[Memory],
    *,
    title: str | None,
    text: str,
    at: datetime,
    by: Provenance | None,
    metadata: Mapping[str, Any],
) -> Memory:
    """Build a record with the provenance of its least trusted part, and the lowest trust of all."""
    through = [one.provenance for one in parts] if by is None else [by, *(one.provenance for one in parts)]
    provenance = min(through, key=lambda one: TRUST_BY_PROVENANCE[one].level)
    return Memory(
        id=id,
        scope=scope,
        level=level,
        kind=Kind.EVENT if level is Level.GRIP else Kind.SUMMARY,
        title=title,
        text=text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        provenance=provenance,
        trust=lowest_trust([TRUST_BY_PROVENANCE[provenance], *(one.trust for one in parts)]),
        derived_from=tuple(one.id for one in parts),
        metadata=metadata,
    )
