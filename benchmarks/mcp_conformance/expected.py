"""Which scenarios of the suite are expected to fail, and why: they ask for what this server does not do."""

from collections.abc import Mapping
from typing import Final

NO_STREAM: Final = "the server answers each request with JSON, and never streams progress or logs"
NO_ASKING: Final = "the server never asks the client for anything: no sampling, no elicitation, no further input"
NO_LOGGING: Final = "logging is deprecated, and never was offered"
NO_WATCHING: Final = "resources cannot be subscribed to, since nothing is kept between two requests"

EXPECTED: Mapping[str, Mapping[str, str]] = {
    "2025-11-25": {
        "logging-set-level": NO_LOGGING,
        "tools-call-with-logging": NO_LOGGING,
        "tools-call-with-progress": NO_STREAM,
        "tools-call-sampling": NO_ASKING,
        "tools-call-elicitation": NO_ASKING,
        "elicitation-sep1034-defaults": NO_ASKING,
        "elicitation-sep1330-enums": NO_ASKING,
        "resources-subscribe": NO_WATCHING,
        "resources-unsubscribe": NO_WATCHING,
    },
    "2026-07-28": {
        "server-stateless": "four of its checks need fixtures that stream, log or ask the client; all others pass",
        "tools-call-with-progress": NO_STREAM,
        **{
            f"input-required-result-{name}": NO_ASKING
            for name in (
                *("basic-elicitation", "basic-sampling", "basic-list-roots", "request-state"),
                *("multiple-input-requests", "multi-round", "non-tool-request", "result-type", "tampered-state"),
                "capability-check",
            )
        },
    },
}
"""By revision, the scenarios, each with the reason."""

CHECKS: Mapping[str, int] = {"server-stateless": 4}
"""How many checks of a scenario are expected to fail, where it is more than one."""
