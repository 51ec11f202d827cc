"""The limits of a server are those of its settings."""

from recollect.api.dispatcher import RequestLimits
from recollect.config import ServerSettings
from recollect.server.request_limits import build_request_limits


def test_each_limit_is_the_setting_of_its_name() -> None:
    chosen = ServerSettings(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)
    assert build_request_limits(chosen) == RequestLimits(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)


def test_whoever_sets_nothing_has_the_usual_ones() -> None:
    assert build_request_limits(ServerSettings()) == RequestLimits()
