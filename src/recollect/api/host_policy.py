"""Gate: from where a server lets itself be asked, so that no page of a stranger speaks through somebody's browser."""

from dataclasses import dataclass
from typing import Self

from recollect.errors import AccessDenied, show

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
