"""Recall through HTTP, MCP in both revisions and gRPC beside the direct call, on the same store, in one run.

Prints requests a second, p50 and p99 for one client and for many on loopback, and what each face adds to the direct
call. For one client that is the median of what each request took longer than the direct calls for the same question in
the blocks before and after its own, so that a machine that slows down or speeds up meanwhile misleads little, and each
has its caches as one has who asks again and again. The row of the direct call has what that gives of itself. A server
is a process of its own, and so is a bare one: the direct call behind a socket and nothing else, which is what it costs
on this machine to ask another process at all. These two are as any program has the engine; a server tells Python and
its C library how to keep memory (docs/adr/0077).
"""

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from engine import texts

import recollect
from recollect.grpc.v1 import recollect_pb2 as messages
from recollect.grpc.v1 import recollect_pb2_grpc as stubs

SCOPE = "acme/ana"
BATCH = 1_000
WARM = 3
"""How many requests of a block are not counted: a process that was not asked for a while catches up first."""

DIRECT = "direct"

FACES = ("http", "mcp", "mcp 2025", "grpc")
MOST = 3.0
"""How many milliseconds a face may add to the median of the direct call for one client."""

Ask = Callable[[str], object]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(store: Path, folder: Path) -> Iterator[tuple[int, int, str]]:
    """A server of the store: its port for HTTP and MCP, that for gRPC, and the token it wants."""
    web, rpc, token = free_port(), free_port(), folder / "token"
    own = {"RECOLLECT_SERVER_TOKEN_FILE": str(token), "RECOLLECT_SERVER_KEYS": str(folder / "keys.json")}
    environment = {**os.environ, "RECOLLECT_CONFIG": "", **own}
    command = [sys.executable, "-m", "recollect", "--db", str(store), "serve", "--port", str(web)]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([*command, "--grpc-port", str(rpc), "--no-scheduler"], env=environment, stderr=log)
        try:
            until_ready(web, server)
            yield web, rpc, token.read_text(encoding="utf-8").strip()
        finally:
            server.terminate()
            server.wait()


def until_ready(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Wait until the server answers; refuse one that has ended."""
    while server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", "/health/ready")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise SystemExit("the server has ended; its log says why")


BARE = """
import socket, sys, recollect
engine = recollect.open(sys.argv[1], embedder=sys.argv[2])
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
while True:
    asking, _ = listening.accept()
    while question := asking.recv(65536):
        asking.sendall(engine.recall(question.decode(), scope=sys.argv[3]).text.encode() + b"\\0")
"""


@contextmanager
def bare_server(store: Path, embedder: str) -> Iterator[int]:
    """The direct call behind a socket, in a process of its own: its port."""
    command = [sys.executable, "-c", BARE, str(store), embedder, SCOPE]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def over_a_socket(port: int) -> Ask:
    """A client of the bare one."""
    connection = socket.create_connection(("127.0.0.1", port))

    def ask(question: str) -> object:
        connection.sendall(question.encode())
        answer = b""
        while not answer.endswith(b"\0"):
            answer += connection.recv(65536)
        return answer

    return ask


def over_http(port: int, token: str) -> Ask:
    """A client that keeps its connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(question: str) -> object:
        connection.request("POST", "/v1/recall", json.dumps({"scope": SCOPE, "query": question}), headers)
        return answered(connection)

    return ask


PRESENT, PREVIOUS = "2026-07-28", "2025-11-25"
"""The revisions of MCP."""


def over_mcp(port: int, token: str, revision: str) -> Ask:
    """The same, with the messages of the protocol."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    named = {"Mcp-Method": "tools/call", "Mcp-Name": "recall"} if revision == PRESENT else {}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
        **named,
    }
    beside = {"protocolVersion": revision, "clientCapabilities": {}} if revision == PRESENT else {}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in beside.items()}

    def ask(question: str) -> object:
        asked = {"name": "recall", "arguments": {"scope": SCOPE, "query": question}}
        params = {**asked, "_meta": meta} if meta else asked
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        connection.request("POST", "/mcp", json.dumps(call), headers)
        return answered(connection)

    return ask


def answered(connection: http.client.HTTPConnection) -> bytes:
    """What the server says; anything but an answer ends the run."""
    response = connection.getresponse()
    body = response.read()
    if response.status != http.HTTPStatus.OK or b'"isError":true' in body:
        raise SystemExit(f"{response.status}: {body[:300]!r}")
    return body


def over_grpc(port: int, token: str) -> Ask:
    """A client with a channel of its own."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
    recall: Any = stubs.RecollectStub(channel).Recall
    metadata = (("authorization", f"Bearer {token}"),)

    def ask(question: str) -> object:
        return recall(messages.RecallRequest(scope=SCOPE, query=question), metadata=metadata)

    return ask


def alone(
    makers: dict[str, Callable[[], Ask]], questions: Sequence[str], *, blocks: int, size: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """How long one client waited for each answer, in milliseconds, and what each way adds to the direct call."""
    spent: dict[str, list[float]] = {name: [] for name in makers}
    more: dict[str, list[float]] = {name: [] for name in makers}
    for block in range(blocks):
        asked = [questions[(block * size + place) % len(questions)] for place in range(-WARM, size)]
        for name in makers:
            before, took, after = (
                [timed(ask, question) for question in asked][WARM:]
                for ask in (makers[DIRECT](), makers[name](), makers[DIRECT]())
            )
            spent[DIRECT] += before + after
            spent[name] += took
            for beside in (before, after):
                more[name] += [one - other for one, other in zip(took, beside, strict=True)]
    return spent, {name: statistics.median(each) for name, each in more.items()}


def timed(ask: Ask, question: str) -> float:
    """For how many milliseconds an answer is waited for."""
    began = time.perf_counter()
    ask(question)
    return (time.perf_counter() - began) * 1000.0


def together(ask: Sequence[Ask], questions: Sequence[str], each: int) -> tuple[list[float], float]:
    """The same of many clients at once, and how many requests a second that is."""
    spent: list[float] = []

    def client(ask: Ask, first: int) -> None:
        spent.extend(timed(ask, questions[(first + place) % len(questions)]) for place in range(each))

    threads = [threading.Thread(target=client, args=(one, first)) for first, one in enumerate(ask)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent, len(spent) / (time.perf_counter() - began)


def line(what: str, spent: Sequence[float], rate: float, more: float) -> None:
    """One row: a second, p50, p99, and what is added to the direct call."""
    p50, p99 = statistics.median(spent), float(np.quantile(spent, 0.99))
    print(f"{what:<8} {rate:8.1f}/s   p50 {p50:8.2f} ms   p99 {p99:8.2f} ms   {more:+8.2f} ms", flush=True)


def main() -> None:
    """Fill a store, start a server on it, and ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--size", type=int, default=10)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("--embedder", default="hashing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), Path(name) / "faces.db"
        engine = recollect.open(store, embedder=options.embedder)
        said = [f"{text} n{place}" for place, text in enumerate(texts(options.rows, 20, 1))]
        for start in range(0, options.rows, BATCH):
            engine.remember_all([{"text": one, "scope": SCOPE} for one in said[start : start + BATCH]])
        questions = texts(64, 6, 2)
        print(f"{engine.stats(scope=SCOPE).memories} memories", flush=True)
        with serving(store, folder) as (web, rpc, token), bare_server(store, options.embedder) as bare:
            makers: dict[str, Callable[[], Ask]] = {
                DIRECT: lambda: lambda question: engine.recall(question, scope=SCOPE),
                "bare": lambda: over_a_socket(bare),
                "http": lambda: over_http(web, token),
                "mcp": lambda: over_mcp(web, token, PRESENT),
                "mcp 2025": lambda: over_mcp(web, token, PREVIOUS),
                "grpc": lambda: over_grpc(rpc, token),
            }
            print("1 client")
            spent, more = alone(makers, questions, blocks=options.blocks, size=options.size)
            for way, one in spent.items():
                line(way, one, 1000.0 * len(one) / sum(one), more[way])
            print(f"{options.clients} clients")
            many = {
                way: together([make() for _ in range(options.clients)], questions, options.each)
                for way, make in makers.items()
                if way != "bare"  # which answers one at a time
            }
            direct = statistics.median(many[DIRECT][0])
            for way, (one, rate) in many.items():
                line(way, one, rate, statistics.median(one) - direct)
        engine.close()
    slow = [way for way in FACES if more[way] > MOST]
    if slow:
        sys.exit(f"{', '.join(slow)}: more than {MOST:g} ms are added to the direct call for one client")


if __name__ == "__main__":
    main()
