"""A shell with a store of its own, and where stores of both sorts may be."""

from pathlib import Path

import pytest

from .shell import Shell


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the tests with schemathesis by default: that takes three seconds in every worker."""
    return (collection_path.name == "test_serve_schema.py" and not config.getoption("--thorough")) or None


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "agent.db")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new file; and an empty store on PostgreSQL, in a thorough run or if the test is one `on_both_stores`."""
    if request.param == "sqlite":
        return str(tmp_path / "agent.db")
    url: str = request.getfixturevalue("postgres_store_url")
    return url
