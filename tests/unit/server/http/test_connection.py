"""What is taken over HTTP before anybody has said who they are: no more than a head may have, nor for longer."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from recollect.server.http.connection import SHUTDOWN_MESSAGE, LimitedHttpConnection
from recollect.server.http.middleware import HEAD_TOO_LARGE_MESSAGE, MAX_HEAD_BYTES
from tests.tables import table

LONG = 60.0
"""For how many seconds anything may take before a test has failed."""

HOST = b"Host: here\r\n"


class Asked:
    """An application that answers how long the path, the headers and the body of each request are."""

    def __init__(self, takes: float = 0.0) -> None:
        self.began, self.gone, self._takes = asyncio.Event(), asyncio.Event(), takes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.began.set()
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.set()
                return
            body, more = body + message["body"], message["more_body"]
        if self._takes:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), self._takes)
        told = f"{len(scope['raw_path'])} {len(scope['headers'])} {len(body)}".encode()
        headers = [(b"content-length", str(len(told)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told})


class Refusing(Asked):
    """An application that answers without a look at the body."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"no"})


class Place:
    """A server on a port of this machine, with its connections."""

    def __init__(self, app: Asked, state: ServerState, port: int) -> None:
        self.app, self.state, self.port = app, state, port

    async def told(self, pieces: Iterable[bytes]) -> bytes:
        """All that is answered until the connection ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        return await answered(reader, writer, pieces)

    async def told_at_once(self, request: bytes) -> bytes:
        """The same, where the request is there before the server, which is in this thread, has seen the connection."""
        made = socket.create_connection(("127.0.0.1", self.port))
        made.sendall(request)
        return await answered(*await asyncio.open_connection(sock=made))


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: Iterable[bytes] = ()) -> bytes:
    """All that is answered to these pieces until the connection ends."""
    with contextlib.suppress(ConnectionError):  # it may end while more is sent
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
    answer = bytearray()
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            answer += piece
    writer.close()
    return bytes(answer)


@asynccontextmanager
async def a_place(takes: float = 0.0, app: type[Asked] = Asked) -> AsyncIterator[Place]:
    asked, state = app(takes), ServerState()
    config = uvicorn.Config(
        asked,
        http=LimitedHttpConnection,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    loop = asyncio.get_running_loop()
    made = await loop.create_server(
        lambda: LimitedHttpConnection(config=config, server_state=state, app_state={}, _loop=loop), "127.0.0.1", 0
    )
    try:
        async with asyncio.timeout(LONG):
            yield Place(asked, state, made.sockets[0].getsockname()[1])
    finally:
        made.close()


def told(*pieces: bytes) -> bytes:
    """What somebody is told who sends that, piece by piece."""

    async def asked() -> bytes:
        async with a_place() as place:
            return await place.told(pieces)

    return asyncio.run(asked())


def of(answer: bytes) -> tuple[int, bytes]:
    """The status of an answer, and its body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


WISH = (
    b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
)
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(SMUGGLED)


@table("wish", [WISH, WISH.replace(b"Upgrade: h2c", b"uPGRADE: h2c"), WISH.replace(b"h2c", b"websocket")])
def test_a_wish_for_another_protocol_is_ignored_and_the_body_stays_a_body(wish: bytes) -> None:
    last = b"GET /last HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    request = wish + LENGTH
    cut = wish.index(b"grade")
    for pieces in (
        [request + SMUGGLED, last],
        [request, SMUGGLED, last],
        [request[:cut], request[cut:], SMUGGLED, last],
        [request + SMUGGLED + last],
    ):
        answers = told(*pieces)
        assert answers.count(b"HTTP/1.1 ") == answers.count(b"HTTP/1.1 200") == 2
        assert b"1 5 %d" % len(SMUGGLED) in answers


def test_requests_that_are_sent_at_once_are_answered_in_their_order() -> None:
    first = b"POST /first HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\ntea"
    answers = told(first + first + b"GET /last HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    assert (answers.count(b"HTTP/1.1 200"), answers.count(b"6 2 3")) == (3, 2)
    assert answers.index(b"6 2 3") < answers.index(b"5 2 0")


LAST = HOST + b"Connection: close\r\n"


def told_after(first: bytes, *rest: bytes) -> bytes:
    """What somebody is told whose first piece has come before the rest is sent."""

    async def asked() -> bytes:
        async with a_place() as place:
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            writer.write(first)
            while not any(
                isinstance(one, LimitedHttpConnection) and one.conn.trailing_data[0] for one in place.state.connections
            ):
                await asyncio.sleep(0)
            return await answered(reader, writer, rest)

    return asyncio.run(asked())


def test_a_head_that_comes_in_pieces_is_taken_up_to_its_size_and_not_above_it() -> None:
    just = b"a" * (MAX_HEAD_BYTES - 100)
    begun = b"GET / HTTP/1.1\r\n" + LAST
    assert of(told_after(begun, b"X: " + just + b"\r\n\r\n")) == (200, b"1 3 0")
    refused = of(told_after(begun, b"X: " + just + b"b" * 100))
    assert refused == (431, HEAD_TOO_LARGE_MESSAGE.encode())
    assert of(told_after(b"GET /", b"a" * (MAX_HEAD_BYTES + 1)))[0] == 431


@table("before", [b"", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\nX", b"GET /"])
def test_a_head_that_never_ends_is_ended(before: bytes) -> None:
    async def asked() -> int:
        sent = 0

        def pieces() -> Iterable[bytes]:
            nonlocal sent
            yield before
            while True:
                sent += 10_000
                yield b"\r\n" * 5_000 if before == b"" else b"a" * 10_000

        async with a_place() as place:
            await place.told(pieces())
            while place.state.connections:
                await asyncio.sleep(0)
        return sent

    assert asyncio.run(asked()) >= MAX_HEAD_BYTES  # it ended, though the client would have gone on for ever


def test_what_follows_a_body_is_counted_as_well_and_is_no_header() -> None:
    head = b"POST / HTTP/1.1\r\n" + LAST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    assert of(told(head + b"Authorization: Bearer x\r\n\r\n")) == (200, b"1 3 1")
    assert of(told(head, b"Authorization: Bearer x\r\n\r\n")) == (200, b"1 3 1")
    assert of(told(head, b"X: " + b"a" * MAX_HEAD_BYTES, b"a"))[0] == 431


def test_each_request_of_a_connection_is_counted_by_itself_and_no_body_is() -> None:
    large = b"a" * (MAX_HEAD_BYTES // 2)
    one = b"POST / HTTP/1.1\r\n" + HOST + b"X: " + large + b"\r\nContent-Length: 1000000\r\n\r\n" + b"b" * 1_000_000
    answer = told(one * 3, one.replace(b"Host", b"Connection: close\r\nHost"))
    assert (answer.count(b"HTTP/1.1 200"), answer.count(b" 1000000")) == (4, 4)


def test_what_is_no_request_is_told_so_as_before() -> None:
    assert of(told(b"nonsense\r\n\r\n"))[0] == 400


def test_what_is_no_body_after_an_answer_ends_the_connection_without_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def asked() -> bytes:
        async with a_place(app=Refusing) as place:
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            writer.write(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n")
            assert of(await reader.readuntil(b"no")) == (401, b"no")
            writer.write(b"nonsense\r\n")
            rest = await reader.read()
            writer.close()
            return rest

    assert asyncio.run(asked()) == b""
    assert [record.name for record in caplog.records if record.name == "asyncio"] == []


def told_at_once(request: bytes, takes: float = 0.0) -> bytes:
    """What somebody is told whose request is there as soon as the connection is, so that no head is waited for."""

    async def asked() -> bytes:
        async with a_place(takes) as place:
            return await place.told_at_once(request)

    return asyncio.run(asked())


@table("sent", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n" + HOST + b"\r\nGET"])
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.http.connection.HEAD_TIMEOUT_SECONDS", 0.05)
    answer = told_at_once(sent)  # and the connection ends
    assert answer.count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")


SENDING = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\n"


def test_an_answer_may_take_longer_than_a_head_may_take_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.http.connection.HEAD_TIMEOUT_SECONDS", 0.05)

    request = b"POST / HTTP/1.1\r\n" + HOST + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    assert of(told_at_once(request, takes=0.2))[0] == 200


REFUSED = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n"


async def refused(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request that is answered before anything of its body is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    writer.write(REFUSED)
    assert of(await reader.readuntil(b"no")) == (401, b"no")
    return reader, writer


@table("often", [1, 1_000_000 - 1])
def test_the_rest_of_a_body_that_is_answered_already_is_not_waited_for_long(
    often: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.server.http.connection.BODY_DRAIN_SECONDS", 0.05)

    async def asked() -> None:
        async with a_place(app=Refusing) as place:
            _, writer = await refused(place)
            async with asyncio.timeout(LONG):
                for _ in range(often):
                    if not place.state.connections:
                        break
                    writer.write(b"a")
                    await asyncio.sleep(0.01)
                while place.state.connections:
                    await asyncio.sleep(0.01)
            assert not place.state.connections
            writer.close()

    asyncio.run(asked())


def test_whoever_is_still_sending_reads_the_answer_and_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.http.connection.BODY_DRAIN_SECONDS", LONG)

    async def asked() -> bytes:
        async with a_place(app=Refusing) as place:
            reader, writer = await refused(place)
            for _ in range(10):
                writer.write(b"a" * 100_000)
                await writer.drain()
            writer.write(REFUSED + b"a" * 1_000_000 + b"GET / HTTP/1.1\r\n" + LAST + b"\r\n")
            answer = await reader.read()
            writer.close()
            return answer

    assert asyncio.run(asked()).count(b"HTTP/1.1 401") == 2


@pytest.mark.parametrize(
    "more", [b"a" * 1_000_000, b"a" * 1_000_000 + b"\r\n", b"a" * 1_000_000 + b"GET / HTTP/1.1\r\n"]
)
def test_after_an_answer_a_head_is_not_waited_for_any_longer_whatever_else_came(
    more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with a_place(app=Refusing) as place:
            reader, writer = await refused(place)
            monkeypatch.setattr("recollect.server.http.connection.HEAD_TIMEOUT_SECONDS", 0.05)
            writer.write(more)
            with contextlib.suppress(ConnectionError):  # it may end before the last of it has come
                answer = await reader.read()
                assert answer == b"" or of(answer)[0] == 400  # an empty line is not a request
            writer.close()

    asyncio.run(asked())


def test_an_empty_line_after_an_answer_is_no_reason_to_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> None:
        async with a_place(app=Refusing) as place:
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            writer.write(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
            assert of(await reader.readuntil(b"no"))[0] == 401
            monkeypatch.setattr("recollect.server.http.connection.HEAD_TIMEOUT_SECONDS", 0.05)
            writer.write(b"\r\n")
            assert of(await reader.read())[0] == 400
            writer.close()

    asyncio.run(asked())


async def being_sent(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request of which half the body has come, when the server is told to end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    writer.write(SENDING + b"ha")
    await writer.drain()
    await place.app.began.wait()
    for one in list(place.state.connections):
        one.shutdown()
    return reader, writer


def test_a_body_that_has_not_come_when_the_server_ends_is_told_that_nothing_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recollect.server.http.connection.SHUTDOWN_BODY_SECONDS", 0.05)

    async def asked() -> bytes:
        async with a_place() as place:
            reader, writer = await being_sent(place)
            answer = await reader.read()
            await place.app.gone.wait()
            writer.close()
        return answer

    assert of(asyncio.run(asked())) == (503, SHUTDOWN_MESSAGE.encode())


def test_a_body_that_comes_soon_after_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.http.connection.SHUTDOWN_BODY_SECONDS", LONG)

    async def asked() -> bytes:
        async with a_place() as place:
            reader, writer = await being_sent(place)
            writer.write(b"lf")
            answer = await reader.read()  # to the end of the connection, which nothing more is waited for from
            writer.close()
        return answer

    assert of(asyncio.run(asked())) == (200, b"1 2 4")
