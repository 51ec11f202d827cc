"""Synthetic material for speed: unit vectors at random and texts of words that follow Zipf's law, from one seed."""

from datetime import UTC, datetime, timedelta

import numpy as np

from peers.material import Asked, Material, Said, unit

AT = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = "acme/ana"
DIMENSIONS = 384
WORDS = 30_000
"""How many distinct words there are."""

LENGTH = 20
"""How many words a memory has."""

NEAREST = 1_000
"""Among how many of the first memories those are that a question is near to, so that all sizes share the questions."""


def synthetic(rows: int, questions: int, seed: int = 0) -> Material:
    """So many memories of one scope, one a minute, and questions each of which is near to one of the first."""
    random = np.random.default_rng(seed)
    vectors = unit(random.normal(size=(rows, DIMENSIONS)))
    said = texts(rows, LENGTH, random)
    memories = [
        Said(
            id=f"m{row:06}",
            scope=SCOPE,
            text=f"{said[row]} {row}",
            at=AT - timedelta(minutes=rows - row),
            vector=vectors[row],
        )
        for row in range(rows)
    ]
    targets = random.integers(0, min(rows, NEAREST), questions)
    near = unit(vectors[targets] + random.normal(0.0, 0.05, (questions, DIMENSIONS)))
    asked = [
        Asked(id=f"q{row}", scope=SCOPE, text=f"{text} {row}", at=None, vector=near[row])
        for row, text in enumerate(texts(questions, 8, random))
    ]
    return Material("synthetic", memories, asked)


def texts(count: int, length: int, random: np.random.Generator) -> list[str]:
    """Texts of words whose frequencies follow Zipf's law."""
    words = np.minimum(random.zipf(1.15, (count, length)), WORDS)
    return [" ".join(f"w{word:x}" for word in row) for row in words]
