"""Retention: which episodes have had their day.

The plain value of an episode is never below 1 - max(target, 1 - target), which is 0.35 for a target of 0.65;
so a threshold of 0.18 cannot fire. The normalised value goes down to 0, and there the threshold bites: with
the same numbers, below an outcome of 0.65 - (1 - 0.18) × 0.65 ≈ 0.117.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from recollect.errors import FieldError, show, suggest
from recollect.lifecycle.schedule import require_expression
from recollect.model import validation
from recollect.model.episode import Episode

TARGET_OUTCOME = 0.65
"""The outcome that teaches most: not too easy, not too hard (seed 004)."""

MIN_VALUE = 0.18
"""The value from which on an episode is kept (seed 004)."""

MAX_EPISODES = 1_000
"""How many finished episodes of a scope are kept at most (seed 004)."""

MAX_EPISODES_SETTING = 1_000_000

SUCCESS_OUTCOME = 0.65
"""The outcome from which on a task succeeded: what it was decided by may have helped."""

ValueName = Literal["plain", "normalised"]


def compute_value(outcome: float, target: float = TARGET_OUTCOME) -> float:
    """How much an episode teaches by its outcome: max(0, 1 - |outcome - target|), the form of the source.

    It is never below 0.35 for the default target, so the default threshold never lets such an episode go.
    """
    return max(0.0, 1.0 - _outcome_distance(outcome, target))


def compute_normalized_value(outcome: float, target: float = TARGET_OUTCOME) -> float:
    """The same on the whole of 0..1: 1 - |outcome - target| / max(target, 1 - target).

    For this form the default threshold bites, below an outcome of about 0.117.
    """
    return 1.0 - _outcome_distance(outcome, target) / max(target, 1.0 - target)


def is_retained(value: float, threshold: float = MIN_VALUE) -> bool:
    """Whether an episode of that value is worth its place."""
    validation.require_fraction("value", value)
    validation.require_fraction("threshold", threshold)
    return value >= threshold


def _outcome_distance(outcome: float, target: float) -> float:
    validation.require_fraction("outcome", outcome)
    validation.require_fraction("target", target)
    return abs(outcome - target)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicPolicy:
    """Whether episodes are kept, how much one teaches by its outcome, and which of them are let go of, and when.

    With `value = "plain"`, the form of the source, the threshold cannot fire at these defaults; with "normalised" it
    does.
    """

    enabled: bool = True
    value_threshold: float = MIN_VALUE
    midpoint_target: float = TARGET_OUTCOME
    max_episodes: int = MAX_EPISODES
    value: ValueName = "plain"
    success: float = SUCCESS_OUTCOME
    prune_schedule: str = "30 3 * * *"

    def __post_init__(self) -> None:
        validation.require_flag("enabled", self.enabled)
        for name in ("value_threshold", "midpoint_target", "success"):
            validation.require_fraction(name, getattr(self, name))
        if not 1 <= validation.require_count("max_episodes", self.max_episodes) <= MAX_EPISODES_SETTING:
            raise FieldError(f"{show(self.max_episodes)} is not within 1..{MAX_EPISODES_SETTING}", field="max_episodes")
        if self.value not in get_args(ValueName):
            known = suggest(str(self.value), get_args(ValueName))
            raise FieldError(f"{show(self.value)} is no form of a value; {known}", field="value")
        require_expression("prune_schedule", self.prune_schedule)

    def value_of(self, outcome: float) -> float:
        """How much an episode teaches by its outcome."""
        form = compute_value if self.value == "plain" else compute_normalized_value
        return form(outcome, self.midpoint_target)


def select_expired(episodes: Sequence[Episode], policy: EpisodicPolicy) -> Iterator[tuple[Episode, str]]:
    """The episodes that are let go of, and why: those that teach too little, and then those that teach least, the
    oldest first, as long as there are too many. None that is under way, and none that is pinned.
    """
    finished = [(one, one.value) for one in episodes if one.value is not None]
    free = sorted(
        ((one, value) for one, value in finished if not one.pinned),
        key=lambda both: (both[1], both[0].started_at, both[0].id),
    )
    over = len(finished) - policy.max_episodes
    for place, (one, worth) in enumerate(free):
        if not is_retained(worth, policy.value_threshold):
            yield one, f"its value {worth:.3f} is below {policy.value_threshold:g}"
        elif place < over:
            yield one, f"at most {policy.max_episodes} are kept, and its value {worth:.3f} is among the least"
