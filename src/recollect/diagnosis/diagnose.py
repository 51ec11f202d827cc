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
from recollect.model.diagnosis import Check, check_from_error, ok, problem


def diagnose(target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None) -> list[Check]:
    """What was seen of the installation, and of the store and its folder.

    No store is made, opened for writing or changed, and nothing is asked over a network, but for a database.
    """
    chosen, configured = _check_settings(settings)
    checks = [installation.check_recollect(), installation.check_python(sys.version_info[:3]), configured]
    if is_database(target):
        return [
            *checks,
            *_check_embedders(chosen),
            *server.check_serving(chosen),
            *postgres_store.check_database(os.fspath(target), chosen),
        ]
    try:
        from recollect.diagnosis import sqlite_store
    except ImportError as error:
        return [*checks, problem("sqlite", f"apsw cannot be loaded ({error})", "run pip install apsw")]
    return [
        *checks,
        sqlite_store.check_sqlite(),
        *_check_embedders(chosen),
        *server.check_serving(chosen),
        *sqlite_store.check_file_store(os.fspath(target), chosen),
    ]


def _check_embedders(settings: Settings) -> list[Check]:
    return [*installation.check_embedders(), installation.check_embedding(settings), installation.check_model_cache()]


def _check_settings(given: Settings | Mapping[str, Any] | None) -> tuple[Settings, Check]:
    """The settings, or those that go without saying if they cannot be; nothing secret in them is shown."""
    from recollect.providers.http_client import redact_url

    try:
        chosen = config.load_settings(given)
    except RecollectError as error:
        return Settings(), check_from_error("settings", error)
    named = "the store's embedder, or the best installed" if chosen.embedder is None else redact_url(chosen.embedder)
    return chosen, ok("settings", f"embedder: {named}")
