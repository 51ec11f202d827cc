"""The write transaction of the reference store."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from recollect.model import changeset, validation
from recollect.model.archive import ArchivedMemory, ArchiveItem, ErasedRows, ImportReport, Lineage, strip_store_fields
from recollect.model.context import SIGN_USES, ContextRecord, Use, anonymize_votes
from recollect.model.draft import IDEMPOTENCY_KEY_LIFETIME, IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.vectors import Vector, decode_vector
from recollect.stores.sql import rows
from recollect.stores.sql.neighbors import find_neighbors
from recollect.testing.reference_state import CommitNumber, MemoryVersion, RecordedUse, ReferenceState, can_see
from recollect.text.paraphrase import NO_KEY, paraphrase_key


class ReferenceWriter:
    """A write transaction on a copy of the state, which replaces the state if it succeeds.

    It becomes a commit with its first write; a change that only reads does not become one.
    """

    def __init__(self, state: ReferenceState, now: datetime) -> None:
        self._state = state
        self._at = rows.next_commit_time(now, state.commit_times[-1] if state.commit_times else None)
        self._commit = len(state.commit_times) + 1

    @property
    def at(self) -> datetime:
        return self._at

    @property
    def commit(self) -> int:
        return self._commit

    def _begin_commit(self) -> ReferenceState:
        """Return the state for writing, and start the commit if it has not begun."""
        if len(self._state.commit_times) < self._commit:
            self._state.commit_times.append(self._at)
        return self._state

    def _adopt(self, encoder: Encoder) -> None:
        if self._state.encoder is None:
            self._begin_commit().encoder = encoder
        rows.refuse_other_encoder(self._state.encoder, encoder)

    def get(self, scope: Scope, id: MemoryId) -> Memory | None:
        found = self._state.find_version(id, self.commit)
        return found.memory if found is not None and found.memory.scope == scope else None

    def version(self, scope: Scope, id: MemoryId, *, before: int | None = None) -> tuple[Memory, Vector | None] | None:
        found = self._state.find_version(id, self.commit if before is None else before - 1)
        return None if found is None or found.memory.scope != scope else (found.memory, found.vector)

    def neighbors(self, query: changeset.NeighborQuery) -> changeset.Neighbors:
        return find_neighbors(ReferenceNeighbors(self._state, query), query)

    def put(self, memory: Memory, vector: Vector | None = None, index: changeset.IndexEntry | None = None) -> Memory:
        rows.refuse_mismatched_vector(vector, self._state.encoder)
        vector = None if vector is None else vector.copy()  # only versions with the same text share an array
        former = self._state.find_version(memory.id, self.commit)
        self._refuse_duplicate(memory)
        if former is not None and former.memory.scope != memory.scope:
            raise rows.id_taken_error(memory.id)
        if former is not None:
            self._unindex_text(former.memory)
            if vector is None and former.memory.searched_text == memory.searched_text:
                vector = former.vector
        state = self._begin_commit()
        self._index_text(memory)
        recorded = memory.with_commit(self.at, self.commit)
        earlier = state.versions.get(memory.id, ())
        if Index.VECTOR in memory.left:  # former versions with the same text lose their vector too
            earlier = tuple(replace(one, vector=None) if one.vector is vector else one for one in earlier)
            vector = None
        state.versions[memory.id] = (*earlier, MemoryVersion(recorded, vector, self.commit))
        return recorded

    def _refuse_duplicate(self, memory: Memory) -> None:
        """Raise if another active memory has the same text and topic, or the same topic key."""
        if memory.status is not Status.ACTIVE:
            return
        twin = self._state.ids_by_text.get((memory.scope, memory.hash), {}).get(memory.topic_key)
        if twin is not None and twin != memory.id:
            raise rows.duplicate_text_error(twin)
        if memory.topic_key is None:
            return
        other = self._state.find_topic(memory.scope, memory.topic_key)
        if other is not None and other.id != memory.id:
            raise rows.topic_taken_error(other.id, memory.topic_key)

    def _index_text(self, memory: Memory) -> None:
        if memory.status is Status.ACTIVE:
            place = memory.scope, memory.hash
            self._state.ids_by_text[place] = {**self._state.ids_by_text.get(place, {}), memory.topic_key: memory.id}

    def _unindex_text(self, memory: Memory) -> None:
        if memory.status is Status.ACTIVE:
            place = memory.scope, memory.hash
            others = {topic: id for topic, id in self._state.ids_by_text[place].items() if topic != memory.topic_key}
            self._state.ids_by_text[place] = others

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
        return self._state.list_timeline(scope, levels, since, before, statuses)

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._state.find_changes(scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._state.checkpoints.get((scope, name))

    def _set_checkpoint(self, checkpoint: changeset.Checkpoint) -> None:
        scope, name, value = checkpoint.scope, checkpoint.name, checkpoint.value
        rows.refuse_invalid_checkpoint(name, value)
        self._begin_commit().checkpoints[scope, name] = value

    def _keep_key(self, kept: IdempotencyRecord) -> None:
        state = self._begin_commit()
        state.idempotency_keys = {
            place: one
            for place, one in state.idempotency_keys.items()
            if one.scope != kept.scope or kept.at - one.at <= IDEMPOTENCY_KEY_LIFETIME
        }
        state.idempotency_keys[kept.scope, kept.key] = kept

    def _record_uses(self, uses: changeset.MemoryUses) -> None:
        scope, ids, use, at, context = uses.scope, uses.ids, uses.use, uses.at, uses.context
        rows.refuse_unsupported_use(use, rows.COUNTED_USES)
        rows.refuse_sign_without_context(use, context)
        for id in ids:
            version = self._state.find_version(id, self.commit)
            if version is None or not can_see(scope, version.memory):
                continue
            already_recorded = use in SIGN_USES and any(
                (one.memory, one.use, one.context) == (id, use, context) for one in self._state.uses
            )
            if not already_recorded:
                self._begin_commit().uses.append(RecordedUse(id, use, at, context, self.commit))

    def _retract_signs(self, signs: changeset.MemoryUses) -> None:
        scope, ids, sign, context = signs.scope, signs.ids, signs.use, signs.context
        rows.refuse_unsupported_use(sign, SIGN_USES)
        found = {id: self._state.find_version(id, self.commit) for id in ids}
        seen = {id for id, one in found.items() if one is not None and can_see(scope, one.memory)}
        gone = [one for one in self._state.uses if one.memory in seen and (one.use, one.context) == (sign, context)]
        if gone:
            state = self._begin_commit()
            state.uses = [one for one in state.uses if one not in gone]

    def _cast_votes(self, cast: changeset.ScopeVotes) -> None:
        scope, votes = cast.scope, cast.votes
        for vote in votes:
            rows.refuse_unsupported_use(vote.use, rows.VOTE_USES)
            found = self._state.find_version(vote.memory, self.commit)
            if found is not None and can_see(scope, found.memory):
                self._begin_commit().votes.append((vote, self.commit))

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        return self._state.find_context(scope, id)

    def _add_context(self, trace: ContextRecord) -> None:
        self._begin_commit().traces[trace.id] = trace

    def load(self, items: Iterable[ArchiveItem], encoder: Encoder | None) -> ImportReport:
        exact = not self._state.commit_times
        if exact:
            self._state.encoder = encoder
        elif encoder is not None:
            self._adopt(encoder)
        there: dict[CommitNumber, datetime] = {}

        def as_there(commit: CommitNumber, recorded_at: datetime) -> tuple[CommitNumber, datetime]:
            there[commit] = recorded_at
            return commit, recorded_at

        memories = contexts = skipped = 0
        for item in items:
            if isinstance(item, ContextRecord):
                here = self._state.traces.get(item.id)
                if here is not None and here != item.with_commit_of(here):
                    raise rows.context_taken_error(item.id)
                if here is None:
                    self._state.traces[item.id] = item if exact else replace(item, elsewhere=True)
                contexts, skipped = contexts + (here is None), skipped + (here is not None)
            elif self._is_stored(item):
                skipped += 1
            else:
                self._import_memory(item, as_there if exact else self._stamp_now)
                memories += 1
        if exact:
            self._copy_commit_times(there)
        return ImportReport(memories=memories, contexts=contexts, skipped=skipped)

    def _copy_commit_times(self, there: Mapping[CommitNumber, datetime]) -> None:
        """Take over the commit times of another store.

        A commit with no imported items gets the time of the commit before it. Commits are created up to the last number
        that a context refers to, so that none of these numbers is used again.
        """
        known = (one.commit for one in self._state.traces.values() if not one.elsewhere)
        first = min(there.values(), default=self._at)
        for commit in range(1, max([*there, *known], default=0) + 1):
            before = self._state.commit_times[-1] if self._state.commit_times else first
            self._state.commit_times.append(there.get(commit, before))

    def _is_stored(self, saved: ArchivedMemory) -> bool:
        present = saved.current
        versions = [one.memory for one in self._state.versions.get(present.id, ())]
        if versions and versions[-1].scope != present.scope:
            raise rows.id_taken_error(present.id)
        if versions and strip_store_fields(versions) != strip_store_fields([memory for memory, _ in saved.versions]):
            raise rows.history_differs_error(present.id)
        return bool(versions)

    def _stamp_now(self, commit: CommitNumber, recorded_at: datetime) -> tuple[CommitNumber, datetime]:
        """Return this commit, whatever commit the item had in the other store."""
        self._begin_commit()
        return self._commit, self._at

    def _import_memory(
        self, saved: ArchivedMemory, stamping: Callable[[CommitNumber, datetime], tuple[CommitNumber, datetime]]
    ) -> None:
        """Import a memory that is new here, under its own commits or under this one."""
        present = saved.current
        self._refuse_duplicate(present)
        self._index_text(present)
        vectors, versions = [decode_vector(one.vector) for one in saved.contents], list[MemoryVersion]()
        for memory, place in saved.versions:
            commit, recorded_at = stamping(memory.commit or 0, memory.recorded_at or memory.created_at)
            stamped = memory.with_changes(recorded_at=recorded_at, commit=commit)
            versions.append(MemoryVersion(stamped, vectors[place], commit))
        self._state.versions[present.id] = tuple(versions)
        for use in saved.uses:
            commit, _ = stamping(use.commit, use.recorded_at)
            self._state.uses.append(RecordedUse(present.id, use.use, use.at, use.context, commit))
        self._state.votes += [(one.vote, stamping(one.commit, one.recorded_at)[0]) for one in saved.votes]
        for record in saved.keys:
            self._state.idempotency_keys.setdefault((record.scope, record.key), record)

    def written_by(self, scope: Scope, commit: int) -> list[MemoryId]:
        versions = self._state.versions.items()
        return sorted(id for id, ones in versions if self.get(scope, id) and any(one.commit == commit for one in ones))

    def lineage(self, scope: Scope) -> list[Lineage]:
        return [one for one in self._state.list_lineage(scope) if one.source or one.derived_from]

    def erase_all(self, scope: Scope) -> ErasedRows:
        asked = {id for id, trace in self._state.traces.items() if trace.scope == scope}
        noted = sum(whose == scope for whose, _ in self._state.checkpoints)
        state = self._begin_commit() if asked or noted else self._state
        self._drop_checkpoints(scope)
        state.traces = {id: trace for id, trace in state.traces.items() if trace.scope != scope}
        self._anonymize_uses(scope, asked)
        erased = self.erase(scope, list(state.versions))
        return replace(erased, contexts=erased.contexts + len(asked), checkpoints=erased.checkpoints + noted)

    def _drop_checkpoints(self, scope: Scope) -> None:
        kept = self._state.checkpoints.items()
        self._state.checkpoints = {place: value for place, value in kept if place[0] != scope}

    def _anonymize_uses(self, scope: Scope, contexts: Set[str]) -> None:
        """Remove the scope's contexts from uses and votes of memories of its ancestors.

        The uses and votes still count. Signs are deleted.
        """
        state = self._state
        above = {id for id, versions in state.versions.items() if versions[-1].memory.scope in scope.ancestors}
        state.uses = [
            replace(one, context=None) if one.memory in above and one.context in contexts else one
            for one in state.uses
            if one.use not in SIGN_USES or one.memory not in above or one.context not in contexts
        ]
        for id in above:
            places = [place for place, (vote, _) in enumerate(state.votes) if vote.memory == id]
            left = anonymize_votes([state.votes[place][0] for place in places], contexts, str(scope))
            for place, vote in zip(places, left, strict=True):
                if vote != state.votes[place][0]:
                    self._begin_commit().votes[place] = (vote, state.votes[place][1])

    def erase(self, scope: Scope, ids: Sequence[MemoryId]) -> ErasedRows:
        gone = {id for id in ids if self.get(scope, id) is not None}
        versions = [one for id in gone for one in self._state.versions[id]]
        erased = ErasedRows(
            ids=tuple(sorted(gone)),
            versions=len(versions),
            vectors=len({id(one.vector) for one in versions if one.vector is not None}),  # versions may share one
            uses=sum(one.memory in gone for one in self._state.uses),
            votes=sum(vote.memory in gone for vote, _ in self._state.votes),
            keys=sum(one.memory in gone for one in self._state.idempotency_keys.values()),
            checkpoints=sum(whose == scope for whose, _ in self._state.checkpoints) if gone else 0,
        )
        left = {id: trace.without_memories(gone) for id, trace in self._state.traces.items()}
        contexts = sum(trace != self._state.traces[id] for id, trace in left.items())
        state = self._begin_commit() if gone else self._state
        if gone:
            self._drop_checkpoints(scope)
        for name in gone:
            self._unindex_text(state.versions.pop(name)[-1].memory)
        state.uses = [one for one in state.uses if one.memory not in gone]
        state.votes = [(vote, commit) for vote, commit in state.votes if vote.memory not in gone]
        state.idempotency_keys = {at: one for at, one in state.idempotency_keys.items() if one.memory not in gone}
        state.traces = left
        return replace(erased, contexts=contexts)


class ReferenceNeighbors:
    """Lookups for one query, in the state of the reference store."""

    def __init__(self, state: ReferenceState, query: changeset.NeighborQuery) -> None:
        self._state = state
        self._query = query
        self._last = len(state.commit_times) + 1

    def get_retried(self, key: str) -> IdempotencyRecord | None:
        return self._state.idempotency_keys.get((self._query.scope, key))

    def get(self, id: MemoryId) -> Memory | None:
        found = self._state.find_version(id, self._last)
        return found.memory if found is not None and found.memory.scope == self._query.scope else None

    def get_visible(self, ids: Sequence[str]) -> list[Memory]:
        found = [self._state.find_version(MemoryId(id), self._last) for id in ids]
        return [one.memory for one in found if one is not None and can_see(self._query.scope, one.memory)]

    def get_topic(self, topic_key: str) -> Memory | None:
        return self._state.find_topic(self._query.scope, topic_key)

    def find_duplicates(self, scope: Scope) -> list[Memory]:
        hash, key, topic_key = self._query.hash, self._query.paraphrase_key, self._query.topic_key
        found = [
            one
            for one in self._list_plain(scope)
            if (one.hash == hash or key == paraphrase_key(one) != NO_KEY)
            and (topic_key is None or one.topic_key in (None, topic_key))
        ]
        found.sort(key=lambda one: (one.status is not Status.ACTIVE, one.topic_key != topic_key))
        return found[: validation.MAX_NEIGHBORS]

    def find_former_duplicates(self) -> list[Memory]:
        hash = self._query.hash
        found = [
            one
            for one in self._list_plain(self._query.scope)
            if one.hash != hash and any(version.memory.hash == hash for version in self._state.versions[one.id])
        ]
        return found[: validation.MAX_NEIGHBORS]

    def find_same_subject(self, subject: str, since: datetime) -> list[Memory]:
        found = [
            one
            for one in self._list_plain(self._query.scope)
            if one.subject == subject and one.status in (Status.ACTIVE, Status.SUPERSEDED) and not one.ended_by(since)
        ]
        found.sort(key=lambda one: (one.status.value, one.valid_from or one.observed_at or one.created_at, one.id))
        return found[: validation.MAX_NEIGHBORS]

    def _list_plain(self, scope: Scope) -> list[Memory]:
        """Return the current plain memories of a scope, in the order in which they were added.

        Records with a level are left out: they count as no duplicate of a memory.
        """
        present = [versions[-1].memory for versions in self._state.versions.values()]
        return [one for one in present if one.scope == scope and one.level is None]

    def get_before(self, memory: Memory) -> Memory | None:
        found = self._state.find_version(memory.id, (memory.commit or 0) - 1)
        return None if found is None else found.memory

    def get_vector(self, memory: Memory) -> Vector | None:
        found = self._state.find_version(memory.id, self._last)
        return None if found is None else found.vector

    def get_status_since(self, memory: Memory) -> datetime | None:
        versions = [one.memory for one in self._state.versions.get(memory.id, ())]
        same = list(takewhile(lambda one: one.status is versions[-1].status, reversed(versions)))
        return same[-1].recorded_at if same else None

    def is_echoed(self, memory: Memory, at: datetime) -> bool:
        return any(one.memory == memory.id and one.use is Use.ECHOED and one.at == at for one in self._state.uses)
