"""The public names: what a user may type after `recollect.`; anything else may move."""

import inspect

import recollect
from tests.tables import table

PUBLIC = [
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
