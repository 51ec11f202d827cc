"""Asking: how resources and prompts come by what they tell; only through operations, so that one policy holds."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recollect.api.auth import Caller
from recollect.errors import FieldError

RunOperation = Callable[[str, Mapping[str, Any], Caller], Awaitable[Mapping[str, Any]]]
"""What an operation gives a caller for what is given."""


@dataclass(frozen=True, slots=True)
class OperationClient:
    """A caller with a way to ask, for one request."""

    run: RunOperation
    caller: Caller

    async def __call__(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the operation gives for what is given, of which what is none goes without saying."""
        return await self.run(name, {key: value for key, value in given.items() if value is not None}, self.caller)


def require_argument(given: Mapping[str, str], name: str) -> str:
    """What is given by that name; refused if it is not."""
    found = given.get(name)
    if not found:
        raise FieldError("is missing", field=name)
    return found
