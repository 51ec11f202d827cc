"""The composite scorer of a context-assembly engine (seed 000), on the `five-signal` profile."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.compat import coercion
from recollect.errors import InvalidInput, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.profile_toml import profile_to_document
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain

PROFILE = builtin_profile("five-signal")
"""The profile that defines the numbers below.

Importing it fails, even under -O, unless its weights add up to 1.
"""

_TERMS: Mapping[str, Mapping[str, float]] = profile_to_document(PROFILE)["terms"]

WEIGHT_RELEVANCE = PROFILE.weight("relevance")
WEIGHT_RECENCY = PROFILE.weight("recency")
WEIGHT_USEFULNESS = PROFILE.weight("usefulness")
WEIGHT_CONFIDENCE = PROFILE.weight("confidence")
WEIGHT_FREQUENCY = PROFILE.weight("frequency")

RECENCY_DECAY_LAMBDA = _TERMS["recency"]["rate_per_day"]
"""The decay rate, taken literally: exp(-λ × 14 days) is 0.4966, the half-life 13.86 days."""

ACCESS_FREQUENCY_CAP = _TERMS["frequency"]["cap"]

KEY_BY_SIGNAL: Mapping[str, str] = {
    "relevance": "similarity",
    "recency": "created_at",
    "usefulness": "usefulness_score",
    "confidence": "confidence",
    "frequency": "retrieval_count",
}
"""The key of a memory that each signal reads."""


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A memory as passed in, its unrounded score, and the five values behind the score.

    `assumed` names the keys whose value was unknown, unreadable or out of range, and was replaced.
    """

    memory: dict[str, Any]
    composite_score: float
    relevance_score: float
    recency_score: float
    usefulness_score: float
    confidence_score: float
    frequency_score: float
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryScorer:
    """Scores memories for the moment `now`, or else for the time of each call."""

    now: datetime | None = None

    def score(self, memories: Sequence[dict[str, Any]], query_embedding: Sequence[float] | None) -> list[ScoredMemory]:
        """Return every memory with its score, best first.

        Equal scores are ordered by id, then by input order. Dates without a time zone are taken as UTC. A memory
        without `similarity` gets the cosine of its `embedding` and the query's, if they have the same length.
        """
        at = coercion.datetime_or_now(self.now)
        question = coercion.read_optional(coercion.to_vector, "query_embedding", query_embedding)
        scored = [_score(memory, index, question, at) for index, memory in enumerate(memories)]
        return sorted(scored, key=lambda one: (-one.composite_score, str(one.memory.get("id", ""))))


def _score(memory: dict[str, Any], index: int, question: tuple[float, ...] | None, at: datetime) -> ScoredMemory:
    if not isinstance(memory, Mapping):
        raise InvalidInput(f"memory number {index} is {show(memory)}; give a dictionary")
    reader = _MemoryReader(memory)
    try:
        candidate = reader.read_candidate(MemoryId(str(index)), question)
    except InvalidInput as error:
        name = show(memory["id"]) if "id" in memory else f"number {index}"
        raise InvalidInput(f"memory {name}: {error}") from error

    explanation = explain(candidate, PROFILE, at)
    values = {part.signal: part.value for part in explanation.parts}
    assumed = reader.replaced | {KEY_BY_SIGNAL[part.signal] for part in explanation.parts if part.assumed}
    return ScoredMemory(
        memory=memory,
        composite_score=explanation.score,
        relevance_score=values["relevance"],
        recency_score=values["recency"],
        usefulness_score=values["usefulness"],
        confidence_score=values["confidence"],
        frequency_score=values["frequency"],
        assumed=tuple(key for key in KEY_BY_SIGNAL.values() if key in assumed),
    )


class _MemoryReader:
    """A reader of a memory's dictionary that records which keys it had to replace."""

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self.memory = memory
        self.replaced: set[str] = set()

    def read_candidate(self, id: MemoryId, question: tuple[float, ...] | None) -> Candidate:
        similarity = self._read_clamped("similarity", -1.0, 1.0)
        return Candidate(
            id=id,
            similarity=self._compute_similarity(question) if similarity is None else similarity,
            created_at=self._read_date("created_at"),
            usefulness=self._read_clamped("usefulness_score", 0.0, 1.0),
            confidence=self._read_clamped("confidence", 0.0, 1.0),
            served=self._read_count("retrieval_count"),
        )

    def _read_clamped(self, key: str, low: float, high: float) -> float | None:
        number = coercion.read_optional(coercion.to_number, key, self.memory.get(key))
        if number is None:
            return None
        clamped = min(max(number, low), high)
        if abs(clamped - number) > validation.COSINE_ROUNDING:
            self.replaced.add(key)
        return clamped

    def _read_count(self, key: str) -> int | None:
        number = self._read_clamped(key, 0.0, float(validation.MAX_COUNT))
        if number is None:
            return None
        if not number.is_integer():
            self.replaced.add(key)
        return int(number)

    def _read_date(self, key: str) -> datetime | None:
        """Read a date; an unreadable one counts as missing, and the profile reports it as assumed."""
        with suppress(InvalidInput):
            return coercion.read_optional(coercion.to_datetime, key, self.memory.get(key))
        return None

    def _compute_similarity(self, question: tuple[float, ...] | None) -> float | None:
        if not question:
            return None
        vector = coercion.read_optional(coercion.to_vector, "embedding", self.memory.get("embedding")) or ()
        return _cosine(vector, question) if len(vector) == len(question) else None


def _cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float | None:
    """Return the cosine of two vectors, or `None` if one has length 0."""
    first, second = _normalize(one), _normalize(other)
    if first is None or second is None:
        return None
    return min(max(math.fsum(a * b for a, b in zip(first, second, strict=True)), -1.0), 1.0)


def _normalize(vector: tuple[float, ...]) -> list[float] | None:
    """Scale the vector to length 1, first to a largest part of 1 against over- and underflow."""
    largest = max(map(abs, vector))
    if largest == 0.0:
        return None
    scaled = [part / largest for part in vector]
    length = math.hypot(*scaled)
    return [part / length for part in scaled]
