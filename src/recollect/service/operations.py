"""OPERATIONS: all that can be asked for from outside, by name; whatever face it comes through, this is the policy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from recollect.service import happenings, memories, observations, recalls, tasks, upkeep
from recollect.service.operation import Operation

SUBJECTS: Mapping[str, tuple[Operation[Any], ...]] = MappingProxyType(
    {
        "recall": recalls.OPERATIONS,
        "memories": memories.OPERATIONS,
        "events": happenings.OPERATIONS,
        "episodes": tasks.OPERATIONS,
        "upkeep": upkeep.OPERATIONS,
        "observations": observations.OPERATIONS,
    }
)
"""The same by what they are about, as people look for them."""

OPERATIONS: Mapping[str, Operation[Any]] = MappingProxyType(
    {one.name: one for several in SUBJECTS.values() for one in several}
)
