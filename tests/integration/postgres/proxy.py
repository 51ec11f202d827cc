"""A proxy before a server, which loses connections at the worst moment there is."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

COMMIT = b"COMMIT\x00"
"""How a client asks for the end of a transaction, and how a server says that it is kept."""

PATIENCE = 60.0
"""For how many seconds anything here is waited for that never comes if a test fails."""


class Pair:
    """One connection through the proxy: the client's, and the server's that belongs to it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self._cut = False
        self._heard = b""
        self._more = threading.Condition()

    def cut(self) -> None:
        """Be gone for the client, while the server knows nothing of it."""
        with self._more:
            self._cut = True
        with suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)

    def answer(self, said: bytes) -> None:
        """Give the client what the server says; once it is cut off, keep it."""
        with self._more:
            if not self._cut:
                self.client.sendall(said)
            self._heard += said if self._cut else b""
            self._more.notify_all()

    def wait_for(self, answer: bytes) -> None:
        """Wait until the server has said this to the client that is gone."""
        with self._more:
            assert self._more.wait_for(lambda: answer in self._heard, PATIENCE)

    def close(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


Act = Callable[[Pair, bytes], None]


class Proxy:
    """Passes everything on, until a client says something that it was told to look out for."""

    def __init__(self, port: int) -> None:
        self._there = port
        self._lock = threading.Lock()
        self._watch: tuple[bytes, Act] | None = None
        self._pairs: list[Pair] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """The same address, through the proxy."""
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition(":")[0] + f":{self.port}").geturl()

    def lose_the_answer(self) -> None:
        """Have the server make the next commit, and lose the connection before the client hears of it."""

        def act(pair: Pair, said: bytes) -> None:
            pair.cut()
            pair.server.sendall(said)
            pair.wait_for(COMMIT)

        self._when(COMMIT, act)

    def lose_the_question(self, what: bytes = COMMIT) -> None:
        """Lose the connection before the server hears what the next one asks who asks this."""
        self._when(what, lambda pair, _: pair.cut())

    def hold_the_question(self, until: threading.Event) -> None:
        """Lose the client of the next commit, and have the server hear of it only later."""

        def act(pair: Pair, said: bytes) -> None:
            pair.cut()
            until.wait(PATIENCE)
            pair.server.sendall(said)
            pair.wait_for(COMMIT)

        self._when(COMMIT, act)

    def close(self) -> None:
        """Let go of everybody."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for pair in self._pairs:
            pair.close()

    def _when(self, said: bytes, act: Act) -> None:
        with self._lock:
            self._watch = said, act

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                pair = Pair(client, socket.create_connection(("127.0.0.1", self._there)))
                self._pairs.append(pair)
                for pump in (self._from_client, self._from_server):
                    threading.Thread(target=pump, args=(pair,), daemon=True).start()

    def _from_client(self, pair: Pair) -> None:
        with suppress(OSError):
            while said := pair.client.recv(65536):
                if (act := self._due(said)) is not None:
                    act(pair, said)
                    break
                pair.server.sendall(said)
        pair.close()

    def _from_server(self, pair: Pair) -> None:
        with suppress(OSError):
            while said := pair.server.recv(65536):
                pair.answer(said)
            pair.close()

    def _due(self, said: bytes) -> Act | None:
        with self._lock:
            if self._watch is None or self._watch[0] not in said:
                return None
            act = self._watch[1]
            self._watch = None
            self.lost += 1
            return act


@contextmanager
def a_proxy(port: int) -> Iterator[Proxy]:
    """A proxy before the server at a port."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
