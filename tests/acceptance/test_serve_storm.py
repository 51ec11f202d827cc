"""A storm: every write is sent three times, connections are cut in the middle, and the server is killed."""

import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from .serving import LONG, Serving, served

SCOPE, WRITES = "acme/ana", 12
TOWNS = ("Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo", "Paris", "Quito", "Accra", "Minsk", "Dhaka", "Hanoi")


def a_draft(number: int) -> dict[str, Any]:
    return {"scope": SCOPE, "text": f"The office in {TOWNS[number]} has {number + 3} desks", "key": f"desk-{number}"}


def request(server: Serving, given: dict[str, Any]) -> bytes:
    """A request as it goes over the wire."""
    body = json.dumps(given).encode()
    token = server.token.read_text(encoding="utf-8").strip()
    head = f"POST /v1/remember HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def cut(server: Serving, given: dict[str, Any], share: float, *, hard: bool) -> None:
    """Send a share of a request, or all of it, and be gone before there is an answer."""
    whole = request(server, given)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONG) as connection:
        connection.sendall(whole[: round(len(whole) * share)])
        if hard:
            linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def kept(server: Serving) -> list[str]:
    found = server.given("list_memories", {"scope": SCOPE, "limit": 1000})["memories"]
    return sorted(one["text"] for one in found)


@pytest.mark.thorough
def test_however_often_and_however_broken_a_write_is_sent_it_is_done_once(tmp_path: Path) -> None:
    chance = Random(11)
    with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler") as server:
        sent = [(number, how) for number in range(WRITES) for how in ("cut", "whole", "whole")]
        chance.shuffle(sent)

        def send(one: tuple[int, str]) -> None:
            number, how = one
            if how == "cut":
                cut(server, a_draft(number), (number % 4 + 1) / 4, hard=number % 2 == 0)
            else:
                assert server.post("remember", a_draft(number)).status_code == 200

        with ThreadPoolExecutor(6) as clients:
            list(clients.map(send, sent))
        assert kept(server) == sorted(a_draft(number)["text"] for number in range(WRITES))
        ids = {server.given("remember", a_draft(number))["id"] for number in range(WRITES)}
        assert len(ids) == WRITES
        versions = [server.given("get_history", {"scope": SCOPE, "id": id})["versions"] for id in ids]
        assert [len(one) for one in versions] == [1] * WRITES
        broken = [one for one in server.events() if one["level"] not in ("info", "warning")]
        assert broken == []


def test_a_server_that_is_killed_loses_nothing_that_it_answered_and_does_nothing_twice(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    answered: dict[int, str] = {}

    def send(server: Serving, number: int) -> None:
        try:
            answered[number] = server.given("remember", a_draft(number))["id"]
        except httpx.TransportError:
            return
        if len(answered) >= WRITES // 2:  # two may be answered before either looks
            server.process.send_signal(signal.SIGKILL)

    with served(store, tmp_path / "own", "--no-scheduler") as server, ThreadPoolExecutor(3) as clients:
        list(clients.map(lambda number: send(server, number), range(WRITES)))
        assert server.ended() == -signal.SIGKILL
    assert len(answered) >= WRITES // 2
    with served(store, tmp_path / "own", "--no-scheduler") as server:
        again = {number: server.given("remember", a_draft(number))["id"] for number in range(WRITES)}
        assert again.items() >= answered.items()
        assert kept(server) == sorted(a_draft(number)["text"] for number in range(WRITES))
