"""The operations by subject: each has a required right, a request and a handler.

OPERATIONS: all that can be asked for from outside, by name; whatever face it comes through, this is the policy.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from recollect.api.operation import Operation
from recollect.api.operations import admin, episodes, events, memories, observations, recall

OPERATIONS_BY_SUBJECT: Mapping[str, tuple[Operation[Any], ...]] = MappingProxyType(
    {
        "recall": recall.OPERATIONS,
        "memories": memories.OPERATIONS,
        "events": events.OPERATIONS,
        "episodes": episodes.OPERATIONS,
        "upkeep": admin.OPERATIONS,
        "observations": observations.OPERATIONS,
    }
)
"""The same by what they are about, as people look for them."""

OPERATIONS: Mapping[str, Operation[Any]] = MappingProxyType(
    {one.name: one for several in OPERATIONS_BY_SUBJECT.values() for one in several}
)
