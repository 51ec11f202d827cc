"""What a store holds, as rows of plain JSON: written down when a fixture is made, and looked for in it ever after."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

import recollect
from recollect.model.trace import Trace
from recollect.ports import Timetable
from recollect.stores.postgres.transactions import PostgresTransactions
from recollect.stores.relational.timetable import RelationalTimetable
from recollect.stores.sqlite.transactions import SqliteTransactions
from tests.upgrades.life import ANA, BEGIN, BO, DAY, END, TEAM

Row = dict[str, Any]
Rows = list[Row]

SCOPES = (ANA, TEAM, BO)
EVERY_STATUS = tuple(recollect.Status)
JOBS = ("rollup", "extract", "topics", "consolidate", "prune-vectors")

PROFILES = ("five-signal", "three-signal", "salience-hybrid", "search")
"""Profiles of the source designs, whose formulas do not change. `default` may, and is asked for its answers alone."""

QUERIES: Mapping[str, Mapping[str, Any]] = {
    "which seat does Ana prefer?": {},
    "hotel near the harbor in Oslo": {"levels": ("plain", "event", "day", "month", "episode")},
    "where did Ana live?": {"past": True},
    "where does Ana live?": {"as_of": BEGIN + 5 * DAY},
    "what does Ana drink?": {"known_at": BEGIN + DAY},
    "what went wrong in Oslo?": {"kinds": ("learning", "decision")},
}
"""Questions with the options of `search`."""

ANSWERS = {
    "which seats does Ana prefer?": "Ana prefers window seats on all flights",
    "where does Ana live?": "Ana lives in Porto",
    "how do I cancel a booking?": "To cancel a booking, call Globex and name the ticket",
}
"""Questions with the text that must be among the best few, whatever the default formula is."""


def look(target: str) -> dict[str, Rows]:
    """All that the store at that path or address holds, by section."""
    with recollect.open(target, clock=lambda: END) as engine, closing(a_timetable(target)) as timetable:
        found = {**_items(engine), **{name: list(section(engine)) for name, section in SECTIONS.items()}}
        found["jobs"] = [entry for job in JOBS if (entry := timetable.entry(job)) is not None]
        return {name: [_plain(row) for row in rows] for name, rows in found.items()}


def _items(engine: recollect.Engine) -> dict[str, list[Any]]:
    """Every memory with its versions, vectors, usage, log, votes and keys, and every context.

    PostgreSQL counts the commits of each root by itself, so only those of the first root are the same everywhere.
    """
    store = engine._world.store
    found: dict[str, list[Any]] = {
        name: [] for name in ("versions", "vectors", "usage", "uses", "votes", "keys", "traces", "contexts")
    }
    _, items = store.export(None)
    for item in items:
        if isinstance(item, Trace):
            found["traces"].append(replace(item, commit=0) if str(item.scope) == BO else item)
            found["contexts"].append(_context(engine, item))
            continue
        memory = item.present
        found["versions"] += [one.changed(commit=None) if str(one.scope) == BO else one for one, _ in item.versions]
        found["vectors"] += [{"memory": memory.id, "text": one.text, "vector": one.vector} for one in item.contents]
        for use in item.uses:
            found["uses"].append(
                {"memory": memory.id, "use": use.use, "at": use.at, "context": use.context, "recorded": use.recorded_at}
            )
        found["votes"] += [{"vote": one.vote, "recorded": one.recorded_at} for one in item.votes]
        found["keys"] += [{"verdict": type(one.verdict).__name__, "kept": one} for one in item.keys]
    for scope in SCOPES:
        ids = [one.id for one in engine.memories(scope=scope, statuses=EVERY_STATUS)]
        usages = store.usage(recollect.Scope.parse(scope), ids)
        found["usage"] += [{"memory": id, "usage": usage} for id, usage in zip(ids, usages, strict=True)]
    return found


def _context(engine: recollect.Engine, trace: Trace) -> Row:
    """A recorded context, made again, and in what it differs, if it does."""
    again = engine.replay(trace.id, scope=trace.scope)
    return {
        "id": trace.id,
        "scope": trace.scope,
        "question": trace.question,
        "text": again.context.text,
        "packed": [[one.id, float(one.score)] for one in again.context.packed],
        "omitted": [one.scored.id for one in again.context.omitted],
        "replay": [repr(one) for one in again.differences] or "identical",
    }


def _episodes(engine: recollect.Engine) -> Iterator[Any]:
    for memory in engine.memories(scope=ANA, statuses=EVERY_STATUS):
        if memory.level is recollect.Level.EPISODE:
            yield engine.episodes.show(memory.id, scope=ANA)


def _sessions(engine: recollect.Engine) -> Iterator[Any]:
    yield from engine.sessions.list(scope=ANA)
    yield engine.sessions.current(scope=ANA)


def _topics(engine: recollect.Engine) -> Iterator[Row]:
    """Which memories belong together; what a topic is called and how much it matters is computed when asked."""
    for topic in engine.topics(scope=ANA, pruned=True):
        yield {"id": topic.id, "memories": topic.memories}


def _entities(engine: recollect.Engine) -> Iterator[Row]:
    for scope in SCOPES:
        for entity in engine.entities(scope=scope):
            yield {"scope": scope, "name": entity.name, "memories": entity.memories}


def _timeline(engine: recollect.Engine) -> Iterator[Row]:
    """The way from the years down to the events."""
    keys: list[str | None] = [None]
    while keys:
        key = keys.pop()
        outlook = engine.browse(key, scope=ANA)
        for part in (*outlook.parts, *outlook.grips):
            record = None if part.record is None else part.record.id
            yield {"below": key, "key": part.key, "level": part.level, "record": record}
            if part.level is not recollect.Level.EVENT and part.level is not recollect.Level.GRIP:
                keys.append(part.key)


def _rankings(engine: recollect.Engine) -> Iterator[Row]:
    for profile in PROFILES:
        for query, options in QUERIES.items():
            ranking = engine.search(query, scope=ANA, profile=profile, limit=10, **options)
            results = [[one.id, float(one.score)] for one in ranking]
            yield {"profile": profile, "query": query, "results": results}


def _answers(engine: recollect.Engine) -> Iterator[Row]:
    for query, text in ANSWERS.items():
        found = [one.memory.text for one in engine.search(query, scope=ANA, limit=5)]
        yield {"query": query, "answer": text if text in found else f"not among {found}"}


SECTIONS: Mapping[str, Callable[[recollect.Engine], Iterator[Any]]] = {
    "episodes": _episodes,
    "sessions": _sessions,
    "topics": _topics,
    "entities": _entities,
    "timeline": _timeline,
    "rankings": _rankings,
    "answers": _answers,
}


ASKED = ("rankings", "answers")
"""The sections that depend on what is asked here. Add questions, but leave those that fixtures have answers to."""


def differences(expected: Rows, found: Rows) -> tuple[list[str], list[str]]:
    """The rows that are only expected, and those that are only found; newer fields, which no expected row has, do not
    count.
    """
    known = set(_names(expected))
    there = [_line(row) for row in expected]
    here = [_line(_only(row, known)) for row in found]
    return [row for row in there if row not in here], [row for row in here if row not in there]


def a_timetable(target: str) -> Timetable:
    """The timetable of the store at that path or address."""
    database = PostgresTransactions(target) if "://" in target else SqliteTransactions(target)
    return RelationalTimetable(database)


def _plain(value: Any) -> Any:
    """The value as JSON has it, without what is absent: nothing, no, and what is empty."""
    if is_dataclass(value) and not isinstance(value, type | recollect.Scope):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    match value:
        case Mapping():
            plain = {str(name): _plain(one) for name, one in value.items()}
            return {name: one for name, one in plain.items() if one not in (None, [], {}) and one is not False}
        case list() | tuple():
            return [_plain(one) for one in value]
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case recollect.Scope():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return value


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _names(value: Any) -> Iterator[str]:
    """Every name of a field in a value of JSON, however deep."""
    match value:
        case dict():
            yield from value
            yield from _names(list(value.values()))
        case list():
            for one in value:
                yield from _names(one)
        case _:
            pass


def _only(value: Any, names: set[str]) -> Any:
    match value:
        case dict():
            return {name: _only(one, names) for name, one in value.items() if name in names}
        case list():
            return [_only(one, names) for one in value]
        case _:
            return value


if __name__ == "__main__":
    sys.stdout.write(json.dumps(look(sys.argv[1])))
