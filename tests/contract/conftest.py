"""Every sort of store that the properties of tests/contract hold for."""

import pytest

from tests.contract import sorts
from tests.contract.sorts import Sort


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def sort(request: pytest.FixtureRequest) -> Sort:
    """A sort of store to be tried; only who tries PostgreSQL starts a server."""
    if request.param == "sqlite":
        return sorts.sqlite()
    return sorts.postgres(request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_template"))
