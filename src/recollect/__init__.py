"""A memory engine for AI agents: it remembers, recalls, ranks and explains, exactly."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.version import __version__ as __version__

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
    from recollect.compat.observations import (
        ContextScore,
        SearchScore,
        recency_score,
        revision_score,
        type_priority,
    )
    from recollect.config import Settings, profile
    from recollect.engine.engine import Engine
    from recollect.engine.episodes import Episodes
    from recollect.engine.sessions import Sessions
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
    from recollect.factory import open, re_embed, scheduler, verify
    from recollect.jobs.scheduler import Scheduler
    from recollect.lifecycle.episodes import FailureMode, Similar
    from recollect.model.candidate import Candidate
    from recollect.model.context import Noted, Usage
    from recollect.model.conversation import Session
    from recollect.model.draft import (
        Changed,
        Created,
        Draft,
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
    from recollect.model.enums import Index, Kind, Level, Provenance, Status, Trust
    from recollect.model.episode import Action, Episode, Outcome, Result
    from recollect.model.memory import Memory
    from recollect.model.plan import Plan
    from recollect.model.scope import Scope
    from recollect.packing.budget import Budget
    from recollect.packing.pack import Context, Replay, pack, why
    from recollect.packing.prompt import Prompt
    from recollect.ranking.explanation import Explanation
    from recollect.ranking.profile import Profile
    from recollect.ranking.result import Ranking, Scored, fuse, merge
    from recollect.ranking.scorer import rank
    from recollect.ranking.why import Barred, BelowMinimum, Gated, Outranked, Ranked, Unpacked, Why

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
    "ObservationMemory",
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
    "Session",
    "Sessions",
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

_NAMES_BY_MODULE: Mapping[str, tuple[str, ...]] = {
    "recollect.compat.agent_memory": (
        "calculate_salience",
        "calculate_value",
        "rank_result",
        "should_retain",
        "usage_penalty",
    ),
    "recollect.compat.assistant": (
        "assistant_profile",
        "compute_composite_score",
    ),
    "recollect.compat.five_signal": (
        "MemoryScorer",
        "ScoredMemory",
    ),
    "recollect.compat.observation_memory": ("ObservationMemory",),
    "recollect.compat.observations": (
        "ContextScore",
        "SearchScore",
        "recency_score",
        "revision_score",
        "type_priority",
    ),
    "recollect.config": (
        "Settings",
        "profile",
    ),
    "recollect.engine.engine": ("Engine",),
    "recollect.engine.episodes": ("Episodes",),
    "recollect.engine.sessions": ("Sessions",),
    "recollect.errors": (
        "BudgetError",
        "Conflict",
        "EmbedderMismatch",
        "FieldError",
        "InvalidInput",
        "NotFound",
        "ProfileError",
        "ProviderBusy",
        "ProviderError",
        "RecollectError",
        "SchemaMismatch",
        "SchemesDiffer",
        "ScopeError",
        "SignalMissing",
        "StoreBusy",
        "StoreError",
    ),
    "recollect.factory": (
        "open",
        "re_embed",
        "scheduler",
        "verify",
    ),
    "recollect.jobs.scheduler": ("Scheduler",),
    "recollect.lifecycle.episodes": (
        "FailureMode",
        "Similar",
    ),
    "recollect.model.candidate": ("Candidate",),
    "recollect.model.context": (
        "Noted",
        "Usage",
    ),
    "recollect.model.conversation": ("Session",),
    "recollect.model.draft": (
        "Changed",
        "Created",
        "Draft",
        "Outdated",
        "Quarantined",
        "Reactivated",
        "Receipt",
        "Refused",
        "Reinforced",
        "Superseded",
        "Unchanged",
        "Unindexed",
        "Updated",
    ),
    "recollect.model.enums": (
        "Index",
        "Kind",
        "Level",
        "Provenance",
        "Status",
        "Trust",
    ),
    "recollect.model.episode": (
        "Action",
        "Episode",
        "Outcome",
        "Result",
    ),
    "recollect.model.memory": ("Memory",),
    "recollect.model.plan": ("Plan",),
    "recollect.model.scope": ("Scope",),
    "recollect.packing.budget": ("Budget",),
    "recollect.packing.pack": (
        "Context",
        "Replay",
        "pack",
        "why",
    ),
    "recollect.packing.prompt": ("Prompt",),
    "recollect.ranking.explanation": ("Explanation",),
    "recollect.ranking.profile": ("Profile",),
    "recollect.ranking.result": (
        "Ranking",
        "Scored",
        "fuse",
        "merge",
    ),
    "recollect.ranking.scorer": ("rank",),
    "recollect.ranking.why": (
        "Barred",
        "BelowMinimum",
        "Gated",
        "Outranked",
        "Ranked",
        "Unpacked",
        "Why",
    ),
}
"""The module of each public name; a module is loaded when one of its names is first used."""

_MODULE_BY_NAME: Mapping[str, str] = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_BY_NAME[name]), name)
    return value
