"""The reference store: the simplest store that passes the contract, held in dictionaries.

Its contents are lost when the process ends.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from recollect.errors import RecollectError
from recollect.fork_safety import ForkSafeLock
from recollect.model import changeset
from recollect.model.archive import MAX_NAMED_SCOPES, ArchiveInfo, ArchiveItem, Lineage, ResidueSearch, Stats
from recollect.model.context import NO_USAGE, SIGN_USES, ContextRecord, Sign, Usage, Use, Vote, select_current_votes
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import to_microseconds
from recollect.protocols import WriteTransaction
from recollect.retrieval import bm25, entity_links
from recollect.retrieval.eligibility import RECALLABLE_STATUSES, View
from recollect.retrieval.scope_columns import UNINDEXED_STATUS, ColumnsVersion, MemoryRow, ScopeColumns
from recollect.retrieval.snapshot import MergedColumns, Snapshot
from recollect.stores.sql.neighbors import find_neighbors
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.testing.reference_state import MemoryVersion, ReferenceState, can_see
from recollect.testing.reference_writer import ReferenceNeighbors, ReferenceWriter
from recollect.text import questions, tokenizer

T = TypeVar("T")


def _is_inside(scope: Scope, outer: Scope | None) -> bool:
    """Return whether a scope is `outer` or below it; without `outer`, every scope is."""
    return outer is None or scope.within(outer)


class ReferenceStore:
    """Keeps everything in dictionaries: slow but simple, the reference for other stores."""

    read_only = False
    takes_writes = True

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = ForkSafeLock()
        self._state = ReferenceState()
        self._open = True

    def encoder(self) -> Encoder | None:
        return self.state.encoder

    def snapshot(self, view: View) -> Snapshot:
        state = self.state
        refuse_other_encoder(state.encoder, view.encoder)
        until = state.find_commit(view.known_at) if view.commit is None else view.commit
        seen = state.list_versions(view, until)
        dimensions = 1 if state.encoder is None else state.encoder.dimensions
        scopes = [view.scope, *(one for one in view.scope.ancestors if any(v.memory.scope == one for v in seen))]
        parts = []
        for scope in scopes:
            rows = [
                _column_row(number, one, state.count_usage(one.memory.id, until))
                for number, one in enumerate(seen)
                if one.memory.scope == scope
            ]
            columns = ScopeColumns.empty(scope, dimensions, only_shared=scope != view.scope)
            parts.append(columns.with_rows(rows, ColumnsVersion(until, until, 0), most=len(rows)))
        snapshot = Snapshot.of(view, MergedColumns(tuple(parts)), until, encoder_number=int(state.encoder is not None))
        dropped = {one.memory.id for one in seen if view.encoder and state.has_dropped_vector(one, until)}
        rows_without = [row for row in snapshot.rows.tolist() if snapshot.columns.ids[row] in dropped]
        return replace(snapshot, dropped_vectors=rows_without)

    def load(self, snapshot: Snapshot, rows: Sequence[int]) -> list[Memory | None]:
        seen = self.state.list_versions(snapshot.view, snapshot.commit)
        memories = {one.memory.id: one.memory for one in seen}
        return [memories.get(snapshot.columns.ids[row]) for row in rows]

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        state = self.state
        found = [state.find_version(id, state.find_commit(known_at)) for id in ids]
        return [one.memory for one in found if one is not None and can_see(scope, one.memory)]

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        state = self.state
        seen = {memory.id for memory in self.get(scope, ids)}
        return [state.count_usage(id, len(state.commit_times)) if id in seen else NO_USAGE for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        state = self.state
        cast = [vote for vote, _ in state.votes if state.is_in_contexts(scope, contexts, vote.memory, vote.context)]
        return sorted(select_current_votes(cast), key=lambda one: (one.context, one.memory, one.by))

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        state = self.state
        found = [
            Sign(one.context, one.memory, one.use)
            for one in state.uses
            if one.context is not None
            and one.use in SIGN_USES
            and state.is_in_contexts(scope, contexts, one.memory, one.context)
        ]
        return sorted(found, key=lambda one: (one.context, one.memory, one.use))

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        versions = [one.memory for one in self.state.versions.get(id, ())]
        return [one for one in versions if can_see(scope, one)] if versions and can_see(scope, versions[-1]) else []

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        return islice(self.state.list_memories(scope, statuses, after, below=below), limit)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return self.state.list_lineage(scope)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self.state.list_timeline(scope, levels, since, before, statuses)

    def changed_dates(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self.state.find_changes(scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self.state.checkpoints.get((scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        scopes = {versions[-1].memory.scope for versions in self.state.versions.values()}
        return sorted((one for one in scopes if scope is None or one == scope or one.within(scope)), key=str)

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        return self.state.find_context(scope, id)

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        traces = [trace for trace in self.state.traces.values() if trace.scope == scope]
        return iter(sorted(traces, key=lambda one: (one.made_at, one.id)))

    def neighbors(self, queries: Sequence[changeset.NeighborQuery]) -> list[changeset.Neighbors]:
        state = self.state
        return [find_neighbors(ReferenceNeighbors(state, query), query) for query in queries]

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        with self._lock.rlock:
            draft = self.state.copy()
            result = change(ReferenceWriter(draft, self._clock()))
            self._state = draft
            return result

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        state = self.state

        def inside(one: Scope) -> bool:
            return scope is None or one == scope or (below and one.within(scope))

        found = {id: versions for id, versions in state.versions.items() if inside(versions[-1].memory.scope)}
        present = [versions[-1] for versions in found.values()]
        scopes = Counter(one.memory.scope for one in present)
        usages = [state.count_usage(id, len(state.commit_times)) for id in found]
        return Stats(
            memories=len(found),
            statuses=dict(sorted(Counter(one.memory.status for one in present).items())),
            kinds=dict(sorted(Counter(one.memory.kind for one in present).items())),
            scopes=len(scopes),
            largest=tuple(sorted(scopes.items(), key=lambda one: (-one[1], str(one[0])))[:MAX_NAMED_SCOPES]),
            versions=sum(map(len, found.values())),
            contexts=sum(inside(trace.scope) for trace in state.traces.values()),
            uses={use: sum(getattr(one, use.value) for one in usages) for use in Use},
            unembedded=sum(_lacks_vector(one) for one in present),
            encoder=state.encoder,
            analyser=tokenizer.VERSION,
            schema=0,
            bytes=0,
        )

    def export(self, scope: Scope | None) -> tuple[ArchiveInfo, Iterator[ArchiveItem]]:
        state = self.state.copy()
        saved = [
            state.export_memory(id)
            for id, versions in state.versions.items()
            if _is_inside(versions[-1].memory.scope, scope)
        ]
        traces = [trace for _, trace in sorted(state.traces.items()) if _is_inside(trace.scope, scope)]
        _, until = max((stamp for memory in saved for stamp in memory.commit_times), default=(0, None))
        inventory = ArchiveInfo(
            encoder=state.encoder,
            analyser=tokenizer.VERSION,
            scope=scope,
            memories=len(saved),
            contexts=len(traces),
            until=until,
        )
        return inventory, iter([*saved, *traces])

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> ResidueSearch:
        self._refuse_if_closed()
        return ResidueSearch()

    def defer(self, changes: changeset.Changeset) -> None:
        self.write(lambda writing: writing.apply(changes))

    def settle(self) -> None:
        self._refuse_if_closed()

    def flush(self) -> None:
        self._refuse_if_closed()

    def close(self) -> None:
        self._open = False

    @property
    def state(self) -> ReferenceState:
        """Everything that the store has recorded."""
        self._refuse_if_closed()
        return self._state

    def _refuse_if_closed(self) -> None:
        if not self._open:
            raise RecollectError("this store is closed")


def _lacks_vector(version: MemoryVersion) -> bool:
    """Return whether a version is active and has no vector, though none was removed."""
    memory = version.memory
    return version.vector is None and memory.status is Status.ACTIVE and Index.VECTOR not in memory.left


def _column_row(number: int, version: MemoryVersion, usage: Usage) -> MemoryRow:
    """Return a version as the columns take it; the number only tells memories apart."""
    memory = version.memory
    is_away = not memory.findable and memory.status in RECALLABLE_STATUSES
    numbers = (memory.importance, memory.confidence, memory.salience, memory.revisions)
    dates = (memory.created_at, memory.updated_at, memory.valid_from, memory.valid_until)
    in_text = Index.TEXT not in memory.left
    return (
        number,
        version.commit,
        memory.id,
        memory.kind.value,
        memory.level and " ".join(one.value for one in (memory.level, *memory.stands_for)),
        UNINDEXED_STATUS if is_away else memory.status.value,
        memory.shared,
        memory.pinned,
        *numbers,
        *(None if one is None else to_microseconds(one) for one in dates),
        usage.served,
        usage.helped,
        usage.misled,
        None if usage.last_served_at is None else to_microseconds(usage.last_served_at),
        memory.session,
        memory.speaker,
        memory.text[-questions.QUESTION_END_CHARS :],
        entity_links.find_stored_names(memory.title, memory.text) if in_text else "",
        bm25.encode_terms(tokenizer.count_terms(memory.searched_text) if in_text else {}),
        None if version.vector is None else version.vector.astype("<f4").tobytes(),
    )
