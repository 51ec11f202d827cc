"""Stores that the properties of tests/contract hold for, and which promises a variant of a store runs by default."""

import pytest

from recollect.testing.store_contract import is_affected
from tests.contract import sorts
from tests.contract.sorts import Sort


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as thorough the promises that a variant of a store cannot break."""
    if not isinstance(item, pytest.Function):
        return
    variant = getattr(item.cls, "variant", None)
    if variant is not None and not is_affected(item.function, variant):
        item.add_marker("thorough")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def sort(request: pytest.FixtureRequest, thorough: bool) -> Sort:
    """The sort of store to try, harder with --thorough; a server starts only for PostgreSQL."""
    if request.param == "sqlite":
        return sorts.sqlite(thorough=thorough)
    server, template = (request.getfixturevalue(name) for name in ("postgres_server", "postgres_template"))
    return sorts.postgres(server, template, share=4 if thorough else 10)
