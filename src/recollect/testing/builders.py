"""Builders of test values, with everything a test does not name filled in.

First memories, candidates and rankings; then what tests of stores need: a manual clock, memories with vectors,
requests, context records and votes.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import numpy as np

from recollect.model import changeset
from recollect.model.candidate import Candidate
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry, Use, Vote
from recollect.model.draft import IdempotencyRecord
from recollect.model.encoder import Encoder
from recollect.model.enums import Level, Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.ranking.explanation import Explanation, ScorePart
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import Proof, Ranking, Scheme, Scored
from recollect.retrieval.eligibility import View
from recollect.retrieval.evidence import Evidence, retrieve
from recollect.retrieval.query import QueryAnalysis
from recollect.retrieval.vectors import Vector, Vectors, cosines, normalize_vector
from recollect.text.paraphrase import paraphrase_key
from recollect.text.tokenizer import tokenize

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The current time in every test that does not set one."""

SCOPE = Scope(("acme", "ana"))
"""The scope in every test that does not set one."""


def a_memory(id: str = "m", *, text: str = "deploys run on Fridays", **given: Any) -> Memory:
    """Return a valid memory with the given fields; its age is zero at `NOW`."""
    return Memory(id=MemoryId(id), text=text, **{"scope": SCOPE, "created_at": NOW, **given})


def a_candidate(id: str = "m", *, age: timedelta | None = None, **given: Any) -> Candidate:
    """Return a candidate with only the given fields known; `age` sets when it was created."""
    if age is not None:
        given["created_at"] = NOW - age
    return Candidate(id=given["memory"].id if "memory" in given else MemoryId(id), **given)


def a_ranking(memories: Sequence[Memory], *, profile: str = "default") -> Ranking:
    """Return a ranking of these memories in the given order, the best first."""
    scheme = Scheme(builtin_profile(profile), NOW)
    scored = []
    for place, memory in enumerate(memories):
        value = 1.0 - place / max(len(memories), 1)
        candidate = a_candidate(memory=memory, kind=memory.kind, relevance=value)
        scored.append(Scored.of(candidate, Explanation((ScorePart("relevance", value, 1.0),)), scheme))
    return Ranking(scheme=scheme, scored=tuple(scored), proof=Proof.scan(len(scored)))


ENCODER = Encoder("test", 8)
"""The model of all vectors in tests of stores."""


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, by: timedelta) -> datetime:
        """Move the clock forward or back, and return its new time."""
        self.now += by
        return self.now


def a_note(id: str, **given: Any) -> Memory:
    """Return a memory with a text that no other has, unless the test supplies one."""
    return a_memory(id, **{"text": f"what {id} says", **given})


def a_vector(text: str, dimensions: int = ENCODER.dimensions) -> Vector:
    """Return a vector for a text, always the same one; it has no meaning."""
    digest = b"".join(sha256(f"{number} {text}".encode()).digest() for number in range(dimensions // 8 + 1))
    return normalize_vector(np.frombuffer(digest, dtype="<i4")[:dimensions])


def vector_similarity(text: str, question: str) -> float:
    """Return the similarity of the vectors of two texts, exact to the last bit."""
    return float(cosines(a_vector(text)[None, :], a_vector(question))[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probe:
    """What a test looks for in a store: the fields of a `View` and of a `QueryAnalysis`, and the query's vectors.

    `restored` are vectors for memories that lost theirs.
    """

    scope: Scope
    at: datetime
    present: bool = False
    past: bool = False
    known_at: datetime | None = None
    commit: int | None = None
    levels: frozenset[Level | None] | None = None
    encoder: Encoder | None = None
    remote_vectors: bool = False
    use_index: bool = False
    terms: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    in_turns: bool = False
    vectors: Vectors | None = None
    restored: Mapping[MemoryId, Vector] = field(default_factory=dict[MemoryId, Vector])

    @property
    def view(self) -> View:
        return View(**{name.name: getattr(self, name.name) for name in fields(View)})

    @property
    def analysis(self) -> QueryAnalysis:
        return QueryAnalysis(terms=self.terms, names=self.names, in_turns=self.in_turns)


def gather(store: Store, probe: Probe) -> Evidence:
    """Return the evidence for a probe, as recall computes it from a snapshot of the store."""
    snapshot = store.snapshot(probe.view)
    if probe.restored:
        snapshot = snapshot.with_vectors(probe.restored)
    return retrieve(snapshot, probe.analysis, probe.vectors)


def a_probe(question: str | None = None, **given: Any) -> Probe:
    """Return what recall looks for, with or without a question."""
    question_fields: dict[str, Any] = {}
    if question is not None:
        question_fields = {
            "terms": tuple(dict.fromkeys(tokenize(question))),
            "vectors": a_vector(question)[None, :],
            "encoder": ENCODER,
        }
    return Probe(**{"scope": SCOPE, "at": NOW, **question_fields, **given})


def a_context_record(id: str = "context", *packed: str, **given: Any) -> ContextRecord:
    """Return the record of a context that contained these memories."""
    fields: dict[str, Any] = {
        "scope": SCOPE,
        "made_at": NOW,
        "at": NOW,
        "commit": 1,
        "known_at": None,
        "question": ("when do we deploy?",),
        "profile": "default",
        "version": "1",
        "formula": "{}",
        "tokens": 10,
        "budget": 100,
        "depth": 200,
        "kinds": (),
        "marker": "marker",
        "packed": tuple(PackedEntry(MemoryId(one), 0.5) for one in packed),
        "omitted": (),
        "excluded": {},
    }
    return ContextRecord(id=id, **{**fields, **given})


def some_replay_inputs(**given: Any) -> ContextRecipe:
    """Return the inputs needed to build a context again, with the given fields."""
    fields: dict[str, Any] = {
        "present": True,
        "reserves": {},
        "items": None,
        "pinned_share": 0.3,
        "counter": "estimate",
        "analyser": "1",
        "naming": "1",
        "encoder": ENCODER,
        "directions": base64.b64encode(a_vector("when do we deploy?").astype("<f4").tobytes()).decode(),
        "directed": 3,
        "packed": 2,
        "omitted": 1,
        "text": sha256(b"text").hexdigest(),
    }
    return ContextRecipe(**{**fields, **given})


def an_omitted_memory(id: str) -> OmittedEntry:
    """Return the entry of a memory that a context had no room for."""
    return OmittedEntry(MemoryId(id), 0.25, "budget", 40)


def a_vote(memory: str, use: Use = Use.HELPED, **given: Any) -> Vote:
    """Return a vote on a memory of a context."""
    return Vote(memory=MemoryId(memory), use=use, **{"context": "context", "by": "ana", "at": NOW, **given})


def put(store: Store, *memories: Memory) -> list[Memory]:
    """Put all memories in one write, each with its own vector; return them as stored."""
    return store.write(lambda writing: put_all(writing, memories))


def put_all(writing: WriteTransaction, memories: Sequence[Memory]) -> list[Memory]:
    """Put all memories in an open transaction, each with its own vector."""
    adopt(writing, ENCODER)
    return [writing.put(memory, a_vector(memory.embedded_text)) for memory in memories]


def puts(*memories: Memory) -> changeset.Changeset:
    """Return the change set that puts these memories without vectors."""
    return changeset.Changeset(puts=tuple(changeset.Put(memory) for memory in memories))


def adopt(writing: WriteTransaction, encoder: Encoder) -> None:
    """Record the model of the vectors."""
    writing.apply(changeset.Changeset(encoder=encoder))


def add_key(writing: WriteTransaction, record: IdempotencyRecord) -> None:
    """Write the record of an idempotency key."""
    writing.apply(changeset.Changeset(keys=(record,)))


def count_uses(
    writing: WriteTransaction, scope: Scope, ids: Sequence[MemoryId], use: Use, at: datetime, context: str | None
) -> None:
    """Count one use of each of these memories."""
    uses = changeset.MemoryUses(scope, tuple(ids), use, at, context)
    writing.apply(changeset.Changeset(uses=(uses,)))


def retract_signs(writing: WriteTransaction, scope: Scope, ids: Sequence[MemoryId], sign: Use, context: str) -> None:
    """Take back a sign of each of these memories."""
    signs = changeset.MemoryUses(scope, tuple(ids), sign, NOW, context)
    writing.apply(changeset.Changeset(retracted=(signs,)))


def cast_votes(writing: WriteTransaction, scope: Scope, votes: Sequence[Vote]) -> None:
    """Write these votes."""
    writing.apply(changeset.Changeset(votes=(changeset.ScopeVotes(scope, tuple(votes)),)))


def add_context(writing: WriteTransaction, record: ContextRecord) -> None:
    """Write the record of a context."""
    writing.apply(changeset.Changeset(contexts=(record,)))


def set_checkpoint(writing: WriteTransaction, scope: Scope, name: str, value: str) -> None:
    """Write a checkpoint."""
    writing.apply(changeset.Changeset(checkpoints=(changeset.Checkpoint(scope, name, value),)))


def write_together(store: Store, *changes: Callable[[WriteTransaction], object]) -> None:
    """Make several changes in one write."""

    def change(writing: WriteTransaction) -> None:
        for one in changes:
            one(writing)

    store.write(change)


def ids(*names: str) -> list[MemoryId]:
    """Return these names as ids."""
    return [MemoryId(name) for name in names]


def eligible_ids(found: Evidence) -> list[MemoryId]:
    """Return the sorted ids of all eligible rows; an id that was found twice appears twice."""
    return sorted(found.table.ids[row] for row in found.rows.tolist())


def visible_ids(store: Store, scope: Scope | str, **given: Any) -> list[MemoryId]:
    """Return the ids of the memories that the scope may see and recall."""
    parsed = scope if isinstance(scope, Scope) else Scope.parse(scope)
    return eligible_ids(gather(store, a_probe(scope=parsed, **given)))


def candidates(found: Evidence) -> dict[MemoryId, Candidate]:
    """Return the eligible candidates with their vectors, by id.

    The reference ranking uses nothing else of them.
    """
    rows = found.rows.tolist()
    eligible_vectors = None if found.table.vectors is None else found.table.vectors[found.rows].astype(np.float64)
    vectors = [None] * len(rows) if eligible_vectors is None else eligible_vectors.tolist()
    return {
        one.id: one if vector is None or vector[0] != vector[0] else replace(one, vector=tuple(vector))
        for one, vector in zip(found.candidates(rows), vectors, strict=True)
    }


def find_candidate(found: Evidence, id: str) -> Candidate:
    """Return the eligible candidate with that id, without its vector."""
    row = next(row for row in found.rows.tolist() if found.table.ids[row] == id)
    return found.candidates([row])[0]


def find_duplicate(writing: WriteTransaction, memory: Memory) -> Memory | None:
    """Return the active memory with exactly the same text, if there is one."""
    duplicates = list_duplicates(writing, memory)
    return next((one for one in duplicates if one.hash == memory.hash and one.status is Status.ACTIVE), None)


def list_duplicates(writing: WriteTransaction, memory: Memory) -> list[Memory]:
    """Return the memories of its scope that say the same as the memory."""
    return list(writing.neighbors(a_query(memory)).duplicates)


def list_same_subject(writing: WriteTransaction, memory: Memory, since: datetime | None = None) -> list[Memory]:
    """Return the memories of its subject that had not ended by then, or when the memory was created."""
    query = changeset.NeighborQuery(scope=memory.scope, subject=memory.subject, since=since or memory.created_at)
    return list(writing.neighbors(query).same_subject.get(memory.subject or "", ()))


def a_query(memory: Memory, **given: Any) -> changeset.NeighborQuery:
    """Return the query for what has the memory's text or topic; a record with a level has no duplicates."""
    fields: dict[str, Any] = {
        "scope": memory.scope,
        "hash": memory.hash if memory.level is None else None,
        "paraphrase_key": paraphrase_key(memory),
        "topic_key": memory.topic_key,
    }
    return changeset.NeighborQuery(**{**fields, **given})
