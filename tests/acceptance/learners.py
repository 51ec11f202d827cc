"""Agents whose users say what helped: stores that `profiles tune --from-feedback` learns from."""

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import recollect

SCOPES = ("acme/ana", "acme/ben")
SYLLABLES = ("ba", "co", "di", "fu", "ga", "li", "mo")
SUBJECTS = tuple("".join(parts) + "q" for parts in product(SYLLABLES, SYLLABLES))
"""49 words that nobody ever wrote."""

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)

NEWEST_FIRST = """
about = "What is fresh comes first, whatever it is about."
version = "1"
question = "needed"

[terms]
lexical = { weight = 0.5, missing = 0.0 }
recency = { weight = 0.3, missing = 0.5, half_life = "30d" }
importance = { weight = 0.2, missing = 0.5 }

[factors]
rarity = { floor = 0.9, missing = 1.0, rate = 0.01 }
"""


def profile(folder: Path) -> Path:
    """A file with the profile by which users are shown memories."""
    file = folder / "newest.toml"
    file.write_text(NEWEST_FIRST, encoding="utf-8")
    return file


def live(target: str, shown_by: Path, *, torn: bool = False) -> None:
    """Of each of 40 subjects something important was said long ago, and talk of late; the talk is shown first.

    Everybody says that the important one helped and that the talk misled. With `torn`, every other one says that it was
    the other way round.
    """
    now = BEGAN
    with recollect.open(target, embedder="hashing", clock=lambda: now) as engine:
        for number, subject in enumerate(SUBJECTS[:40]):
            scope = SCOPES[number % 2]
            engine.remember(f"the rule for {subject}", scope=scope, importance=0.9, at=BEGAN - timedelta(days=90))
            engine.remember(f"talk of {subject}", scope=scope, importance=0.1, at=BEGAN - timedelta(days=1))
        for number, subject in enumerate(SUBJECTS[:40]):
            now += timedelta(minutes=1)
            scope, budget = SCOPES[number % 2], recollect.Budget(900, items=2)
            context = engine.recall(f"what about {subject}?", scope=scope, profile=str(shown_by), tokens=budget)
            talk, rule = (scored.id for scored in context.packed)
            helped, misled = (talk, rule) if torn and number % 4 < 2 else (rule, talk)
            engine.feedback(
                context.id or "", scope=scope, helped=[helped], misled=[misled], by=f"colleague {number % 5}"
            )
