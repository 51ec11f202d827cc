"""Synthetic material for speed: conversations with random unit vectors and words by Zipf's law, from one seed."""

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

SPEAKERS = ("Ana", "Boris")
TURNS = 20
"""How many memories a session has, which the speakers say in turn."""


def synthetic(rows: int, questions: int, seed: int = 0) -> Material:
    """So many memories of one scope, turns of conversations, one a minute, and questions near to one of the first.

    Every other question names one of the two who speak.
    """
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
            details={"session": f"s{row // TURNS:05}", "speaker": SPEAKERS[row % len(SPEAKERS)]},
        )
        for row in range(rows)
    ]
    targets = random.integers(0, min(rows, NEAREST), questions)
    near = unit(vectors[targets] + random.normal(0.0, 0.05, (questions, DIMENSIONS)))
    asked = [
        Asked(id=f"q{row}", scope=SCOPE, text=f"{_named(row)}{text} {row}", at=None, vector=near[row])
        for row, text in enumerate(texts(questions, 8, random))
    ]
    return Material("synthetic", memories, asked)


def _named(row: int) -> str:
    return f"{SPEAKERS[row // 2 % len(SPEAKERS)]} " if row % 2 else ""


def texts(count: int, length: int, random: np.random.Generator) -> list[str]:
    """Texts of words whose frequencies follow Zipf's law."""
    words = np.minimum(random.zipf(1.15, (count, length)), WORDS)
    return [" ".join(f"w{word:x}" for word in row) for row in words]
