"""Lifecycle policy: how events are cut into segments, and how long records stay in indexes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from recollect.errors import FieldError, show, suggest
from recollect.lifecycle.rollups import DEFAULT_SEGMENT_GAP, DEFAULT_SEGMENT_TOKENS
from recollect.lifecycle.schedule import require_expression
from recollect.model import validation
from recollect.model.enums import Level
from recollect.model.plan import AGING_LEVELS, MAX_AGE_DAYS

SummarizerName = Literal["extractive", "llm"]

MAX_GAP_MINUTES = 1_440.0
"""The longest gap in minutes that a segment may have: a day."""

MIN_SEGMENT_TOKENS, MAX_SEGMENT_TOKENS = 100, 100_000
"""The limits for the tokens of a segment."""


NEVER: Literal["never"] = "never"
RetentionDays = int | Literal["never"]
"""A retention in days, or "never" for records that never leave."""

StandInLevel = Literal["day", "week", "month", "year"]
"""The levels whose records can stand in for finer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPolicy:
    """How many days records of each level stay in the vector index, and when it is pruned.

    Months and years never leave.
    """

    event_retention_days: RetentionDays = NEVER
    segment_retention_days: RetentionDays = 30
    grip_retention_days: RetentionDays = 30
    day_retention_days: RetentionDays = 365
    week_retention_days: RetentionDays = 1825
    prune_schedule: str = "0 3 * * *"

    def __post_init__(self) -> None:
        _require_retention(self)
        require_expression("prune_schedule", self.prune_schedule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25Policy:
    """How many days records of each level stay in the text index, and which may stand in.

    `rebuild_schedule` is when both indexes are brought in line with the settings.
    """

    event_retention_days: RetentionDays = NEVER
    segment_retention_days: RetentionDays = 30
    grip_retention_days: RetentionDays = 30
    day_retention_days: RetentionDays = 365
    week_retention_days: RetentionDays = 1825
    rebuild_schedule: str = "0 4 * * 0"
    min_level_after_rollup: StandInLevel = "day"

    def __post_init__(self) -> None:
        _require_retention(self)
        require_expression("rebuild_schedule", self.rebuild_schedule)
        if self.min_level_after_rollup not in get_args(StandInLevel):
            known = suggest(str(self.min_level_after_rollup), get_args(StandInLevel))
            raise FieldError(
                f"{show(self.min_level_after_rollup)} cannot stand in for other levels; {known}", field=MIN_LEVEL_FIELD
            )


MIN_LEVEL_FIELD = "min_level_after_rollup"


def retention_of(policy: VectorPolicy | Bm25Policy) -> dict[Level, timedelta | None]:
    """Return how long records of each level stay in the index; `None` means forever."""
    days_by_level = {level: getattr(policy, f"{level.value}_retention_days") for level in AGING_LEVELS}
    return {level: None if days == NEVER else timedelta(days=days) for level, days in days_by_level.items()}


def _require_retention(policy: VectorPolicy | Bm25Policy) -> None:
    for level in AGING_LEVELS:
        name = f"{level.value}_retention_days"
        days = getattr(policy, name)
        if days != NEVER and not 1 <= validation.require_count(name, days) <= MAX_AGE_DAYS:
            problem = f"{show(days)} days are not within 1..{MAX_AGE_DAYS}; use {show(NEVER)} to keep records forever"
            raise FieldError(problem, field=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecyclePolicy:
    """The time zone, the limits of a segment, the summarizer, and the retention in indexes.

    If it is not `enabled`, no lifecycle job runs by itself.
    """

    enabled: bool = True
    time_zone: str = "UTC"
    segment_gap_minutes: float = DEFAULT_SEGMENT_GAP / timedelta(minutes=1)
    segment_tokens: int = DEFAULT_SEGMENT_TOKENS
    summariser: SummarizerName = "extractive"
    vector: VectorPolicy = VectorPolicy()
    bm25: Bm25Policy = Bm25Policy()

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        for name, section in (("vector", VectorPolicy), ("bm25", Bm25Policy)):
            if not isinstance(getattr(self, name), section):
                raise FieldError(f"{show(getattr(self, name))} is not a {section.__name__}", field=name)
        validation.require_text("time_zone", self.time_zone)
        if not 0.0 < validation.require_number("segment_gap_minutes", self.segment_gap_minutes) <= MAX_GAP_MINUTES:
            problem = f"{show(self.segment_gap_minutes)} is not a number of minutes up to a day"
            raise FieldError(problem, field="segment_gap_minutes")
        if (
            not MIN_SEGMENT_TOKENS
            <= validation.require_count("segment_tokens", self.segment_tokens)
            <= MAX_SEGMENT_TOKENS
        ):
            problem = f"{show(self.segment_tokens)} is not within {MIN_SEGMENT_TOKENS}..{MAX_SEGMENT_TOKENS}"
            raise FieldError(problem, field="segment_tokens")
        known = get_args(SummarizerName)
        if self.summariser not in known:
            problem = f"{show(self.summariser)} is not a summarizer; {suggest(str(self.summariser), known)}"
            raise FieldError(problem, field="summariser")

    @property
    def gap(self) -> timedelta:
        """The longest gap between two events of a segment."""
        return timedelta(minutes=self.segment_gap_minutes)
