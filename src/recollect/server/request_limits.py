"""Request limits, as the settings have them."""

from recollect import config
from recollect.api.dispatcher import RequestLimits
from recollect.config import ServerSettings


def load_request_limits() -> RequestLimits:
    """Return the limits of the current settings."""
    return build_request_limits(config.load_settings().server)


def build_request_limits(settings: ServerSettings) -> RequestLimits:
    """Return the limits of a server, for `recollect serve` and `recollect mcp`."""
    return RequestLimits(
        body_bytes=settings.body_bytes, seconds=settings.seconds, threads=settings.threads, waiting=settings.waiting
    )
