"""A memory engine for AI agents: it remembers, recalls, ranks and explains, exactly."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from recollect.version import __version__ as __version__

if TYPE_CHECKING:
    from recollect import compat as compat
    from recollect import errors as errors
    from recollect import types as types
    from recollect.compat import ContextScore, MemoryScorer, ScoredMemory, SearchScore, compute_composite_score
    from recollect.config import Settings, profile
    from recollect.engine.engine import Engine
    from recollect.errors import Conflict, InvalidInput, NotFound, ProviderError, RecollectError, StoreBusy, StoreError
    from recollect.factory import open, re_embed, scheduler, verify
    from recollect.jobs.scheduler import Scheduler
    from recollect.model.candidate import Candidate
    from recollect.model.conversation import Session
    from recollect.model.draft import Draft, Receipt
    from recollect.model.enums import Kind, Level, Provenance, Status, Trust
    from recollect.model.episode import Episode
    from recollect.model.memory import Memory
    from recollect.model.plan import Plan
    from recollect.model.scope import Scope
    from recollect.packing.budget import Budget
    from recollect.packing.pack import Context, Replay, pack, why
    from recollect.packing.prompt import Prompt
    from recollect.ranking.explanation import Explanation
    from recollect.ranking.profile import Profile
    from recollect.ranking.rank import rank
    from recollect.ranking.result import Ranking, Scored, fuse, merge
    from recollect.ranking.why import Why

__all__ = [
    "Budget",
    "Candidate",
    "Conflict",
    "Context",
    "ContextScore",
    "Draft",
    "Engine",
    "Episode",
    "Explanation",
    "InvalidInput",
    "Kind",
    "Level",
    "Memory",
    "MemoryScorer",
    "NotFound",
    "Plan",
    "Profile",
    "Prompt",
    "Provenance",
    "ProviderError",
    "Ranking",
    "Receipt",
    "RecollectError",
    "Replay",
    "Scheduler",
    "Scope",
    "Scored",
    "ScoredMemory",
    "SearchScore",
    "Session",
    "Settings",
    "Status",
    "StoreBusy",
    "StoreError",
    "Trust",
    "Why",
    "compute_composite_score",
    "fuse",
    "merge",
    "open",
    "pack",
    "profile",
    "rank",
    "re_embed",
    "scheduler",
    "verify",
    "why",
]

_NAMES_BY_MODULE: Mapping[str, tuple[str, ...]] = {
    "recollect.compat": (
        "ContextScore",
        "MemoryScorer",
        "ScoredMemory",
        "SearchScore",
        "compute_composite_score",
    ),
    "recollect.config": (
        "Settings",
        "profile",
    ),
    "recollect.engine.engine": ("Engine",),
    "recollect.errors": (
        "Conflict",
        "InvalidInput",
        "NotFound",
        "ProviderError",
        "RecollectError",
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
    "recollect.model.candidate": ("Candidate",),
    "recollect.model.conversation": ("Session",),
    "recollect.model.draft": (
        "Draft",
        "Receipt",
    ),
    "recollect.model.enums": (
        "Kind",
        "Level",
        "Provenance",
        "Status",
        "Trust",
    ),
    "recollect.model.episode": ("Episode",),
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
    "recollect.ranking.rank": ("rank",),
    "recollect.ranking.why": ("Why",),
}
"""The module of each public name; a module is loaded when one of its names is first used."""

_MODULE_BY_NAME: Mapping[str, str] = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

_MOVED_NAMES: Mapping[str, tuple[str, ...]] = {
    "recollect.engine.episodes": ("Episodes",),
    "recollect.engine.sessions": ("Sessions",),
    "recollect.errors": (
        "BudgetError",
        "EmbedderMismatch",
        "FieldError",
        "ProfileError",
        "ProviderBusy",
        "SchemaMismatch",
        "SchemesDiffer",
        "ScopeError",
        "SignalMissing",
    ),
    "recollect.types": (
        "Action",
        "Barred",
        "BelowMinimum",
        "Changed",
        "Created",
        "FailureMode",
        "Gated",
        "Index",
        "Noted",
        "Outcome",
        "Outdated",
        "Outranked",
        "Quarantined",
        "Ranked",
        "Reactivated",
        "Refused",
        "Reinforced",
        "Result",
        "Similar",
        "Superseded",
        "Unchanged",
        "Unindexed",
        "Unpacked",
        "Updated",
        "Usage",
    ),
}
"""Names that have moved to another module; importing them from here warns, and the next release drops them."""

_NEW_MODULE_BY_NAME: Mapping[str, str] = {name: module for module, names in _MOVED_NAMES.items() for name in names}

_PUBLIC_MODULES = ("compat", "errors", "types")
"""Modules from which users import more names."""


def __dir__() -> list[str]:
    return [*__all__, *_PUBLIC_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_BY_NAME:
        value = globals()[name] = getattr(import_module(_MODULE_BY_NAME[name]), name)
        return value
    if name in _PUBLIC_MODULES:
        return import_module(f"recollect.{name}")
    if name in _NEW_MODULE_BY_NAME:
        new_module = _NEW_MODULE_BY_NAME[name]
        warnings.warn(f"recollect.{name} has moved; use {new_module}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(new_module), name)
    if not name.startswith("_"):
        compat = import_module("recollect.compat")
        if name in compat.__all__:
            return getattr(compat, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
