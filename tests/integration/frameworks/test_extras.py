"""An import of an integration without its framework names the extra that brings it."""

import subprocess
import sys
from importlib import metadata

from tests.tables import table

FRAMEWORKS = {
    "anthropic": ("anthropic", "anthropic"),
    "langgraph": ("langgraph", "langgraph"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
}
"""By the name of its module: the package that an integration needs, and the extra that brings it."""


def told(script: str) -> str:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout


@table("module", FRAMEWORKS)
def test_an_integration_whose_framework_is_not_installed_says_which_extra_to_install(module: str) -> None:
    package, extra = FRAMEWORKS[module]
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"try:\n    import recollect.integrations.{module}\n"
        "except ImportError as error:\n    print(error.name, error)"
    )
    said = told(script)
    assert said.startswith(f"{package}")
    assert f"install recollect with its extra {extra} (in its folder: pip install '.[{extra}]')" in said
    assert extra in metadata.metadata("recollect").get_all("Provides-Extra", [])


def test_a_framework_of_another_version_is_told_with_what_it_lacks() -> None:
    script = (
        "import anthropic.lib.tools as tools; del tools.ToolError\n"
        "try:\n    import recollect.integrations.anthropic\n"
        "except ImportError as error:\n    print(error)"
    )
    said = told(script)
    assert "cannot import name 'ToolError'" in said
    assert "its extra anthropic" in said
