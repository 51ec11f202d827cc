"""Rights, grants and callers, and the policy for allowed hosts and origins.

Every transport applies the same policy. `HostPolicy` keeps a foreign web page from calling the server through the
user's browser.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Self

from recollect.errors import AccessDenied, FieldError, NotFound, show
from recollect.model.enums import TRUST_BY_PROVENANCE, Provenance
from recollect.model.scope import Scope

WHOLE_STORE: Final = "*"
"""The reach of a grant for the whole store."""

Reach = Scope | Literal["*"]


class Right(StrEnum):
    """What a caller may do; no right includes another."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights over a scope and all below it, or over the whole store."""

    rights: frozenset[Right]
    reach: Reach

    def __post_init__(self) -> None:
        if not self.rights:
            raise FieldError("a grant needs at least one right; name one", field="rights")

    def covers(self, reach: Reach) -> bool:
        """Return whether the reach lies within the grant."""
        match self.reach, reach:
            case Scope(), Scope():
                return reach.within(self.reach)
            case Scope(), _:
                return False
            case _:
                return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller: its name, its grants and the maximum trust of its writes.

    `missing_right_hint` is the remedy to show for a missing right, for callers who cannot get a key that has it.
    """

    name: str
    grants: tuple[Grant, ...]
    provenance: Provenance = Provenance.DIRECT_USER
    missing_right_hint: str | None = None

    @property
    def scope(self) -> Scope | None:
        """The default scope: the reach of the grants if all have the same one, else None."""
        reaches = {grant.reach for grant in self.grants}
        only = next(iter(reaches)) if len(reaches) == 1 else WHOLE_STORE
        return only if isinstance(only, Scope) else None

    def has_right(self, right: Right, reach: Reach) -> bool:
        """Return whether the caller has the right over the reach."""
        return any(right in grant.rights for grant in self.grants if grant.covers(reach))

    def require_right(self, right: Right, reach: Reach) -> None:
        """Raise unless the caller has the right over the reach.

        A caller without any grant for a scope gets NotFound, so that it cannot learn whether the scope exists.
        """
        covering = [grant for grant in self.grants if grant.covers(reach)]
        if any(right in grant.rights for grant in covering):
            return
        if reach == WHOLE_STORE:
            raise AccessDenied(
                f"{show(self.name)} lacks the right {show(right.value)} over the whole store; "
                f"{self.missing_right_hint or 'create a key with --whole-store'}"
            )
        if not covering:
            raise NotFound(f"there is no scope {show(str(reach))}, or {show(self.name)} may not use it")
        raise AccessDenied(
            f"{show(self.name)} lacks the right {show(right.value)} in {show(str(reach))}; {self._missing_right_remedy}"
        )

    def has_right_anywhere(self, right: Right) -> bool:
        """Return whether any grant of the caller includes the right."""
        return any(right in grant.rights for grant in self.grants)

    def require_right_anywhere(self, right: Right) -> None:
        """Raise AccessDenied if no grant includes the right; for requests without a scope."""
        if not self.has_right_anywhere(right):
            raise AccessDenied(f"{show(self.name)} lacks the right {show(right.value)}; {self._missing_right_remedy}")

    @property
    def _missing_right_remedy(self) -> str:
        return self.missing_right_hint or "use a key that has it"

    def cap_provenance(self, provenance: Provenance) -> Provenance:
        """Return the provenance, or the caller's own if that is trusted less."""
        return (
            self.provenance
            if TRUST_BY_PROVENANCE[self.provenance].less_than(TRUST_BY_PROVENANCE[provenance])
            else provenance
        )


def parse_right(value: str) -> Right:
    """Return the right of that name; raise FieldError if there is none."""
    if value not in tuple(Right):
        raise FieldError(f"unknown right {show(value)}; known are {', '.join(Right)}", field="rights")
    return Right(value)


def parse_reach(value: str) -> Reach:
    """Return the scope written in `value`, or the whole store for `*`."""
    return WHOLE_STORE if value == WHOLE_STORE else Scope.parse(value)


def create_owner(name: str = "owner", reach: Reach = WHOLE_STORE) -> Caller:
    """Return a caller with all rights over `reach`: the local user who runs the program."""
    return Caller(name=name, grants=(Grant(frozenset(Right), reach),), provenance=Provenance.OPERATOR)


LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Host names that always mean this machine."""


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Allowed hosts, as `name` or `name:port`, and allowed origins of web pages."""

    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()

    @classmethod
    def for_ports(cls, *ports: int, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> Self:
        """Allow the names of this machine at these ports, and the given hosts and origins."""
        here = (f"{name}:{port}" for name in LOOPBACK_HOSTS for port in ports)
        return cls(frozenset((*here, *(one.lower() for one in hosts))), frozenset(origins))

    def require_allowed(self, host: str | None, origin: str | None) -> None:
        """Raise AccessDenied if the host or the origin of a request is not allowed."""
        if host is None or not self._allows_host(host):
            raise AccessDenied(
                f"host {show(host)} is not allowed; if this server has that name, add it to server.hosts"
            )
        own_origins = (f"http://{host.lower()}", f"https://{host.lower()}")  # of pages that the host itself serves
        if origin is not None and origin not in self.origins and origin.lower() not in own_origins:
            raise AccessDenied(
                f"origin {show(origin)} is not allowed; if you trust its pages, add it to server.origins"
            )

    def _allows_host(self, host: str) -> bool:
        lowered = host.lower()
        name, colon, port = lowered.rpartition(":")
        with_port = colon and port.isdecimal() and port.isascii() and (":" not in name or name.endswith("]"))
        return lowered in self.hosts or bool(with_port and name in self.hosts)
