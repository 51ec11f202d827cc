"""The store that the golden tests look at."""

from pathlib import Path

import pytest

from tests.upgrades.write import fill_store


@pytest.fixture(scope="session")
def scenario_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store that the upgrade scenario filled; tests that change it take a copy."""
    store = tmp_path_factory.mktemp("golden") / "store.db"
    fill_store(str(store))
    return store
