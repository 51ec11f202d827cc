"""The timeline, told: as JSON, and to people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from recollect.model.format import format_count, format_moment, make_printable, shorten
from recollect.model.level import Level
from recollect.model.memory import Memory
from recollect.model.rollup import RollupReport
from recollect.model.timeline import GripExpansion, TimelineNode, TimelinePage
from recollect.render import json_values
from recollect.render.styles import Paint, TextStyle, paint_plain
from recollect.render.table import TextTable


def timeline_fields(found: TimelinePage) -> dict[str, Any]:
    """The JSON of a place with what is below it."""
    return {
        "place": None if found.place is None else _place_fields(found.place),
        "parts": [_place_fields(one) for one in found.parts],
        "grips": [_place_fields(one) for one in found.grips],
    }


def _place_fields(place: TimelineNode) -> dict[str, Any]:
    return {
        "level": place.level.value,
        "key": place.key,
        "title": place.title,
        "first": place.first.isoformat(),
        "last": place.last.isoformat(),
        "record": None if place.record is None else json_values.memory_fields(place.record),
    }


def format_place_heading(found: TimelinePage, paint: Paint = paint_plain) -> Iterator[str]:
    """What a place is called and what its record says, if there is one."""
    place = found.place
    if place is None:
        return
    yield paint(TextStyle.STRONG, make_printable(place.title))
    if place.record is None:
        later = "under way, or not summed up yet: `recollect admin rollup` does"
        yield paint(TextStyle.FAINT, later if found.parts else "nothing is known to have happened")
    elif place.level in (Level.EVENT, Level.GRIP):
        yield paint(TextStyle.FAINT, format_moment(place.record.created_at))
        yield from map(make_printable, place.record.text.splitlines())
    else:
        yield from map(make_printable, place.record.text.splitlines())


def place_table(found: TimelinePage) -> TextTable:
    """What is below a place, one a row: its level, the key by which one goes there, and what it is called."""
    rows = [(one.level.value, one.key, one.title) for one in (*found.parts, *found.grips)]
    return TextTable(("level", "key", "title"), rows)


def expansion_fields(found: GripExpansion) -> dict[str, Any]:
    """The JSON of the events that a grip rests on."""
    return {
        "record": json_values.memory_fields(found.record),
        **{
            name: [json_values.memory_fields(one) for one in getattr(found, name)]
            for name in ("before", "events", "after")
        },
        "gone": list(found.gone),
    }


def event_table(found: GripExpansion) -> TextTable:
    """The same, one event a row; those that the grip is of are marked."""
    rows = [*_event_rows(found.before, ""), *_event_rows(found.events, "*"), *_event_rows(found.after, "")]
    return TextTable(("", "id", "moment", "speaker", "text"), rows)


def _event_rows(events: Sequence[Memory], mark: str) -> list[tuple[str, ...]]:
    return [
        (mark, one.id, format_moment(one.created_at), one.speaker or "", shorten(one.text, 2_000)) for one in events
    ]


def rollup_fields(found: RollupReport) -> dict[str, Any]:
    """The JSON of what a rollup did."""
    counts = ("made", "revised", "archived", "unchanged")
    return {
        "scope": str(found.scope),
        **{name: {level.value: getattr(found, name)[level] for level in getattr(found, name)} for name in counts},
        "under_way": found.under_way,
        **asdict(found.spent),
        "cost": found.cost,
    }


def describe_rollup(found: RollupReport) -> str:
    """The same in a sentence."""
    parts = [
        f"{what} {_count_levels(counts)}"
        for what, counts in (("made", found.made), ("made anew", found.revised), ("put away", found.archived))
        if counts
    ]
    told = "; ".join(parts) or "all records are as they should be"
    later = f" ({format_count(found.under_way, 'period')} under way)" if found.under_way else ""
    return f"{found.scope}: {told}{later}{_describe_model_usage(found)}"


def _describe_model_usage(found: RollupReport) -> str:
    """What was asked of a model, if anything was."""
    spent = found.spent
    if not spent.calls:
        return ""
    cost = "" if found.cost is None else f", cost {found.cost:g}"
    tokens = f"{spent.prompt_tokens} and {spent.completion_tokens} tokens"
    return f" ({format_count(spent.calls, 'call')}, {tokens}{cost})"


def _count_levels(counts: Mapping[Level, int]) -> str:
    return ", ".join(format_count(counts[level], level.value) for level in Level if counts.get(level))
