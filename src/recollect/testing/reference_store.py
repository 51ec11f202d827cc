"""The shortest store that keeps the contract: everything in dictionaries, and gone with the process."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

import numpy as np

from recollect.errors import RecollectError
from recollect.fork_safety import Lock
from recollect.model.archive import Inventory, Item
from recollect.model.candidate import Candidate
from recollect.model.context_record import Trace
from recollect.model.encoder import Encoder
from recollect.model.erasure import Lineage, Search
from recollect.model.idempotency import Kept
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.stats import MOST_SCOPES, Stats
from recollect.model.table import Table
from recollect.model.usage import SIGNS, UNUSED, Sign, Usage, Use, Vote, standing
from recollect.protocols import Writing
from recollect.retrieval import bm25, entity_links, turn_context
from recollect.retrieval.eligibility import Barrier, barrier
from recollect.retrieval.entity_links import Link
from recollect.retrieval.evidence import Found, Probe, Vectors
from recollect.retrieval.vectors import nearest
from recollect.stores.write_checks import refuse_other_model
from recollect.testing.reference_state import State, Version, sees
from recollect.testing.reference_writer import DictionaryWriting
from recollect.text import questions, tokenizer
from recollect.text.entities import entities

T = TypeVar("T")


def _inside(scope: Scope, outer: Scope | None) -> bool:
    """Whether it is the outer scope or below it, or whether nobody asked for less than all."""
    return outer is None or scope.within(outer)


class DictionaryStore:
    """Keeps everything in dictionaries: the plain, slow truth that other stores are held to."""

    read_only = False
    takes_writes = True

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._state = State()
        self._open = True

    def encoder(self) -> Encoder | None:
        return self._checked().encoder

    def gather(self, probe: Probe) -> Found:
        state = self._checked()
        refuse_other_model(state.encoder, probe.encoder)
        until = state.until(probe.known_at) if probe.commit is None else probe.commit
        known = [state.then(one, probe, until) for one in state.visible(probe.scope, until)]
        seen = [_directed(one, probe) if state.departed(one, until) else one for one in known]
        barriers = [_barrier(one.memory, probe) for one in seen]
        eligible = np.flatnonzero([one is None for one in barriers])
        asks = probe.vectors is not None
        said = _turns(seen, eligible.tolist()) if probe.in_turns else {}
        shares = _shares(seen, eligible.tolist(), probe.terms, said)
        settings = _settings(seen, eligible.tolist(), probe.terms) if probe.in_turns else {}
        near = _similarities(seen, probe.vectors, said)
        links = entity_links.linked(_mentions(seen, eligible.tolist()), probe.names) if probe.names else {}
        candidates = [
            _candidate(
                one,
                state.usage(one.memory.id, until),
                similarity=near[row],
                lexical=shares.get(row),
                setting=settings.get(row),
                link=links.get(row),
            )
            for row, one in enumerate(seen)
        ]
        return Found(
            table=Table.of(candidates),
            rows=eligible,
            pinned=np.array([row for row in eligible.tolist() if seen[row].memory.pinned], dtype=np.intp),
            barred=Counter[Barrier](one for one in barriers if one is not None),
            commit=until,
            memories=lambda rows: [self._unless_erased(seen[row]) for row in rows],
            departed=[row for row in eligible.tolist() if state.departed(seen[row], until)] if asks else [],
        )

    def speakers(self, probe: Probe) -> frozenset[str]:
        found = self.gather(probe)
        return frozenset(one.speaker for one in found.memories(found.rows.tolist()) if one and one.speaker)

    def mentions(self, probe: Probe) -> dict[MemoryId, list[str]]:
        found = self.gather(probe)
        memories = zip(found.rows.tolist(), found.memories(found.rows.tolist()), strict=True)
        return {found.table.ids[row]: sorted(_names(one)) for row, one in memories if one is not None}

    def get(self, scope: Scope, ids: Sequence[MemoryId], *, known_at: datetime | None = None) -> list[Memory]:
        state = self._checked()
        found = [state.known(id, state.until(known_at)) for id in ids]
        return [one.memory for one in found if one is not None and sees(scope, one.memory)]

    def usage(self, scope: Scope, ids: Sequence[MemoryId]) -> list[Usage]:
        state = self._checked()
        seen = {memory.id for memory in self.get(scope, ids)}
        return [state.usage(id, len(state.recorded)) if id in seen else UNUSED for id in ids]

    def votes(self, scope: Scope, contexts: Sequence[str]) -> list[Vote]:
        state = self._checked()
        cast = [vote for vote, _ in state.votes if state.asked(scope, contexts, vote.memory, vote.context)]
        return sorted(standing(cast), key=lambda one: (one.context, one.memory, one.by))

    def signs(self, scope: Scope, contexts: Sequence[str]) -> list[Sign]:
        state = self._checked()
        found = [
            Sign(one.context, one.memory, one.use)
            for one in state.happened
            if one.context is not None and one.use in SIGNS and state.asked(scope, contexts, one.memory, one.context)
        ]
        return sorted(found, key=lambda one: (one.context, one.memory, one.use))

    def history(self, scope: Scope, id: MemoryId) -> list[Memory]:
        versions = [one.memory for one in self._checked().versions.get(id, ())]
        return [one for one in versions if sees(scope, one)] if versions and sees(scope, versions[-1]) else []

    def memories(
        self,
        scope: Scope,
        *,
        below: bool,
        statuses: Sequence[Status],
        after: MemoryId | None = None,
        limit: int | None = None,
    ) -> Iterator[Memory]:
        return islice(self._checked().listed(scope, statuses, after, below=below), limit)

    def lineage(self, scope: Scope) -> list[Lineage]:
        return self._checked().lineage(scope)

    def topic(self, scope: Scope, topic_key: str) -> Memory | None:
        return self._checked().topic(scope, topic_key)

    def timeline(
        self,
        scope: Scope,
        levels: Sequence[Level],
        *,
        since: datetime | None = None,
        before: datetime | None = None,
        statuses: Sequence[Status] = (Status.ACTIVE,),
    ) -> list[Memory]:
        return self._checked().timeline(scope, levels, since, before, statuses)

    def touched(self, scope: Scope, level: Level, after: int) -> tuple[list[datetime], int]:
        return self._checked().touched(scope, level, after)

    def checkpoint(self, scope: Scope, name: str) -> str | None:
        return self._checked().checkpoints.get((scope, name))

    def scopes(self, scope: Scope | None) -> list[Scope]:
        found = {versions[-1].memory.scope for versions in self._checked().versions.values()}
        return sorted((one for one in found if scope is None or one == scope or one.within(scope)), key=str)

    def context(self, scope: Scope, id: str) -> Trace | None:
        return self._checked().context(scope, id)

    def contexts(self, scope: Scope) -> Iterator[Trace]:
        found = [trace for trace in self._checked().traces.values() if trace.scope == scope]
        return iter(sorted(found, key=lambda one: (one.made_at, one.id)))

    def kept(self, scope: Scope, key: str) -> Kept | None:
        return self._checked().kept.get((scope, key))

    def write(self, change: Callable[[Writing], T]) -> T:
        with self._lock.here:
            draft = self._checked().copy()
            result = change(DictionaryWriting(draft, self._clock()))
            self._state = draft
            return result

    def stats(self, scope: Scope | None, *, below: bool) -> Stats:
        state = self._checked()

        def inside(one: Scope) -> bool:
            return scope is None or one == scope or (below and one.within(scope))

        found = {id: versions for id, versions in state.versions.items() if inside(versions[-1].memory.scope)}
        present = [versions[-1] for versions in found.values()]
        scopes = Counter(one.memory.scope for one in present)
        usages = [state.usage(id, len(state.recorded)) for id in found]
        return Stats(
            memories=len(found),
            statuses=dict(sorted(Counter(one.memory.status for one in present).items())),
            kinds=dict(sorted(Counter(one.memory.kind for one in present).items())),
            scopes=len(scopes),
            largest=tuple(sorted(scopes.items(), key=lambda one: (-one[1], str(one[0])))[:MOST_SCOPES]),
            versions=sum(map(len, found.values())),
            contexts=sum(inside(trace.scope) for trace in state.traces.values()),
            uses={use: sum(getattr(one, use.value) for one in usages) for use in Use},
            unembedded=sum(_unembedded(one) for one in present),
            encoder=state.encoder,
            analyser=tokenizer.VERSION,
            schema=0,
            bytes=0,
        )

    def export(self, scope: Scope | None) -> tuple[Inventory, Iterator[Item]]:
        state = self._checked().copy()
        saved = [
            state.saved(id) for id, versions in state.versions.items() if _inside(versions[-1].memory.scope, scope)
        ]
        traces = [trace for _, trace in sorted(state.traces.items()) if _inside(trace.scope, scope)]
        _, until = max((stamp for memory in saved for stamp in memory.stamps), default=(0, None))
        inventory = Inventory(
            encoder=state.encoder,
            analyser=tokenizer.VERSION,
            scope=scope,
            memories=len(saved),
            contexts=len(traces),
            until=until,
        )
        return inventory, iter([*saved, *traces])

    def scrub(self, scope: Scope, pieces: Set[bytes]) -> Search:
        self._checked()
        return Search()

    def later(self, change: Callable[[Writing], object]) -> None:
        self.write(change)

    def settle(self) -> None:
        self._checked()

    def flush(self) -> None:
        self._checked()

    def close(self) -> None:
        self._open = False

    def _unless_erased(self, version: Version) -> Memory | None:
        kept = self._checked().versions.get(version.memory.id, ())
        said = [one.memory.text for one in kept if one.commit == version.commit]
        return version.memory if version.memory.text in said else None

    def _checked(self) -> State:
        if not self._open:
            raise RecollectError("this store is closed")
        return self._state


def _directed(version: Version, probe: Probe) -> Version:
    """The version with the direction that was made anew, if it was."""
    return replace(version, vector=probe.directions.get(version.memory.id))


def _unembedded(version: Version) -> bool:
    """Whether it is active and lacks a direction, though nobody took it away."""
    memory = version.memory
    return version.vector is None and memory.status is Status.ACTIVE and Index.VECTOR not in memory.left


def _turns(seen: Sequence[Version], eligible: Sequence[int]) -> dict[int, int]:
    """Which of the eligible was said just before which in the same session."""
    memories = [seen[row].memory for row in eligible]
    said = turn_context.before([(_session(one), one.created_at, one.id) for one in memories])
    return {row: eligible[place] for row, place in zip(eligible, said, strict=True) if place is not None}


def _barrier(memory: Memory, probe: Probe) -> Barrier | None:
    """What keeps the memory from being recalled for the probe."""
    found = barrier(memory, probe.at, present=probe.present, past=probe.past)
    unwanted = probe.levels is not None and not memory.answers(probe.levels)
    return found or (Barrier.LEVEL if unwanted else None)


def _shares(
    seen: Sequence[Version], eligible: Sequence[int], terms: Sequence[str], said: Mapping[int, int]
) -> dict[int, float]:
    counts = {row: _counts(seen[row].memory) for row in eligible}
    asks = {row: questions.asks(seen[row].memory.text) for row in eligible}
    heard = {
        row: turn_context.heard(counts[row], [(counts[one], asks[one]) for one in _before(row, said)])
        for row in eligible
    }
    statistics = bm25.statistics(terms, counts.values(), sum(length for _, length in heard.values()))
    shares = {row: bm25.share(terms, times, statistics, length) for row, (times, length) in heard.items()}
    return {row: share for row, share in shares.items() if share is not None}


def _counts(memory: Memory) -> Mapping[str, int]:
    """How often it has each term, as long as it is found by its words."""
    return {} if Index.TEXT in memory.left else tokenizer.counts(memory.searched_text)


def _before(row: int, said: Mapping[int, int]) -> list[int]:
    """What was said before, as far back as it counts, the last one first."""
    first = said.get(row)
    second = None if first is None else said.get(first)
    return [one for one in (first, second) if one is not None]


def _similarities(seen: Sequence[Version], vectors: Vectors | None, said: Mapping[int, int]) -> list[float | None]:
    def own(row: int) -> float | None:
        vector = seen[row].vector
        return None if vectors is None or vector is None else float(nearest(vector[None, :], vectors)[0])

    return [turn_context.nearness(own(row), own(said[row]) if row in said else None) for row in range(len(seen))]


def _mentions(seen: Sequence[Version], eligible: Sequence[int]) -> dict[int, tuple[str, ...]]:
    return {row: _names(seen[row].memory) for row in eligible}


def _names(memory: Memory) -> tuple[str, ...]:
    """The names that a memory mentions, and who said it."""
    return entities("" if Index.TEXT in memory.left else memory.searched_text, memory.speaker)


def _settings(seen: Sequence[Version], eligible: Sequence[int], terms: Sequence[str]) -> dict[int, float]:
    if all(seen[row].memory.session is None for row in eligible):
        return {}
    sessions: dict[Session | int, Counter[str]] = {}
    for row in eligible:
        memory = seen[row].memory
        sessions.setdefault(_session(memory) or row, Counter()).update(_counts(memory))
    statistics = bm25.statistics(terms, sessions.values())
    shares = {session: bm25.share(terms, counts, statistics) for session, counts in sessions.items()}
    found = {row: shares[_session(seen[row].memory) or row] for row in eligible}
    return {row: share for row, share in found.items() if share is not None}


Session = tuple[Scope, str]
"""In which scope, and its name there."""


def _session(memory: Memory) -> Session | None:
    """In what the memory was said."""
    return None if memory.session is None else (memory.scope, memory.session)


def _candidate(
    version: Version,
    usage: Usage,
    *,
    similarity: float | None,
    lexical: float | None,
    setting: float | None,
    link: Link | None,
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
        words=0 if questions.asks(memory.text) else sum(_counts(memory).values()),
        scope=memory.scope,
        session=memory.session,
        speaker=memory.speaker,
        vector=None if vector is None else tuple(vector.astype(np.float64).tolist()),
    )
