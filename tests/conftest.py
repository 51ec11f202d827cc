"""What all tests share: the thorough run, how hard Hypothesis looks, temporary files, PostgreSQL databases."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ManualClock
from tests.postgres import Server, a_server

IN_MEMORY, ENOUGH = Path("/dev/shm"), 6 << 30  # noqa: S108
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ENOUGH:
    os.environ["TMPDIR"] = str(IN_MEMORY)  # of children too: a disk makes each of the many commits wait for itself
    tempfile.tempdir = None

# How many examples are too large by chance, and how fast this machine makes them, say nothing about the code.
BY_CHANCE = [HealthCheck.data_too_large, HealthCheck.too_slow]
common = settings(deadline=None, database=None, suppress_health_check=BY_CHANCE)
settings.register_profile("ci", common, derandomize=True, max_examples=25)
settings.register_profile("thorough", common, max_examples=1000)
settings.register_profile("mutation", common, derandomize=True, max_examples=15)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the tests marked thorough as well")


def pytest_configure(config: pytest.Config) -> None:
    """Try more random examples in a thorough run, unless HYPOTHESIS_PROFILE names a profile."""
    by_option = "thorough" if config.getoption("--thorough") else "ci"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", by_option))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow by nature, unless a thorough run is asked for."""
    if config.getoption("--thorough"):
        return
    slow = [item for item in items if item.get_closest_marker("thorough")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether the run is thorough, for tests that are longer then."""
    chosen: bool = pytestconfig.getoption("--thorough")
    return chosen


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server of all tests that leave it as it is; it starts with the first of them."""
    with a_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """An empty database, whose owner may create the extension pgvector in it."""
    with postgres_server.database() as name:
        postgres_server.trust_vector(name)
        yield postgres_server.url(name)


@pytest.fixture
def untrusting_postgres_url(postgres_server: Server) -> Iterator[str]:
    """An empty database in which nobody but a superuser may create the extension pgvector."""
    with postgres_server.database() as name:
        yield postgres_server.url(name)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Server) -> Iterator[str]:
    """The name of a database with an empty store, to be copied; nobody else connects to it."""
    with postgres_server.database() as name:
        postgres_server.trust_vector(name)
        PostgresStore(postgres_server.url(name), ManualClock()).close()
        yield name


@pytest.fixture
def postgres_store_url(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database with an empty store; the next test gets it cleaned."""
    with postgres_server.store_database(postgres_template) as name:
        yield postgres_server.url(name)


@pytest.fixture
def fresh_store_url(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database with an empty store whose files no other test has written to."""
    with postgres_server.database(like=postgres_template) as name:
        yield postgres_server.url(name)
