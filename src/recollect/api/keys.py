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

INVALID_KEY_MESSAGE = (
    "missing or invalid API key; make one with `recollect keys add` and send it as `Authorization: Bearer KEY`. While "
    "there are keys, the token of the server's owner is not accepted"
)
"""The message for every rejected key; it does not reveal what is wrong."""

INVALID_TOKEN_MESSAGE = (
    "missing or invalid token; send the token of the server's owner as `Authorization: Bearer TOKEN`. There are no API "  # noqa: S105  # not a token
    "keys yet, and the token is in the file that `recollect serve` named when it started"
)
"""The message for a wrong token while there are no keys and the token is accepted."""

NO_KEYS_MESSAGE = "the server has no API keys, so it refuses all requests; create one with `recollect keys add`"
"""The message while there are no keys and no token is accepted."""


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
            raise FieldError(f"{show(self.name)} has a slash; choose a name without one", field="name")
        if not re.fullmatch(r"[0-9a-f]{64}", validation.require_text("digest", self.digest)):
            raise FieldError("is not a SHA-256 digest in hexadecimal", field="digest")
        if not self.grants:
            raise FieldError("a key needs at least one grant; give it rights and a scope", field="grants")
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
        raise FieldError(f"{expires_at.isoformat()} is in the past; give a time in the future", field="expires_at")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(
        id=id,
        name=name,
        digest=_hash_secret(secret),
        grants=tuple(grants),
        provenance=provenance,
        created_at=at,
        expires_at=expires_at,
    )
    return key, f"{KEY_PREFIX}_{id}_{secret}"


def authenticate_key(keys: Mapping[str, ApiKey], credential: str | None, at: datetime) -> Caller:
    """Return the caller of a key; raise Unauthenticated if it is missing, wrong or expired.

    All failures look alike.
    """
    prefix, _, rest = (credential or "").partition("_")
    id, _, secret = rest.partition("_")
    key = keys.get(id)
    matches = hmac.compare_digest(_hash_secret(secret), _EMPTY_DIGEST if key is None else key.digest)
    if prefix != KEY_PREFIX or key is None or not matches or not key.is_valid(at):
        raise Unauthenticated(INVALID_KEY_MESSAGE if keys else NO_KEYS_MESSAGE)
    return key.caller


def parse_bearer(header: str | None) -> str | None:
    """Return the credential of a bearer `Authorization` header, or None."""
    scheme, _, credential = (header or "").partition(" ")
    return (credential.strip() or None) if scheme.lower() == "bearer" else None


def authenticate_token(token: str, credential: str | None) -> Caller:
    """Return the owner if `credential` is the token of the server, else raise Unauthenticated."""
    if not hmac.compare_digest(_hash_secret(token), _hash_secret(credential or "")):
        raise Unauthenticated(INVALID_TOKEN_MESSAGE)
    return create_owner()


class KeyFile:
    """The file of keys; reread when it changes, so that a revoked key stops working at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cached: tuple[tuple[int, ...] | None, Mapping[str, ApiKey]] = (None, {})

    def keys(self) -> Mapping[str, ApiKey]:
        """Return every key by its id, as the file is now; empty if the file never existed.

        Raise InvalidInput if a file that was read before is gone: a lost disk must not count as revoked keys, which
        would turn the token back on.
        """
        stamp = self._read_stamp()
        if stamp is None and self._cached[0] is not None:
            raise InvalidInput(f"key file {str(self.path)!r} was deleted; restore it, or restart the server without it")
        if stamp != self._cached[0]:
            self._cached = (stamp, {} if stamp is None else {one.id: one for one in read_keys(self.path)})
        return self._cached[1]

    def add(self, key: ApiKey) -> None:
        """Add a key to the file; concurrent changes wait for the lock."""
        with _lock_key_file(self.path):
            self._write([*self.keys().values(), key])

    def revoke(self, id_or_name: str) -> ApiKey:
        """Remove a key by its id, or by its name if no other key has it."""
        with _lock_key_file(self.path):
            keys = self.keys()
            revoked = keys.get(id_or_name) or self._find_by_name(id_or_name, keys)
            self._write([one for one in keys.values() if one.id != revoked.id])
        return revoked

    def _find_by_name(self, name: str, keys: Mapping[str, ApiKey]) -> ApiKey:
        matches = [one for one in keys.values() if one.name == name]
        if not matches:
            raise NotFound(f"key {show(name)} is not in {str(self.path)!r}; `recollect keys list` shows all keys")
        if len(matches) > 1:
            ids = ", ".join(one.id for one in matches)
            raise InvalidInput(f"{len(matches)} keys have the name {show(name)}: {ids}; give the id instead")
        return matches[0]

    def _read_stamp(self) -> tuple[int, ...] | None:
        """Return what changes with the content or the permissions; None without a file.

        Size and modification time alone are not enough: a copy can keep both.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(f"cannot read key file {str(self.path)!r}: {error.strerror}") from error
        return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino

    def _write(self, keys: Sequence[ApiKey]) -> None:
        content = {"format": FILE_FORMAT, "keys": [{**describe_key(one), "digest": one.digest} for one in keys]}
        write_private_file(self.path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


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
        raise InvalidInput(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def write_private_file(path: Path, text: str) -> None:
    """Write the file atomically, readable by its owner only."""
    with _writable_folder(path), temp_folder(path.parent) as folder:
        temporary = folder / path.name
        temporary.touch(mode=0o600)
        temporary.write_text(text, encoding="utf-8")
        move_into_place(temporary, path, replacing=True)


def read_private_file(path: Path) -> str:
    """Return the text of a file; raise InvalidInput unless it is private and a regular file.

    A pipe in its place does not block the read: a server reads the file while requests wait.
    """
    try:
        file = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
        try:
            status = os.fstat(file)
            is_read = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES
            text = _read_all(file) if is_read else ""
        finally:
            os.close(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(f"{str(path)!r} is not a regular file; replace it with one")
    if os.name == "posix" and status.st_mode & 0o077:  # Windows has access lists instead of these bits
        raise InvalidInput(f"other users can read {str(path)!r}; run chmod 600 {path}")
    if status.st_size > MAX_FILE_BYTES:
        raise InvalidInput(f"{str(path)!r} has more than {MAX_FILE_BYTES} bytes; it is not a file of keys or a token")
    return text


def _read_all(file: int) -> str:
    with os.fdopen(file, "rb", closefd=False) as opened:
        return opened.read().decode("utf-8")


def read_keys(path: Path) -> list[ApiKey]:
    """Return the keys of a file; raise InvalidInput if it is not a key file."""
    text = read_private_file(path)
    try:
        content = json.loads(text, object_pairs_hook=_reject_duplicate_names)
        keys = (
            _parse_keys(content["keys"]) if content["format"] == FILE_FORMAT and content["format"] is not True else None
        )
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InvalidInput(f"cannot read key file {str(path)!r}: {error}") from error
    if keys is None:
        raise InvalidInput(f"key file {str(path)!r} is from another version of recollect; create the keys again")
    return keys


def _reject_duplicate_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError if a name occurs twice."""
    if len(unique := dict(pairs)) < len(pairs):
        raise ValueError("a JSON name occurs twice")
    return unique


def _parse_keys(items: Any) -> list[ApiKey]:
    """Parse all keys; raise ValueError if two share an id, which would make revoking ambiguous."""
    if not isinstance(items, list):
        raise TypeError("'keys' is not a list")
    keys = [_parse_key(one) for one in items]
    if len({one.id for one in keys}) < len(keys):
        raise ValueError("two keys have the same id")
    return keys


def read_or_create_token(path: Path) -> str:
    """Return the token in the file; create the file if it is missing."""
    if not path.exists():
        with _lock_key_file(path):
            if not path.exists():  # another server may have made it meanwhile
                write_private_file(path, secrets.token_urlsafe(SECRET_BYTES) + "\n")
    token = read_private_file(path).strip()
    if len(token) < SECRET_BYTES:
        raise InvalidInput(f"{str(path)!r} has no valid token; delete it, and the server creates a new one")
    return token


Authenticator = Callable[[str | None], Caller]
"""Return the caller of a key or token, or raise Unauthenticated."""


def create_authenticator(file: KeyFile, token: str | None, clock: Callable[[], datetime]) -> Authenticator:
    """Return an authenticator for the keys of a file, or for the token while there are none.

    While the file cannot be read, every caller is refused.
    """

    def authenticate(credential: str | None) -> Caller:
        try:
            keys = file.keys()
        except InvalidInput as error:
            _LOG.error("keys_unreadable", extra={"problem": str(error)})
            raise RecollectError(
                "the server cannot read its key file, so it refuses all requests; see the server log, or run "
                "`recollect keys list` on that machine"
            ) from error
        return (
            authenticate_key(keys, credential, clock())
            if keys or token is None
            else authenticate_token(token, credential)
        )

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


def _parse_key(fields: Mapping[str, Any]) -> ApiKey:
    expires_at = fields["expires_at"]
    return ApiKey(
        id=fields["id"],
        name=fields["name"],
        digest=fields["digest"],
        grants=tuple(
            Grant(frozenset(parse_right(right) for right in one["rights"]), parse_reach(one["reach"]))
            for one in fields["grants"]
        ),
        provenance=parse_choice("provenance", fields["provenance"], Provenance),
        created_at=datetime.fromisoformat(fields["created_at"]),
        expires_at=None if expires_at is None else datetime.fromisoformat(expires_at),
    )
