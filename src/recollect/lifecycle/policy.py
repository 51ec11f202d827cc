"""Policy: how what happened is cut into stretches of time, as the user configures it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from recollect.errors import FieldError, remedy, show
from recollect.lifecycle.segments import GAP, MOST_TOKENS
from recollect.model import limits

SummariserName = Literal["extractive", "llm"]

LONGEST_GAP = 1_440.0
"""How many minutes a conversation may pause at most and go on: a day."""

FEWEST_TOKENS, LARGEST_SEGMENT = 100, 100_000
"""Within how many tokens a segment may be told to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecyclePolicy:
    """In which time zone a day begins, after how many minutes or tokens a segment ends, and who summarises."""

    time_zone: str = "UTC"
    segment_gap_minutes: float = GAP / timedelta(minutes=1)
    segment_tokens: int = MOST_TOKENS
    summariser: SummariserName = "extractive"

    def __post_init__(self) -> None:
        limits.a_text("time_zone", self.time_zone)
        if not 0.0 < limits.a_number("segment_gap_minutes", self.segment_gap_minutes) <= LONGEST_GAP:
            problem = f"{show(self.segment_gap_minutes)} is no number of minutes up to a day"
            raise FieldError(problem, field="segment_gap_minutes")
        if not FEWEST_TOKENS <= limits.a_count("segment_tokens", self.segment_tokens) <= LARGEST_SEGMENT:
            problem = f"{show(self.segment_tokens)} is not within {FEWEST_TOKENS}..{LARGEST_SEGMENT}"
            raise FieldError(problem, field="segment_tokens")
        known = get_args(SummariserName)
        if self.summariser not in known:
            problem = f"{show(self.summariser)} is no summariser; {remedy(str(self.summariser), known)}"
            raise FieldError(problem, field="summariser")

    @property
    def gap(self) -> timedelta:
        """How long nothing happens within a segment at most."""
        return timedelta(minutes=self.segment_gap_minutes)
