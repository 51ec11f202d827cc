"""The evidence of a view in plain Python: what `retrieve` must compute from columns, to the last bit.

It reads the memories of a reference store one by one, and uses the plain definitions of eligibility, BM25, cosines,
turns and entity links.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.context import Usage
from recollect.model.enums import Index
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.retrieval import bm25, entity_links, turn_context
from recollect.retrieval.eligibility import Barrier, View, find_barrier
from recollect.retrieval.vectors import Vectors, nearest_cosines
from recollect.testing.builders import Probe
from recollect.testing.reference_state import MemoryVersion
from recollect.testing.reference_store import ReferenceStore
from recollect.text import questions, tokenizer
from recollect.text.entities import find_entities


@dataclass(frozen=True)
class PlainEvidence:
    """All that is true of the memories of a view, for one query."""

    candidates: list[Candidate]
    """The candidates that may be recalled."""
    memories: list[Memory]
    pinned: set[str]
    barred: Mapping[Barrier, int]
    commit: int
    dropped_vectors: set[str]
    speakers: frozenset[str]
    mentions: Mapping[str, list[str]]


def plain_evidence(store: ReferenceStore, probe: Probe) -> PlainEvidence:
    """Return the evidence of what the store holds."""
    state, view = store.state, probe.view
    until = state.find_commit(view.known_at) if view.commit is None else view.commit
    seen = state.list_versions(view, until)
    barriers = [_find_barrier(one.memory, view) for one in seen]
    eligible = [row for row, barrier in enumerate(barriers) if barrier is None]
    previous = _find_previous_turns(seen, eligible) if probe.in_turns else {}
    shares = _score_terms(seen, eligible, probe.terms, previous)
    settings = _score_sessions(seen, eligible, probe.terms) if probe.in_turns else {}
    near = _compute_similarities(seen, probe.vectors, previous)
    mentions = {row: _extract_names(seen[row].memory) for row in eligible}
    links = entity_links.link_memories(mentions, probe.names) if probe.names else {}
    found = [
        _build_candidate(
            seen[row],
            state.count_usage(seen[row].memory.id, until),
            similarity=near[row],
            lexical=shares.get(row),
            setting=settings.get(row),
            link=links.get(row),
        )
        for row in eligible
    ]
    memories = [seen[row].memory for row in eligible]
    dropped = {seen[row].memory.id for row in eligible if state.has_dropped_vector(seen[row], until)}
    return PlainEvidence(
        candidates=found,
        memories=memories,
        pinned={one.id for one in memories if one.pinned},
        barred=Counter(one for one in barriers if one is not None),
        commit=until,
        dropped_vectors=set(dropped) if probe.encoder is not None else set(),
        speakers=frozenset(one.speaker for one in memories if one.speaker),
        mentions={seen[row].memory.id: sorted(names) for row, names in mentions.items()},
    )


def _find_previous_turns(seen: Sequence[MemoryVersion], eligible: Sequence[int]) -> dict[int, int]:
    """Map each eligible row to the row of the turn before it in the same session."""
    memories = [seen[row].memory for row in eligible]
    previous = turn_context.find_previous_turns([(_session_key(one), one.created_at, one.id) for one in memories])
    return {row: eligible[place] for row, place in zip(eligible, previous, strict=True) if place is not None}


def _find_barrier(memory: Memory, view: View) -> Barrier | None:
    """Return what keeps the memory from being recalled in this view, if anything."""
    barrier = find_barrier(memory, view.at, present=view.present, past=view.past)
    wrong_level = view.levels is not None and not memory.answers(view.levels)
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
