"""The table of all operations, by subject and by name.

Each module has the operations of one subject; an operation names its required right, request, answer and handler. All
transports serve this table.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from recollect.api.operation import (
    Operation,
)
from recollect.api.operations import admin, episodes, events, memories, observations, recall

OPERATIONS_BY_SUBJECT: Mapping[str, tuple[Operation[Any, Any], ...]] = MappingProxyType(
    {
        "recall": recall.OPERATIONS,
        "memories": memories.OPERATIONS,
        "events": events.OPERATIONS,
        "episodes": episodes.OPERATIONS,
        "upkeep": admin.OPERATIONS,
        "observations": observations.OPERATIONS,
    }
)
"""The operations by subject, as a reader of the API looks for them."""

OPERATIONS: Mapping[str, Operation[Any, Any]] = MappingProxyType(
    {one.name: one for several in OPERATIONS_BY_SUBJECT.values() for one in several}
)
