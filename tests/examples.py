"""How many random examples a property is tried with."""

from typing import Any

from hypothesis import settings


def at_most(examples: int, **others: Any) -> settings:
    """Try as many examples as the run's profile says, but no more than these: each one is slow."""
    return settings(max_examples=min(examples, settings().max_examples), **others)
