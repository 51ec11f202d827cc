"""Connections that are cut: all of a request is sent, and whoever sent it is gone before there is an answer."""

import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

import grpc

from tests.contract.clients import PATIENCE, Grpc
from tests.contract.served import Served

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Cutting(Protocol):
    """Sends a write and does not wait for what comes of it."""

    def __call__(self, operation: str, given: Mapping[str, Any]) -> None: ...


def a_call(operation: str, given: Mapping[str, Any], id: int = 1) -> bytes:
    """The call of a tool, in the present revision of MCP."""
    params = {"name": operation, "arguments": dict(given), "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def http(served: Served) -> Cutting:
    """Over HTTP."""
    return lambda operation, given: _posted(served, f"/v1/{operation}", json.dumps(dict(given)).encode())


def mcp(served: Served) -> Cutting:
    """Over MCP by streamable HTTP."""
    told = {"MCP-Protocol-Version": META["io.modelcontextprotocol/protocolVersion"], "Mcp-Method": "tools/call"}
    accepted = {"Accept": "application/json, text/event-stream"}
    return lambda operation, given: _posted(
        served, "/mcp", a_call(operation, given), **told, **accepted, **{"Mcp-Name": operation}
    )


def _posted(served: Served, path: str, body: bytes, **more: Any) -> None:
    at = urlsplit(served.web)
    headers = {
        "Host": at.netloc,
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **more,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection((str(at.hostname), at.port or 0), timeout=PATIENCE) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)


ALONE: Mapping[str, Any] = {"enable_retries": 0, "use_local_subchannel_pool": 1}
"""How a client is told to send nothing twice by itself, and over no connection but its own."""


@contextmanager
def rpc(served: Served) -> Iterator[Cutting]:
    """Over gRPC: through something in between that passes a call on, and then cuts both sides.

    Every other time that is at once, which a server takes as that nobody wants an answer any more, and else when the
    answer is on its way.
    """
    host, _, port = served.rpc.rpartition(":")
    with ExitStack() as open:
        between = open.enter_context(socket.create_server(("127.0.0.1", 0)))
        open.callback(_let_go, between)
        threading.Thread(target=_cut_each, args=(between, (host, int(port))), daemon=True).start()
        here = between.getsockname()[1]
        options = [(f"grpc.{name}", value) for name, value in {**ALONE, "default_authority": served.rpc}.items()]

        def send(operation: str, given: Mapping[str, Any]) -> None:
            with grpc.insecure_channel(f"127.0.0.1:{here}", options=options) as channel, suppress(grpc.RpcError):
                Grpc.called(channel, served.token, operation, given)
                raise AssertionError("the connection was to be cut before there was an answer")

        yield send


def _let_go(listening: socket.socket) -> None:
    """Let go of whoever waits for the next connection."""
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)


def _cut_each(between: socket.socket, there: tuple[str, int]) -> None:
    with suppress(OSError):
        for number in itertools.count():
            client, _ = between.accept()
            answered = threading.Event()
            if number % 2:
                answered.set()
            threading.Thread(target=_cut_one, args=(client, there, answered), daemon=True).start()


PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
FRAME, DATA, HEADERS, END_STREAM = 9, 0, 1, 1
"""How long the head of a frame of HTTP/2 is, which sorts have calls and answers, and the flag of an end."""


def _cut_one(client: socket.socket, there: tuple[str, int], answered: threading.Event) -> None:
    """Pass on what a client sends up to the end of its message, and be gone once it is answered."""
    with client, suppress(OSError), socket.create_connection(there) as server:
        threading.Thread(target=_answers, args=(server, client, answered), daemon=True).start()
        server.sendall(_exactly(client, PREFACE))
        last = False
        while not last:
            head = _exactly(client, FRAME)
            server.sendall(head + _exactly(client, int.from_bytes(head[:3])))
            last = head[3] == DATA and bool(head[4] & END_STREAM)
        assert answered.wait(PATIENCE)
        for end in (client, server):
            end.shutdown(socket.SHUT_RDWR)


def _answers(server: socket.socket, client: socket.socket, answered: threading.Event) -> None:
    """Pass on what the server says about itself: a client waits for that before it calls."""
    with suppress(OSError):
        while True:
            head = _exactly(server, FRAME)
            body = _exactly(server, int.from_bytes(head[:3]))
            if head[3] in (DATA, HEADERS):  # which nobody is to hear
                answered.set()
                return
            client.sendall(head + body)


def _exactly(end: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = end.recv(length - len(found))
        if not piece:
            raise ConnectionError("the other end is gone")
        found += piece
    return found
