"""Changes that act while they are written: they fail as a full disk does, or wait."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from recollect.model.changeset import Changeset

T = TypeVar("T")


class Acting(tuple[T, ...]):
    """The writes of a change set; `act` is called after the last of them is written."""

    act: Callable[[], object]

    def __iter__(self) -> Iterator[T]:
        yield from super().__iter__()
        self.act()


def acting(changes: Changeset, act: Callable[[], object]) -> Changeset:
    """Return a change set with the checkpoints of this one that calls `act` once they are written."""
    checkpoints = Acting(changes.checkpoints)
    checkpoints.act = act
    return Changeset(checkpoints=checkpoints)
