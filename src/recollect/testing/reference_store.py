"""The reference store: the simplest store that passes the contract, held in dictionaries.

Its contents are lost when the process ends.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

import numpy as np

from recollect.errors import RecollectError
from recollect.fork_safety import ForkSafeLock
from recollect.model.archive import MAX_NAMED_SCOPES, ArchiveInfo, ArchiveItem, Lineage, ResidueSearch, Stats
from recollect.model.candidate import Candidate
from recollect.model.context import NO_USAGE, SIGN_USES, ContextRecord, Sign, Usage, Use, Vote, select_current_votes
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Index, Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.model.table import CandidateTable
from recollect.protocols import WriteTransaction
from recollect.retrieval import bm25, entity_links, turn_context
from recollect.retrieval.eligibility import Barrier, find_barrier
from recollect.retrieval.evidence import EvidenceRequest, RecallEvidence, Vectors
from recollect.retrieval.vectors import nearest_cosines
from recollect.stores.sql.rows import refuse_other_encoder
from recollect.testing.reference_state import MemoryVersion, ReferenceState, can_see
from recollect.testing.reference_writer import ReferenceWriter
from recollect.text import questions, tokenizer
from recollect.text.entities import find_entities

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
        return self._require_open().encoder

    def gather(self, probe: EvidenceRequest) -> RecallEvidence:
        state = self._require_open()
        refuse_other_encoder(state.encoder, probe.encoder)
        until = state.find_commit(probe.known_at) if probe.commit is None else probe.commit
        known = [state.version_at(one, probe, until) for one in state.list_visible(probe.scope, until)]
        seen = [  # the request may supply vectors that were dropped
            replace(one, vector=probe.directions.get(one.memory.id)) if state.has_dropped_vector(one, until) else one
            for one in known
        ]
        barriers = [_find_barrier(one.memory, probe) for one in seen]
        eligible = np.flatnonzero([one is None for one in barriers])
        asks = probe.vectors is not None
        previous = _find_previous_turns(seen, eligible.tolist()) if probe.in_turns else {}
        shares = _score_terms(seen, eligible.tolist(), probe.terms, previous)
        settings = _score_sessions(seen, eligible.tolist(), probe.terms) if probe.in_turns else {}
        near = _compute_similarities(seen, probe.vectors, previous)
        mentions = {row: _extract_names(seen[row].memory) for row in eligible.tolist()} if probe.names else {}
        links = entity_links.link_memories(mentions, probe.names) if probe.names else {}
        candidates = [
            _build_candidate(
                one,
                state.count_usage(one.memory.id, until),
                similarity=near[row],
                lexical=shares.get(row),
                setting=settings.get(row),
                link=links.get(row),
            )
            for row, one in enumerate(seen)
        ]
        return RecallEvidence(
            table=CandidateTable.of(candidates),
            rows=eligible,
            pinned=np.array([row for row in eligible.tolist() if seen[row].memory.pinned], dtype=np.intp),
            barred=Counter[Barrier](one for one in barriers if one is not None),
            commit=until,
            memories=lambda rows: [self._drop_if_erased(seen[row]) for row in rows],
            dropped_vectors=[row for row in eligible.tolist() if state.has_dropped_vector(seen[row], until)]
            if asks
            else [],
        )

    def speakers(self, probe: EvidenceRequest) -> frozenset[str]:
        found = self.gather(probe)
        return frozenset(one.speaker for one in found.memories(found.rows.tolist()) if one and one.speaker)

    def mentions(self, probe: EvidenceRequest) -> dict[MemoryId, list[str]]:
        found = self.gather(probe)
        memories = zip(found.rows.tolist(), found.memories(found.rows.tolist()), strict=True)
        return {found.table.ids[row]: sorted(_extract_names(one)) for row, one in memories if one is not None}

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        state = self._require_open()
        found = [state.find_version(id, state.find_commit(known_at)) for id in ids]
        return [one.memory for one in found if one is not None and can_see(scope, one.memory)]

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        state = self._require_open()
        seen = {memory.id for memory in self.get(scope, ids)}
        return [state.count_usage(id, len(state.commit_times)) if id in seen else NO_USAGE for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        state = self._require_open()
        cast = [vote for vote, _ in state.votes if state.is_in_contexts(scope, contexts, vote.memory, vote.context)]
        return sorted(select_current_votes(cast), key=lambda one: (one.context, one.memory, one.by))

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        state = self._require_open()
        found = [
            Sign(one.context, one.memory, one.use)
            for one in state.uses
            if one.context is not None
            and one.use in SIGN_USES
            and state.is_in_contexts(scope, contexts, one.memory, one.context)
        ]
        return sorted(found, key=lambda one: (one.context, one.memory, one.use))

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        versions = [one.memory for one in self._require_open().versions.get(id, ())]
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
        return islice(self._require_open().list_memories(scope, statuses, after, below=below), limit)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return self._require_open().list_lineage(scope)

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        return self._require_open().find_topic(scope, topic_key)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self._require_open().list_timeline(scope, levels, since, before, statuses)

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._require_open().find_changes(scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._require_open().checkpoints.get((scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        scopes = {versions[-1].memory.scope for versions in self._require_open().versions.values()}
        return sorted((one for one in scopes if scope is None or one == scope or one.within(scope)), key=str)

    def context(self, scope: Scope, id: str) -> ContextRecord | None:
        return self._require_open().find_context(scope, id)

    def contexts(self, scope: Scope) -> Iterator[ContextRecord]:
        traces = [trace for trace in self._require_open().traces.values() if trace.scope == scope]
        return iter(sorted(traces, key=lambda one: (one.made_at, one.id)))

    def kept(self, scope: Scope, key: str) -> IdempotencyRecord | None:
        return self._require_open().idempotency_keys.get((scope, key))

    def write(self, change: Callable[[WriteTransaction], T]) -> T:
        with self._lock.rlock:
            draft = self._require_open().copy()
            result = change(ReferenceWriter(draft, self._clock()))
            self._state = draft
            return result

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        state = self._require_open()

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
        state = self._require_open().copy()
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
        self._require_open()
        return ResidueSearch()

    def later(self, change: Callable[[WriteTransaction], object]) -> None:
        self.write(change)

    def settle(self) -> None:
        self._require_open()

    def flush(self) -> None:
        self._require_open()

    def close(self) -> None:
        self._open = False

    def _drop_if_erased(self, version: MemoryVersion) -> Memory | None:
        versions = self._require_open().versions.get(version.memory.id, ())
        texts = [one.memory.text for one in versions if one.commit == version.commit]
        return version.memory if version.memory.text in texts else None

    def _require_open(self) -> ReferenceState:
        if not self._open:
            raise RecollectError("this store is closed")
        return self._state


def _lacks_vector(version: MemoryVersion) -> bool:
    """Return whether a version is active and has no vector, though none was removed."""
    memory = version.memory
    return version.vector is None and memory.status is Status.ACTIVE and Index.VECTOR not in memory.left


def _find_previous_turns(seen: Sequence[MemoryVersion], eligible: Sequence[int]) -> dict[int, int]:
    """Map each eligible row to the row of the turn before it in the same session."""
    memories = [seen[row].memory for row in eligible]
    previous = turn_context.find_previous_turns([(_session_key(one), one.created_at, one.id) for one in memories])
    return {row: eligible[place] for row, place in zip(eligible, previous, strict=True) if place is not None}


def _find_barrier(memory: Memory, probe: EvidenceRequest) -> Barrier | None:
    """Return what keeps the memory from being recalled for this request, if anything."""
    barrier = find_barrier(memory, probe.at, present=probe.present, past=probe.past)
    wrong_level = probe.levels is not None and not memory.answers(probe.levels)
    return barrier or (Barrier.LEVEL if wrong_level else None)


def _score_terms(
    seen: Sequence[MemoryVersion], eligible: Sequence[int], terms: Sequence[str], previous: Mapping[int, int]
) -> dict[int, float]:
    counts = {row: _count_terms(seen[row].memory) for row in eligible}
    asks = {row: questions.is_question(seen[row].memory.text) for row in eligible}
    heard = {
        row: turn_context.count_with_context(
            counts[row], [(counts[one], asks[one]) for one in _list_previous_turns(row, previous)]
        )
        for row in eligible
    }
    statistics = bm25.count_terms(terms, counts.values(), sum(length for _, length in heard.values()))
    shares = {row: bm25.score_terms(terms, times, statistics, length) for row, (times, length) in heard.items()}
    return {row: share for row, share in shares.items() if share is not None}


def _count_terms(memory: Memory) -> Mapping[str, int]:
    """Count the terms of a memory; there are none if it was removed from the text index."""
    return {} if Index.TEXT in memory.left else tokenizer.count_terms(memory.searched_text)


def _list_previous_turns(row: int, previous: Mapping[int, int]) -> list[int]:
    """Return the rows of up to two turns before this one, the latest first."""
    first = previous.get(row)
    second = None if first is None else previous.get(first)
    return [one for one in (first, second) if one is not None]


def _compute_similarities(
    seen: Sequence[MemoryVersion], vectors: Vectors | None, previous: Mapping[int, int]
) -> list[float | None]:
    def own(row: int) -> float | None:
        vector = seen[row].vector
        return None if vectors is None or vector is None else float(nearest_cosines(vector[None, :], vectors)[0])

    def of_previous_turn(row: int) -> float | None:
        return own(previous[row]) if row in previous else None

    return [turn_context.lend_similarity(own(row), of_previous_turn(row)) for row in range(len(seen))]


def _extract_names(memory: Memory) -> tuple[str, ...]:
    """Return the names that a memory mentions, and its speaker."""
    return find_entities("" if Index.TEXT in memory.left else memory.searched_text, memory.speaker)


def _score_sessions(seen: Sequence[MemoryVersion], eligible: Sequence[int], terms: Sequence[str]) -> dict[int, float]:
    if all(seen[row].memory.session is None for row in eligible):
        return {}
    sessions: dict[_SessionKey | int, Counter[str]] = {}
    for row in eligible:
        memory = seen[row].memory
        sessions.setdefault(_session_key(memory) or row, Counter()).update(_count_terms(memory))
    statistics = bm25.count_terms(terms, sessions.values())
    shares = {session: bm25.score_terms(terms, counts, statistics) for session, counts in sessions.items()}
    share_by_row = {row: shares[_session_key(seen[row].memory) or row] for row in eligible}
    return {row: share for row, share in share_by_row.items() if share is not None}


_SessionKey = tuple[Scope, str]
"""The scope of a session, and the session's name in that scope."""


def _session_key(memory: Memory) -> _SessionKey | None:
    """Return the session that a memory belongs to, if any."""
    return None if memory.session is None else (memory.scope, memory.session)


def _build_candidate(
    version: MemoryVersion,
    usage: Usage,
    *,
    similarity: float | None,
    lexical: float | None,
    setting: float | None,
    link: entity_links.EntityLink | None,
) -> Candidate:
    memory, vector = version.memory, version.vector
    return Candidate(
        id=memory.id,
        kind=memory.kind,
        similarity=similarity,
        lexical=lexical,
        setting=setting,
        linked=None if link is None else link.value,
        link=None if link is None else link.path,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        last_accessed_at=usage.last_served_at,
        valid_from=memory.valid_from,
        importance=memory.importance,
        usefulness=usage.usefulness,
        confidence=memory.confidence,
        salience=memory.salience,
        served=usage.served,
        revisions=memory.revisions,
        words=0 if questions.is_question(memory.text) else sum(_count_terms(memory).values()),
        scope=memory.scope,
        session=memory.session,
        speaker=memory.speaker,
        vector=None if vector is None else tuple(vector.astype(np.float64).tolist()),
    )
