"""Old paths of `recollect.compat` and `recollect.integrations`; they warn, and the next release drops them."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

NEW_PATHS = {
    "anthropic": "recollect.integrations.anthropic",
    "assistant": "recollect.compat.assistant",
    "composite_scorer": "recollect.compat.five_signal",
    "langgraph": "recollect.integrations.langgraph",
    "lifecycle_rfc": "recollect.compat.agent_memory",
    "observation_memory": "recollect.compat.observation_memory",
    "observations": "recollect.compat.observations",
    "openai_agents": "recollect.integrations.openai_agents",
    "pydantic_ai": "recollect.integrations.pydantic_ai",
}


class MovedModuleFinder(MetaPathFinder, Loader):
    """Finds a module by its old path and returns the module at the new path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == __name__ and name in NEW_PATHS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new_path = NEW_PATHS[spec.name.rpartition(".")[2]]
        warnings.warn(f"{spec.name} has moved; import {new_path}", DeprecationWarning, stacklevel=2)
        module = import_module(new_path)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which importlib has just replaced; its code has already run."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(MovedModuleFinder())
