"""serve(): the face over standard input and output, for the one client that started the process.

Opening: a store that is opened while the first requests are answered already, and closed when all is over.
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
    """What answers once the store is open, as `Dispatcher` does."""

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """What an operation gives."""
        ...


OpenStore = Callable[[], tuple[OpenedDispatcher, Callable[[], object]]]
"""Opens the store; gives what answers, and what closes it."""


class LazyStore:
    """Answers as soon as the store is open, which is begun when it is first wanted; what failed is tried again."""

    def __init__(self, make: OpenStore) -> None:
        self._make = make
        self._made: Future[tuple[OpenedDispatcher, Callable[[], object]]] | None = None

    async def run_operation(self, name: str, given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """What an operation gives."""
        front, _ = await asyncio.shield(asyncio.wrap_future(self.start_opening()))
        return await front.dispatch(TRANSPORT, name, given, caller)

    def start_opening(self) -> "Future[tuple[OpenedDispatcher, Callable[[], object]]]":
        """Have it opened in a thread of its own, unless it is or is about to be."""
        made = self._made
        if made is not None and not (made.done() and made.exception() is not None):
            return made
        self._made = begun = Future[tuple[OpenedDispatcher, Callable[[], object]]]()
        threading.Thread(target=self._open, args=(begun,), name="recollect-opening", daemon=True).start()
        return begun

    def _open(self, begun: "Future[tuple[OpenedDispatcher, Callable[[], object]]]") -> None:
        try:
            begun.set_result(self._make())
        except BaseException as error:  # whoever asks is told it
            why = str(error) if isinstance(error, RecollectError) else type(error).__name__
            _LOG.warning("store_not_opened", extra={"problem": why})
            begun.set_exception(error)

    def close(self) -> None:
        """Have what is under way finished and the store closed, if it was opened at all."""
        if self._made is None or self._made.exception() is not None:
            return
        _, close = self._made.result()
        close()


DEFAULT_MAX_LINE_BYTES: Final = 8_388_608
"""How many bytes a line may have if nobody can say."""

CHUNK_BYTES: Final = 65_536
"""How many bytes are read at once; so many a line may have in any case, and no settings are read to know it."""

DRAIN_SECONDS: Final = 30.0
"""For how many seconds a client that has said its last word still gets its answers."""

MAX_SAFE_ID: Final = 2**53
"""Up to which number every reader of JSON tells a whole one from the next."""

EDGE_BYTES: Final = 1_024
"""How many bytes are kept of either end of a line that is too long."""

DIGITS: Final = b"0123456789"

_TRAILING_ID = re.compile(rb'[,{]\s*"id"\s*:\s*("[^"\\]*"|-?[1-9]\d*|0)\s*\}\s*$')
"""An id as the last field of the outermost object."""

RequestStream = MemoryObjectSendStream[SessionMessage | Exception]
ResponseStream = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class OversizedLine:
    """A line that is longer than a request may be: its edges, one of which often tells the id."""

    beginning: bytes
    end: bytes

    @property
    def id(self) -> str | int | None:
        """The id of the message that it would be, if it stands at either edge."""
        found = _read_partial_id(self.beginning.rstrip(DIGITS))  # a number may go on
        last = _TRAILING_ID.search(self.end)
        return _read_partial_id(b'{"id": %s}' % last[1]) if found is None and last is not None else found


def serve_stdio(make: OpenStore, most_bytes: Callable[[], int], caller: Caller, wanted: Toolsets) -> None:
    """Answer what comes in on standard input, until it ends or the process is told to.

    `most_bytes` says how long a line may be, and is asked when there is a long one: to know it takes time.
    Nothing else is written to standard output meanwhile: what anybody prints goes to standard error.
    """
    opening = LazyStore(make)
    lines, out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_StdioConnection(lines, out, LineLimit(most_bytes)).run(opening, caller, wanted))
    finally:
        opening.close()


class LineLimit:
    """How long a line may be, which is looked up for the first long one."""

    def __init__(self, most_bytes: Callable[[], int]) -> None:
        self._most_bytes = most_bytes
        self._known: int | None = None

    @property
    def max_bytes(self) -> int:
        """So many bytes, by the settings; if there is something wrong with them, each call will be told."""
        if self._known is None:
            try:
                self._known = max(self._most_bytes(), CHUNK_BYTES)
            except RecollectError:
                self._known = DEFAULT_MAX_LINE_BYTES
        return self._known

    def is_exceeded(self, size: int) -> bool:
        """Whether so many are too many."""
        return size > CHUNK_BYTES and size > self.max_bytes


class _StdioConnection:
    """Lines in and lines out; both are waited for in threads that hold up nothing when the process ends."""

    def __init__(self, lines: int, out: int, length: LineLimit) -> None:
        self._lines, self._out, self._length = lines, out, length
        self._unanswered: dict[str | int, list[str]] = {}
        self._answered = asyncio.Event()
        self._written: queue.SimpleQueue[tuple[bytes, Callable[[], object]] | None] = queue.SimpleQueue()
        self._writing = threading.Thread(target=self._write_lines, name="recollect-out", daemon=True)

    async def run(self, opening: LazyStore, caller: Caller, wanted: Toolsets) -> None:
        """Have the face answer what is read, until the end of it or a signal."""
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
                work.close()  # all is over, and nobody listens any more
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
            except BaseException:  # nobody would listen any more, and a client would wait for ever
                loop.call_soon_threadsafe(end)
                raise

        threading.Thread(target=read, name="recollect-in", daemon=True).start()

    async def _handle_line(self, line: bytes | OversizedLine, said: RequestStream) -> None:
        """Pass on one line; one that is no message is answered here, as nobody else could."""
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
        """Close the way in, once what was asked is answered."""
        with anyio.move_on_after(DRAIN_SECONDS):
            while self._unanswered:
                self._answered.clear()
                await self._answered.wait()
        said.close()

    def _refuse_line(self, line: bytes) -> None:
        """Refuse what is no message, by its id where that can be read: then whoever waits for the answer has it."""
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
        """Have answers written; a client that has the list of tools will soon call one, so the store is opened."""
        soon = partial(asyncio.get_running_loop().call_soon_threadsafe, opening.start_opening)
        async with heard:
            async for one in heard:
                asked = self._answered_method(one.message)
                self._written.put((_to_line(one.message), soon if asked == "tools/list" else _do_nothing))

    def _answered_method(self, message: JSONRPCMessage) -> str | None:
        """The method of the request that the message answers, if it does."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            return None
        self._answered.set()
        return self._forget_request(message.id)

    def _forget_request(self, id: str | int) -> str | None:
        """Wait for one answer less under that id, under which a careless client asks more than once."""
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
            except OSError:  # nobody reads any more; the end of standard input will follow
                continue
            then()


def read_lines(file: int, is_too_long: Callable[[int], bool]) -> Iterator[bytes | OversizedLine]:
    """The lines of a file as they come in; of one that is too long, only its edges."""
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
    """A line that comes in piece by piece."""

    def __init__(self, is_too_long: Callable[[int], bool]) -> None:
        self._is_too_long = is_too_long
        self._kept = bytearray()
        self._beginning: bytes | None = None

    def add(self, piece: bytes) -> None:
        """What comes next."""
        self._kept += piece
        if self._beginning is None and self._is_too_long(len(self._kept)):
            self._beginning = bytes(self._kept[:EDGE_BYTES])
        if self._beginning is not None:
            del self._kept[:-EDGE_BYTES]

    @property
    def content(self) -> bytes | OversizedLine:
        """All that has come."""
        return bytes(self._kept) if self._beginning is None else OversizedLine(self._beginning, bytes(self._kept))


def _read_partial_id(beginning: bytes) -> str | int | None:
    """The id of what would be a message, as far as it is there."""
    try:
        return _read_id(from_json(beginning, allow_partial=True))
    except ValueError:
        return None


def _read_id(found: object) -> str | int | None:
    """The id of what would be a message; none, if it is not one that can be written."""
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
    """What follows most answers."""
