"""Limiting: how much is taken at once, and how long anybody waits, as the settings have it."""

from recollect import config
from recollect.api.dispatcher import RequestLimits
from recollect.config import ServerSettings


def load_request_limits() -> RequestLimits:
    """Those of the settings as they are."""
    return build_request_limits(config.load_settings().server)


def build_request_limits(settings: ServerSettings) -> RequestLimits:
    """The limits of a server, be it `recollect serve` or `recollect mcp`."""
    return RequestLimits(
        body_bytes=settings.body_bytes, seconds=settings.seconds, threads=settings.threads, waiting=settings.waiting
    )
