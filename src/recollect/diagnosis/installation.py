"""The installation: Python, the embedders, and the folder of models that were made."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from recollect.config import Settings
from recollect.engine.dependencies import embed
from recollect.errors import RecollectError
from recollect.factory import find_named_embedder
from recollect.model.diagnosis import Check, check_from_error, ok, problem, warning
from recollect.model.encoder import Encoder
from recollect.version import __version__

MIN_PYTHON = (3, 11)
SAMPLE_TEXT = "Ana prefers window seats"
REMOTE_MODEL_PREFIX = "http:"
"""What the recorded name of a model behind an address begins with."""


def check_recollect() -> Check:
    """Which recollect it is, and on which system."""
    return ok("recollect", f"{__version__} on {platform.system() or 'an unknown system'}")


def check_python(version: Sequence[int]) -> Check:
    """Whether the language is new enough."""
    shown = ".".join(map(str, version))
    if tuple(version) < MIN_PYTHON:
        return problem("python", shown, f"run recollect with Python {'.'.join(map(str, MIN_PYTHON))} or later")
    return ok("python", shown)


def check_embedders() -> list[Check]:
    """Which embedders could be used, with how to get the others."""
    from recollect.providers import registry

    return [
        ok(f"embedder {one.name}", f"{one.model}: {one.about}")
        if one.fix is None
        else warning(f"embedder {one.name}", f"not installed: {one.about}", one.fix)
        for one in registry.list_embedders()
    ]


def check_embedding(settings: Settings) -> Check:
    """Whether the embedder that a new store would have embeds; one behind an address is not asked."""
    try:
        found = find_named_embedder(settings.embedder or "auto", settings)
        if found.name.startswith(REMOTE_MODEL_PREFIX):
            return ok("embedding", f"{found.name} is behind an address, which is not asked here")
        embed(found, [SAMPLE_TEXT], "memory")
        return ok("embedding", f"with {Encoder(found.name, found.dimensions)}, it works")
    except RecollectError as error:
        return check_from_error("embedding", error)
    except (ImportError, OSError) as error:
        return problem("embedding", f"what it needs cannot be loaded ({error})", "install recollect anew")


def check_model_cache() -> Check:
    """Where models that are made once are kept."""
    from recollect.providers.model_cache import cache_folders

    return check_cache_folders(cache_folders())


def check_cache_folders(folders: Sequence[Path]) -> Check:
    """The first of the folders that takes files, with what is in it."""
    name = "model cache"
    for folder in folders:
        seen = _describe_cache_folder(folder)
        if seen is not None:
            return ok(name, f"{folder} {seen}")
    tried = ", ".join(map(str, folders)) or "there is no folder for it"
    return warning(name, f"nothing can be kept ({tried})", "set XDG_CACHE_HOME to a folder that you may write to")


def format_megabytes(count: int) -> str:
    """So many bytes, for people."""
    return f"{count / 1e6:,.1f} MB"


def _describe_cache_folder(folder: Path) -> str | None:
    """What a folder holds or would hold; nothing if it takes no files."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.R_OK | os.W_OK | os.X_OK):
            return None
        if there != folder:
            return "is made when it is needed"
        return f"holds {format_megabytes(sum(path.stat().st_size for path in folder.iterdir() if path.is_file()))}"
    except OSError:  # it may not even be looked at
        return None
