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
    from recollect.compat.observations import ContextScore, SearchScore, recency_score, revision_score, type_priority
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
    from recollect.lifecycle.episode_ranking import FailureMode, Similar
    from recollect.model.candidate import Candidate
    from recollect.model.draft import Draft
    from recollect.model.episode import Action, Episode, Outcome, Result
    from recollect.model.index import Index
    from recollect.model.level import Level
    from recollect.model.memory import Kind, Memory, Status
    from recollect.model.plan import Plan
    from recollect.model.scope import Scope
    from recollect.model.session import Session
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
    from recollect.ranking.explanation import Explanation
    from recollect.ranking.merge import fuse, merge
    from recollect.ranking.profile import Profile
    from recollect.ranking.ranker import rank
    from recollect.ranking.result import Ranking, Scored
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
    "recollect.config": ("Settings", "profile"),
    "recollect.compat.assistant": ("assistant_profile", "compute_composite_score"),
    "recollect.compat.five_signal": ("MemoryScorer", "ScoredMemory"),
    "recollect.compat.agent_memory": (
        "calculate_salience",
        "calculate_value",
        "rank_result",
        "should_retain",
        "usage_penalty",
    ),
    "recollect.compat.observation_memory": ("ObservationMemory",),
    "recollect.compat.observations": (
        "ContextScore",
        "SearchScore",
        "recency_score",
        "revision_score",
        "type_priority",
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
    "recollect.jobs.scheduler": ("Scheduler",),
    "recollect.model.candidate": ("Candidate",),
    "recollect.model.draft": ("Draft",),
    "recollect.model.episode": ("Action", "Episode", "Outcome", "Result"),
    "recollect.model.index": ("Index",),
    "recollect.model.level": ("Level",),
    "recollect.model.memory": ("Kind", "Memory", "Status"),
    "recollect.model.plan": ("Plan",),
    "recollect.model.scope": ("Scope",),
    "recollect.model.session": ("Session",),
    "recollect.model.trust": ("Provenance", "Trust"),
    "recollect.model.usage": ("Noted", "Usage"),
    "recollect.model.verdict": (
        "Changed",
        "Created",
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
    "recollect.packing.budget": ("Budget",),
    "recollect.packing.pack": ("Context", "pack"),
    "recollect.packing.prompt": ("Prompt",),
    "recollect.packing.replay": ("Replay",),
    "recollect.packing.why": ("why",),
    "recollect.ranking.ranker": ("rank",),
    "recollect.lifecycle.episode_ranking": ("FailureMode", "Similar"),
    "recollect.ranking.explanation": ("Explanation",),
    "recollect.ranking.merge": ("fuse", "merge"),
    "recollect.ranking.profile": ("Profile",),
    "recollect.ranking.result": ("Ranking", "Scored"),
    "recollect.ranking.why": ("Barred", "BelowMinimum", "Gated", "Outranked", "Ranked", "Unpacked", "Why"),
    "recollect.factory": ("open", "re_embed", "scheduler", "verify"),
}
"""Where the public names are at home; a module is loaded when a name of it is first used, and no other is."""

_MODULE_BY_NAME: Mapping[str, str] = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULE_BY_NAME[name]), name)
    return found
