"""MCP over standard input and output, for the one client that started the process.

`LazyStore` opens the store in the background while the first requests are answered. `serve_stdio` reads and writes
lines in threads; lines have a size limit, and one that is no message is refused here.
"""

import asyncio
import json
import logging
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic_core import from_json

from recollect.api.auth import Caller
from recollect.errors import RecollectError
from recollect.server.mcp.catalog import Toolsets
from recollect.server.mcp.handlers import INVALID_ID_MESSAGE, TRANSPORT, McpHandlers

_LOG = logging.getLogger(__name__)


class OpenedDispatcher(Protocol):
    """Runs operations once the store is open, as `Dispatcher` does."""

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """Run an operation and return its answer."""
        ...


OpenStore = Callable[[], tuple[OpenedDispatcher, Callable[[], object]]]
"""Open the store; return what runs operations on it, and a function that closes it."""


class LazyStore:
    """Opens the store when it is first needed; a failed opening is tried again."""

    def __init__(self, make: OpenStore) -> None:
        self._make = make
        self._made: Future[tuple[OpenedDispatcher, Callable[[], object]]] | None = None

    async def run_operation(self, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """Run an operation once the store is open, and return its answer."""
        front, _ = await asyncio.shield(asyncio.wrap_future(self.start_opening()))
        return await front.dispatch(TRANSPORT, name, given, caller)

    def start_opening(self) -> "Future[tuple[OpenedDispatcher, Callable[[], object]]]":
        """Open the store in a thread, unless it is open or being opened."""
        made = self._made
        if made is not None and not (made.done() and made.exception() is not None):
            return made
        self._made = begun = Future[tuple[OpenedDispatcher, Callable[[], object]]]()
        threading.Thread(target=self._open, args=(begun,), name="recollect-opening", daemon=True).start()
        return begun

    def _open(self, begun: "Future[tuple[OpenedDispatcher, Callable[[], object]]]") -> None:
        try:
            begun.set_result(self._make())
        except BaseException as error:  # raised to each waiting request
            why = str(error) if isinstance(error, RecollectError) else type(error).__name__
            _LOG.warning("store_not_opened", extra={"problem": why})
            begun.set_exception(error)

    def close(self) -> None:
        """Finish running work and close the store, if it was opened."""
        if self._made is None or self._made.exception() is not None:
            return
        _, close = self._made.result()
        close()


DEFAULT_MAX_LINE_BYTES: Final = 8_388_608
"""Maximum size of a line if the settings cannot be read."""

CHUNK_BYTES: Final = 65_536
"""Bytes per read; a line of this size is always allowed, without reading the settings."""

DRAIN_SECONDS: Final = 30.0
"""How long a client still gets its answers after the end of its input."""

MAX_SAFE_ID: Final = 2**53
"""Up to this number every JSON reader represents a whole number exactly."""

EDGE_BYTES: Final = 1_024
"""Bytes that are kept of either end of a line that is too long."""

DIGITS: Final = b"0123456789"

_TRAILING_ID = re.compile(rb'[,{]\s*"id"\s*:\s*("[^"\\]*"|-?[1-9]\d*|0)\s*\}\s*$')
"""An id as the last field of the outermost object."""

RequestStream = MemoryObjectSendStream[SessionMessage | Exception]
ResponseStream = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """Both ends of a line that is too long; one of them often contains the id."""

    beginning: bytes
    end: bytes

    @property
    def id(self) -> str | int | None:
        """The id of the message, if it is at either end."""
        found = _read_partial_id(self.beginning.rstrip(DIGITS))  # a number may be cut off
        last = _TRAILING_ID.search(self.end)
        return _read_partial_id(b'{"id": %s}' % last[1]) if found is None and last is not None else found


def serve_stdio(make: OpenStore, most_bytes: Callable[[], int], caller: Caller, wanted: Toolsets) -> None:
    """Answer messages from standard input until it ends or a signal arrives.

    `most_bytes` returns the maximum size of a line. It is called only for a long line, since reading the settings takes
    time. Meanwhile anything that other code prints goes to standard error.
    """
    opening = LazyStore(make)
    lines, out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_StdioConnection(lines, out, LineLimit(most_bytes)).run(opening, caller, wanted))
    finally:
        opening.close()


class LineLimit:
    """The maximum size of a line, looked up when the first long line arrives."""

    def __init__(self, most_bytes: Callable[[], int]) -> None:
        self._most_bytes = most_bytes
        self._known: int | None = None

    @property
    def max_bytes(self) -> int:
        """The limit in the settings.

        If the settings are invalid it is the default: each call will report what is wrong with them.
        """
        if self._known is None:
            try:
                self._known = max(self._most_bytes(), CHUNK_BYTES)
            except RecollectError:
                self._known = DEFAULT_MAX_LINE_BYTES
        return self._known

    def is_exceeded(self, size: int) -> bool:
        """Return whether a line of this size is too long."""
        return size > CHUNK_BYTES and size > self.max_bytes


class _StdioConnection:
    """Reads and writes lines in daemon threads, which do not delay the end of the process."""

    def __init__(self, lines: int, out: int, length: LineLimit) -> None:
        self._lines, self._out, self._length = lines, out, length
        self._unanswered: dict[str | int, list[str]] = {}
        self._answered = asyncio.Event()
        self._written: queue.SimpleQueue[tuple[bytes, Callable[[], object]] | None] = queue.SimpleQueue()
        self._writing = threading.Thread(target=self._write_lines, name="recollect-out", daemon=True)

    async def run(self, opening: LazyStore, caller: Caller, wanted: Toolsets) -> None:
        """Answer messages until the end of the input or a signal."""
        server = McpHandlers(opening.run_operation, lambda _: caller, wanted, only=caller).create_server()
        said, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
        answers, heard = anyio.create_memory_object_stream[SessionMessage]()
        self._writing.start()
        async with anyio.create_task_group() as tasks:
            self._stop_on_signals(tasks.cancel_scope.cancel)
            self._start_reader(said, tasks.cancel_scope.cancel)
            tasks.start_soon(self._write_answers, heard, opening)
            await server.run(requests, answers, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        self._written.put(None)
        self._writing.join(DRAIN_SECONDS)

    def _stop_on_signals(self, end: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows ends the process instead
                loop.add_signal_handler(one, end)

    def _start_reader(self, said: RequestStream, end: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()

        def is_passed_on(work: Coroutine[Any, Any, None]) -> bool:
            try:
                asyncio.run_coroutine_threadsafe(work, loop).result()
            except (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                work.close()  # the server has ended
                return False
            return True

        def read() -> None:
            try:
                if all(
                    is_passed_on(self._handle_line(line, said))
                    for line in read_lines(self._lines, self._length.is_exceeded)
                ):
                    is_passed_on(self._wait_for_answers(said))
            except OSError:
                loop.call_soon_threadsafe(end)
            except BaseException:  # without this thread a client would wait forever
                loop.call_soon_threadsafe(end)
                raise

        threading.Thread(target=read, name="recollect-in", daemon=True).start()

    async def _handle_line(self, line: bytes | OversizedLine, said: RequestStream) -> None:
        """Pass a message on to the server; refuse a line that is no message."""
        if isinstance(line, OversizedLine):
            told = f"a line has more than {self._length.max_bytes} bytes; send less at once, or raise server.body_bytes"
            self._refuse(INVALID_REQUEST, told, line.id)
            return
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._refuse_line(line)
            return
        if isinstance(message, JSONRPCNotification) and "id" in from_json(line):
            self._refuse(INVALID_REQUEST, INVALID_ID_MESSAGE)
            return
        match message:
            case JSONRPCRequest():
                self._unanswered.setdefault(message.id, []).append(message.method)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": str() | int() as id}):
                self._forget_request(id)
            case _:
                pass
        await said.send(SessionMessage(message))

    async def _wait_for_answers(self, said: RequestStream) -> None:
        """Close the input once all requests are answered, or after DRAIN_SECONDS."""
        with anyio.move_on_after(DRAIN_SECONDS):
            while self._unanswered:
                self._answered.clear()
                await self._answered.wait()
        said.close()

    def _refuse_line(self, line: bytes) -> None:
        """Refuse a line that is no message, under its id if that can be read.

        With the id the client can assign the answer to its request.
        """
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(PARSE_ERROR, "the line is not JSON")
            return
        told = "the line is JSON, but no message of JSON-RPC 2.0, or has half a character in it"
        self._refuse(INVALID_REQUEST, told, _read_id(found))

    def _refuse(self, code: int, told: str, id: str | int | None = None) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=told))
        self._written.put((_to_line(error), _do_nothing))

    async def _write_answers(self, heard: ResponseStream, opening: LazyStore) -> None:
        """Write the answers; after a list of tools, open the store.

        A client that has the list will soon call a tool.
        """
        soon = partial(asyncio.get_running_loop().call_soon_threadsafe, opening.start_opening)
        async with heard:
            async for one in heard:
                asked = self._answered_method(one.message)
                self._written.put((_to_line(one.message), soon if asked == "tools/list" else _do_nothing))

    def _answered_method(self, message: JSONRPCMessage) -> str | None:
        """Return the method of the request that the message answers, or None."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            return None
        self._answered.set()
        return self._forget_request(message.id)

    def _forget_request(self, id: str | int) -> str | None:
        """Remove one request with this id and return its method, or None.

        A careless client may use an id for several requests.
        """
        methods = self._unanswered.get(id)
        if methods is None:
            return None
        method = methods.pop(0)
        if not methods:
            del self._unanswered[id]
        return method

    def _write_lines(self) -> None:
        while (one := self._written.get()) is not None:
            data, then = one
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._out, rest) :]
            except OSError:  # the client has stopped reading; its input will end, too
                continue
            then()


def read_lines(file: int, is_too_long: Callable[[int], bool]) -> Iterator[bytes | OversizedLine]:
    """Yield the lines of a file as they arrive; of one that is too long, only its ends."""
    line = _LineBuffer(is_too_long)
    while chunk := os.read(file, CHUNK_BYTES):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line.add(part)
            yield line.content
            line = _LineBuffer(is_too_long)
        line.add(rest)
    if line.content:
        yield line.content


class _LineBuffer:
    """A line that arrives in pieces."""

    def __init__(self, is_too_long: Callable[[int], bool]) -> None:
        self._is_too_long = is_too_long
        self._kept = bytearray()
        self._beginning: bytes | None = None

    def add(self, piece: bytes) -> None:
        """Append a piece."""
        self._kept += piece
        if self._beginning is None and self._is_too_long(len(self._kept)):
            self._beginning = bytes(self._kept[:EDGE_BYTES])
        if self._beginning is not None:
            del self._kept[:-EDGE_BYTES]

    @property
    def content(self) -> bytes | OversizedLine:
        """The line so far."""
        return bytes(self._kept) if self._beginning is None else OversizedLine(self._beginning, bytes(self._kept))


def _read_partial_id(beginning: bytes) -> str | int | None:
    """Return the id of a message that is cut off, or None."""
    try:
        return _read_id(from_json(beginning, allow_partial=True))
    except ValueError:
        return None


def _read_id(found: object) -> str | int | None:
    """Return the id of a message, or None if there is none that can be written."""
    match found:
        case {"id": bool()}:
            return None
        case {"id": int() as id}:
            return id if abs(id) <= MAX_SAFE_ID else None
        case {"id": str() as id}:
            return id if not any("\ud800" <= one <= "\udfff" for one in id) else None
        case _:
            return None


def _to_line(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _do_nothing() -> None:
    """Callback after most answers."""
