"""serve(): the face over standard input and output, for the one client that started the process."""

import asyncio
import json
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

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
from recollect.server.mcp.handlers import ODD_ID, Face
from recollect.server.mcp.lazy_store import Make, Opening

LONGEST: Final = 8_388_608
"""How many bytes a line may have if nobody can say."""

CHUNK: Final = 65_536
"""How many bytes are read at once; so many a line may have in any case, and no settings are read to know it."""

PATIENCE: Final = 30.0
"""For how many seconds a client that has said its last word still gets its answers."""

LARGEST_ID: Final = 2**53
"""Up to which number every reader of JSON tells a whole one from the next."""

EDGE: Final = 1_024
"""How many bytes are kept of either end of a line that is too long."""

DIGITS: Final = b"0123456789"

_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*("[^"\\]*"|-?[1-9]\d*|0)\s*\}\s*$')
"""An id as the last field of the outermost object."""

Said = MemoryObjectSendStream[SessionMessage | Exception]
Heard = MemoryObjectReceiveStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that is longer than a request may be: its edges, one of which often tells the id."""

    beginning: bytes
    end: bytes

    @property
    def id(self) -> str | int | None:
        """The id of the message that it would be, if it stands at either edge."""
        found = _id_in(self.beginning.rstrip(DIGITS))  # a number may go on
        last = _LAST.search(self.end)
        return _id_in(b'{"id": %s}' % last[1]) if found is None and last is not None else found


def serve(make: Make, most_bytes: Callable[[], int], caller: Caller, wanted: Toolsets) -> None:
    """Answer what comes in on standard input, until it ends or the process is told to.

    `most_bytes` says how long a line may be, and is asked when there is a long one: to know it takes time.
    Nothing else is written to standard output meanwhile: what anybody prints goes to standard error.
    """
    opening = Opening(make)
    lines, out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_Wire(lines, out, Length(most_bytes)).speak(opening, caller, wanted))
    finally:
        opening.close()


class Length:
    """How long a line may be, which is looked up for the first long one."""

    def __init__(self, most_bytes: Callable[[], int]) -> None:
        self._most_bytes = most_bytes
        self._known: int | None = None

    @property
    def most(self) -> int:
        """So many bytes, by the settings; if there is something wrong with them, each call will be told."""
        if self._known is None:
            try:
                self._known = max(self._most_bytes(), CHUNK)
            except RecollectError:
                self._known = LONGEST
        return self._known

    def is_over(self, size: int) -> bool:
        """Whether so many are too many."""
        return size > CHUNK and size > self.most


class _Wire:
    """Lines in and lines out; both are waited for in threads that hold up nothing when the process ends."""

    def __init__(self, lines: int, out: int, length: Length) -> None:
        self._lines, self._out, self._length = lines, out, length
        self._unanswered: dict[str | int, list[str]] = {}
        self._answered = asyncio.Event()
        self._written: queue.SimpleQueue[tuple[bytes, Callable[[], object]] | None] = queue.SimpleQueue()
        self._writing = threading.Thread(target=self._write, name="recollect-out", daemon=True)

    async def speak(self, opening: Opening, caller: Caller, wanted: Toolsets) -> None:
        """Have the face answer what is read, until the end of it or a signal."""
        server = Face(opening.ask, lambda _: caller, wanted, only=caller).server()
        said, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
        answers, heard = anyio.create_memory_object_stream[SessionMessage]()
        self._writing.start()
        async with anyio.create_task_group() as tasks:
            self._end_when_told(tasks.cancel_scope.cancel)
            self._read_into(said, tasks.cancel_scope.cancel)
            tasks.start_soon(self._pass_on, heard, opening)
            await server.run(requests, answers, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        self._written.put(None)
        self._writing.join(PATIENCE)

    def _end_when_told(self, end: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows ends the process instead
                loop.add_signal_handler(one, end)

    def _read_into(self, said: Said, end: Callable[[], object]) -> None:
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
                if all(is_passed_on(self._take(line, said)) for line in read_lines(self._lines, self._length.is_over)):
                    is_passed_on(self._take_leave(said))
            except OSError:
                loop.call_soon_threadsafe(end)
            except BaseException:  # nobody would listen any more, and a client would wait for ever
                loop.call_soon_threadsafe(end)
                raise

        threading.Thread(target=read, name="recollect-in", daemon=True).start()

    async def _take(self, line: bytes | TooLong, said: Said) -> None:
        """Pass on one line; one that is no message is answered here, as nobody else could."""
        if isinstance(line, TooLong):
            told = f"a line has more than {self._length.most} bytes; send less at once, or raise server.body_bytes"
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
            self._refuse(INVALID_REQUEST, ODD_ID)
            return
        match message:
            case JSONRPCRequest():
                self._unanswered.setdefault(message.id, []).append(message.method)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": str() | int() as id}):
                self._no_longer(id)
            case _:
                pass
        await said.send(SessionMessage(message))

    async def _take_leave(self, said: Said) -> None:
        """Close the way in, once what was asked is answered."""
        with anyio.move_on_after(PATIENCE):
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
        self._refuse(INVALID_REQUEST, told, _id_of(found))

    def _refuse(self, code: int, told: str, id: str | int | None = None) -> None:
        error = JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=told))
        self._written.put((_line(error), _nothing))

    async def _pass_on(self, heard: Heard, opening: Opening) -> None:
        """Have answers written; a client that has the list of tools will soon call one, so the store is opened."""
        soon = partial(asyncio.get_running_loop().call_soon_threadsafe, opening.begin)
        async with heard:
            async for one in heard:
                asked = self._answers(one.message)
                self._written.put((_line(one.message), soon if asked == "tools/list" else _nothing))

    def _answers(self, message: JSONRPCMessage) -> str | None:
        """The method of the request that the message answers, if it does."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            return None
        self._answered.set()
        return self._no_longer(message.id)

    def _no_longer(self, id: str | int) -> str | None:
        """Wait for one answer less under that id, under which a careless client asks more than once."""
        methods = self._unanswered.get(id)
        if methods is None:
            return None
        method = methods.pop(0)
        if not methods:
            del self._unanswered[id]
        return method

    def _write(self) -> None:
        while (one := self._written.get()) is not None:
            data, then = one
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._out, rest) :]
            except OSError:  # nobody reads any more; the end of standard input will follow
                continue
            then()


def read_lines(file: int, is_too_long: Callable[[int], bool]) -> Iterator[bytes | TooLong]:
    """The lines of a file as they come in; of one that is too long, only its edges."""
    line = _Line(is_too_long)
    while chunk := os.read(file, CHUNK):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line.add(part)
            yield line.read
            line = _Line(is_too_long)
        line.add(rest)
    if line.read:
        yield line.read


class _Line:
    """A line that comes in piece by piece."""

    def __init__(self, is_too_long: Callable[[int], bool]) -> None:
        self._is_too_long = is_too_long
        self._kept = bytearray()
        self._beginning: bytes | None = None

    def add(self, piece: bytes) -> None:
        """What comes next."""
        self._kept += piece
        if self._beginning is None and self._is_too_long(len(self._kept)):
            self._beginning = bytes(self._kept[:EDGE])
        if self._beginning is not None:
            del self._kept[:-EDGE]

    @property
    def read(self) -> bytes | TooLong:
        """All that has come."""
        return bytes(self._kept) if self._beginning is None else TooLong(self._beginning, bytes(self._kept))


def _id_in(beginning: bytes) -> str | int | None:
    """The id of what would be a message, as far as it is there."""
    try:
        return _id_of(from_json(beginning, allow_partial=True))
    except ValueError:
        return None


def _id_of(found: object) -> str | int | None:
    """The id of what would be a message; none, if it is not one that can be written."""
    match found:
        case {"id": bool()}:
            return None
        case {"id": int() as id}:
            return id if abs(id) <= LARGEST_ID else None
        case {"id": str() as id}:
            return id if not any("\ud800" <= one <= "\udfff" for one in id) else None
        case _:
            return None


def _line(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _nothing() -> None:
    """What follows most answers."""
