"""The answers of operations as pydantic models, one module for each subject.

A module is loaded when it is first used: pydantic takes a while, and most commands print no JSON.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.api.schemas import admin, base, episodes, events, memories, recall

__all__ = ["admin", "base", "episodes", "events", "memories", "recall"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
