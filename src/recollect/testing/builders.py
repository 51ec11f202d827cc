"""Builders: a memory, a candidate, a ranking, with everything a test does not care about filled in.

Builders for tests of stores: a clock moved by hand, memories with directions, probes, traces and votes.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import numpy as np

from recollect.model.candidate import Candidate
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry, Use, Vote
from recollect.model.encoder import Encoder
from recollect.model.enums import Status
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.ranking.explanation import Explanation, ScorePart
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import Proof, Ranking, Scheme, Scored
from recollect.retrieval.evidence import EvidenceRequest, RecallEvidence, Vector
from recollect.retrieval.vectors import cosines, normalize_vector
from recollect.text.tokenizer import tokenize

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment of every test that does not care."""

SCOPE = Scope(("acme", "ana"))
"""Whose memories they are, in every test that does not care."""


def a_memory(id: str = "m", *, text: str = "deploys run on Fridays", **given: Any) -> Memory:
    """A memory that is valid, whatever the test gives; its age is zero at `NOW`."""
    return Memory(id=MemoryId(id), text=text, **{"scope": SCOPE, "created_at": NOW, **given})


def a_candidate(id: str = "m", *, age: timedelta | None = None, **given: Any) -> Candidate:
    """A candidate of which nothing is known but what is given; `age` sets its creation."""
    if age is not None:
        given["created_at"] = NOW - age
    return Candidate(id=given["memory"].id if "memory" in given else MemoryId(id), **given)


def a_ranking(memories: Sequence[Memory], *, profile: str = "default") -> Ranking:
    """A ranking of these memories in their order, the first one best."""
    scheme = Scheme(builtin_profile(profile), NOW)
    scored = []
    for place, memory in enumerate(memories):
        value = 1.0 - place / max(len(memories), 1)
        candidate = a_candidate(memory=memory, kind=memory.kind, relevance=value)
        scored.append(Scored.of(candidate, Explanation((ScorePart("relevance", value, 1.0),)), scheme))
    return Ranking(scheme=scheme, scored=tuple(scored), proof=Proof.scan(len(scored)))


ENCODER = Encoder("test", 8)
"""The model of every vector in tests of stores."""


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, by: timedelta) -> datetime:
        """Move it, forward or back; gives the moment it then shows."""
        self.now += by
        return self.now


def a_note(id: str, **given: Any) -> Memory:
    """A memory that says what no other does, unless the test gives it a text."""
    return a_memory(id, **{"text": f"what {id} says", **given})


def a_vector(text: str, dimensions: int = ENCODER.dimensions) -> Vector:
    """A direction for a text, the same for the same text; it means nothing."""
    digest = b"".join(sha256(f"{number} {text}".encode()).digest() for number in range(dimensions // 8 + 1))
    return normalize_vector(np.frombuffer(digest, dtype="<i4")[:dimensions])


def vector_similarity(text: str, question: str) -> float:
    """How near the directions of two texts are, to the last bit."""
    return float(cosines(a_vector(text)[None, :], a_vector(question))[0])


def a_probe(question: str | None = None, **given: Any) -> EvidenceRequest:
    """What recall asks a store for, about a question or about nothing in particular."""
    asked: dict[str, Any] = {}
    if question is not None:
        asked = {
            "terms": tuple(dict.fromkeys(tokenize(question))),
            "vectors": a_vector(question)[None, :],
            "encoder": ENCODER,
        }
    return EvidenceRequest(**{"scope": SCOPE, "at": NOW, **asked, **given})


def a_context_record(id: str = "context", *packed: str, **given: Any) -> ContextRecord:
    """What a context was made of: these memories, if the test names any."""
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
    """With what a context was made, whatever the test does not care about."""
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
    """A memory that a context had no room for."""
    return OmittedEntry(MemoryId(id), 0.25, "budget", 40)


def a_vote(memory: str, use: Use = Use.HELPED, **given: Any) -> Vote:
    """What someone says of a memory of a context."""
    return Vote(memory=MemoryId(memory), use=use, **{"context": "context", "by": "ana", "at": NOW, **given})


def put(store: Store, *memories: Memory) -> list[Memory]:
    """Put all of these in one write, each with a direction of its own; gives them as they are kept."""
    return store.write(lambda writing: put_all(writing, memories))


def put_all(writing: WriteTransaction, memories: Sequence[Memory]) -> list[Memory]:
    """Put all of these, each with a direction of its own."""
    writing.adopt(ENCODER)
    return [writing.put(memory, a_vector(memory.embedded_text)) for memory in memories]


def write_together(store: Store, *changes: Callable[[WriteTransaction], object]) -> None:
    """Make these changes in one write."""

    def change(writing: WriteTransaction) -> None:
        for one in changes:
            one(writing)

    store.write(change)


def ids(*names: str) -> list[MemoryId]:
    """These names as ids."""
    return [MemoryId(name) for name in names]


def eligible_ids(found: RecallEvidence) -> list[MemoryId]:
    """The ids of those that were found eligible, in order, each as often as it was found."""
    return sorted(found.table.ids[row] for row in found.rows.tolist())


def visible_ids(store: Store, scope: Scope | str, **given: Any) -> list[MemoryId]:
    """The ids of what the scope may see and recall."""
    whose = scope if isinstance(scope, Scope) else Scope.parse(scope)
    return eligible_ids(store.gather(a_probe(scope=whose, **given)))


def candidates(found: RecallEvidence) -> dict[MemoryId, Candidate]:
    """The eligible candidates with their directions, by id: all that the oracle may know of them."""
    rows = found.rows.tolist()
    found_vectors = None if found.table.vectors is None else found.table.vectors[found.rows].astype(np.float64)
    vectors = [None] * len(rows) if found_vectors is None else found_vectors.tolist()
    return {
        one.id: one if vector is None or vector[0] != vector[0] else replace(one, vector=tuple(vector))
        for one, vector in zip(found.candidates(rows), vectors, strict=True)
    }


def find_candidate(found: RecallEvidence, id: str) -> Candidate:
    """The eligible candidate of that id, without its direction."""
    row = next(row for row in found.rows.tolist() if found.table.ids[row] == id)
    return found.candidates([row])[0]


def find_duplicate(writing: WriteTransaction, memory: Memory) -> Memory | None:
    """The active memory that says the same as it, word for word."""
    found = [one for one in writing.sayings(memory) if one.hash == memory.hash and one.status is Status.ACTIVE]
    return found[0] if found else None
