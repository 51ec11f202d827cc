"""The public names: what a user may type after `recollect.`; anything else may move."""

import inspect
import re
from importlib import import_module

import pytest

import recollect
from tests.tables import table

PUBLIC = [
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

MOVED = {
    "recollect.engine.episodes": ["Episodes"],
    "recollect.engine.sessions": ["Sessions"],
    "recollect.errors": [
        "BudgetError",
        "EmbedderMismatch",
        "FieldError",
        "ProfileError",
        "ProviderBusy",
        "SchemaMismatch",
        "SchemesDiffer",
        "ScopeError",
        "SignalMissing",
    ],
    "recollect.types": [
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
    ],
}

COMPAT = [
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


def test_the_public_names_are_these_and_sorted() -> None:
    assert list(recollect.__all__) == PUBLIC
    assert sorted(PUBLIC) == PUBLIC


def test_the_package_shows_nothing_but_its_public_names_and_its_modules() -> None:
    shown = {name for name in dir(recollect) if not name.startswith("_")}
    modules = {name for name in shown if inspect.ismodule(getattr(recollect, name))}
    assert shown - modules == {name for name in PUBLIC if not name.startswith("_")}


@table("name", PUBLIC)
def test_a_public_name_can_be_imported_and_says_what_it_is_for(name: str) -> None:
    thing = getattr(recollect, name)
    written = thing.__doc__ or ""
    made_by_dataclass = written.startswith(f"{name}(")
    assert written.strip()
    assert not made_by_dataclass


@table(("module", "name"), [(module, name) for module, names in MOVED.items() for name in names])
def test_a_name_that_moved_can_still_be_imported_and_warns(module: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"^recollect\.{name} has moved; use {re.escape(module)}\.{name}$"):
        assert getattr(recollect, name) is getattr(import_module(module), name)


def test_the_names_of_the_designs_can_be_imported_from_compat_and_from_the_top() -> None:
    assert list(recollect.compat.__all__) == COMPAT
    for name in COMPAT:
        assert getattr(recollect, name) is getattr(recollect.compat, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (recollect, recollect.compat):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'remember'"):
            _ = module.remember
