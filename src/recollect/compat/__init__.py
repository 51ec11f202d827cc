"""The APIs of the designs that recollect implements, each on a profile of its ranking."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.compat.agent_memory import (
        calculate_salience,
        calculate_value,
        rank_result,
        should_retain,
        usage_penalty,
    )
    from recollect.compat.assistant import assistant_profile, compute_composite_score
    from recollect.compat.five_signal import MemoryScorer, ScoredMemory
    from recollect.compat.observation_memory import ObservationMemory
    from recollect.compat.observations import ContextScore, SearchScore, recency_score, revision_score, type_priority

__all__ = [
    "ContextScore",
    "MemoryScorer",
    "ObservationMemory",
    "ScoredMemory",
    "SearchScore",
    "assistant_profile",
    "calculate_salience",
    "calculate_value",
    "compute_composite_score",
    "rank_result",
    "recency_score",
    "revision_score",
    "should_retain",
    "type_priority",
    "usage_penalty",
]

_MODULES: Mapping[str, tuple[str, ...]] = {
    "five_signal": ("MemoryScorer", "ScoredMemory"),
    "assistant": ("assistant_profile", "compute_composite_score"),
    "observation_memory": ("ObservationMemory",),
    "observations": ("ContextScore", "SearchScore", "recency_score", "revision_score", "type_priority"),
    "agent_memory": ("calculate_salience", "calculate_value", "rank_result", "should_retain", "usage_penalty"),
}
"""The module of each name; it is loaded when one of its names is first used, since one of them loads the engine."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
