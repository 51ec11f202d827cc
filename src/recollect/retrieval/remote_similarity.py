"""Nearby: similarities that a store does not hand over, but can be asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from recollect.model.table import Floats, Rows


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """The rows that an index says are nearest, their similarities, and how near any other is at most, if it is right.

    The similarities are within the error of the `RemoteSimilarities`; a `ceiling` of 1 says nothing of the others.
    """

    rows: Rows
    similarities: Floats
    ceiling: float


class RemoteSimilarities(Protocol):
    """What is known of rows whose vectors stay in the store."""

    @property
    def rows(self) -> Rows:
        """These rows, in order."""
        ...

    @property
    def error(self) -> float:
        """How far a similarity may be off."""
        ...

    def nearest(self) -> NearestRows:
        """What an index finds, if there is one; it may pass over some."""
        ...

    def similarities(self, rows: Rows) -> Floats:
        """Those of some of these rows, within the error; NaN where a vector is gone."""
        ...

    def true_similarities(self, rows: Sequence[int]) -> Floats:
        """Those of some rows, whichever, to the last bit."""
        ...
