"""Access: what a caller may do, and to whose memories; one policy for every face.

Gate: from where a server lets itself be asked, so that no page of a stranger speaks through somebody's browser.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Self

from recollect.errors import AccessDenied, FieldError, NotFound, show
from recollect.model.enums import TRUST_BY_PROVENANCE, Provenance
from recollect.model.scope import Scope

WHOLE_STORE: Final = "*"
"""The reach of a grant that is not held to a scope: the whole store."""

Reach = Scope | Literal["*"]


class Right(StrEnum):
    """What a caller may do; none of them is part of another."""

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
            raise FieldError("a grant without rights allows nothing; name at least one", field="rights")

    def covers(self, reach: Reach) -> bool:
        """Whether what is reached for lies within."""
        match self.reach, reach:
            case Scope(), Scope():
                return reach.within(self.reach)
            case Scope(), _:
                return False
            case _:
                return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: by which name, with which grants, and how far what is said through it is believed at most.

    `missing_right_hint` is why a right is missing, for who has no key that could have it.
    """

    name: str
    grants: tuple[Grant, ...]
    provenance: Provenance = Provenance.DIRECT_USER
    missing_right_hint: str | None = None

    @property
    def scope(self) -> Scope | None:
        """The scope that goes without saying: that of the grants, if they all have the same one."""
        reaches = {grant.reach for grant in self.grants}
        only = next(iter(reaches)) if len(reaches) == 1 else WHOLE_STORE
        return only if isinstance(only, Scope) else None

    def has_right(self, right: Right, reach: Reach) -> bool:
        """Whether the caller has the right over what is reached for."""
        return any(right in grant.rights for grant in self.grants if grant.covers(reach))

    def require_right(self, right: Right, reach: Reach) -> None:
        """Refuse what the caller may not do. Whose scope it is not learns nothing of it, not even that it is there."""
        covering = [grant for grant in self.grants if grant.covers(reach)]
        if any(right in grant.rights for grant in covering):
            return
        if reach == WHOLE_STORE:
            raise AccessDenied(
                f"{show(self.name)} lacks the right {show(right.value)} over the whole store; "
                f"{self.missing_right_hint or 'a key for that is made with --whole-store'}"
            )
        if not covering:
            raise NotFound(f"there is no scope {show(str(reach))}, or it is not for {show(self.name)}")
        raise AccessDenied(
            f"{show(self.name)} lacks the right {show(right.value)} in {show(str(reach))}; {self._missing_right_remedy}"
        )

    def has_right_anywhere(self, right: Right) -> bool:
        """Whether the caller has the right anywhere."""
        return any(right in grant.rights for grant in self.grants)

    def require_right_anywhere(self, right: Right) -> None:
        """Refuse who has the right nowhere, for what is of no scope."""
        if not self.has_right_anywhere(right):
            raise AccessDenied(f"{show(self.name)} lacks the right {show(right.value)}; {self._missing_right_remedy}")

    @property
    def _missing_right_remedy(self) -> str:
        return self.missing_right_hint or "it takes a key that has it"

    def cap_provenance(self, provenance: Provenance) -> Provenance:
        """The provenance that is said, or the most that this caller is believed."""
        return (
            self.provenance
            if TRUST_BY_PROVENANCE[self.provenance].less_than(TRUST_BY_PROVENANCE[provenance])
            else provenance
        )


def parse_right(value: str) -> Right:
    """The right of that name."""
    if value not in tuple(Right):
        raise FieldError(f"{show(value)} is no right; known are {', '.join(Right)}", field="rights")
    return Right(value)


def parse_reach(value: str) -> Reach:
    """The scope that is named, or the whole store for `*`."""
    return WHOLE_STORE if value == WHOLE_STORE else Scope.parse(value)


def create_owner(name: str = "owner", reach: Reach = WHOLE_STORE) -> Caller:
    """Whoever may do everything there: the user at whose terminal a face runs."""
    return Caller(name=name, grants=(Grant(frozenset(Right), reach),), provenance=Provenance.OPERATOR)


LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine that nobody else answers to."""


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """The hosts by which it may be called, as `name` or `name:port`, and the origins of pages that may call it."""

    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()

    @classmethod
    def for_ports(cls, *ports: int, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> Self:
        """Called by a name of this machine at one of the ports, or by another name that is given."""
        here = (f"{name}:{port}" for name in LOOPBACK_HOSTS for port in ports)
        return cls(frozenset((*here, *(one.lower() for one in hosts))), frozenset(origins))

    def require_allowed(self, host: str | None, origin: str | None) -> None:
        """Refuse who calls by another name, and a page of another origin."""
        if host is None or not self._allows_host(host):
            raise AccessDenied(f"nobody here is called {show(host)}; name it in server.hosts if that is meant")
        if origin is not None and origin not in self.origins and origin.lower() not in _own_origins(host):
            raise AccessDenied(f"a page of {show(origin)} may not ask here; name it in server.origins if that is meant")

    def _allows_host(self, host: str) -> bool:
        called = host.lower()
        name, colon, port = called.rpartition(":")
        with_port = colon and port.isdecimal() and port.isascii() and (":" not in name or name.endswith("]"))
        return called in self.hosts or bool(with_port and name in self.hosts)


def _own_origins(host: str) -> tuple[str, str]:
    """The origins of pages that a host itself gives."""
    return f"http://{host.lower()}", f"https://{host.lower()}"
