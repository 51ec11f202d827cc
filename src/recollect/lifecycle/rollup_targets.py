"""Wanted: which records there should be of what happened, what each is made of, and what it then says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any

from recollect.lifecycle.periods import Period
from recollect.lifecycle.record import (
    MAX_CITED_MEMORIES,
    RollupRecord,
    build_rollup_metadata,
    digest_inputs,
    make_period_id,
    make_stretch_id,
    render_summary,
)
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, MemoryId, build_embedded_text
from recollect.model.scope import Scope
from recollect.model.summary import Bullet, Passage, Summary
from recollect.model.trust import TRUST_BY_PROVENANCE, Provenance, lowest_trust

MAX_POINTS_BY_LEVEL: Mapping[Level, int] = {
    Level.SEGMENT: 5,
    Level.DAY: 7,
    Level.WEEK: 7,
    Level.MONTH: 10,
    Level.YEAR: 12,
}
"""How many points the records of each level have at most."""

MAX_EXCERPT_CHARS = 4_000
"""How many characters of what was said a grip shows at most."""

_STEP = timedelta(microseconds=1)
"""What sets the points of one record apart, so that they stay in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupTarget:
    """A record that there should be: what it is made of, the passages that it sums up, and a digest of all that."""

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
    """What people call the time that it is of, where the calendar has a name for it."""

    def to_memory(self, summary: Summary, by: Provenance | None) -> Memory:
        """The record with these words, as trusted as the least of its parts, and as who stands between, if any does."""
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
    """The segment of these events, which are in order."""
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
    """The record of a period, made of finer ones, which are in order."""
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
    """What a coarser record takes from the notes of a finer one."""
    return repr([record.metadata.get(name) for name in ("cites", "first", "last", "events")])


def _origin_inputs(part: Memory) -> tuple[str, str]:
    """Through whom a part came, and how far it is trusted: so is what is made of it."""
    return part.provenance.value, part.trust.value


def cite_grips(wanted: RollupTarget, summary: Summary) -> tuple[Summary, list[Memory]]:
    """The summary of a segment with grips cited in place of events, and these: one for each run of events that a point
    names one after the other.
    """
    places = {one.id: place for place, one in enumerate(wanted.parts)}
    grips: dict[MemoryId, Memory] = {}
    bullets = []
    for bullet in summary.bullets:
        runs = [
            _make_grip(wanted, run)
            for run in islice(_consecutive_runs(places[id] for id in bullet.cites), MAX_CITED_MEMORIES)
        ]
        grips.update({one.id: one for one in runs})
        bullets.append(Bullet(bullet.text, tuple(one.id for one in runs)))
    return Summary(title=summary.title, bullets=tuple(bullets), keywords=summary.keywords), list(grips.values())


def _consecutive_runs(places: Iterable[int]) -> Iterator[list[int]]:
    """Places that follow each other, together."""
    for _, run in groupby(enumerate(sorted(set(places))), key=lambda pair: pair[1] - pair[0]):
        yield [place for _, place in run]


def _make_grip(wanted: RollupTarget, run: Sequence[int]) -> Memory:
    """The excerpt that these events of a segment are."""
    events = wanted.parts[run[0] : run[-1] + 1]
    said = "\n".join(map(_attribute, events))
    inputs = digest_inputs(((one.id, one.speaker or "", one.text) for one in events), by="")
    return _make_record(
        make_stretch_id(Level.GRIP, wanted.scope, events[0].id, events[-1].id),
        wanted.scope,
        Level.GRIP,
        events,
        title=None,
        text=said if len(said) <= MAX_EXCERPT_CHARS else f"{said[: MAX_EXCERPT_CHARS - 1]}…",
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
    """What was said, after the name of who said it, once."""
    said = build_embedded_text(None, event.text, event.speaker)
    return said if event.speaker is None else f"{event.speaker}: {said}"


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
    """A record, through whoever of its parts is trusted least, and trusted no more than any of them."""
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
