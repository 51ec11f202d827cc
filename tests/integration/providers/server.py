"""A server of embeddings on this machine, which misbehaves as a test tells it to."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from recollect.providers.hashing import HashingEmbedder

MODEL = HashingEmbedder(64)


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was asked."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class Server:
    """What is told to a server, and what it was asked. It acts in this order, the last act for ever."""

    url: str = ""
    acts: list["Act"] = field(default_factory=list["Act"])
    asked: list[Request] = field(default_factory=list[Request])
    over: Event = field(default_factory=Event)


Act = Callable[["Handler", Request], None]


class Handler(BaseHTTPRequestHandler):
    """Reads a request and does what is next."""

    protocol_version = "HTTP/1.1"
    told: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, dict(self.headers.items()), body)
        self.told.asked.append(request)
        act = self.told.acts.pop(0) if len(self.told.acts) > 1 else self.told.acts[0]
        act(self, request)

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(*acts: Act) -> Iterator[Server]:
    """A server that acts like this, until the test is over."""
    told = Server(acts=list(acts))
    handler = type("Told", (Handler,), {"told": told})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = False
        told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield told
        finally:
            told.over.set()
            server.shutdown()
            thread.join()


def items(request: Request) -> list[dict[str, Any]]:
    """The vectors of the texts in the request, as OpenAI writes them."""
    vectors = MODEL.embed(request.body["input"], "memory")
    return [{"object": "embedding", "index": place, "embedding": row.tolist()} for place, row in enumerate(vectors)]


def answering(change: Callable[[list[dict[str, Any]]], Any]) -> Act:
    """An act that gives the right vectors, changed like this."""

    def act(handler: Handler, request: Request) -> None:
        handler.reply(json.dumps({"object": "list", "data": change(items(request))}).encode())

    return act


def saying(body: bytes | object, status: int = 200, **headers: str) -> Act:
    """An act that says just that, whatever it is asked."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler, _: handler.reply(content, status, **headers)


def hanging_up(handler: Handler, _: Request) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


def breaking_off(handler: Handler, _: Request) -> None:
    """Promise more than is sent."""
    handler.send_response_only(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True


def talking_nonsense(handler: Handler, request: Request) -> None:
    """Repeat what was said, and not as HTTP has it."""
    handler.wfile.write(f"{request.headers}\r\n".encode())
    handler.close_connection = True


def keeping_silent(handler: Handler, _: Request) -> None:
    """Say nothing until the test is over."""
    handler.told.over.wait()
    handler.close_connection = True


def never_ending(handler: Handler, _: Request) -> None:
    """Send blanks for as long as somebody listens."""
    handler.send_response_only(200)
    handler.end_headers()
    handler.close_connection = True
    try:
        while not handler.told.over.is_set():
            handler.wfile.write(b" " * 2**16)
    except OSError:
        pass


well = answering(lambda right: right)
"""The act of a server that works."""

shuffled = answering(lambda right: right[::-1])
"""The same, with the vectors in another order than the texts; their indexes say which is which."""
