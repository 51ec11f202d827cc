"""OPERATIONS: all that can be asked for from outside, by name; whatever face it comes through, this is the policy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from recollect.service import happenings, memories, observations, recalls, tasks, upkeep
from recollect.service.operation import Operation

_ALL: tuple[Operation[Any], ...] = (
    *recalls.OPERATIONS,
    *memories.OPERATIONS,
    *happenings.OPERATIONS,
    *tasks.OPERATIONS,
    *upkeep.OPERATIONS,
    *observations.OPERATIONS,
)

OPERATIONS: Mapping[str, Operation[Any]] = MappingProxyType({one.name: one for one in _ALL})
