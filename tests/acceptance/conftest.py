"""A shell with a store of its own."""

from pathlib import Path

import pytest

from .shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "agent.db")
