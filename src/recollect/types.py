"""Values in answers that programs name less often: verdicts, fates of a memory, and parts of an episode."""

from recollect.lifecycle.episodes import FailureMode, Similar
from recollect.model.context import Noted, Usage
from recollect.model.draft import (
    Changed,
    Created,
    Outdated,
    Quarantined,
    Reactivated,
    Refused,
    Reinforced,
    Superseded,
    Unchanged,
    Unindexed,
    Updated,
)
from recollect.model.enums import Index
from recollect.model.episode import Action, Outcome, Result
from recollect.ranking.why import Barred, BelowMinimum, Gated, Outranked, Ranked, Unpacked

__all__ = [
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
]
