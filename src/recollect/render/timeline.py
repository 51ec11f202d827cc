"""The timeline, told: as JSON, and to people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from recollect.model.format import counted, moment, printable, shortened
from recollect.model.level import Level
from recollect.model.memory import Memory
from recollect.model.rollup import Rolled
from recollect.model.timeline import Expansion, Outlook, Place
from recollect.render import json_values
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import Table


def fields(found: Outlook) -> dict[str, Any]:
    """The JSON of a place with what is below it."""
    return {
        "place": None if found.place is None else _place(found.place),
        "parts": [_place(one) for one in found.parts],
        "grips": [_place(one) for one in found.grips],
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "level": place.level.value,
        "key": place.key,
        "title": place.title,
        "first": place.first.isoformat(),
        "last": place.last.isoformat(),
        "record": None if place.record is None else json_values.memory(place.record),
    }


def heading(found: Outlook, paint: Paint = plain) -> Iterator[str]:
    """What a place is called and what its record says, if there is one."""
    place = found.place
    if place is None:
        return
    yield paint(Look.STRONG, printable(place.title))
    if place.record is None:
        later = "under way, or not summed up yet: `recollect admin rollup` does"
        yield paint(Look.FAINT, later if found.parts else "nothing is known to have happened")
    elif place.level in (Level.EVENT, Level.GRIP):
        yield paint(Look.FAINT, moment(place.record.created_at))
        yield from map(printable, place.record.text.splitlines())
    else:
        yield from map(printable, place.record.text.splitlines())


def below(found: Outlook) -> Table:
    """What is below a place, one a row: its level, the key by which one goes there, and what it is called."""
    rows = [(one.level.value, one.key, one.title) for one in (*found.parts, *found.grips)]
    return Table(("level", "key", "title"), rows)


def expansion(found: Expansion) -> dict[str, Any]:
    """The JSON of the events that a grip rests on."""
    return {
        "record": json_values.memory(found.record),
        **{name: [json_values.memory(one) for one in getattr(found, name)] for name in ("before", "events", "after")},
        "gone": list(found.gone),
    }


def said(found: Expansion) -> Table:
    """The same, one event a row; those that the grip is of are marked."""
    rows = [*_rows(found.before, ""), *_rows(found.events, "*"), *_rows(found.after, "")]
    return Table(("", "id", "moment", "speaker", "text"), rows)


def _rows(events: Sequence[Memory], mark: str) -> list[tuple[str, ...]]:
    return [(mark, one.id, moment(one.created_at), one.speaker or "", shortened(one.text, 2_000)) for one in events]


def rolled(found: Rolled) -> dict[str, Any]:
    """The JSON of what a rollup did."""
    counts = ("made", "revised", "archived", "unchanged")
    return {
        "scope": str(found.scope),
        **{name: {level.value: getattr(found, name)[level] for level in getattr(found, name)} for name in counts},
        "under_way": found.under_way,
        **asdict(found.spent),
        "cost": found.cost,
    }


def sentence(found: Rolled) -> str:
    """The same in a sentence."""
    parts = [
        f"{what} {_levels(counts)}"
        for what, counts in (("made", found.made), ("made anew", found.revised), ("put away", found.archived))
        if counts
    ]
    told = "; ".join(parts) or "all records are as they should be"
    later = f" ({counted(found.under_way, 'period')} under way)" if found.under_way else ""
    return f"{found.scope}: {told}{later}{_spent(found)}"


def _spent(found: Rolled) -> str:
    """What was asked of a model, if anything was."""
    spent = found.spent
    if not spent.calls:
        return ""
    cost = "" if found.cost is None else f", cost {found.cost:g}"
    tokens = f"{spent.prompt_tokens} and {spent.completion_tokens} tokens"
    return f" ({counted(spent.calls, 'call')}, {tokens}{cost})"


def _levels(counts: Mapping[Level, int]) -> str:
    return ", ".join(counted(counts[level], level.value) for level in Level if counts.get(level))
