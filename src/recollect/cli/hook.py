"""Run `recollect hook`: give a coding agent its memories before a deadline, and never fail.

The agent waits for this process before every prompt, so it loads only a small part of the standard library. A forked
child opens the store, or asks a running server; the parent enforces the deadline.
"""

import getopt
import json
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from recollect.errors import InvalidInput, RecollectError, list_frames, show
from recollect.model.format import FEEDBACK_PREFIX, make_printable

if TYPE_CHECKING:
    from recollect.cli.options import StoreTarget

    OpenTarget = Callable[[], AbstractContextManager[StoreTarget]]
    """Opens the store target when it is needed."""

HOOK_EVENTS: Mapping[str, str] = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""The hook events, and the names that coding agents give them."""

DEFAULT_BUDGET_MS: Final = 200
"""Default time limit, in milliseconds since the process started."""

MAX_BUDGET_MS: Final = 600_000
"""Largest time limit that can be set."""

DEFAULT_TOKENS: Final = 800
"""Default token budget."""

MAX_TOKENS: Final = 10**9 - 1
"""Largest token budget that can be set."""

MAX_PROMPT_CHARS: Final = 4_000
"""Maximum number of characters of a prompt used as the query; its start has the request."""

MAX_INPUT_BYTES: Final = 16_777_216
"""Maximum number of bytes read from standard input."""

MAX_OUTPUT_BYTES: Final = 65_536
"""Maximum number of bytes printed; an empty pipe takes that many without a reader."""

MAX_ANSWER_BYTES: Final = 1_048_576
"""Maximum number of bytes read from a server's answer."""

PIPE_CHUNK_BYTES: Final = 4_096
"""Bytes written to a pipe at once: a writable pipe takes this many without blocking."""

MAX_PROCESS_AGE_SECONDS: Final = 60.0
"""Largest plausible age of this process; a larger measurement is ignored."""

SERVER_TIMEOUT_SECONDS: Final = 600.0
"""Socket timeout in seconds; the parent's deadline usually comes first."""

SERVER_ADDRESS_PATTERN: Final = r"http://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?(/[!-~]*)?"
"""The form of a server address: host, port and path."""

MCP_REVISION: Final = "2026-07-28"
"""The MCP revision requested: it answers one request without a handshake."""


class HookOptions(NamedTuple):
    """The arguments of `recollect hook`."""

    event: str
    scope: str
    budget_ms: int = DEFAULT_BUDGET_MS
    tokens: int = DEFAULT_TOKENS
    server: str | None = None
    key_file: str | None = None


class HookAnswer(NamedTuple):
    """What is known: text for a model, how to rate it, and whether the scope has no memories at all."""

    text: str
    rating_hint: str = ""
    is_empty: bool = False


class HookReply(NamedTuple):
    """What the child sends to the parent: a line to print, or a note for standard error, or neither."""

    line: str = ""
    note: str = ""


def parse_arguments(arguments: Sequence[str]) -> HookOptions:
    """Parse the arguments of a hook, or raise InvalidInput; click would take longer than the budget."""
    names = {f"--{field.replace('_', '-')}": field for field in HookOptions._fields[1:]}
    try:
        pairs, events = getopt.gnu_getopt(list(arguments), "", [f"{name[2:]}=" for name in names])
    except getopt.GetoptError as error:
        raise InvalidInput(str(error)) from None
    if len(events) != 1 or events[0] not in HOOK_EVENTS:
        raise InvalidInput(f"event {show(' '.join(events))} is unknown; write {' or '.join(HOOK_EVENTS)}")
    values: dict[str, Any] = {names[option]: value for option, value in pairs}
    if "scope" not in values:
        raise InvalidInput("the option --scope is missing; write --scope acme/ana")
    for option, maximum in (("--budget-ms", MAX_BUDGET_MS), ("--tokens", MAX_TOKENS)):
        if names[option] in values:
            values[names[option]] = _parse_count(option, values[names[option]], maximum)
    return HookOptions(events[0], **values)


def _parse_count(option: str, value: str, maximum: int) -> int:
    """Parse a count written in decimal digits, or raise InvalidInput."""
    count = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0
    if not 1 <= count <= maximum:
        raise InvalidInput(f"{option} is {show(value)}; write a number from 1 to {maximum}")
    return count


def run_hook_command(open_target: "OpenTarget", arguments: Sequence[str]) -> NoReturn:
    """Run the hook that the arguments describe; wrong arguments are a warning, never a failure."""
    try:
        options = parse_arguments(arguments)
    except InvalidInput as error:
        skip_hook(str(error))
    run_hook(open_target, options)


def skip_hook(why: str) -> NoReturn:
    """Print one line on why nothing is recalled, and exit with 0."""
    write_stderr(f"nothing recalled: {why}")
    os._exit(0)


def run_hook(open_target: "OpenTarget", options: HookOptions) -> NoReturn:
    """Print the memories before the deadline, or one line on standard error; always exit with 0."""
    deadline = 0.0
    try:
        _open_closed_streams()
        deadline = time.monotonic() + options.budget_ms / 1000 - read_process_age()
        reply = _call_with_deadline(lambda: _answer_hook(open_target, options), deadline)
        if reply is None:
            source = "" if options.server is None else f" from {options.server}"
            late = f"no answer within {options.budget_ms} ms{source}; raise --budget-ms"
            reply = HookReply(note=f"nothing recalled: {late}")
        if reply.line:
            _write_stdout(reply.line.encode() + b"\n", deadline)
        if reply.note:
            write_stderr(reply.note, deadline)
    except Exception as error:  # outermost handler: the agent must go on, whatever failed
        write_stderr(f"nothing recalled: {describe_failure(error)}", deadline)
    finally:
        os._exit(0)  # exit at once: the child closes the store


def read_process_age() -> float:
    """Return how many seconds ago this process started; 0 if the system does not report it."""
    try:
        with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # pathlib takes longer to load than all of this
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0.0 <= age <= MAX_PROCESS_AGE_SECONDS else 0.0


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null, so that no pipe gets their numbers."""
    for file in range(3):
        try:
            os.fstat(file)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _call_with_deadline(answer: Callable[[], AbstractContextManager[HookReply]], deadline: float) -> HookReply | None:
    """Run `answer` in a forked child, and return its reply; at the deadline, kill the child and return None.

    A thread would not do: a module that loads, or a store that is locked, could hold up the whole interpreter.
    """
    if not hasattr(os, "fork"):
        raise InvalidInput("this system has no fork, without which the hook cannot keep its deadline")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(answer, write_end)
    os.close(write_end)

    received = bytearray()
    while select.select([read_end], [], [], max(deadline - time.monotonic(), 0.0))[0]:
        if not (part := os.read(read_end, 65_536)):
            if not received:
                raise InvalidInput("the worker process ended without an answer")
            return HookReply(*json.loads(received))
        received += part
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
    return None


def _run_child(answer: Callable[[], AbstractContextManager[HookReply]], pipe: int) -> NoReturn:
    """Send the reply first, then close the store: by then the agent already has its prompt."""
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)  # or the agent would wait until this process closes its pipes
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        with answer() as reply:
            _send_reply(pipe, reply)
    except BaseException as error:  # the agent must go on, whatever failed
        _send_reply(pipe, HookReply(note=f"nothing recalled: {describe_failure(error)}"))
    finally:
        os._exit(0)


def _send_reply(pipe: int, reply: HookReply) -> None:
    """Write the reply to the pipe; a second reply is ignored because the pipe is closed."""
    with suppress(OSError), open(pipe, "wb") as file:
        file.write(json.dumps(reply).encode())


def describe_failure(error: BaseException) -> str:
    """Describe why there is no answer.

    For an internal error only its type and location are given, never its data.
    """
    if isinstance(error, RecollectError):
        return str(error) or type(error).__name__
    if isinstance(error, OSError):
        return _describe_os_error(error)
    return f"internal error: {type(error).__name__} at {', '.join(list_frames(error)[-1:])}"


def _describe_os_error(error: OSError) -> str:
    """Describe a system error and the file it is about."""
    problem = error.strerror or type(error).__name__
    return problem if error.filename is None else f"{problem}: {show(error.filename)}"


def _write_stdout(line: bytes, deadline: float) -> None:
    """Write the line to standard output until all is written or the deadline has passed."""
    rest = line
    while rest and select.select([], [1], [], max(deadline - time.monotonic(), 0.0))[1]:
        rest = rest[os.write(1, rest[:PIPE_CHUNK_BYTES]) :]
    if len(rest) == len(line):
        write_stderr("nothing recalled: stdout was not read before the deadline")
    elif rest:
        taken = len(line) - len(rest)
        write_stderr(f"answer cut off: stdout took only {taken} of {len(line)} bytes before the deadline")


def write_stderr(message: str, deadline: float = 0.0) -> None:
    """Print one line on standard error if it takes output before the deadline."""
    line = f"recollect hook: {make_printable(message)[:550]}\n"
    with suppress(OSError):
        if select.select([], [2], [], max(deadline - time.monotonic(), 0.0))[1]:
            os.write(2, line.encode("utf-8", "backslashreplace"))


@contextmanager
def _answer_hook(open_target: "OpenTarget", options: HookOptions) -> Iterator[HookReply]:
    """Yield the reply to the hook; a store is closed after the reply was sent."""
    with ExitStack() as stack:
        # connect before stdin is read, which may take its time, so that a missing server is reported as that
        server = None if options.server is None else stack.enter_context(_Server(options.server, options.key_file))
        query = _read_query(options.event)
        if server is not None:
            answer = server.ask(query, scope=options.scope, tokens=options.tokens)
        else:
            engine = stack.enter_context(stack.enter_context(open_target()).open_existing())
            if query is None:
                context = engine.brief(scope=options.scope, tokens=options.tokens)
            else:
                context = engine.recall(query, scope=options.scope, tokens=options.tokens)
            rating_hint = "" if context.id is None else f"{FEEDBACK_PREFIX}{context.id}"
            is_empty = not (context.packed or context.omitted or context.ranking.excluded)
            answer = HookAnswer(context.text, rating_hint, is_empty)
        yield _make_reply(answer, options)


def _make_reply(answer: HookAnswer, options: HookOptions) -> HookReply:
    """Wrap the answer as the additional context of a hook; an empty scope is noted when a session starts."""
    if not answer.text:
        is_noted = answer.is_empty and options.event == "session-start"
        return HookReply(note=f"{options.scope} has no memories yet") if is_noted else HookReply()
    text = "\n".join(filter(None, (answer.text, answer.rating_hint)))
    fields = {"hookEventName": HOOK_EVENTS[options.event], "additionalContext": text}
    line = json.dumps({"hookSpecificOutput": fields})
    if len(line) >= MAX_OUTPUT_BYTES:
        raise InvalidInput(f"the answer has {len(line)} bytes; at most {MAX_OUTPUT_BYTES} are allowed: lower --tokens")
    return HookReply(line)


def _read_query(event: str) -> str | None:
    """Read the hook's JSON from standard input, and return its prompt, or None for another event."""
    with open(0, "rb", closefd=False) as stdin:
        data = stdin.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise InvalidInput(f"standard input has more than {MAX_INPUT_BYTES} bytes")
    if not data.strip():
        raise InvalidInput("standard input is empty; pass the hook's JSON there")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"standard input is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidInput(f"standard input is {show(fields)}, not a JSON object")
    if event != "prompt":
        return None
    prompt = fields.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("the JSON on standard input has no prompt")
    return prompt.strip()[:MAX_PROMPT_CHARS]


class _Server:
    """A running server, asked with one MCP request.

    The request is written by hand: `http.client` takes longer to load than the whole hook has to wait for the server.
    """

    def __init__(self, address: str, key_file: str | None) -> None:
        """Connect to the server, or raise InvalidInput."""
        parts = re.fullmatch(SERVER_ADDRESS_PATTERN, address)
        if parts is None or int(parts[2] or 80) > 65_535:
            raise InvalidInput(f"{show(address)} is not a server address; write http://127.0.0.1:8765/mcp")
        self.address, self.path = address, parts[3] or "/"
        self.host = parts[1] if parts[2] is None else f"{parts[1]}:{parts[2]}"
        self.key = None if key_file is None else _read_key(key_file)
        try:
            self.connection = socket.create_connection(
                (parts[1].strip("[]"), int(parts[2] or 80)), SERVER_TIMEOUT_SECONDS
            )
        except ConnectionRefusedError:
            raise InvalidInput(f"no server at http://{self.host}; start it with `recollect serve`") from None
        except (OSError, UnicodeError) as error:
            why = _describe_os_error(error) if isinstance(error, OSError) else "invalid host name"
            raise InvalidInput(f"the server at http://{self.host} cannot be reached ({why}); check --server") from error

    def __enter__(self) -> "_Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, query: str | None, **arguments: str | int) -> HookAnswer:
        """Call the tool `recall` with the query, or `brief` without one."""
        if query is None:
            request = self._build_request("brief", arguments)
        else:
            request = self._build_request("recall", {"query": query, **arguments})
        response = bytearray()
        try:
            self.connection.sendall(request)
            while part := self.connection.recv(65_536):
                response += part
                if len(response) > MAX_ANSWER_BYTES:
                    raise InvalidInput(f"the server's answer has more than {MAX_ANSWER_BYTES} bytes; lower --tokens")
                if _is_complete(response):
                    break
        except OSError as error:
            why = _describe_os_error(error)
            raise InvalidInput(f"the connection to http://{self.host} failed: {why}; try again") from error
        return _parse_response(bytes(response), self.address)

    def _build_request(self, tool: str, arguments: Mapping[str, str | int]) -> bytes:
        """Build an HTTP/1.0 request, which is answered in one piece on a closing connection."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = {
            "Host": self.host,
            "Accept": "application/json",
            "Content-Type": "application/json",
            "Content-Length": len(body),
            "MCP-Protocol-Version": MCP_REVISION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            **({} if self.key is None else {"Authorization": f"Bearer {self.key}"}),
        }
        lines = [f"POST {self.path} HTTP/1.0", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body


def _is_complete(response: bytearray) -> bool:
    """Return whether a response has all bytes of its Content-Length; the server may close the connection later."""
    head, blank, body = response.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?:\r\n|$)", head)
    return bool(blank) and length is not None and len(body) >= int(length[1])


def _read_key(file: str) -> str:
    """Read the API key from a file; errors never show the content of the file."""
    try:
        with open(os.path.expanduser(file), encoding="ascii") as opened:  # noqa: PTH111, PTH123  # pathlib is slow
            key = opened.read().strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the key file {show(file)} cannot be read: {type(error).__name__}") from None
    if not key or not key.isprintable() or " " in key:
        raise InvalidInput(f"the key file {show(file)} must have one key and nothing else")
    return key


def _parse_response(response: bytes, address: str) -> HookAnswer:
    """Parse the response of the server into an answer, or raise InvalidInput."""
    try:
        message = json.loads(response.partition(b"\r\n\r\n")[2])
    except (ValueError, RecursionError):
        message = None
    match message:
        case {"error": {"message": str() as problem}}:
            remedy = "; name a key file with --key-file" if re.match(rb"HTTP/1.\d 401 ", response) else ""
            raise InvalidInput(f"the server says: {problem}{remedy}")
        case {"result": {"isError": True, "structuredContent": {"message": str() as problem}}}:
            raise InvalidInput(f"the server says: {problem}")
        case {"result": {"structuredContent": {"packed": [], "text": str()} as answer}}:
            return HookAnswer("", is_empty=answer.get("left_out") == {})
        case {"result": {"structuredContent": {"packed": list(), "text": str() as text}, **result}}:
            return HookAnswer(text, _parse_rating_hint(result.get("content")))
        case _:
            raise InvalidInput(
                f"the server at {address} is not the MCP server of recollect, whose address ends in /mcp"
            )


def _parse_rating_hint(content: Any) -> str:
    """Return the server's feedback hint if the caller may give feedback; ignore other text."""
    match content:
        case [_, {"text": str() as line}] if re.fullmatch(rf"{re.escape(FEEDBACK_PREFIX)}[\w-]{{1,64}}", line):
            return line
        case _:
            return ""
