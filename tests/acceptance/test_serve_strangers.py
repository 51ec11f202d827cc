"""`recollect serve` and whoever sends it too much, or not all of it: others notice nothing."""

import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

import recollect

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


def test_a_wish_for_another_protocol_is_ignored_without_a_word(tmp_path: Path) -> None:
    with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler", others=("--no-grpc",)) as server:
        for protocol in ("h2c", "websocket"):
            wish = {"Connection": "Upgrade", "Upgrade": protocol}
            assert httpx.get(f"{server.url}/health/live", headers=wish, timeout=LONG).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        assert [
            one["event"] for one in server.events() if "pgrade" in one["event"] or "WebSocket" in one["event"]
        ] == []


@pytest.mark.parametrize("path", ["/v1/stats", "/mcp"])
def test_what_is_still_being_sent_is_nothing_under_way_when_it_is_told_to_end(path: str, tmp_path: Path) -> None:
    settings = ("server.drain_seconds=600", "server.seconds=600")
    with (
        served(str(tmp_path / "a.db"), tmp_path / "own", settings=settings, others=("--no-grpc",)) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=LONG) as there,
    ):
        key = server.token.read_text(encoding="utf-8").strip()
        head = (
            *(f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {key}"),
            *("Content-Type: application/json", "Accept: application/json", "Expect: 100-continue"),
            *("Content-Length: 100", "", "{"),
        )
        there.sendall("\r\n".join(head).encode())
        assert there.recv(65_536).startswith(b"HTTP/1.1 100 ")  # so somebody waits for the body
        server.process.send_signal(signal.SIGTERM)
        assert there.recv(65_536).startswith(b"HTTP/1.1 503 ")
        assert server.ended() == 0
        told = [one["event"] for one in server.events()]
        assert (told[-1], "work_unfinished" in told) == ("stopped", False)


def test_a_scheduler_without_a_job_is_none_that_is_left_when_the_time_is_up(tmp_path: Path) -> None:
    settings = ("server.drain_seconds=0.001",)
    with served(str(tmp_path / "a.db"), tmp_path / "own", settings=settings) as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        assert server.events()[-1]["event"] == "stopped"


def test_a_scheduler_that_cannot_look_for_a_job_is_none_that_is_left_either(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    recollect.open(path, embedder="hashing").close()
    settings = ("server.drain_seconds=0.001",)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that nobody else can write, and it waits to be told what is due
        with served(str(path), tmp_path / "own", settings=settings) as server:
            server.process.send_signal(signal.SIGTERM)
            assert server.ended() == 0
            assert server.events()[-1]["event"] == "stopped"
