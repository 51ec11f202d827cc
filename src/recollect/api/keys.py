"""API keys: issue, store and authenticate them; the key file holds only digests.

A server rereads the file when it changes, so that a revoked key stops working at once. The owner's token file, used
while there are no keys, is read and written here too.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect.api.auth import Caller, Grant, create_owner, parse_reach, parse_right
from recollect.atomic_files import lock_path, move_into_place, temp_folder
from recollect.errors import FieldError, InvalidInput, NotFound, RecollectError, Unauthenticated, show
from recollect.model import validation
from recollect.model.enums import Provenance, parse_choice

_LOG = logging.getLogger(__name__)

KEY_PREFIX = "rk"
"""Prefix of every key, so that secret scanners recognize it."""

SECRET_BYTES = 32
"""Random bytes in a key: so many that its digest needs neither salt nor stretching."""

FILE_FORMAT = 1
"""Format version of the key file."""

MAX_FILE_BYTES = 1_048_576
"""Maximum size of the key file and the token file."""

_OPEN_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags to open a path without blocking if it is a pipe without a writer."""

_NO_VALID_KEY = "no key was given, or none that holds"
INVALID_KEY_MESSAGE = (
    f"{_NO_VALID_KEY}; send one of `recollect keys add` as `Authorization: Bearer KEY`: as long as there are keys, the "
    "token of the server's owner is not accepted"
)
"""The one message for all rejected keys; it does not tell what is wrong."""

INVALID_TOKEN_MESSAGE = (
    f"{_NO_VALID_KEY}; there are no keys here, so send the token of the server's owner as "
    "`Authorization: Bearer TOKEN`: it is in the file that `recollect serve` named when it started"
)
"""Message for a wrong token, where there are no keys and the token is accepted."""

NO_KEYS_MESSAGE = f"{_NO_VALID_KEY}; there are no keys here, so no request is accepted: `recollect keys add` makes one"
"""Message where there are no keys and no token is accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is stored of a key: its name, grants, expiry and the digest of its secret."""

    id: str
    name: str
    digest: str
    grants: tuple[Grant, ...]
    provenance: Provenance = Provenance.DIRECT_USER
    created_at: datetime
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        validation.require_id("id", self.id)
        if "/" in validation.require_id("name", self.name):
            problem = f"{show(self.name)} has a slash, behind which a key says who speaks through it; leave it out"
            raise FieldError(problem, field="name")
        if not re.fullmatch(r"[0-9a-f]{64}", validation.require_text("digest", self.digest)):
            raise FieldError("is no SHA-256 in hexadecimal", field="digest")
        if not self.grants:
            raise FieldError("a key without grants opens nothing; give it rights and a scope", field="grants")
        for name in ("created_at", "expires_at"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, validation.require_moment(name, getattr(self, name)))

    @property
    def caller(self) -> Caller:
        """The caller that this key authenticates."""
        return Caller(name=self.name, grants=self.grants, provenance=self.provenance)

    def is_valid(self, at: datetime) -> bool:
        """Return whether the key has not expired."""
        return self.expires_at is None or at < self.expires_at


def issue_key(
    name: str,
    grants: Iterable[Grant],
    *,
    at: datetime,
    expires_at: datetime | None = None,
    provenance: Provenance = Provenance.DIRECT_USER,
) -> tuple[ApiKey, str]:
    """Return a new key and its text, which is shown once and never stored."""
    if expires_at is not None and expires_at <= at:
        raise FieldError(f"{expires_at.isoformat()} is over already; give a moment to come", field="expires_at")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
    made = ApiKey(
        id=id,
        name=name,
        digest=_hash_secret(secret),
        grants=tuple(grants),
        provenance=provenance,
        created_at=at,
        expires_at=expires_at,
    )
    return made, f"{KEY_PREFIX}_{id}_{secret}"


def authenticate_key(keys: Mapping[str, ApiKey], shown: str | None, at: datetime) -> Caller:
    """Return the caller of a key; raise Unauthenticated if it is missing, wrong or expired.

    All failures look alike.
    """
    mark, _, rest = (shown or "").partition("_")
    id, _, secret = rest.partition("_")
    found = keys.get(id)
    fits = hmac.compare_digest(_hash_secret(secret), _EMPTY_DIGEST if found is None else found.digest)
    if mark != KEY_PREFIX or found is None or not fits or not found.is_valid(at):
        raise Unauthenticated(INVALID_KEY_MESSAGE if keys else NO_KEYS_MESSAGE)
    return found.caller


def parse_bearer(header: str | None) -> str | None:
    """Return the credential of a bearer `Authorization` header, or None."""
    scheme, _, shown = (header or "").partition(" ")
    return (shown.strip() or None) if scheme.lower() == "bearer" else None


def authenticate_token(token: str, shown: str | None) -> Caller:
    """Return the owner if `shown` is the token of the server, else raise Unauthenticated."""
    if not hmac.compare_digest(_hash_secret(token), _hash_secret(shown or "")):
        raise Unauthenticated(INVALID_TOKEN_MESSAGE)
    return create_owner()


class KeyFile:
    """The file of keys; reread when it changes, so that a revoked key stops working at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, ...] | None, Mapping[str, ApiKey]] = (None, {})

    def keys(self) -> Mapping[str, ApiKey]:
        """Return every key by its id, as the file is now; empty if the file never existed.

        Raise InvalidInput if a file that was read before is gone: a lost disk must not count as revoked keys, which
        would turn the token back on.
        """
        stamp = self._read_stamp()
        if stamp is None and self._read[0] is not None:
            raise InvalidInput(f"the keys in {str(self.path)!r} are gone; put the file back, or start anew without")
        if stamp != self._read[0]:
            self._read = (stamp, {} if stamp is None else {one.id: one for one in read_keys(self.path)})
        return self._read[1]

    def add(self, key: ApiKey) -> None:
        """Add a key to the file; concurrent changes wait for the lock."""
        with _lock_key_file(self.path):
            self._write([*self.keys().values(), key])

    def revoke(self, id_or_name: str) -> ApiKey:
        """Remove a key by its id, or by its name if no other key has it."""
        with _lock_key_file(self.path):
            known = self.keys()
            gone = known.get(id_or_name) or self._find_by_name(id_or_name, known)
            self._write([one for one in known.values() if one.id != gone.id])
        return gone

    def _find_by_name(self, name: str, known: Mapping[str, ApiKey]) -> ApiKey:
        found = [one for one in known.values() if one.name == name]
        if not found:
            raise NotFound(f"there is no key {show(name)} in {str(self.path)!r}; `recollect keys list` has their ids")
        if len(found) > 1:
            ids = ", ".join(one.id for one in found)
            raise InvalidInput(f"{len(found)} keys have the name {show(name)}: {ids}; say which by its id")
        return found[0]

    def _read_stamp(self) -> tuple[int, ...] | None:
        """Return what changes with the content or the permissions; None without a file.

        Size and modification time alone are not enough: a copy can keep both.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(f"the keys in {str(self.path)!r} cannot be read: {error.strerror}") from error
        return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino

    def _write(self, keys: Sequence[ApiKey]) -> None:
        told = {"format": FILE_FORMAT, "keys": [_serialize_key(one) for one in keys]}
        write_private_file(self.path, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def _lock_key_file(path: Path) -> Iterator[None]:
    """Hold the lock of the file while it is changed."""
    with _writable_folder(path), lock_path(path):
        yield


@contextmanager
def _writable_folder(path: Path) -> Iterator[None]:
    """Create the folder of the path with mode 0700; raise InvalidInput if writing fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


def write_private_file(path: Path, text: str) -> None:
    """Write the file atomically, readable by its owner only."""
    with _writable_folder(path), temp_folder(path.parent) as folder:
        made = folder / path.name
        made.touch(mode=0o600)
        made.write_text(text, encoding="utf-8")
        move_into_place(made, path, replacing=True)


def read_private_file(path: Path) -> str:
    """Return the text of a file; raise InvalidInput unless it is private and a regular file.

    A pipe in its place does not block the read: a server reads the file while requests wait.
    """
    try:
        file = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
        try:
            found = os.fstat(file)
            is_read = stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES
            text = _read_all(file) if is_read else ""
        finally:
            os.close(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{str(path)!r} is no ordinary file; put one in its place")
    if os.name == "posix" and found.st_mode & 0o077:  # Windows has access lists instead of these bits
        raise InvalidInput(f"others may read {str(path)!r}; take that from them: chmod 600 {path}")
    if found.st_size > MAX_FILE_BYTES:
        raise InvalidInput(f"{str(path)!r} has more than {MAX_FILE_BYTES} bytes; it is no such file")
    return text


def _read_all(file: int) -> str:
    with os.fdopen(file, "rb", closefd=False) as opened:
        return opened.read().decode("utf-8")


def read_keys(path: Path) -> list[ApiKey]:
    """Return the keys of a file; raise InvalidInput if it is not a key file."""
    text = read_private_file(path)
    try:
        found = json.loads(text, object_pairs_hook=_reject_duplicate_names)
        keys = _parse_keys(found["keys"]) if found["format"] == FILE_FORMAT and found["format"] is not True else None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InvalidInput(f"the keys in {str(path)!r} cannot be read: {error}") from error
    if keys is None:
        raise InvalidInput(f"the keys in {str(path)!r} are of another version of recollect; make them anew")
    return keys


def _reject_duplicate_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError if a name occurs twice."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _parse_keys(told: Any) -> list[ApiKey]:
    """Parse all keys; raise ValueError if two share an id, which would make revoking ambiguous."""
    if not isinstance(told, list):
        raise TypeError("they are no list")
    keys = [_parse_key(one) for one in told]
    if len({one.id for one in keys}) < len(keys):
        raise ValueError("two of them have the same id")
    return keys


def read_or_create_token(path: Path) -> str:
    """Return the token in the file; create the file if it is missing."""
    if not path.exists():
        with _lock_key_file(path):
            if not path.exists():  # another server may have made it meanwhile
                write_private_file(path, secrets.token_urlsafe(SECRET_BYTES) + "\n")
    found = read_private_file(path).strip()
    if len(found) < SECRET_BYTES:
        raise InvalidInput(f"{str(path)!r} has no token; remove it, and a new one is made")
    return found


Authenticator = Callable[[str | None], Caller]
"""Return the caller of a key or token, or raise Unauthenticated."""


def create_authenticator(file: KeyFile, token: str | None, clock: Callable[[], datetime]) -> Authenticator:
    """Return an authenticator for the keys of a file, or for the token while there are none.

    While the file cannot be read, every caller is refused.
    """

    def authenticate(shown: str | None) -> Caller:
        try:
            keys = file.keys()
        except InvalidInput as error:
            _LOG.error("keys_unreadable", extra={"problem": str(error)})
            raise RecollectError(
                "the keys of this server cannot be read, so no request is accepted; its log says why, and so does "
                "`recollect keys list` there"
            ) from error
        return authenticate_key(keys, shown, clock()) if keys or token is None else authenticate_token(token, shown)

    return authenticate


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


_EMPTY_DIGEST = _hash_secret("")


def describe_key(key: ApiKey) -> dict[str, Any]:
    """Return the key as JSON, without its digest."""
    return {
        "id": key.id,
        "name": key.name,
        "grants": [{"rights": sorted(one.rights), "reach": str(one.reach)} for one in key.grants],
        "provenance": key.provenance.value,
        "created_at": key.created_at.isoformat(),
        "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
    }


def _serialize_key(key: ApiKey) -> dict[str, Any]:
    return {**describe_key(key), "digest": key.digest}


def _parse_key(told: Mapping[str, Any]) -> ApiKey:
    until = told["expires_at"]
    return ApiKey(
        id=told["id"],
        name=told["name"],
        digest=told["digest"],
        grants=tuple(
            Grant(frozenset(parse_right(right) for right in one["rights"]), parse_reach(one["reach"]))
            for one in told["grants"]
        ),
        provenance=parse_choice("provenance", told["provenance"], Provenance),
        created_at=datetime.fromisoformat(told["created_at"]),
        expires_at=None if until is None else datetime.fromisoformat(until),
    )
