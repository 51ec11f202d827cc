"""A snapshot of a store as rows of JSON. A fixture contains one, and tests compare it with a new one."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

import recollect
from recollect.model.context import ContextRecord
from recollect.protocols import JobStore
from recollect.stores.postgres.transaction import PostgresTransactionRunner
from recollect.stores.sql.jobs import SqlJobStore
from recollect.stores.sqlite.store import SqliteTransactionRunner
from tests.upgrades.scenario import ANA, BEGIN, BO, DAY, END, TEAM

Row = dict[str, Any]
Rows = list[Row]

SCOPES = (ANA, TEAM, BO)
EVERY_STATUS = tuple(recollect.Status)
JOBS = ("rollup", "extract", "topics", "consolidate", "prune-vectors")

PROFILES = ("five-signal", "three-signal", "salience-hybrid", "search")
"""Profiles with fixed formulas. `default` may change, so a snapshot has no scores of it, only `ANSWERS`."""

QUERIES: Mapping[str, Mapping[str, Any]] = {
    "which seat does Ana prefer?": {},
    "hotel near the harbor in Oslo": {"levels": ("plain", "event", "day", "month", "episode")},
    "where did Ana live?": {"past": True},
    "where does Ana live?": {"as_of": BEGIN + 5 * DAY},
    "what does Ana drink?": {"known_at": BEGIN + DAY},
    "what went wrong in Oslo?": {"kinds": ("learning", "decision")},
}
"""Queries with the options of `search`."""

ANSWERS = {
    "which seats does Ana prefer?": "Ana prefers window seats on all flights",
    "where does Ana live?": "Ana lives in Porto",
    "how do I cancel a booking?": "To cancel a booking, call Globex and name the ticket",
}
"""Queries with a text that must be among the first five results, whatever the formula of `default` is."""


def take_snapshot(target: str) -> dict[str, Rows]:
    """Return the content of the store at a path or URL, by section."""
    with recollect.open(target, clock=lambda: END) as engine, closing(open_timetable(target)) as timetable:
        sections = {**_items(engine), **{name: list(section(engine)) for name, section in SECTIONS.items()}}
        sections["jobs"] = [entry for job in JOBS if (entry := timetable.entry(job)) is not None]
        return {name: [_to_json(row) for row in rows] for name, rows in sections.items()}


def _items(engine: recollect.Engine) -> dict[str, list[Any]]:
    """Return every memory with its versions, vectors, uses, votes and keys, and every context.

    PostgreSQL numbers the commits of each root separately, so a snapshot omits the numbers of the second root.
    """
    store = engine._deps.store
    sections: dict[str, list[Any]] = {
        name: [] for name in ("versions", "vectors", "usage", "uses", "votes", "keys", "traces", "contexts")
    }
    _, items = store.export(None)
    for item in items:
        if isinstance(item, ContextRecord):
            sections["traces"].append(replace(item, commit=0) if str(item.scope) == BO else item)
            sections["contexts"].append(_context(engine, item))
            continue
        memory = item.current
        sections["versions"] += [
            one.with_changes(commit=None) if str(one.scope) == BO else one for one, _ in item.versions
        ]
        sections["vectors"] += [{"memory": memory.id, "text": one.text, "vector": one.vector} for one in item.contents]
        for use in item.uses:
            sections["uses"].append(
                {"memory": memory.id, "use": use.use, "at": use.at, "context": use.context, "recorded": use.recorded_at}
            )
        sections["votes"] += [{"vote": one.vote, "recorded": one.recorded_at} for one in item.votes]
        sections["keys"] += [{"verdict": type(one.verdict).__name__, "kept": one} for one in item.keys]
    for scope in SCOPES:
        ids = [one.id for one in engine.memories(scope=scope, statuses=EVERY_STATUS)]
        usages = store.usage(recollect.Scope.parse(scope), ids)
        sections["usage"] += [{"memory": id, "usage": usage} for id, usage in zip(ids, usages, strict=True)]
    return sections


def _context(engine: recollect.Engine, trace: ContextRecord) -> Row:
    """Replay a recorded context; return the result and how it differs from the record."""
    replay = engine.contexts.replay(trace.id, scope=trace.scope)
    return {
        "id": trace.id,
        "scope": trace.scope,
        "question": trace.question,
        "text": replay.context.text,
        "packed": [[one.id, float(one.score)] for one in replay.context.packed],
        "omitted": [one.scored.id for one in replay.context.omitted],
        "replay": [repr(one) for one in replay.differences] or "identical",
    }


def _episodes(engine: recollect.Engine) -> Iterator[Any]:
    for memory in engine.memories(scope=ANA, statuses=EVERY_STATUS):
        if memory.level is recollect.Level.EPISODE:
            yield engine.episodes.show(memory.id, scope=ANA)


def _sessions(engine: recollect.Engine) -> Iterator[Any]:
    yield from engine.sessions.list(scope=ANA)
    yield engine.sessions.current(scope=ANA)


def _topics(engine: recollect.Engine) -> Iterator[Row]:
    """Yield the memories of each topic. A store computes name and weight on demand, so they are left out."""
    for topic in engine.topics.list(scope=ANA, pruned=True):
        yield {"id": topic.id, "memories": topic.memories}


def _entities(engine: recollect.Engine) -> Iterator[Row]:
    for scope in SCOPES:
        for entity in engine.topics.entities(scope=scope):
            yield {"scope": scope, "name": entity.name, "memories": entity.memories}


def _timeline(engine: recollect.Engine) -> Iterator[Row]:
    """Yield the timeline from the years down to the events."""
    keys: list[str | None] = [None]
    while keys:
        key = keys.pop()
        outlook = engine.timeline.browse(key, scope=ANA)
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
        results = [one.memory.text for one in engine.search(query, scope=ANA, limit=5)]
        yield {"query": query, "answer": text if text in results else f"not among {results}"}


SECTIONS: Mapping[str, Callable[[recollect.Engine], Iterator[Any]]] = {
    "episodes": _episodes,
    "sessions": _sessions,
    "topics": _topics,
    "entities": _entities,
    "timeline": _timeline,
    "rankings": _rankings,
    "answers": _answers,
}

QUERY_SECTIONS = ("rankings", "answers")
"""The sections that depend on `QUERIES_FILE` and `ANSWERS`. Add queries, but keep these: fixtures have results."""


def compare(expected: Rows, actual: Rows) -> tuple[list[str], list[str]]:
    """Return the rows that are only expected, and those that are only actual.

    Fields that no expected row has are newer than the fixture and do not count.
    """
    names = set(_field_names(expected))
    before = [_to_line(row) for row in expected]
    after = [_to_line(_select_fields(row, names)) for row in actual]
    return [row for row in before if row not in after], [row for row in after if row not in before]


def open_timetable(target: str) -> JobStore:
    """Open the timetable of the store at a path or URL."""
    database = PostgresTransactionRunner(target) if "://" in target else SqliteTransactionRunner(target)
    return SqlJobStore(database)


def _to_json(value: Any) -> Any:
    """Return the value as JSON without fields that are null, false or empty."""
    if is_dataclass(value) and not isinstance(value, type | recollect.Scope):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    match value:
        case Mapping():
            members = {str(name): _to_json(one) for name, one in value.items()}
            return {name: one for name, one in members.items() if one not in (None, [], {}) and one is not False}
        case list() | tuple():
            return [_to_json(one) for one in value]
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


def _to_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _field_names(value: Any) -> Iterator[str]:
    """Yield the names of all fields in a JSON value, at any depth."""
    match value:
        case dict():
            yield from value
            yield from _field_names(list(value.values()))
        case list():
            for one in value:
                yield from _field_names(one)
        case _:
            pass


def _select_fields(value: Any, names: set[str]) -> Any:
    match value:
        case dict():
            return {name: _select_fields(one, names) for name, one in value.items() if name in names}
        case list():
            return [_select_fields(one, names) for one in value]
        case _:
            return value


if __name__ == "__main__":
    sys.stdout.write(json.dumps(take_snapshot(sys.argv[1])))
