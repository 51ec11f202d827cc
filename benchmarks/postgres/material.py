"""Material: memories and questions that are made up, the same for the same seed, and never all in memory at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.admission.classify import rate_salience
from recollect.admission.policy import DEFAULT_SALIENCE
from recollect.model.enums import Kind
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.retrieval.vectors import normalize_vectors

Vectors = NDArray[np.float32]

AT = datetime(2026, 1, 1, tzinfo=UTC)
"""When everything is asked and written; all dates are before."""

MODEL = "given"
CHUNK = 10_000
TOPICS, ROWS_PER_TOPIC = 300, 50
"""How many topics there are, and about how many memories of one scope are of the same."""

ASPECTS = 64
"""In how many directions memories of one topic differ; real models have far fewer that matter than dimensions."""

COMMON = 0.3
"""How much of one direction every vector has, as those of real models do: its square is the cosine of strangers."""

KINDS = (Kind.OBSERVATION, Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PROCEDURE, Kind.EVENT)
WORDS = ["".join(parts) for parts in product([c + v for c in "bdfglmnr" for v in "aeio"], repeat=3)]
LENGTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What one version of a memory says, and when it was said."""

    text: str
    at: datetime
    vector: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One memory as a caller gives it, what it said before if it was revised, and what happened to it."""

    id: MemoryId
    scope: Scope
    said: Stated
    former: Stated | None
    kind: Kind
    importance: float | None
    confidence: float | None
    served: int
    served_at: datetime | None
    helped: int
    misled: int

    @property
    def topic_key(self) -> str | None:
        """Only what is said again under its topic is a revision."""
        return None if self.former is None else f"topic of {self.id}"

    def draft(self, stated: Stated) -> dict[str, Any]:
        """The arguments of `remember` for one of its versions; only the first may bring an id."""
        first = stated is (self.former or self.said)
        return {
            "text": stated.text,
            "scope": self.scope,
            "kind": self.kind,
            "topic_key": self.topic_key,
            "importance": self.importance,
            "confidence": self.confidence,
            "at": stated.at,
            "vector": stated.vector.tolist(),
            **({"id": self.id} if first else {}),
        }

    def memory(self, stated: Stated) -> Memory:
        """What remembering makes of it."""
        return Memory(
            id=self.id,
            scope=self.scope,
            text=stated.text,
            created_at=(self.former or self.said).at,
            observed_at=stated.at,
            updated_at=stated.at,
            kind=self.kind,
            topic_key=self.topic_key,
            importance=self.importance,
            confidence=self.confidence,
            salience=rate_salience(stated.text, self.kind, pinned=False, policy=DEFAULT_SALIENCE),
            revisions=1 if self.former is None or stated is self.former else 2,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of whom, and its direction."""

    text: str
    scope: Scope
    vector: Vectors


@dataclass(frozen=True)
class Material:
    """So many memories in each of so many scopes; every scope has a root of its own, as tenants have."""

    rows: int
    scopes: int
    dimensions: int
    seed: int = 0

    def scope(self, number: int) -> Scope:
        """The scope of that number."""
        return Scope.parse(f"tenant-{number}/agent")

    def chunks(self) -> Iterator[list[Made]]:
        """All memories, some at a time; those of a chunk are of one scope."""
        for scope in range(self.scopes):
            for first in range(0, self.rows, CHUNK):
                yield self.chunk(scope, first, min(CHUNK, self.rows - first))

    def chunk(self, scope: int, first: int, count: int) -> list[Made]:
        """So many memories of a scope from a number on; numbers beyond `rows` are for what is written later."""
        random = np.random.default_rng((self.seed, scope, first))
        topics = self._topics(scope)[random.choice(len(self._topics(scope)), count)]
        vectors = normalize_vectors(self._near(topics, random.uniform(0.5, 0.8, count), random))
        others = normalize_vectors(vectors + 0.25 * normalize_vectors(random.normal(size=vectors.shape)))
        texts = self._texts(2 * count, random)
        ages = random.uniform(1.0, 365.0, count).tolist()
        shares = random.uniform(size=(count, 6))
        served = random.geometric(0.3, count)
        votes = random.integers(0, 4, (count, 2))
        found = []
        for row in range(count):
            number, created = first + row, AT - timedelta(days=ages[row])
            share = shares[row].tolist()
            revised, used, judged = share[0] < 0.05, share[1] < 0.3, share[2] < 0.1
            later = created + (AT - created) * (0.5 * share[0])
            text = f"{texts[2 * row]} {number}"
            found.append(
                Made(
                    id=MemoryId(f"m-{scope}-{number}"),
                    scope=self.scope(scope),
                    said=Stated(text=text, at=later if revised else created, vector=vectors[row]),
                    former=Stated(text=f"{texts[2 * row + 1]} {number}", at=created, vector=others[row])
                    if revised
                    else None,
                    kind=Kind.FACT if revised else KINDS[number % len(KINDS)],
                    importance=None if share[3] < 0.1 else round(share[4], 3),
                    confidence=None if share[3] > 0.5 else round(share[5], 3),
                    served=int(served[row]) if used else 0,
                    served_at=later + (AT - later) * share[5] if used else None,
                    helped=int(votes[row, 0]) if judged else 0,
                    misled=int(votes[row, 1]) if judged else 0,
                )
            )
        return found

    def questions(self, count: int) -> list[Question]:
        """Questions, each near a topic of the scope that it goes to."""
        random = np.random.default_rng((self.seed, 1_000_003))
        scopes = random.integers(0, self.scopes, count).tolist()
        topics = np.array([random.choice(self._topics(scope)) for scope in scopes])
        vectors = normalize_vectors(self._near(topics, np.full(count, 0.85), random))
        texts = self._texts(count, random)
        return [
            Question(f"{text} {number}", self.scope(scope), vector)
            for number, (text, scope, vector) in enumerate(zip(texts, scopes, vectors, strict=True))
        ]

    def _topics(self, scope: int) -> NDArray[np.int64]:
        """The topics of a scope, some several times: not all are equally common."""
        random = np.random.default_rng((self.seed, scope, 1))
        count = min(max(self.rows // ROWS_PER_TOPIC, 10), TOPICS)
        own = random.permutation(TOPICS)[:count]
        return np.repeat(own, random.integers(1, 6, count))

    def _near(self, topics: NDArray[np.int64], weights: NDArray[np.float64], random: np.random.Generator) -> Vectors:
        """A vector for each topic: so much of its direction, what all have in common, and the rest of its own."""
        count = len(topics)
        spread = 1.0 / np.sqrt(1.0 + np.arange(ASPECTS))
        own = (random.normal(size=(count, ASPECTS)) * spread) @ self._base[1 : 1 + ASPECTS]
        own += random.normal(size=(count, self.dimensions)) * (0.3 * np.linalg.norm(spread) / np.sqrt(self.dimensions))
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        rest = np.sqrt(1.0 - COMMON**2 - weights**2)
        whole = weights[:, None] * self._base[1 + ASPECTS :][topics] + COMMON * self._base[0] + rest[:, None] * own
        found: Vectors = whole.astype(np.float32)
        return found

    @cached_property
    def _base(self) -> NDArray[np.float64]:
        """What all have in common, the aspects, and the topics, as rows of length 1."""
        base = np.random.default_rng(self.seed).normal(size=(1 + ASPECTS + TOPICS, self.dimensions))
        found: NDArray[np.float64] = base / np.linalg.norm(base, axis=1, keepdims=True)
        return found

    def _texts(self, count: int, random: np.random.Generator) -> list[str]:
        """Texts of words whose frequencies follow Zipf's law."""
        words = np.minimum(random.zipf(1.15, (count, LENGTH)), len(WORDS)) - 1
        return [" ".join([WORDS[word] for word in row]) for row in words.tolist()]


class Told:
    """An embedder that knows the directions of questions: embedding time is not what is measured."""

    name = MODEL

    def __init__(self, dimensions: int, known: Sequence[Question] = ()) -> None:
        self.dimensions = dimensions
        self._known: Mapping[str, Vectors] = {one.text: one.vector for one in known}
        self._other = np.ones(dimensions, dtype=np.float32)

    def embed(self, texts: Sequence[str], purpose: str) -> Vectors:
        return np.stack([self._known.get(text, self._other) for text in texts])
