"""A memory engine for AI agents: exact, explained ranking and packing of what an agent knows."""

from typing import TYPE_CHECKING, Any

from recollect.config import profile
from recollect.dialects.assistant import assistant_profile, compute_composite_score
from recollect.dialects.composite_scorer import MemoryScorer, ScoredMemory
from recollect.dialects.lifecycle_rfc import (
    calculate_salience,
    calculate_value,
    rank_result,
    should_retain,
    usage_penalty,
)
from recollect.errors import (
    BudgetError,
    FieldError,
    InvalidInput,
    NotFound,
    ProfileError,
    RecollectError,
    SchemesDiffer,
    SignalMissing,
)
from recollect.model.candidate import Candidate
from recollect.model.memory import Kind, Memory
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, pack
from recollect.packing.prompt import Prompt
from recollect.packing.why import why
from recollect.ranking.door import rank
from recollect.ranking.explanation import Explanation
from recollect.ranking.merge import fuse, merge
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scored
from recollect.version import __version__ as __version__

if TYPE_CHECKING:
    from recollect.dialects.observations import (
        ContextScore,
        SearchScore,
        recency_score,
        revision_score,
        type_priority,
    )

__all__ = [
    "Budget",
    "BudgetError",
    "Candidate",
    "Context",
    "ContextScore",
    "Explanation",
    "FieldError",
    "InvalidInput",
    "Kind",
    "Memory",
    "MemoryScorer",
    "NotFound",
    "Profile",
    "ProfileError",
    "Prompt",
    "Ranking",
    "RecollectError",
    "SchemesDiffer",
    "Scored",
    "ScoredMemory",
    "SearchScore",
    "SignalMissing",
    "assistant_profile",
    "calculate_salience",
    "calculate_value",
    "compute_composite_score",
    "fuse",
    "merge",
    "pack",
    "profile",
    "rank",
    "rank_result",
    "recency_score",
    "revision_score",
    "should_retain",
    "type_priority",
    "usage_penalty",
    "why",
]

_LOADS_PYDANTIC = ("ContextScore", "SearchScore", "recency_score", "revision_score", "type_priority")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _LOADS_PYDANTIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from recollect.dialects import observations

    return getattr(observations, name)
