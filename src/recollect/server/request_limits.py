"""Limiting: how much is taken at once, and how long anybody waits, as the settings have it."""

from recollect import config
from recollect.api.dispatcher import Limits
from recollect.config import ServerSettings


def configured() -> Limits:
    """Those of the settings as they are."""
    return limits(config.settings().server)


def limits(settings: ServerSettings) -> Limits:
    """The limits of a server, be it `recollect serve` or `recollect mcp`."""
    return Limits(
        body_bytes=settings.body_bytes, seconds=settings.seconds, threads=settings.threads, waiting=settings.waiting
    )
