"""A store that is opened meanwhile: what goes wrong is logged, and told to whoever asks."""

import asyncio
import logging

import pytest

from recollect.api.auth import create_owner
from recollect.errors import StoreError
from recollect.server.mcp.stdio_transport import LazyStore


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (StoreError("agent.db is no store"), "agent.db is no store"),
        (ZeroDivisionError("Ana likes tea"), "ZeroDivisionError"),
    ],
    ids=["a problem", "a fault"],
)
def test_why_it_is_not_open_is_logged_but_for_the_words_of_a_fault(
    error: Exception, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    def make() -> None:
        raise error

    opening = LazyStore(make)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING), pytest.raises(type(error)):
        asyncio.run(opening.run_operation("stats", {}, create_owner()))
    (record,) = map(vars, caplog.records)
    assert (record["msg"], record["problem"]) == ("store_open_failed", logged)
    assert "tea" not in repr(record)
