"""diagnose(): everything that is looked at, from the ground up."""

import os
import sys
from collections.abc import Mapping
from os import PathLike
from typing import Any

from recollect import config
from recollect.config import Settings
from recollect.diagnosis import installation, postgres_store, server
from recollect.errors import RecollectError
from recollect.factory import is_database
from recollect.model.diagnosis import Check, ok, problem, told


def diagnose(target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None) -> list[Check]:
    """What was seen of the installation, and of the store and its folder.

    No store is made, opened for writing or changed, and nothing is asked over a network, but for a database.
    """
    chosen, configured = _settings(settings)
    checks = [installation.recollect(), installation.python(sys.version_info[:3]), configured]
    if is_database(target):
        return [*checks, *_embedders(chosen), *server.checks(chosen), *postgres_store.checks(os.fspath(target), chosen)]
    try:
        from recollect.diagnosis import sqlite_store
    except ImportError as error:
        return [*checks, problem("sqlite", f"apsw cannot be loaded ({error})", "run pip install apsw")]
    return [
        *checks,
        sqlite_store.sqlite(),
        *_embedders(chosen),
        *server.checks(chosen),
        *sqlite_store.checks(os.fspath(target), chosen),
    ]


def _embedders(settings: Settings) -> list[Check]:
    return [*installation.embedders(), installation.embedding(settings), installation.cache()]


def _settings(given: Settings | Mapping[str, Any] | None) -> tuple[Settings, Check]:
    """The settings, or those that go without saying if they cannot be; nothing secret in them is shown."""
    from recollect.providers.http_client import public

    try:
        chosen = config.settings(given)
    except RecollectError as error:
        return Settings(), told("settings", error)
    named = "the store's embedder, or the best installed" if chosen.embedder is None else public(chosen.embedder)
    return chosen, ok("settings", f"embedder: {named}")
