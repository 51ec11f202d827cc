"""A memory engine for AI agents: it remembers, recalls, ranks and explains, exactly."""

from typing import TYPE_CHECKING, Any

from recollect.config import Settings, profile
from recollect.dialects.assistant import assistant_profile, compute_composite_score
from recollect.dialects.composite_scorer import MemoryScorer, ScoredMemory
from recollect.dialects.lifecycle_rfc import (
    calculate_salience,
    calculate_value,
    rank_result,
    should_retain,
    usage_penalty,
)
from recollect.engine.engine import Engine
from recollect.engine.episodes import Episodes
from recollect.errors import (
    BudgetError,
    Conflict,
    EmbedderMismatch,
    FieldError,
    InvalidInput,
    NotFound,
    ProfileError,
    ProviderBusy,
    ProviderError,
    RecollectError,
    SchemaMismatch,
    SchemesDiffer,
    ScopeError,
    SignalMissing,
    StoreBusy,
    StoreError,
)
from recollect.jobs.scheduler import Scheduler
from recollect.model.candidate import Candidate
from recollect.model.draft import Draft
from recollect.model.episode import Action, Episode, Outcome, Result
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, Status
from recollect.model.plan import Plan
from recollect.model.scope import Scope
from recollect.model.trust import Provenance, Trust
from recollect.model.usage import Noted, Usage
from recollect.model.verdict import (
    Changed,
    Created,
    Outdated,
    Quarantined,
    Reactivated,
    Receipt,
    Refused,
    Reinforced,
    Superseded,
    Unchanged,
    Unindexed,
    Updated,
)
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, pack
from recollect.packing.prompt import Prompt
from recollect.packing.replay import Replay
from recollect.packing.why import why
from recollect.ranking.door import rank
from recollect.ranking.episodes import FailureMode, Similar
from recollect.ranking.explanation import Explanation
from recollect.ranking.merge import fuse, merge
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.why import Barred, BelowMinimum, Gated, Outranked, Ranked, Unpacked, Why
from recollect.version import __version__ as __version__
from recollect.wiring import open, re_embed, scheduler, verify

if TYPE_CHECKING:
    from recollect.dialects.observations import (
        ContextScore,
        SearchScore,
        recency_score,
        revision_score,
        type_priority,
    )

__all__ = [
    "Action",
    "Barred",
    "BelowMinimum",
    "Budget",
    "BudgetError",
    "Candidate",
    "Changed",
    "Conflict",
    "Context",
    "ContextScore",
    "Created",
    "Draft",
    "EmbedderMismatch",
    "Engine",
    "Episode",
    "Episodes",
    "Explanation",
    "FailureMode",
    "FieldError",
    "Gated",
    "Index",
    "InvalidInput",
    "Kind",
    "Level",
    "Memory",
    "MemoryScorer",
    "NotFound",
    "Noted",
    "Outcome",
    "Outdated",
    "Outranked",
    "Plan",
    "Profile",
    "ProfileError",
    "Prompt",
    "Provenance",
    "ProviderBusy",
    "ProviderError",
    "Quarantined",
    "Ranked",
    "Ranking",
    "Reactivated",
    "Receipt",
    "RecollectError",
    "Refused",
    "Reinforced",
    "Replay",
    "Result",
    "Scheduler",
    "SchemaMismatch",
    "SchemesDiffer",
    "Scope",
    "ScopeError",
    "Scored",
    "ScoredMemory",
    "SearchScore",
    "Settings",
    "SignalMissing",
    "Similar",
    "Status",
    "StoreBusy",
    "StoreError",
    "Superseded",
    "Trust",
    "Unchanged",
    "Unindexed",
    "Unpacked",
    "Updated",
    "Usage",
    "Why",
    "assistant_profile",
    "calculate_salience",
    "calculate_value",
    "compute_composite_score",
    "fuse",
    "merge",
    "open",
    "pack",
    "profile",
    "rank",
    "rank_result",
    "re_embed",
    "recency_score",
    "revision_score",
    "scheduler",
    "should_retain",
    "type_priority",
    "usage_penalty",
    "verify",
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
