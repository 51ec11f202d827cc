"""`recollect serve` and whoever sends it too much, or not all of it: others notice nothing."""

import socket
from pathlib import Path

import httpx

from .serving import LONG, Serving, served


def sent(server: Serving, data: bytes) -> bytes:
    """All that is answered to that until the connection ends."""
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONG) as there:
        there.sendall(data)
        while piece := there.recv(65_536):
            answer += piece
    return bytes(answer)


def test_a_head_that_is_too_large_is_refused_at_every_path_before_any_key(tmp_path: Path) -> None:
    with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler", others=("--no-grpc",)) as server:
        for path in ("/v1/stats", "/mcp", "/health/live"):
            begun = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
            for more in (b"X: " + b"a" * 66_000 + b"\r\n", b"X: a\r\n" * 300):
                assert sent(server, begun + more + b"\r\n").startswith(b"HTTP/1.1 431 ")
        assert httpx.get(f"{server.url}/health/live", timeout=LONG).status_code == 200
