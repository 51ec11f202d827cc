"""Clusters: which of many directions lie together, by the mean of all pairs between two groups.

Each begins alone. Again and again the two groups that are nearest on average become one, of those that have two members
near each other; until no two are near enough on average. So a chain of near ones, whose ends have nothing to do with
each other, falls apart where it is thin. The same directions in the same order give the same clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from recollect.model.table import Floats

MAX_LINKS = 16
"""How many of those near a direction it is linked with, the nearest of them; the others come with these."""

MEAN_SHARE = 0.8
"""What share of the threshold two groups must have on average to become one."""


def find_clusters(
    vectors: NDArray[np.float32], near: Sequence[Sequence[int]], *, threshold: float, least: int
) -> list[list[int]]:
    """The rows of each cluster of at least so many, in order; `near` names those near each row, the nearest first."""
    groups = _Groups(vectors.astype(np.float64), [[row] for row in range(len(near))], MEAN_SHARE * threshold)
    for row, others in enumerate(near):
        for other in others[:MAX_LINKS]:
            groups.linked[row].add(other)
            groups.linked[other].add(row)
    for row, linked in enumerate(groups.linked):
        groups.push_candidates(row, sorted(other for other in linked if other > row))
    groups.merge_all()
    return [sorted(members) for members in groups.members if len(members) >= least]


@dataclass(slots=True)
class _Groups:
    """Groups by their first rows, with the sums of their directions: the product of two sums is that of all pairs."""

    sums: Floats
    members: list[list[int]]
    min_mean: float
    linked: list[set[int]] = field(init=False)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list[tuple[float, int, int, int]])
    """Two groups with how near they are on average, and how many rows they had when that was said."""

    def __post_init__(self) -> None:
        self.linked = [set() for _ in self.members]

    def merge_all(self) -> None:
        """Join the two that are nearest, the first ones of equals, as long as any are near enough."""
        while self.queue:
            _, first, second, rows = heappop(self.queue)
            there = self.members[first] and self.members[second]
            if there and len(self.members[first]) + len(self.members[second]) == rows:  # or it was said again since
                self._merge(first, second)

    def push_candidates(self, group: int, others: Sequence[int]) -> None:
        """Say how near a group is to others, if that is enough."""
        if not others:
            return
        sizes = np.array([len(self.members[other]) for other in others])
        own = len(self.members[group])
        means = (self.sums[list(others)] @ self.sums[group]) / (sizes * own)
        for other, size, mean in zip(others, sizes.tolist(), means.tolist(), strict=True):
            if mean >= self.min_mean:
                heappush(self.queue, (-mean, min(group, other), max(group, other), own + size))

    def _merge(self, first: int, second: int) -> None:
        self.sums[first] += self.sums[second]
        self.members[first] += self.members[second]
        self.members[second] = []
        for other in self.linked[second]:
            self.linked[other].discard(second)
            self.linked[other].add(first)
        self.linked[first] = (self.linked[first] | self.linked[second]) - {first, second}
        self.linked[second] = set()
        self.push_candidates(first, sorted(self.linked[first]))
