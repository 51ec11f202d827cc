"""The installation: Python, the embedders, and the folder of models that were made."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from recollect.config import Settings
from recollect.engine.dependencies import embed
from recollect.errors import RecollectError
from recollect.factory import named_embedder
from recollect.model.diagnosis import Check, ok, problem, told, warning
from recollect.model.encoder import Encoder
from recollect.version import __version__

OLDEST_PYTHON = (3, 11)
TEXT = "Ana prefers window seats"
BEHIND_AN_ADDRESS = "http:"
"""What the recorded name of a model behind an address begins with."""


def recollect() -> Check:
    """Which recollect it is, and on which system."""
    return ok("recollect", f"{__version__} on {platform.system() or 'an unknown system'}")


def python(version: Sequence[int]) -> Check:
    """Whether the language is new enough."""
    shown = ".".join(map(str, version))
    if tuple(version) < OLDEST_PYTHON:
        return problem("python", shown, f"run recollect with Python {'.'.join(map(str, OLDEST_PYTHON))} or later")
    return ok("python", shown)


def embedders() -> list[Check]:
    """Which embedders could be used, with how to get the others."""
    from recollect.providers import registry

    return [
        ok(f"embedder {one.name}", f"{one.model}: {one.about}")
        if one.fix is None
        else warning(f"embedder {one.name}", f"not installed: {one.about}", one.fix)
        for one in registry.available()
    ]


def embedding(settings: Settings) -> Check:
    """Whether the embedder that a new store would have embeds; one behind an address is not asked."""
    try:
        found = named_embedder(settings.embedder or "auto", settings)
        if found.name.startswith(BEHIND_AN_ADDRESS):
            return ok("embedding", f"{found.name} is behind an address, which is not asked here")
        embed(found, [TEXT], "memory")
        return ok("embedding", f"with {Encoder(found.name, found.dimensions)}, it works")
    except RecollectError as error:
        return told("embedding", error)
    except (ImportError, OSError) as error:
        return problem("embedding", f"what it needs cannot be loaded ({error})", "install recollect anew")


def cache() -> Check:
    """Where models that are made once are kept."""
    from recollect.providers.model_cache import cache_folders

    return cache_in(cache_folders())


def cache_in(folders: Sequence[Path]) -> Check:
    """The first of the folders that takes files, with what is in it."""
    name = "model cache"
    for folder in folders:
        seen = _kept_in(folder)
        if seen is not None:
            return ok(name, f"{folder} {seen}")
    tried = ", ".join(map(str, folders)) or "there is no folder for it"
    return warning(name, f"nothing can be kept ({tried})", "set XDG_CACHE_HOME to a folder that you may write to")


def megabytes(count: int) -> str:
    """So many bytes, for people."""
    return f"{count / 1e6:,.1f} MB"


def _kept_in(folder: Path) -> str | None:
    """What a folder holds or would hold; nothing if it takes no files."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.R_OK | os.W_OK | os.X_OK):
            return None
        if there != folder:
            return "is made when it is needed"
        return f"holds {megabytes(sum(path.stat().st_size for path in folder.iterdir() if path.is_file()))}"
    except OSError:  # it may not even be looked at
        return None
