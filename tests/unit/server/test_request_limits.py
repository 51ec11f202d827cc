"""The limits of a server are those of its settings."""

from recollect.api.dispatcher import Limits
from recollect.config import ServerSettings
from recollect.server.request_limits import limits


def test_each_limit_is_the_setting_of_its_name() -> None:
    chosen = ServerSettings(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)
    assert limits(chosen) == Limits(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)


def test_whoever_sets_nothing_has_the_usual_ones() -> None:
    assert limits(ServerSettings()) == Limits()
