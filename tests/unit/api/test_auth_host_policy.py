"""From where a server lets itself be asked: every forged name and origin is refused."""

import pytest

from recollect.api.auth import HostPolicy
from recollect.errors import AccessDenied
from tests.tables import table

GATE = HostPolicy.for_ports(
    8765, hosts=("memory.example.org", "Inside.example.org:9000", "[fe80::1]"), origins=("https://console.example.org",)
)

OURS = (
    *("localhost:8765", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:8765"),
    *("memory.example.org", "memory.example.org:443", "inside.example.org:9000"),
    *("[fe80::1]", "[fe80::1]:443"),
)
FORGED = (
    *(None, "", "evil.example.org", "localhost", "localhost:80", "localhost:87650", "localhost.:8765"),
    *("127.0.0.1", "127.0.0.1:1", "127.0.0.2:8765", "[::1]", "::1:8765", "[::2]:8765", "0.0.0.0:8765"),
    *("localhost:8765.evil.example.org", "evil.example.org:8765", "localhost:8765@evil.example.org"),
    *("memory.example.org.", "memory.example.org.evil.example.org", "xmemory.example.org", "memory.example.org:"),
    *("memory.example.org:٤٤٣", "inside.example.org", "inside.example.org:9001", "localhost:8765, evil.example.org"),
    *(
        "localhost:8765:7",
        "127.0.0.1:8765:8765",
        "[::1]:8765:7",
        "memory.example.org:443:7",
        "inside.example.org:9000:7",
    ),
    *("[fe80::1]:443:7", "fe80::1", "fe80::1:443"),
)
PAGES = ("http://127.0.0.1:8765", "https://127.0.0.1:8765", "HTTP://127.0.0.1:8765", "https://console.example.org")
STRANGERS = (
    *("null", "", "http://evil.example.org", "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost:8765"),
    *("http://127.0.0.1:8765/", "http://127.0.0.1:8765?", "http://evil@127.0.0.1:8765", "file://127.0.0.1:8765"),
    *("http://127.0.0.1:8765.evil.example.org", "http://console.example.org", "https://console.example.org."),
    *("https://console.example.org:444", "http://[::1]:8765", "http://127.0.0.1:8765, http://evil.example.org"),
)


@table("host", OURS)
def test_who_calls_by_a_name_of_ours_is_let_through(host: str) -> None:
    GATE.require_allowed(host, None)


@table("host", FORGED)
def test_who_calls_by_another_name_is_refused(host: str | None) -> None:
    with pytest.raises(AccessDenied, match=r"server\.hosts"):
        GATE.require_allowed(host, None)


@table("origin", PAGES)
def test_a_page_of_ours_is_let_through(origin: str) -> None:
    GATE.require_allowed("127.0.0.1:8765", origin)


@table("origin", STRANGERS)
def test_a_page_of_a_stranger_is_refused(origin: str) -> None:
    with pytest.raises(AccessDenied, match=r"server\.origins"):
        GATE.require_allowed("127.0.0.1:8765", origin)
