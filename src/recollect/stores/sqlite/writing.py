"""One transaction of the SQLite store."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw
import numpy as np

from recollect.evidence import analysis, entities, postings
from recollect.evidence.likeness import likeness
from recollect.model.archive import Imported, Item
from recollect.model.encoder import Encoder
from recollect.model.erasure import Erased, Lineage
from recollect.model.kept import KEPT_FOR, Kept
from recollect.model.limits import MOST_KNOWN
from recollect.model.memory import Kind, Memory, MemoryId, content_hash
from recollect.model.probe import Vector
from recollect.model.scope import Scope
from recollect.model.trace import Trace
from recollect.model.usage import Use, Vote, standing, tally_votes
from recollect.stores import moments
from recollect.stores.refusals import (
    USES,
    VOICES,
    id_taken,
    refuse_other_model,
    refuse_other_use,
    refuse_strange_vector,
)
from recollect.stores.sqlite import erasing, mentions, rows
from recollect.stores.sqlite.archive import Loading
from recollect.stores.sqlite.sql import SQL, all_rows, one_row, seen, the_row
from recollect.stores.sqlite.stats import present_model
from recollect.stores.sqlite.twins import refuse_second


class SqliteWriting:
    """What may be read and written inside one transaction; it gets its commit number with its first write."""

    def __init__(self, db: apsw.Connection, now: datetime) -> None:
        self._db = db
        last, recorded = self._one("last_commit") or (0, 0)
        self._commit = int(last) + 1
        self._recorded = rows.micros(moments.recorded(now, rows.moment(recorded)))
        self._begun = False
        self._scopes: dict[Scope, int] = {}
        self._changed: set[int] = set()
        self._alike: dict[tuple[str, Kind], str] = {}
        self._model: tuple[int, Encoder | None] | None = None

    @property
    def at(self) -> datetime:
        return rows.moment(self._recorded)

    @property
    def commit(self) -> int:
        return self._commit

    def adopt(self, encoder: Encoder) -> None:
        _, recorded = self._encoder()
        refuse_other_model(recorded, encoder)
        if recorded is None:
            self._run("add_encoder", name=encoder.name, dimensions=encoder.dimensions)

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        return self._memory("own_memory", path=str(scope), id=id)

    def sayings(self, memory: Memory) -> list[Memory]:
        found = all_rows(
            self._db,
            "sayings",
            path=str(memory.scope),
            hash=memory.hash,
            likeness=self._likeness(memory),
            topic_key=memory.topic_key,
            most=MOST_KNOWN,
        )
        return [rows.memory(row) for row in found]

    def said_before(self, memory: Memory) -> list[Memory]:
        path, most = str(memory.scope), MOST_KNOWN
        return [rows.memory(row) for row in all_rows(self._db, "said_before", path=path, hash=memory.hash, most=most)]

    def _likeness(self, memory: Memory) -> str:
        """What it is like, reckoned once for what is looked for and then written."""
        place = memory.hash, memory.kind
        if place not in self._alike:
            self._alike = {place: likeness(memory)}
        return self._alike[place]

    def about(self, scope: Scope, subject: str, after: datetime) -> list[Memory]:
        path, most = str(scope), MOST_KNOWN
        found = all_rows(self._db, "about", path=path, subject=subject, after=rows.micros(after), most=most)
        return [rows.memory(row) for row in found]

    def standing_since(self, id: MemoryId) -> datetime | None:
        row = self._one("away_since", id=id)
        return None if row is None else rows.maybe_moment(row[0])

    def direction(self, id: MemoryId) -> Vector | None:
        row = self._one("direction", id=id, encoder=self._encoder()[0])
        return None if row is None else _vector(row[0])

    def echoed(self, id: MemoryId, at: datetime) -> bool:
        return self._one("echoed_at", id=id, at=rows.micros(at)) is not None

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        return self._memory("topic", path=str(scope), topic_key=topic_key)

    def kept(self, scope: Scope, key: str) -> Kept | None:
        row = self._one("key", path=str(scope), key=key)
        return None if row is None else rows.kept(scope, key, row)

    def put(self, memory: Memory, vector: Vector | None) -> Memory:
        scope = self._scope(memory.scope)
        present = self._one("present_state", id=memory.id)
        if present is not None and present[1] != scope:
            raise id_taken(memory.id)
        hash = memory.hash
        refuse_second(self._db, memory, hash=hash, scope=scope)
        alike = self._likeness(memory)
        state = rows.state(memory, hash, alike, recorded_at=self._recorded, commit=self._commit)
        values: dict[str, Any] = dict(zip(rows.STATE, state, strict=True))
        if present is None:
            content = self._content(memory, vector)
            self._run("add_memory", id=memory.id, scope=scope, content=content, **values)
        else:
            number, _, content = present
            if vector is not None or self._one("present_content", content=content) != (memory.title, memory.text):
                content = self._content(memory, vector)
            self._run("keep_version", memory=number, until=self._commit)
            self._run("change_memory", memory=number, content=content, **values)
        if scope not in self._changed:
            self._changed.add(scope)
            self._run("scope_changed", scope=scope, commit=self._commit)
        return memory.recorded(self.at, self._commit)

    def keep(self, kept: Kept) -> None:
        scope = self._scope(kept.scope)
        self._run("drop_old_keys", scope=scope, before=rows.micros(kept.at - KEPT_FOR))
        self._run(
            "add_key",
            scope=scope,
            key=kept.key,
            body=kept.body,
            id=kept.memory,
            verdict=rows.verdict_text(kept.verdict),
            at=rows.micros(kept.at),
        )

    def record(self, scope: Scope, ids: Sequence[MemoryId], use: Use, at: datetime, context: str | None) -> None:
        refuse_other_use(use, USES)
        count = "count_served" if use is Use.SERVED else "count_echoed"
        when = rows.micros(at)
        for number, owner in self._places(scope, ids):
            self._run("add_use", memory=number, use=use.value, at=when, context=context, commit=self._commit)
            self._run(count, memory=number, scope=owner, at=when, commit=self._commit)
            self._run("scope_used", scope=owner, commit=self._commit)

    def vote(self, scope: Scope, votes: Sequence[Vote]) -> None:
        for vote in votes:
            refuse_other_use(vote.use, VOICES)
            for number, owner in self._places(scope, [vote.memory]):
                self._run(
                    "add_vote",
                    memory=number,
                    context=vote.context,
                    by=vote.by,
                    use=vote.use.value,
                    at=rows.micros(vote.at),
                    commit=self._commit,
                )
                cast = all_rows(self._db, "votes_on", memory=number)
                helped, misled = tally_votes(standing(rows.vote(*row) for row in cast))
                self._run("count_votes", memory=number, scope=owner, helped=helped, misled=misled, commit=self._commit)
                self._run("scope_used", scope=owner, commit=self._commit)

    def trace(self, trace: Trace) -> None:
        self._run(
            "add_context",
            id=trace.id,
            scope=self._scope(trace.scope),
            made_at=rows.micros(trace.made_at),
            trace=rows.trace_text(trace),
            commit=self._commit,
        )

    def load(self, items: Iterable[Item], encoder: Encoder | None) -> Imported:
        if self._commit == 1 and not self._begun:  # it never took in anything
            if encoder is not None:
                self._db.execute(SQL["add_encoder"], {"name": encoder.name, "dimensions": encoder.dimensions})
            return Loading(self._db, self._as_there, encoder=self._encoder()[0]).load(items)
        if encoder is not None:
            self.adopt(encoder)
        return Loading(self._db, self._as_of_now, encoder=self._encoder()[0]).load(items)

    def _as_there(self, commit: int, recorded_at: datetime) -> tuple[int, int]:
        """The same commit, recorded at the same moment."""
        recorded = rows.micros(recorded_at)
        self._db.execute(SQL["load_commit"], {"commit": commit, "recorded_at": recorded})
        return commit, recorded

    def _as_of_now(self, commit: int, recorded_at: datetime) -> tuple[int, int]:
        """This commit, whichever it was elsewhere."""
        self._begin()
        return self._commit, self._recorded

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        return [MemoryId(id) for (id,) in all_rows(self._db, "written_by", path=str(scope), commit=commit)]

    def before(self, scope: Scope, id: MemoryId, commit: int) -> tuple[Memory, Vector | None] | None:
        path, encoder = str(scope), self._encoder()[0]
        row = self._one("memory_before", path=path, id=id, commit=commit, encoder=encoder)
        return None if row is None else (rows.memory(row[:-1]), _vector(row[-1]))

    def lineage(self, scope: Scope) -> list[Lineage]:
        found = all_rows(self._db, "lineage", path=str(scope))
        return [Lineage(MemoryId(id), source, tuple(json.loads(derived))) for id, source, derived in found]

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> Erased:
        return self._erased(all_rows(self._db, "own_places", path=str(scope), ids=json.dumps(list(ids))))

    def erase_all(self, scope: Scope) -> Erased:
        asked = erasing.erase_contexts(self._db, self._run, scope)
        erased = self._erased(all_rows(self._db, "all_places", path=str(scope)))
        if asked.contexts or erased.ids:
            self._run("unname_scope", path=str(scope))
            self._scopes.pop(scope, None)
        contexts, pieces = erased.contexts + asked.contexts, erased.pieces | asked.pieces
        return replace(erased, contexts=contexts, pieces=pieces)

    def _erased(self, found: Sequence[rows.Row]) -> Erased:
        places = {MemoryId(id): (number, scope) for id, number, scope in found}
        return erasing.erase(self._db, self._run, places, self._commit) if places else Erased()

    def _content(self, memory: Memory, vector: Vector | None) -> int:
        """Keep what the memory says, with its terms and its direction; gives the number."""
        counts = analysis.counts(memory.searched_text)
        content: int
        (content,) = the_row(
            self._db,
            "add_content",
            title=memory.title,
            text=memory.text,
            hash=content_hash(memory.text),
            terms=postings.encode(counts),
            analyser=analysis.VERSION,
            entities=mentions.encode(memory.title, memory.text),
            naming=entities.VERSION,
        )
        if vector is not None:
            number, encoder = self._encoder()
            refuse_strange_vector(vector, encoder)
            self._run("add_vector", content=content, encoder=number, value=vector.astype("<f4").tobytes())
        return content

    def _encoder(self) -> tuple[int, Encoder | None]:
        """The present model and its number; once there is one, it stays for the transaction."""
        if self._model is None or self._model[1] is None:
            self._model = present_model(self._db)
        return self._model

    def _scope(self, scope: Scope) -> int:
        if scope not in self._scopes:
            self._begin()
            (self._scopes[scope],) = the_row(self._db, "add_scope", path=str(scope))
        return self._scopes[scope]

    def _places(self, scope: Scope, ids: Sequence[MemoryId]) -> list[tuple[int, int]]:
        """The numbers of those memories that the scope may see, with the numbers of the scopes they are in."""
        found = [self._one("place", **seen(scope, id=id)) for id in ids]
        return [(row[0], row[1]) for row in found if row is not None]

    def _memory(self, statement: str, /, **given: object) -> Memory | None:
        row = self._one(statement, **given)
        return None if row is None else rows.memory(row)

    def _one(self, statement: str, /, **given: object) -> rows.Row | None:
        return one_row(self._db, statement, **given)

    def _run(self, statement: str, /, **given: object) -> None:
        self._begin()
        self._db.execute(SQL[statement], given)

    def _begin(self) -> None:
        """Take the commit number, with the first thing that is written."""
        if not self._begun:
            self._begun = True
            self._db.execute(SQL["add_commit"], {"commit": self._commit, "recorded_at": self._recorded})


def _vector(value: bytes | None) -> Vector | None:
    return None if value is None else np.frombuffer(value, dtype="<f4").astype(np.float32)
