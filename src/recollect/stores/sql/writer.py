"""One transaction of a store that keeps tables."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from recollect.model.archive import Imported, Item
from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.erasure import Erased, Lineage
from recollect.model.idempotency import KEPT_FOR, Kept
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, MemoryId, Status, content_hash
from recollect.model.scope import Scope
from recollect.model.usage import SIGNS, Use, Vote, standing, tally_votes
from recollect.model.validation import MOST_KNOWN
from recollect.retrieval import entity_columns, postings
from recollect.retrieval.evidence import Vector
from recollect.stores import commit_clock
from recollect.stores.sql import erasure, rows, timeline
from recollect.stores.sql.archive import Loading
from recollect.stores.sql.duplicate_guard import Hearsay, News, refusal, refuse_second
from recollect.stores.sql.stats import present_model
from recollect.stores.sql.transaction import Row, Session, seen
from recollect.stores.write_checks import (
    USES,
    VOICES,
    id_taken,
    refuse_other_model,
    refuse_other_use,
    refuse_sign_of_nothing,
    refuse_strange_checkpoint,
    refuse_strange_vector,
)
from recollect.text import entities, tokenizer
from recollect.text.paraphrase_key import likeness

_COUNTED = {
    Use.SERVED: "count_served",
    Use.ECHOED: "count_echoed",
    Use.QUOTED: "count_quoted",
    Use.FOLLOWED: "count_followed",
}
"""The statement that counts a use."""

_UNCOUNTED = {Use.QUOTED: "uncount_quoted", Use.FOLLOWED: "uncount_followed"}
"""The statement that counts a sign no longer."""


@dataclass(slots=True)
class _Commit:
    """The commit that a transaction makes in a realm; it is taken with the first thing that is written there."""

    number: int
    recorded: int
    begun: bool = False

    @property
    def first(self) -> bool:
        """Whether the realm never took in anything."""
        return self.number == 1 and not self.begun


class RelationalWriting:
    """What may be read and written inside one transaction; it gets a commit number with its first write."""

    def __init__(self, db: Session, now: datetime) -> None:
        self._db = db
        self._now = now
        self._commits: dict[str, _Commit] = {}
        self._scopes: dict[Scope, int] = {}
        self._changed: set[int] = set()
        self._alike: dict[tuple[str, Kind], str] = {}
        self._hearsay = Hearsay(db)
        self._news: News | None = None
        self._model: tuple[int, Encoder | None] | None = None

    @property
    def at(self) -> datetime:
        return rows.moment(self._here.recorded)

    @property
    def commit(self) -> int:
        return self._here.number

    @property
    def _here(self) -> _Commit:
        """The commit in the realm that was entered last."""
        realm = self._db.realm
        if realm not in self._commits:
            last, recorded = self._one("last_commit") or (0, 0)
            after = rows.micros(commit_clock.recorded(self._now, rows.moment(recorded)))
            self._commits[realm] = _Commit(int(last) + 1, after)
        return self._commits[realm]

    def adopt(self, encoder: Encoder) -> None:
        _, recorded = self._encoder()
        if recorded is None:
            self._db.run("lock_encoders")
            _, recorded = self._encoder()
        refuse_other_model(recorded, encoder)
        if recorded is None:
            self._db.run("add_encoder", name=encoder.name, dimensions=encoder.dimensions)

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        self._db.enter(scope)
        return self._memory("own_memory", path=str(scope), id=id)

    def sayings(self, memory: Memory) -> list[Memory]:
        if memory.level is not None:
            return []
        self._db.enter(memory.scope)
        hash, alike = memory.hash, self._likeness(memory)
        if self._news is None or not self._news.is_about(memory.scope, hash, alike):
            self._news = self._hearsay.news(memory, alike)
        if self._news.of_saying:
            return []
        found = self._db.all(
            "sayings",
            path=str(memory.scope),
            hash=hash,
            likeness=alike,
            topic_key=memory.topic_key,
            most=MOST_KNOWN,
        )
        return [rows.memory(row) for row in found]

    def said_before(self, memory: Memory) -> list[Memory]:
        if memory.level is not None:
            return []
        self._db.enter(memory.scope)
        path, most = str(memory.scope), MOST_KNOWN
        return [rows.memory(row) for row in self._db.all("said_before", path=path, hash=memory.hash, most=most)]

    def _likeness(self, memory: Memory) -> str:
        """What it is like, reckoned once for what is looked for and then written."""
        place = memory.hash, memory.kind
        if place not in self._alike:
            self._alike = {place: likeness(memory)}
        return self._alike[place]

    def about(self, scope: Scope, subject: str, after: datetime) -> list[Memory]:
        self._db.enter(scope)
        if self._news is not None and self._news.knows_none_of(scope, subject):
            return []
        path, most = str(scope), MOST_KNOWN
        found = self._db.all("about", path=path, subject=subject, after=rows.micros(after), most=most)
        return [rows.memory(row) for row in found]

    def standing_since(self, memory: Memory) -> datetime | None:
        self._db.enter(memory.scope)
        row = self._one("away_since", id=memory.id)
        return None if row is None else rows.maybe_moment(row[0])

    def direction(self, memory: Memory) -> Vector | None:
        self._db.enter(memory.scope)
        row = self._one("direction", id=memory.id, encoder=self._encoder()[0])
        return None if row is None else _vector(row[0])

    def echoed(self, memory: Memory, at: datetime) -> bool:
        self._db.enter(memory.scope)
        return self._one("echoed_at", id=memory.id, at=rows.micros(at)) is not None

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        self._db.enter(scope)
        return self._memory("topic", path=str(scope), topic_key=topic_key)

    def kept(self, scope: Scope, key: str) -> Kept | None:
        self._db.enter(scope)
        row = self._one("key", path=str(scope), key=key)
        return None if row is None else rows.kept(scope, key, row)

    def put(self, memory: Memory, vector: Vector | None) -> Memory:
        self._db.enter(memory.scope)
        scope, hash = self._scope(memory.scope), memory.hash
        present = self._present(memory)
        if present is not None:
            refuse_second(self._db, memory, hash=hash, scope=scope)
            if present[1] != scope:
                raise id_taken(memory.id)
        self._news = None
        alike = self._likeness(memory)
        self._hearsay.add(memory.scope, memory.id, hash, alike, memory.subject)
        state = rows.state(memory, hash, alike, recorded_at=self._here.recorded, commit=self._here.number)
        values: dict[str, Any] = dict(zip(rows.STATE, state, strict=True))
        vector = None if Index.VECTOR in memory.left else vector
        if present is None:
            content = self._content(memory, vector)
            self._begin()
            given: dict[str, Any] = {"id": memory.id, "scope": scope, "content": content, **values}
            if self._one("add_memory", **given) is None:
                raise refusal(self._db, given)
        else:
            number, _, content = present
            if vector is not None or self._one("present_content", content=content) != (memory.title, memory.text):
                content = self._content(memory, vector)
            if Index.VECTOR in memory.left:
                self._run("drop_vectors", content=content)  # nor have former versions that say the same
            self._run("keep_version", memory=number, until=self._here.number)
            self._run("change_memory", memory=number, content=content, **values)
        if scope not in self._changed:
            self._changed.add(scope)
            self._run("scope_changed", scope=scope, commit=self._here.number)
        return memory.recorded(self.at, self._here.number)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        self._db.enter(scope)
        return timeline.timeline(self._db, scope, levels, since, before, statuses)

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        self._db.enter(scope)
        return timeline.touched(self._db, scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        self._db.enter(scope)
        return timeline.checkpoint(self._db, scope, name)

    def set_checkpoint(self, scope: Scope, name: str, value: str) -> None:
        refuse_strange_checkpoint(name, value)
        self._db.enter(scope)
        self._run("set_checkpoint", scope=self._scope(scope), name=name, value=value)

    def keep(self, kept: Kept) -> None:
        self._db.enter(kept.scope)
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
        self._db.enter(scope)
        refuse_other_use(use, USES)
        refuse_sign_of_nothing(use, context)
        when, commit = rows.micros(at), self._here.number
        for number, owner in self._places(scope, ids):
            what = {"memory": number, "use": use.value, "context": context}
            if use in SIGNS and self._one("sign", **what) is not None:
                continue
            self._run("add_use", at=when, commit=commit, **what)
            self._run(_COUNTED[use], memory=number, scope=owner, at=when, commit=commit)
            self._run("scope_used", scope=owner, commit=commit)

    def retract(self, scope: Scope, ids: Sequence[MemoryId], sign: Use, context: str) -> None:
        self._db.enter(scope)
        refuse_other_use(sign, SIGNS)
        for number, owner in self._places(scope, ids):
            what = {"memory": number, "use": sign.value, "context": context}
            if self._one("sign", **what) is not None:
                self._run("drop_sign", **what)
                self._run(_UNCOUNTED[sign], memory=number, commit=self._here.number)
                self._run("scope_used", scope=owner, commit=self._here.number)

    def vote(self, scope: Scope, votes: Sequence[Vote]) -> None:
        self._db.enter(scope)
        by_memory: dict[MemoryId, list[Vote]] = {}
        for vote in votes:
            refuse_other_use(vote.use, VOICES)
            by_memory.setdefault(vote.memory, []).append(vote)
        for id, cast in by_memory.items():
            for number, owner in self._places(scope, [id]):
                self._cast(cast, number, owner)

    def _cast(self, votes: Sequence[Vote], number: int, owner: int) -> None:
        """Keep votes on one memory, and what all on it come to."""
        commit = self._here.number
        for vote in votes:
            given = {"context": vote.context, "by": vote.by, "use": vote.use.value, "at": rows.micros(vote.at)}
            self._run("add_vote", memory=number, commit=commit, **given)
        cast = self._db.all("votes_on", memory=number)
        helped, misled = tally_votes(standing(rows.vote(*row) for row in cast))
        self._run("count_votes", memory=number, scope=owner, helped=helped, misled=misled, commit=commit)
        self._run("scope_used", scope=owner, commit=commit)

    def context(self, scope: Scope, id: str) -> Trace | None:
        self._db.enter(scope)
        row = self._one("context", id=id, path=str(scope))
        return None if row is None else rows.trace(row[0])

    def trace(self, trace: Trace) -> None:
        self._db.enter(trace.scope)
        self._run(
            "add_context",
            id=trace.id,
            scope=self._scope(trace.scope),
            made_at=rows.micros(trace.made_at),
            trace=rows.trace_text(trace),
            commit=self._here.number,
        )

    def load(self, items: Iterable[Item], encoder: Encoder | None) -> Imported:
        if encoder is not None:
            self.adopt(encoder)
        self._news, self._hearsay = None, Hearsay(self._db)
        loading = Loading(self._db, self._taken_in, lambda: self._here.first, encoder=self._encoder()[0])
        loaded = loading.load(items)
        self._commits = {realm: commit for realm, commit in self._commits.items() if commit.begun}
        return loaded

    def _taken_in(self, commit: int, recorded_at: datetime) -> tuple[int, int]:
        """The same commit, recorded at the same moment, where nothing was taken in before; else this one."""
        if not self._here.first:
            self._begin()
            return self._here.number, self._here.recorded
        recorded = rows.micros(recorded_at)
        self._db.run("load_commit", commit=commit, recorded_at=recorded)
        return commit, recorded

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        self._db.enter(scope)
        return [MemoryId(id) for (id,) in self._db.all("written_by", path=str(scope), commit=commit)]

    def before(self, scope: Scope, id: MemoryId, commit: int) -> tuple[Memory, Vector | None] | None:
        self._db.enter(scope)
        path, encoder = str(scope), self._encoder()[0]
        row = self._one("memory_before", path=path, id=id, commit=commit, encoder=encoder)
        return None if row is None else (rows.memory(row[:-1]), _vector(row[-1]))

    def lineage(self, scope: Scope) -> list[Lineage]:
        self._db.enter(scope)
        return rows.lineage(self._db.all("lineage", path=str(scope), every=False))

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> Erased:
        self._db.enter(scope, wide=True)  # whoever saw one of them may have a context that names it
        return self._erased(self._db.all("own_places", path=str(scope), ids=json.dumps(list(ids))))

    def erase_all(self, scope: Scope) -> Erased:
        self._db.enter(scope, wide=True)
        asked = erasure.erase_contexts(self._db, self._run, scope)
        noted = Erased()
        for (number,) in self._db.all("checkpointed_scope", path=str(scope)):
            noted = erasure.erase_checkpoints(self._db, self._run, number)
        erased = self._erased(self._db.all("all_places", path=str(scope)))
        if asked.contexts or noted.checkpoints or erased.ids:
            self._run("unname_scope", path=str(scope))
            self._scopes.pop(scope, None)
        return replace(
            erased,
            contexts=erased.contexts + asked.contexts,
            checkpoints=erased.checkpoints + noted.checkpoints,
            pieces=erased.pieces | asked.pieces | noted.pieces,
        )

    def _erased(self, found: Sequence[Row]) -> Erased:
        places = {MemoryId(id): (number, scope) for id, number, scope in found}
        return erasure.erase(self._db, self._run, places, self.commit) if places else Erased()

    def _content(self, memory: Memory, vector: Vector | None) -> int:
        """Keep what the memory says, with its terms and its direction; gives the number."""
        counts, scope = tokenizer.counts(memory.searched_text), self._scope(memory.scope)
        content: int
        (content,) = self._db.the(
            "add_content",
            scope=scope,
            title=memory.title,
            text=memory.text,
            hash=content_hash(memory.text),
            terms=postings.encode(counts),
            analyser=tokenizer.VERSION,
            entities=entity_columns.encode(memory.title, memory.text),
            naming=entities.VERSION,
        )
        if vector is not None:
            number, encoder = self._encoder()
            refuse_strange_vector(vector, encoder)
            value = rows.Direction(vector.astype("<f4").tobytes())
            self._run("add_vector", content=content, encoder=number, scope=scope, value=value)
        return content

    def _present(self, memory: Memory) -> Row | None:
        """Where the memory of that id is kept by now, if there is one."""
        if self._news is not None and self._news.knows_none_called(memory.scope, memory.id):
            return None
        return self._one("present_state", id=memory.id)

    def _encoder(self) -> tuple[int, Encoder | None]:
        """The present model and its number; once there is one, it stays for the transaction."""
        if self._model is None or self._model[1] is None:
            self._model = present_model(self._db)
        return self._model

    def _scope(self, scope: Scope) -> int:
        if scope not in self._scopes:
            self._begin()
            (self._scopes[scope],) = self._db.the("add_scope", path=str(scope))
        return self._scopes[scope]

    def _places(self, scope: Scope, ids: Sequence[MemoryId]) -> list[tuple[int, int]]:
        """The numbers of those memories that the scope may see, with the numbers of the scopes they are in."""
        found = [self._one("place", **seen(scope, id=id)) for id in ids]
        return [(row[0], row[1]) for row in found if row is not None]

    def _memory(self, statement: str, /, **given: object) -> Memory | None:
        row = self._one(statement, **given)
        return None if row is None else rows.memory(row)

    def _one(self, statement: str, /, **given: object) -> Row | None:
        return self._db.one(statement, **given)

    def _run(self, statement: str, /, **given: object) -> None:
        self._begin()
        self._db.run(statement, **given)

    def _begin(self) -> None:
        """Take the commit number, with the first thing that is written."""
        here = self._here
        if not here.begun:
            here.begun = True
            self._db.run("add_commit", commit=here.number, recorded_at=here.recorded)


def _vector(value: bytes | None) -> Vector | None:
    return None if value is None else np.frombuffer(value, dtype="<f4").astype(np.float32)
