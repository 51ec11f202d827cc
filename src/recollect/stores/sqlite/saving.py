"""Saving: all that a SQLite store knows, as values that another store can take in."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import apsw

from recollect.evidence import analysis
from recollect.model.archive import Content, Inventory, Item, Saved, SavedUse, SavedVote
from recollect.model.encoder import Encoder
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Use, Vote
from recollect.stores.sqlite import rows
from recollect.stores.sqlite.sql import all_rows, one_row, the_row

PAGE = 200
"""How many memories are read at a time."""


def inventory(db: apsw.Connection, scope: Scope | None) -> Inventory:
    """What `saved` will give."""
    encoder = one_row(db, "present_encoder")
    memories, contexts, until = the_row(db, "inventory", path=_path(scope))
    return Inventory(
        encoder=None if encoder is None else Encoder(encoder[1], encoder[2]),
        analyser=analysis.VERSION,
        scope=scope,
        memories=memories,
        contexts=contexts,
        until=rows.maybe_moment(until),
    )


def saved(db: apsw.Connection, scope: Scope | None) -> Iterator[Item]:
    """Every memory of the scope and those below it, or of all, in the order they came; then their contexts."""
    encoder = one_row(db, "present_encoder")
    after: Any = 0
    while page := all_rows(db, "saved_memories", path=_path(scope), after=after, page=PAGE):
        yield from _memories(db, page, encoder[0] if encoder else 0)
        after = page[-1][0]
    after = ""
    while page := all_rows(db, "saved_contexts", path=_path(scope), after=after, page=PAGE):
        yield from (rows.trace(text) for _, text in page)
        after = page[-1][0]


def _path(scope: Scope | None) -> str | None:
    return None if scope is None else str(scope)


def _memories(db: apsw.Connection, page: Sequence[rows.Row], encoder: int) -> Iterator[Saved]:
    numbers = json.dumps([row[0] for row in page])
    former = _by_memory(all_rows(db, "saved_versions", memories=numbers))
    states = {number: [*former[number], (content, *state)] for number, content, _, _, *state in page}
    wanted = json.dumps(sorted({state[0] for one in states.values() for state in one}))
    contents = {
        number: Content(title, text, vector)
        for number, title, text, vector in all_rows(db, "saved_contents", contents=wanted, encoder=encoder)
    }
    uses = _by_memory(all_rows(db, "saved_uses", memories=numbers))
    votes = _by_memory(all_rows(db, "saved_votes", memories=numbers))
    keys = _by_memory(all_rows(db, "saved_keys", memories=numbers))
    for number, _, id, path, *_ in page:
        said = list(dict.fromkeys(contents[state[0]] for state in states[number]))
        yield Saved(
            contents=tuple(said),
            versions=tuple(
                (_version(id, path, contents[content], state), said.index(contents[content]))
                for content, *state in states[number]
            ),
            uses=tuple(
                SavedUse(Use(use), rows.moment(at), context, commit, rows.moment(recorded_at))
                for use, at, context, commit, recorded_at in uses[number]
            ),
            votes=tuple(_vote(id, row) for row in votes[number]),
            keys=tuple(rows.kept(Scope.parse(path), key, tuple(row)) for key, *row in keys[number]),
        )


def _by_memory(found: Sequence[rows.Row]) -> Mapping[int, list[rows.Row]]:
    """The rows by the memory's number, which each begins with."""
    sorted: dict[int, list[rows.Row]] = defaultdict(list)
    for number, *row in found:
        sorted[number].append(tuple(row))
    return sorted


def _version(id: str, path: str, content: Content, state: Sequence[Any]) -> Memory:
    return rows.memory((id, path, content.title, content.text, *state))


def _vote(id: str, row: rows.Row) -> SavedVote:
    context, by, use, at, commit, recorded_at = row
    vote = Vote(context=context, memory=MemoryId(id), by=by, use=Use(use), at=rows.moment(at))
    return SavedVote(vote, commit, rows.moment(recorded_at))
