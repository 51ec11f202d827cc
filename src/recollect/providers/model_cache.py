"""Made files: large ones that we make from others, and find again the next time."""

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

HASH_DIGITS = 32
"""How many hexadecimal digits of its SHA-256 a made file carries in its name."""


def load_or_build(stem: str, make: Callable[[], bytes], folders: Sequence[Path]) -> bytes:
    """The content of that stem, from the first folder that has it intact, or else made now.

    What is made is left in the first folder that takes it. If none does, it is made again the next time, and that
    is all: a cache that cannot be written is no reason to fail.
    """
    for folder in folders:
        for path in sorted(folder.glob(f"{stem}-*")):
            content = _read_or_none(path)
            if content is not None and path.name == _hashed_name(stem, content):
                return content
    content = make()
    for folder in folders:
        if _write_whole(folder / _hashed_name(stem, content), content):
            break
    return content


def cache_folders() -> list[Path]:
    """Where made files may be: the user's cache folder, then a temporary folder that only this user can write."""
    user = user_cache_folder(os.environ, sys.platform)
    return [folder for folder in (user, _temporary_folder()) if folder is not None]


def user_cache_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """The user's cache folder by the custom of the platform, if the user has one."""
    for name, below in _cache_variables(platform):
        folder = Path(environment.get(name, ""))
        if folder.is_absolute():
            return folder.joinpath(*below, "recollect")
    return None


def _cache_variables(platform: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Variables that lead to the cache folder, and the way on from there."""
    if platform == "win32":
        yield "LOCALAPPDATA", ()
        return
    yield "XDG_CACHE_HOME", ()
    yield "HOME", ("Library", "Caches") if platform == "darwin" else (".cache",)


def _temporary_folder() -> Path | None:
    """A folder for this user below the temporary one, unless another user could have filled it."""
    user = os.getuid() if hasattr(os, "getuid") else None  # where there are no such users, each has a folder of its own
    folder = Path(tempfile.gettempdir()) / (f"recollect-{user}" if user is not None else "recollect")
    try:
        told = folder.lstat()
    except FileNotFoundError:
        return folder
    private = user is None or (told.st_uid == user and not stat.S_IMODE(told.st_mode) & 0o077)
    return folder if stat.S_ISDIR(told.st_mode) and private else None


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write_whole(path: Path, content: bytes) -> bool:
    """Put the file there whole, in one step: a reader finds all of it or none. Says whether that worked."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".unfinished-")
    except OSError:
        return False
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        return False
    return True


def _hashed_name(stem: str, content: bytes) -> str:
    """The name of a file with that content, which so can tell whether it still has it."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}"
