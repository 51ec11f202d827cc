"""MCP over standard input and output, for the one client that started the process.

`LazyStore` opens the store in the background while the first requests are answered. `serve_stdio` reads and writes
lines in threads; lines have a size limit, and a line that is not a message is refused here. The transport of the SDK
ends neither on a signal nor with every answer written, and drops what is not a message: docs/adr/0078.
"""

import asyncio
import io
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
from functools import cache, partial
from typing import Any, BinaryIO, Final, Protocol

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

    async def dispatch(
        self, transport: str, name: str, arguments: Mapping[str, Any], caller: Caller
    ) -> Mapping[str, Any]:
        """Run an operation and return its answer."""
        ...


OpenStore = Callable[[], tuple[OpenedDispatcher, Callable[[], object]]]
"""Open the store; return what runs operations on it, and a function that closes it."""


class LazyStore:
    """Opens the store when it is first needed; a failed opening is tried again."""

    def __init__(self, open_store: OpenStore) -> None:
        self._open_store = open_store
        self._opening: Future[tuple[OpenedDispatcher, Callable[[], object]]] | None = None

    async def run_operation(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """Run an operation once the store is open, and return its answer."""
        dispatcher, _ = await asyncio.shield(asyncio.wrap_future(self.start_opening()))
        return await dispatcher.dispatch(TRANSPORT, name, arguments, caller)

    def start_opening(self) -> "Future[tuple[OpenedDispatcher, Callable[[], object]]]":
        """Open the store in a thread, unless it is open or being opened."""
        opening = self._opening
        if opening is not None and not (opening.done() and opening.exception() is not None):
            return opening
        self._opening = opening = Future[tuple[OpenedDispatcher, Callable[[], object]]]()
        threading.Thread(target=self._open, args=(opening,), name="recollect-opening", daemon=True).start()
        return opening

    def _open(self, opening: "Future[tuple[OpenedDispatcher, Callable[[], object]]]") -> None:
        try:
            opening.set_result(self._open_store())
        except BaseException as error:  # raised to each waiting request
            problem = str(error) if isinstance(error, RecollectError) else type(error).__name__
            _LOG.warning("store_open_failed", extra={"problem": problem})
            opening.set_exception(error)

    def close(self) -> None:
        """Finish running work and close the store, if it was opened."""
        if self._opening is None or self._opening.exception() is not None:
            return
        _, close = self._opening.result()
        close()


DEFAULT_MAX_LINE_BYTES: Final = 8_388_608
"""Maximum size of a line if the settings cannot be read."""

CHUNK_BYTES: Final = 65_536
"""A line of this size is always allowed, without reading the settings."""

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
        id = _read_partial_id(self.beginning.rstrip(DIGITS))  # a number may be cut off
        trailing = _TRAILING_ID.search(self.end)
        return _read_partial_id(b'{"id": %s}' % trailing[1]) if id is None and trailing is not None else id


def serve_stdio(open_store: OpenStore, read_max_bytes: Callable[[], int], caller: Caller, toolsets: Toolsets) -> None:
    """Answer messages from standard input until it ends or a signal arrives.

    `read_max_bytes` returns the maximum size of a line. It is called only for a long line, since reading the settings
    takes time. Meanwhile anything that other code prints goes to standard error.
    """
    store = LazyStore(open_store)
    file, output_fd = io.BufferedReader(io.FileIO(os.dup(0))), os.dup(1)
    os.dup2(2, 1)
    connection = _StdioConnection(file, output_fd, cache_line_limit(read_max_bytes))
    try:
        asyncio.run(connection.run(store, caller, toolsets))
    finally:
        store.close()


def cache_line_limit(read_max_bytes: Callable[[], int]) -> Callable[[], int]:
    """Return a function that gives the maximum size of a line and reads the settings only once.

    If the settings are invalid it is the default: each call will report what is wrong with them.
    """

    @cache
    def max_bytes() -> int:
        try:
            return max(read_max_bytes(), CHUNK_BYTES)
        except RecollectError:
            return DEFAULT_MAX_LINE_BYTES

    return max_bytes


class _StdioConnection:
    """Reads and writes lines in daemon threads, which do not delay the end of the process."""

    def __init__(self, file: BinaryIO, output_fd: int, max_bytes: Callable[[], int]) -> None:
        self._file, self._output_fd, self._max_bytes = file, output_fd, max_bytes
        self._unanswered: dict[str | int, list[str]] = {}
        self._answered = asyncio.Event()
        self._outgoing: queue.SimpleQueue[tuple[bytes, Callable[[], object]] | None] = queue.SimpleQueue()
        self._writing = threading.Thread(target=self._write_lines, name="recollect-out", daemon=True)

    async def run(self, store: LazyStore, caller: Caller, toolsets: Toolsets) -> None:
        """Answer messages until the end of the input or a signal."""
        server = McpHandlers(store.run_operation, lambda _: caller, toolsets, only_caller=caller).create_server()
        requests_in, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
        answers, answers_out = anyio.create_memory_object_stream[SessionMessage]()
        self._writing.start()
        async with anyio.create_task_group() as tasks:
            self._stop_on_signals(tasks.cancel_scope.cancel)
            self._start_reader(requests_in, tasks.cancel_scope.cancel)
            tasks.start_soon(self._write_answers, answers_out, store)
            await server.run(requests, answers, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        self._outgoing.put(None)
        self._writing.join(DRAIN_SECONDS)

    def _stop_on_signals(self, stop: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows ends the process instead
                loop.add_signal_handler(one, stop)

    def _start_reader(self, requests_in: RequestStream, stop: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()

        def pass_on(work: Coroutine[Any, Any, None]) -> bool:
            try:
                asyncio.run_coroutine_threadsafe(work, loop).result()
            except (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                work.close()  # the server has ended
                return False
            return True

        def read() -> None:
            try:
                lines = read_lines(self._file, self._max_bytes)
                if all(pass_on(self._handle_line(line, requests_in)) for line in lines):
                    pass_on(self._wait_for_answers(requests_in))
            except OSError:
                loop.call_soon_threadsafe(stop)
            except BaseException:  # without this thread the client would wait forever
                loop.call_soon_threadsafe(stop)
                raise

        threading.Thread(target=read, name="recollect-in", daemon=True).start()

    async def _handle_line(self, line: bytes | OversizedLine, requests_in: RequestStream) -> None:
        """Pass a message on to the server; refuse a line that is not a message."""
        if isinstance(line, OversizedLine):
            problem = f"a line has more than {self._max_bytes()} bytes; send less at once, or raise server.body_bytes"
            self._refuse(INVALID_REQUEST, problem, line.id)
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
        await requests_in.send(SessionMessage(message))

    async def _wait_for_answers(self, requests_in: RequestStream) -> None:
        """Close the input once all requests are answered, or after DRAIN_SECONDS."""
        with anyio.move_on_after(DRAIN_SECONDS):
            while self._unanswered:
                self._answered.clear()
                await self._answered.wait()
        requests_in.close()

    def _refuse_line(self, line: bytes) -> None:
        """Refuse a line that is not a message, under its id if that can be read.

        With the id the client can assign the answer to its request.
        """
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(PARSE_ERROR, "the line is not JSON")
            return
        problem = "the line is JSON, but not a JSON-RPC 2.0 message, or it has a lone surrogate"
        self._refuse(INVALID_REQUEST, problem, _read_id(value))

    def _refuse(self, code: int, problem: str, id: str | int | None = None) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=problem))
        self._outgoing.put((_to_line(error), _do_nothing))

    async def _write_answers(self, answers_out: ResponseStream, store: LazyStore) -> None:
        """Write the answers; after a list of tools, open the store.

        A client that has the list will soon call a tool.
        """
        open_soon = partial(asyncio.get_running_loop().call_soon_threadsafe, store.start_opening)
        async with answers_out:
            async for one in answers_out:
                method = self._answered_method(one.message)
                self._outgoing.put((_to_line(one.message), open_soon if method == "tools/list" else _do_nothing))

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
        while (one := self._outgoing.get()) is not None:
            data, callback = one
            remaining = memoryview(data)
            try:
                while remaining:
                    remaining = remaining[os.write(self._output_fd, remaining) :]
            except OSError:  # the client has stopped reading; its input will end, too
                continue
            callback()


def read_lines(file: BinaryIO, max_bytes: Callable[[], int]) -> Iterator[bytes | OversizedLine]:
    """Yield the lines of a file as they arrive; of a line that is too long, only both ends.

    The limit is asked for only by a line of more than CHUNK_BYTES.
    """
    while line := file.readline(CHUNK_BYTES + 1):
        if len(line) > CHUNK_BYTES and not line.endswith(b"\n"):
            line += file.readline(max_bytes() - CHUNK_BYTES)
            if len(line) > max_bytes() and not line.endswith(b"\n"):
                end = line
                while not end.endswith(b"\n") and (piece := file.readline(CHUNK_BYTES)):
                    end = end[-EDGE_BYTES:] + piece
                yield OversizedLine(line[:EDGE_BYTES], end.removesuffix(b"\n")[-EDGE_BYTES:])
                continue
        yield line.removesuffix(b"\n")


def _read_partial_id(beginning: bytes) -> str | int | None:
    """Return the id of a message that is cut off, or None."""
    try:
        return _read_id(from_json(beginning, allow_partial=True))
    except ValueError:
        return None


def _read_id(message: object) -> str | int | None:
    """Return the id of a message, or None if it has none that can be sent back."""
    match message:
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
