"""The write transaction of a SQL store: what may be read and changed inside it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.model import changeset
from recollect.model.archive import ArchiveItem, ErasedRows, ImportReport, Lineage
from recollect.model.context import SIGN_USES, ContextRecord, Use, Vote, count_votes, select_current_votes
from recollect.model.draft import IDEMPOTENCY_KEY_LIFETIME, IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId, content_hash
from recollect.model.scope import Scope
from recollect.retrieval import bm25, entity_links
from recollect.retrieval.vectors import Vector
from recollect.stores.sql import erasure, reader, rows
from recollect.stores.sql.archive import ArchiveLoader
from recollect.stores.sql.duplicate_guard import DuplicateIndex, explain_conflict, refuse_duplicate
from recollect.stores.sql.neighbors import SqlNeighborSource, find_neighbors, read_version
from recollect.stores.sql.rows import (
    COUNTED_USES,
    VOTE_USES,
    id_taken_error,
    next_commit_time,
    refuse_invalid_checkpoint,
    refuse_mismatched_vector,
    refuse_other_encoder,
    refuse_sign_without_context,
    refuse_unsupported_use,
)
from recollect.stores.sql.transaction import Row, Transaction, read_current_encoder, visible_params
from recollect.text import entities, tokenizer
from recollect.text.index_entry import index_memory

_COUNT_STATEMENTS = {
    Use.SERVED: "count_served",
    Use.ECHOED: "count_echoed",
    Use.QUOTED: "count_quoted",
    Use.FOLLOWED: "count_followed",
}
"""The statement that counts a use."""

_UNCOUNT_STATEMENTS = {Use.QUOTED: "uncount_quoted", Use.FOLLOWED: "uncount_followed"}
"""The statement that takes back the count of a sign."""


@dataclass(slots=True)
class _Commit:
    """The commit of a transaction in one realm; recorded with the first write there."""

    number: int
    recorded_at: int
    begun: bool = False

    @property
    def is_first(self) -> bool:
        """Whether nothing was ever written in the realm."""
        return self.number == 1 and not self.begun


@dataclass(frozen=True, slots=True)
class _PresentState:
    """The row of a memory that is to get a next version, with its scope, content and keys."""

    number: int
    scope: int
    content: int
    hash: str
    paraphrase_key: str
    title: str | None
    text: str


def _describe(memory: Memory, index: changeset.IndexEntry | None) -> changeset.IndexEntry:
    """Return the prepared index entry if it is of this memory's text, or else a new one."""
    return index if index is not None and index.describes(memory) else index_memory(memory)


class SqlWriteTransaction:
    """Reads and writes of one transaction; it gets a commit number with its first write."""

    def __init__(self, db: Transaction, now: datetime) -> None:
        self._db = db
        self._now = now
        self._commits: dict[str, _Commit] = {}
        self._scope_numbers: dict[Scope, int] = {}
        self._changed_scopes: set[int] = set()
        self._duplicates = DuplicateIndex(db)
        self._new_memory: tuple[Scope, MemoryId] | None = None
        self._model: tuple[int, Encoder | None] | None = None

    @property
    def at(self) -> datetime:
        return rows.from_micros(self._current_commit.recorded_at)

    @property
    def commit(self) -> int:
        return self._current_commit.number

    @property
    def _current_commit(self) -> _Commit:
        """The commit in the realm of the scope that was entered last."""
        realm = self._db.realm
        if realm not in self._commits:
            last, recorded = self._fetch_first("last_commit") or (0, 0)
            after = rows.to_micros(next_commit_time(self._now, rows.from_micros(recorded)))
            self._commits[realm] = _Commit(int(last) + 1, after)
        return self._commits[realm]

    def _adopt(self, encoder: Encoder) -> None:
        _, recorded = self._read_encoder()
        if recorded is None:
            self._db.execute("lock_encoders")
            _, recorded = self._read_encoder()
        refuse_other_encoder(recorded, encoder)
        if recorded is None:
            self._db.execute("add_encoder", name=encoder.name, dimensions=encoder.dimensions)

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        self._db.enter_scope(scope)
        return self._fetch_memory("own_memory", path=str(scope), id=id)

    def version(self, scope: Scope, id: MemoryId, *, before: int | None = None) -> tuple[Memory, Vector | None] | None:
        self._db.enter_scope(scope)
        commit = self._current_commit.number + 1 if before is None else before
        return read_version(self._db, scope, id, before=commit, encoder=self._read_encoder()[0])

    def neighbors(self, query: changeset.NeighborQuery) -> changeset.Neighbors:
        known = self._duplicates.look_up(query)
        self._new_memory = None if query.id is None or known.id else (query.scope, query.id)
        return find_neighbors(SqlNeighborSource(self._db, query, self._read_encoder()[0]), query, known)

    def put(self, memory: Memory, vector: Vector | None = None, index: changeset.IndexEntry | None = None) -> Memory:
        self._db.enter_scope(memory.scope)
        scope, present = self._scope_number(memory.scope), self._find_present_state(memory)
        self._new_memory = None
        vector = None if Index.VECTOR in memory.left else vector
        if present is None:
            self._add_memory(memory, vector, _describe(memory, index), scope)
        else:
            self._change_memory(memory, vector, index, scope, present)
        if scope not in self._changed_scopes:
            self._changed_scopes.add(scope)
            self._execute("scope_changed", scope=scope, commit=self._current_commit.number)
        return memory.with_commit(self.at, self._current_commit.number)

    def _add_memory(self, memory: Memory, vector: Vector | None, index: changeset.IndexEntry, scope: int) -> None:
        content = self._put_content(memory, vector, index)
        self._begin_commit()
        state = self._state_values(memory, index.hash, index.paraphrase_key)
        params: dict[str, Any] = {"id": memory.id, "scope": scope, "content": content, **state}
        if self._fetch_first("add_memory", **params) is None:
            raise explain_conflict(self._db, params)

    def _change_memory(
        self,
        memory: Memory,
        vector: Vector | None,
        index: changeset.IndexEntry | None,
        scope: int,
        present: "_PresentState",
    ) -> None:
        """Store the next version; the former keys and content stay if it has the same text."""
        hash, likeness, content = memory.hash, present.paraphrase_key, present.content
        refuse_duplicate(self._db, memory, hash=hash, scope=scope)
        if present.scope != scope:
            raise id_taken_error(memory.id)
        same_text = (memory.title, memory.text) == (present.title, present.text)
        if vector is not None or not same_text or hash != present.hash:
            index = _describe(memory, index)
            likeness = index.paraphrase_key
            if vector is not None or not same_text:  # else only the speaker or the kind has changed
                content = self._put_content(memory, vector, index)
        if Index.VECTOR in memory.left:
            self._execute("drop_vectors", content=content)  # former versions with the same text lose theirs too
        state = self._state_values(memory, hash, likeness)
        self._execute("keep_version", memory=present.number, until=self._current_commit.number)
        self._execute("change_memory", memory=present.number, content=content, **state)

    def _state_values(self, memory: Memory, hash: str, likeness: str) -> dict[str, Any]:
        self._duplicates.add(memory.scope, memory.id, hash, likeness, memory.subject)
        commit = self._current_commit
        state = rows.state_values(memory, hash, likeness, recorded_at=commit.recorded_at, commit=commit.number)
        return dict(zip(rows.STATE_COLUMNS, state, strict=True))

    def apply(self, changes: changeset.Changeset) -> list[Memory]:
        if changes.encoder is not None:
            self._adopt(changes.encoder)
        stored = [self.put(one.memory, one.vector, one.index) for one in changes.puts]
        for record in changes.keys:
            self._keep_key(record)
        for uses in changes.uses:
            self._record_uses(uses)
        for signs in changes.retracted:
            self._retract_signs(signs)
        for cast in changes.votes:
            self._cast_votes(cast)
        for context in changes.contexts:
            self._add_context(context)
        for checkpoint in changes.checkpoints:
            self._set_checkpoint(checkpoint)
        return stored

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        self._db.enter_scope(scope)
        return reader.read_timeline(self._db, scope, levels, since, before, statuses)

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        self._db.enter_scope(scope)
        return reader.read_changed_dates(self._db, scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        self._db.enter_scope(scope)
        return reader.read_checkpoint(self._db, scope, name)

    def _set_checkpoint(self, checkpoint: changeset.Checkpoint) -> None:
        scope, name, value = checkpoint.scope, checkpoint.name, checkpoint.value
        refuse_invalid_checkpoint(name, value)
        self._db.enter_scope(scope)
        self._execute("set_checkpoint", scope=self._scope_number(scope), name=name, value=value)

    def _keep_key(self, kept: IdempotencyRecord) -> None:
        self._db.enter_scope(kept.scope)
        scope = self._scope_number(kept.scope)
        self._execute("drop_old_keys", scope=scope, before=rows.to_micros(kept.at - IDEMPOTENCY_KEY_LIFETIME))
        self._execute(
            "add_key",
            scope=scope,
            key=kept.key,
            body=kept.body,
            id=kept.memory,
            verdict=rows.verdict_to_json(kept.verdict),
            at=rows.to_micros(kept.at),
        )

    def _record_uses(self, uses: changeset.MemoryUses) -> None:
        scope, ids, use, at, context = uses.scope, uses.ids, uses.use, uses.at, uses.context
        self._db.enter_scope(scope)
        refuse_unsupported_use(use, COUNTED_USES)
        refuse_sign_without_context(use, context)
        micros, commit = rows.to_micros(at), self._current_commit.number
        for memory, owner in self._find_places(scope, ids):
            use_params = {"memory": memory, "use": use.value, "context": context}
            if use in SIGN_USES and self._fetch_first("sign", **use_params) is not None:
                continue
            self._execute("add_use", at=micros, commit=commit, **use_params)
            self._execute(_COUNT_STATEMENTS[use], memory=memory, scope=owner, at=micros, commit=commit)
            self._execute("scope_used", scope=owner, commit=commit)

    def _retract_signs(self, signs: changeset.MemoryUses) -> None:
        scope, ids, sign, context = signs.scope, signs.ids, signs.use, signs.context
        self._db.enter_scope(scope)
        refuse_unsupported_use(sign, SIGN_USES)
        for memory, owner in self._find_places(scope, ids):
            use_params = {"memory": memory, "use": sign.value, "context": context}
            if self._fetch_first("sign", **use_params) is not None:
                self._execute("drop_sign", **use_params)
                self._execute(_UNCOUNT_STATEMENTS[sign], memory=memory, commit=self._current_commit.number)
                self._execute("scope_used", scope=owner, commit=self._current_commit.number)

    def _cast_votes(self, cast: changeset.ScopeVotes) -> None:
        scope, votes = cast.scope, cast.votes
        self._db.enter_scope(scope)
        by_memory: dict[MemoryId, list[Vote]] = {}
        for vote in votes:
            refuse_unsupported_use(vote.use, VOTE_USES)
            by_memory.setdefault(vote.memory, []).append(vote)
        for id, own_votes in by_memory.items():
            for memory, owner in self._find_places(scope, [id]):
                self._save_votes(own_votes, memory, owner)

    def _save_votes(self, votes: Sequence[Vote], memory: int, owner: int) -> None:
        """Add votes on one memory and update its vote counts."""
        commit = self._current_commit.number
        for vote in votes:
            params = {"context": vote.context, "by": vote.by, "use": vote.use.value, "at": rows.to_micros(vote.at)}
            self._execute("add_vote", memory=memory, commit=commit, **params)
        all_votes = self._db.fetch_all("votes_on", memory=memory)
        helped, misled = count_votes(select_current_votes(rows.parse_vote(*row) for row in all_votes))
        self._execute("count_votes", memory=memory, scope=owner, helped=helped, misled=misled, commit=commit)
        self._execute("scope_used", scope=owner, commit=commit)

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        self._db.enter_scope(scope)
        row = self._fetch_first("context", id=id, path=str(scope))
        return None if row is None else rows.parse_context(row[0])

    def _add_context(self, trace: ContextRecord) -> None:
        self._db.enter_scope(trace.scope)
        self._execute(
            "add_context",
            id=trace.id,
            scope=self._scope_number(trace.scope),
            made_at=rows.to_micros(trace.made_at),
            trace=rows.context_to_json(trace),
            commit=self._current_commit.number,
        )

    def load(self, items: Iterable[ArchiveItem], encoder: Encoder | None) -> ImportReport:
        if encoder is not None:
            self._adopt(encoder)
        self._new_memory, self._duplicates = None, DuplicateIndex(self._db)
        loader = ArchiveLoader(
            self._db, self._assign_commit, lambda: self._current_commit.is_first, encoder=self._read_encoder()[0]
        )
        report = loader.load(items)
        self._commits = {realm: commit for realm, commit in self._commits.items() if commit.begun}
        return report

    def _assign_commit(self, commit: int, recorded_at: datetime) -> tuple[int, int]:
        """Return the commit and recorded time for imported rows.

        An empty realm keeps the archive's commits and times; otherwise all rows get this transaction's commit.
        """
        if not self._current_commit.is_first:
            self._begin_commit()
            return self._current_commit.number, self._current_commit.recorded_at
        recorded = rows.to_micros(recorded_at)
        self._db.execute("load_commit", commit=commit, recorded_at=recorded)
        return commit, recorded

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        self._db.enter_scope(scope)
        return [MemoryId(id) for (id,) in self._db.fetch_all("written_by", path=str(scope), commit=commit)]

    def lineage(self, scope: Scope) -> list[Lineage]:
        self._db.enter_scope(scope)
        return rows.parse_lineage(self._db.fetch_all("lineage", path=str(scope), every=False))

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> ErasedRows:
        self._db.enter_scope(scope, wide=True)  # contexts of lower scopes may name them too
        return self._erase_places(self._db.fetch_all("own_places", path=str(scope), ids=json.dumps(list(ids))))

    def erase_all(self, scope: Scope) -> ErasedRows:
        self._db.enter_scope(scope, wide=True)
        erased_contexts = erasure.erase_contexts(self._db, self._execute, scope)
        erased_checkpoints = ErasedRows()
        for (number,) in self._db.fetch_all("checkpointed_scope", path=str(scope)):
            erased_checkpoints = erasure.erase_checkpoints(self._db, self._execute, number)
        erased_memories = self._erase_places(self._db.fetch_all("all_places", path=str(scope)))
        if erased_contexts.contexts or erased_checkpoints.checkpoints or erased_memories.ids:
            self._execute("unname_scope", path=str(scope))
            self._scope_numbers.pop(scope, None)
        return replace(
            erased_memories,
            contexts=erased_memories.contexts + erased_contexts.contexts,
            checkpoints=erased_memories.checkpoints + erased_checkpoints.checkpoints,
            pieces=erased_memories.pieces | erased_contexts.pieces | erased_checkpoints.pieces,
        )

    def _erase_places(self, found: Sequence[Row]) -> ErasedRows:
        places = {MemoryId(id): (number, scope) for id, number, scope in found}
        return erasure.erase(self._db, self._execute, places, self.commit) if places else ErasedRows()

    def _put_content(self, memory: Memory, vector: Vector | None, index: changeset.IndexEntry) -> int:
        """Add the memory's text with its terms and vector; return the content's number."""
        scope = self._scope_number(memory.scope)
        content: int
        (content,) = self._db.fetch_one(
            "add_content",
            scope=scope,
            title=memory.title,
            text=memory.text,
            hash=content_hash(memory.text),
            terms=bm25.encode_terms(index.terms),
            analyser=tokenizer.VERSION,
            entities=entity_links.encode_names(index.names),
            naming=entities.VERSION,
        )
        if vector is not None:
            number, encoder = self._read_encoder()
            refuse_mismatched_vector(vector, encoder)
            value = rows.VectorBytes(vector.astype("<f4").tobytes())
            self._execute("add_vector", content=content, encoder=number, scope=scope, value=value)
        return content

    def _find_present_state(self, memory: Memory) -> "_PresentState | None":
        """Return the present state of the memory with this id, if there is one."""
        if self._new_memory == (memory.scope, memory.id):
            return None
        row = self._fetch_first("present_state", id=memory.id)
        return None if row is None else _PresentState(*row)

    def _read_encoder(self) -> tuple[int, Encoder | None]:
        """Return the current model and its number; once it exists, it is fixed for the transaction."""
        if self._model is None or self._model[1] is None:
            self._model = read_current_encoder(self._db)
        return self._model

    def _scope_number(self, scope: Scope) -> int:
        if scope not in self._scope_numbers:
            self._begin_commit()
            (self._scope_numbers[scope],) = self._db.fetch_one("add_scope", path=str(scope))
        return self._scope_numbers[scope]

    def _find_places(self, scope: Scope, ids: Sequence[MemoryId]) -> list[tuple[int, int]]:
        """Return the numbers of the memories that the scope may see, each with its scope's number."""
        found = [self._fetch_first("place", **visible_params(scope, id=id)) for id in ids]
        return [(row[0], row[1]) for row in found if row is not None]

    def _fetch_memory(self, statement: str, /, **params: object) -> Memory | None:
        row = self._fetch_first(statement, **params)
        return None if row is None else rows.parse_memory(row)

    def _fetch_first(self, statement: str, /, **params: object) -> Row | None:
        return self._db.fetch_first(statement, **params)

    def _execute(self, statement: str, /, **params: object) -> None:
        self._begin_commit()
        self._db.execute(statement, **params)

    def _begin_commit(self) -> None:
        """Record the commit before the first write."""
        commit = self._current_commit
        if not commit.begun:
            commit.begun = True
            self._db.execute("add_commit", commit=commit.number, recorded_at=commit.recorded_at)
