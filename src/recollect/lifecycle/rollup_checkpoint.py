"""Reached: how far the rollup of a scope got, as it is noted from one to the next."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from recollect.lifecycle.periods import Period
from recollect.model.level import Level


@dataclass(frozen=True, slots=True)
class RollupCheckpoint:
    """How far a rollup got: the last commits that it looked at, by which rules, and the periods that were under way.

    `token` tells what was noted since something was last erased from what was noted before.
    """

    commits: Mapping[Level, int]
    by: str
    under_way: tuple[Period, ...]
    token: str

    @classmethod
    def read(cls, text: str | None, by: str) -> "RollupCheckpoint | None":
        """What was noted; nothing but the token, if records are made by other rules since."""
        if text is None:
            return None
        noted = json.loads(text)
        if noted["by"] != by:
            return cls({}, "", (), noted["token"])
        under_way = tuple(Period.parse(Level(level), key) for level, key in noted["under_way"])
        return cls({Level(level): commit for level, commit in noted["commits"].items()}, by, under_way, noted["token"])

    def to_json(self) -> str:
        """The same as it is noted."""
        under_way = [[one.level.value, one.key] for one in self.under_way]
        return json.dumps({"commits": self.commits, "by": self.by, "under_way": under_way, "token": self.token})
