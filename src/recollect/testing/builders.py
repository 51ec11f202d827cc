"""Builders: a memory, a candidate, a ranking, with everything a test does not care about filled in."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.model.candidate import Candidate
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.ranking.explanation import Explanation, ScorePart
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.proof import Proof
from recollect.ranking.result import Ranking, Scheme, Scored

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
