"""The composite score of an assistant framework (seed 002), on the `assistant` profile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from recollect.compat import coercion
from recollect.errors import ProfileError, show
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.profile import Profile, QuestionPolicy
from recollect.ranking.profile_toml import override_profile, profile_to_document
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.scorer import explain

PROFILE = builtin_profile("assistant")
HALF_LIFE_DAYS = float(profile_to_document(PROFILE)["terms"]["recency"]["half_life"].removesuffix("d"))


def _read_days(field: str, value: Any) -> str:
    """Format days for a profile, in plain digits."""
    return f"{Decimal(repr(coercion.to_number(field, value))):f}d"


@dataclass(frozen=True, slots=True)
class _ProfileSetting:
    """The place of a framework setting in a profile, and how it is read."""

    path: tuple[str, ...]
    read: Callable[[str, Any], float | str]


SETTINGS: Mapping[str, _ProfileSetting] = {
    "weights.semantic": _ProfileSetting(("terms", "similarity", "weight"), coercion.to_number),
    "weights.recency": _ProfileSetting(("terms", "recency", "weight"), coercion.to_number),
    "weights.importance": _ProfileSetting(("terms", "importance", "weight"), coercion.to_number),
    "recencyHalfLifeDays": _ProfileSetting(("terms", "recency", "half_life"), _read_days),
    "maxContextItems": _ProfileSetting(("max_items",), coercion.to_count),
    "minScore": _ProfileSetting(("min_score",), coercion.to_number),
}
"""The settings by the framework's names."""


def compute_composite_score(
    similarity: float | None,
    created_at: datetime | str | None,
    importance: float | None,
    *,
    weights: Mapping[str, float] | None = None,
    half_life_days: float = HALF_LIFE_DAYS,
    now: datetime | None = None,
) -> float:
    """Return the composite score of a memory, within 0..1.

    `None` means unknown and gets the profile's default; a date without a time zone is taken as UTC. `weights` may name
    any of semantic, recency and importance; together with the profile's other weights they must add up to 1.
    """
    days = coercion.to_number("half_life_days", half_life_days)
    profile = assistant_profile({"weights": weights or {}, "recencyHalfLifeDays": days})
    candidate = Candidate(
        id=MemoryId("memory"),
        similarity=coercion.read_optional(coercion.to_cosine, "similarity", similarity),
        created_at=coercion.read_optional(coercion.to_datetime, "created_at", created_at),
        importance=coercion.read_optional(coercion.to_fraction, "importance", importance),
    )
    return explain(candidate, profile, coercion.datetime_or_now(now)).score


def assistant_profile(config: Mapping[str, Any]) -> Profile:
    """Return the `assistant` profile with some settings changed, by the framework's names.

    `weights` may be a table, or each weight a key such as `weights.semantic`. The result is checked like any profile:
    weights that do not add up to 1 raise an error and are not scaled.
    """
    settings: dict[str, float | str] = {}
    for key, value in _flatten(config):
        if key not in SETTINGS:
            raise ProfileError(f"{key!r} is not an assistant setting; known are {', '.join(SETTINGS)}")
        if key in settings:
            raise ProfileError(f"{key!r} is given twice, in a table and by its own key; give it once")
        settings[key] = SETTINGS[key].read(key, value)
    return _override_profile(frozenset(settings.items()))


def _flatten(config: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not isinstance(config, Mapping):
        raise ProfileError(f"the settings are {show(config)}; give a table of {', '.join(SETTINGS)}")
    weights = config.get("weights")
    if not isinstance(weights, Mapping):
        return list(config.items())
    others = [(key, value) for key, value in config.items() if key != "weights"]
    return [*((f"weights.{key}", value) for key, value in weights.items()), *others]


@lru_cache(maxsize=64)
def _override_profile(settings: frozenset[tuple[str, float | str]]) -> Profile:
    """Build the profile once, because the same settings come with every memory."""
    changes: dict[str, Any] = {}
    for key, value in settings:
        *tables, last = SETTINGS[key].path
        table = changes
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    if changes.get("terms", {}).get("similarity") == {"weight": 0.0}:
        changes["question"] = QuestionPolicy.OPTIONAL.value  # nothing in it depends on a query
    return override_profile(PROFILE, changes)
