"""Authentication of a server: by API keys, or by the owner's token while there are none.

Also finds the paths of both files and creates the host policy.
"""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from recollect import config
from recollect.api.auth import HostPolicy
from recollect.api.keys import Authenticator, KeyFile, create_authenticator, read_or_create_token
from recollect.config import ServerSettings
from recollect.errors import InvalidInput, RecollectError

KEYS_FILE_NAME, TOKEN_FILE_NAME = "keys.json", "token"
"""Names of the files in the folder of the user's configuration."""


TOKEN_AUTH = "authorisation by token file"  # noqa: S105  # not a token
KEYS_UNREADABLE, KEYS_EXPIRED, NO_KEYS = "keys unreadable", "keys expired", "no keys"

DEGRADED_AUTH_MODES = (TOKEN_AUTH, KEYS_UNREADABLE, KEYS_EXPIRED, NO_KEYS)
"""Degraded modes of authentication; all but the first refuse every caller."""


@dataclass(frozen=True, slots=True)
class AuthStatus:
    """Whether any caller can be authenticated, and the degraded mode if there is one."""

    degraded: str | None = None

    @property
    def accepts_callers(self) -> bool:
        """Whether any caller can be authenticated."""
        return self.degraded in (None, TOKEN_AUTH)


AUTH_OK = AuthStatus()


@dataclass(frozen=True, slots=True)
class Authentication:
    """The authenticator of a server, its key file, and a description for people."""

    authenticate: Authenticator
    file: KeyFile
    description: str
    token_allowed: bool

    def status(self) -> AuthStatus:
        """Return the status by the present content of the key file."""
        try:
            keys = self.file.keys()
        except RecollectError:
            return AuthStatus(KEYS_UNREADABLE)
        if not keys:
            return AuthStatus(TOKEN_AUTH if self.token_allowed else NO_KEYS)
        at = _now()
        return AUTH_OK if any(one.is_valid(at) for one in keys.values()) else AuthStatus(KEYS_EXPIRED)


def keys_path(settings: ServerSettings) -> Path:
    """Return the path of the key file."""
    return _resolve_path(settings.keys, KEYS_FILE_NAME, "server.keys")


def token_path(settings: ServerSettings) -> Path:
    """Return the path of the owner's token file."""
    return _resolve_path(settings.token_file, TOKEN_FILE_NAME, "server.token_file")


def create_authentication(settings: ServerSettings) -> Authentication:
    """Authenticate by keys; without keys by a token, if only this machine can connect.

    Raise InvalidInput if there is no key and other machines can connect.
    """
    file = KeyFile(keys_path(settings))
    if file.keys():
        token, suffix = _load_fallback_token(settings)
        description = f"by the keys in {file.path}{suffix}"
        return Authentication(
            create_authenticator(file, token, _now), file, description, token_allowed=token is not None
        )
    if not is_loopback(settings.host):
        problem = f"other machines can reach {settings.host!r}, and {str(file.path)!r} has no keys"
        remedy = "create one with `recollect keys add`, or listen on 127.0.0.1"
        raise InvalidInput(f"{problem}; {remedy}")
    path = token_path(settings)
    description = f"by the token in {path}, until there are keys in {file.path}"
    return Authentication(
        create_authenticator(file, read_or_create_token(path), _now), file, description, token_allowed=True
    )


def _load_fallback_token(settings: ServerSettings) -> tuple[str | None, str]:
    """Return the token for when no key is left, and a description of it.

    There is none if other machines can connect. With keys the token is not needed, so a server that cannot read it
    still starts.
    """
    if not is_loopback(settings.host):
        return None, ""
    try:
        path = token_path(settings)
        return read_or_create_token(path), f"; by the token in {path} once no keys are left"
    except InvalidInput:
        return None, ""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to the host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def create_host_policy(settings: ServerSettings, *ports: int) -> HostPolicy:
    """Allow the names of this machine, the listening address and the hosts in the settings."""
    hosts = _split_list(settings.hosts)
    listening = settings.host if ":" not in settings.host else f"[{settings.host.strip('[]')}]"
    own_hosts = () if listening in ("0.0.0.0", "[::]") else tuple(f"{listening}:{port}" for port in ports)  # noqa: S104
    return HostPolicy.for_ports(*ports, hosts=(*own_hosts, *hosts), origins=_split_list(settings.origins))


def _split_list(text: str | None) -> tuple[str, ...]:
    return tuple(one.strip() for one in (text or "").split(",") if one.strip())


def _resolve_path(configured: str | None, name: str, setting: str) -> Path:
    if configured is not None:
        return Path(configured).expanduser()
    folder = config.find_user_folder()
    if folder is None:
        raise InvalidInput(f"cannot find the home directory; set {setting} to the path of the file")
    return folder / name


def _now() -> datetime:
    return datetime.now(UTC)
