"""How hard Hypothesis looks (HYPOTHESIS_PROFILE says so), where files are, and databases of a real PostgreSQL."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recollect.stores.postgres.store import PostgresStore
from recollect.testing.keeping import Clock
from tests.postgres import Server, a_server

IN_MEMORY, ENOUGH = Path("/dev/shm"), 6 << 30  # noqa: S108
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ENOUGH:
    os.environ["TMPDIR"] = str(IN_MEMORY)  # of children too: a disk makes each of the many commits wait for itself
    tempfile.tempdir = None

LARGE = [HealthCheck.data_too_large]  # how many examples are, by chance, too large to be made says nothing of a test
settings.register_profile("common", deadline=None, suppress_health_check=LARGE)
common = settings.get_profile("common")
settings.register_profile("default", common, derandomize=os.environ.get("CI") == "true", max_examples=100)
settings.register_profile("thorough", common, max_examples=2000)
settings.register_profile("mutation", common, derandomize=True, database=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
        PostgresStore(postgres_server.url(name), Clock()).close()
        yield name


@pytest.fixture
def postgres_store_url(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """A database with an empty store, for a fraction of what it costs to open the first one there."""
    with postgres_server.database(like=postgres_template) as name:
        yield postgres_server.url(name)
