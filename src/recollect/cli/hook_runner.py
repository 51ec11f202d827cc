"""Runs the hook of a coding agent: answers within a deadline and never fails.

A forked child does the work and the parent enforces the deadline. The answer comes from the store, or from a running
server with one MCP request over a plain socket. This module imports little, because its import time counts against the
deadline.
"""

import json
import os
import re
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from recollect.errors import InvalidInput, RecollectError, list_frames, show
from recollect.model.format import FEEDBACK_PREFIX, make_printable


class HookAnswer(NamedTuple):
    """The answer to a hook: text for a model, how to rate it, and whether the store had nothing."""

    text: str
    rating_hint: str = ""
    is_empty: bool = False

    @property
    def prompt_text(self) -> str:
        """All text for the model; empty if there are no memories."""
        return "\n".join(filter(None, (self.text, self.rating_hint))) if self.text else ""


if TYPE_CHECKING:
    from recollect.cli.options import StoreTarget

    OpenTarget = Callable[[], AbstractContextManager[StoreTarget]]
    """Opens the store target when it is needed."""

    CallTool = Callable[[str, Mapping[str, Any]], HookAnswer]
    """Calls a recall tool of the store or server."""

    ChildReply = Mapping[str, str]
    """The child's reply: a `line` to print, `why` there is none, an `empty` note, or no keys."""

HOOK_EVENTS: Mapping[str, str] = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""The hook events, and the names that coding agents give them."""

DEFAULT_BUDGET_MS: Final = 200
"""Default time limit, in milliseconds since the process started."""

MAX_BUDGET_MS: Final = 600_000
"""Largest time limit that can be set."""

DEFAULT_TOKENS: Final = 800
"""Default token budget."""

MAX_PROMPT_CHARS: Final = 4_000
"""Maximum number of characters of a prompt used as the query; its start has the request."""

MAX_INPUT_BYTES: Final = 16_777_216
"""Maximum number of bytes read from standard input."""

MAX_OUTPUT_BYTES: Final = 65_536
"""Maximum number of bytes printed; an empty pipe takes that many without a reader."""

PIPE_CHUNK_BYTES: Final = 4_096
"""Bytes written to a pipe at once: a writable pipe takes this many without blocking."""

MAX_PROCESS_AGE_SECONDS: Final = 60.0
"""Largest plausible age of this process; a larger measurement is ignored."""

HOOK_OPTIONS: Mapping[str, str] = {
    "--scope": "scope",
    "--budget-ms": "budget_ms",
    "--tokens": "tokens",
    "--server": "server",
    "--key-file": "key_file",
}
"""The options of a hook, and their parameter names."""


def parse_plain_arguments(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Parse the arguments without slow imports; None if they are wrong or unusual."""
    options: dict[str, Any] = {"event": None, "scope": None, "budget_ms": DEFAULT_BUDGET_MS, "tokens": DEFAULT_TOKENS}
    options |= {"server": None, "key_file": None}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word in HOOK_EVENTS and options["event"] is None:
            options["event"] = word
        elif name in HOOK_OPTIONS:
            options[HOOK_OPTIONS[name]] = value if equals else next(words, None)
            if options[HOOK_OPTIONS[name]] is None:
                return None
        else:
            return None
    for name, maximum in (("budget_ms", MAX_BUDGET_MS), ("tokens", 10**9 - 1)):
        if not 1 <= (count := _parse_count(options[name])) <= maximum:
            return None
        options[name] = count
    return None if options["event"] is None or options["scope"] is None else options


def _parse_count(value: str | int) -> int:
    """Parse a count written in decimal digits; 0 if it is not one."""
    if isinstance(value, int):
        return value
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0


def run_hook(open_target: "OpenTarget", *, budget_ms: int, **options: Any) -> NoReturn:
    """Answer a hook before its deadline or print a warning; always exit with 0."""
    deadline = 0.0
    try:
        _open_closed_streams()
        deadline = time.monotonic() + budget_ms / 1000 - read_process_age()
        source = "" if options["server"] is None else f" from {options['server']}"
        late = f"no answer within {budget_ms} ms{source}; raise --budget-ms"
        _call_with_deadline(deadline, late, partial(_answer_hook, open_target, **options))
    except Exception as error:  # outermost handler: the agent must go on, whatever failed
        warn_skipped(describe_failure(error), deadline)
    finally:
        os._exit(0)  # exit at once: there is nothing to clean up, and cleaning up takes time


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null, so that no pipe gets their numbers."""
    for file in range(3):
        try:
            os.fstat(file)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _call_with_deadline(deadline: float, late: str, answer: "Callable[[], AbstractContextManager[ChildReply]]") -> None:
    """Run the work in a child process, so that nothing it does can delay the parent.

    Once the child has replied, it may finish closing the store. If there is no reply at the deadline, it is killed.
    """
    if not hasattr(os, "fork"):
        warn_skipped("this system has no fork, without which the hook cannot keep its deadline")
        return
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(answer, write_end)
    os.close(write_end)
    match _read_reply(read_end, deadline):
        case {"line": str() as line}:
            _write_stdout(line.encode() + b"\n", deadline)
        case {"why": str() as why}:
            warn_skipped(why, deadline)
        case {"empty": str() as empty}:
            write_stderr(empty, deadline)
        case None:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
            warn_skipped(late)
        case _:
            pass


def _run_child(answer: "Callable[[], AbstractContextManager[ChildReply]]", pipe: int) -> NoReturn:
    """Send the answer, or the reason there is none, to the parent, and exit."""
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        with answer() as reply:
            _send_reply(pipe, reply)
    except BaseException as error:  # the agent must go on, whatever failed
        _send_reply(pipe, {"why": describe_failure(error)})
    finally:
        os._exit(0)


def describe_failure(error: BaseException) -> str:
    """Describe why there is no answer.

    For an internal error only its type and location are given, never its data.
    """
    if isinstance(error, RecollectError):
        return str(error) or type(error).__name__
    if isinstance(error, OSError):
        return describe_os_error(error)
    frames = list_frames(error)
    return f"internal error: {type(error).__name__} at {', '.join(frames[-1:])}"


def _send_reply(pipe: int, reply: "ChildReply") -> None:
    """Write the reply to the pipe; a second reply is ignored because the pipe is closed."""
    with suppress(OSError), open(pipe, "wb") as file:
        file.write(json.dumps(reply).encode())


def _read_reply(pipe: int, deadline: float) -> Mapping[str, Any] | None:
    """Read the whole reply of the child, or return None at the deadline."""
    received = bytearray()
    while select.select([pipe], [], [], max(deadline - time.monotonic(), 0.0))[0]:
        if not (part := os.read(pipe, 65_536)):
            try:
                reply: Mapping[str, Any] = json.loads(received)
            except ValueError:
                return {"why": "the worker process ended without an answer"}
            return reply
        received += part
    return None


def _write_stdout(line: bytes, deadline: float) -> None:
    """Write the line to standard output until all is written or the deadline has passed."""
    rest = line
    while rest and select.select([], [1], [], max(deadline - time.monotonic(), 0.0))[1]:
        rest = rest[os.write(1, rest[:PIPE_CHUNK_BYTES]) :]
    if len(rest) == len(line):
        warn_skipped("stdout was not read before the deadline")
    elif rest:
        warn_skipped(
            f"stdout took only {len(line) - len(rest)} of {len(line)} bytes before the deadline", what="answer cut off"
        )


def warn_skipped(why: str, deadline: float = 0.0, *, what: str = "nothing recalled") -> None:
    """Print one line on why nothing was recalled."""
    write_stderr(f"{what}: {why}", deadline)


def write_stderr(message: str, deadline: float = 0.0) -> None:
    """Print one line on standard error if it takes output before the deadline."""
    line = f"recollect hook: {make_printable(message)[:550]}\n"
    with suppress(OSError):
        if select.select([], [2], [], max(deadline - time.monotonic(), 0.0))[1]:
            os.write(2, line.encode("utf-8", "backslashreplace"))


def read_process_age() -> float:
    """Return how many seconds ago this process started; 0 if the system does not report it."""
    try:
        with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # pathlib takes longer to load than all of this
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0.0 <= age <= MAX_PROCESS_AGE_SECONDS else 0.0


@contextmanager
def _answer_hook(
    open_target: "OpenTarget", *, event: str, scope: str, tokens: int, server: str | None, key_file: str | None
) -> "Iterator[ChildReply]":
    """Yield the reply to the hook: a line to print, a note that the scope is empty, or nothing.

    The note is given only at the start of a session.
    """
    with _connect_to_store(open_target) if server is None else connect_to_server(server, key_file) as call_tool:
        with open(0, "rb", closefd=False) as stdin:
            hook_input = _parse_hook_input(stdin.read(MAX_INPUT_BYTES + 1))
        arguments: dict[str, Any] = {"scope": scope, "tokens": tokens}
        if event == "prompt":
            arguments["query"] = _read_prompt(hook_input)
        answer = call_tool("recall" if event == "prompt" else "brief", arguments)
        fields = {"hookEventName": HOOK_EVENTS[event], "additionalContext": answer.prompt_text}
        line = json.dumps({"hookSpecificOutput": fields})
        if len(line) >= MAX_OUTPUT_BYTES:
            raise InvalidInput(
                f"the answer has {len(line)} bytes; at most {MAX_OUTPUT_BYTES} are allowed: lower --tokens"
            )
        if answer.prompt_text:
            yield {"line": line}
        else:
            yield {"empty": f"{scope} has no memories yet"} if answer.is_empty and event != "prompt" else {}


def _parse_hook_input(data: bytes) -> Mapping[str, Any]:
    if len(data) > MAX_INPUT_BYTES:
        raise InvalidInput(f"standard input has more than {MAX_INPUT_BYTES} bytes")
    if not data.strip():
        raise InvalidInput("standard input is empty; pass the hook's JSON there")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"standard input is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"standard input is {show(value)}, not a JSON object")
    return value


def _read_prompt(hook_input: Mapping[str, Any]) -> str:
    prompt = hook_input.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("the JSON on standard input has no prompt")
    return prompt.strip()[:MAX_PROMPT_CHARS]


@contextmanager
def _connect_to_store(open_target: "OpenTarget") -> "Iterator[CallTool]":
    """Yield a function that queries the store, which is opened on the first call.

    The store is closed after the answer was sent.
    """
    with ExitStack() as stack:

        def call_tool(name: str, arguments: Mapping[str, Any]) -> HookAnswer:
            engine = stack.enter_context(stack.enter_context(open_target()).open_existing())
            options = {field: value for field, value in arguments.items() if field != "query"}
            context = engine.brief(**options) if name == "brief" else engine.recall(arguments["query"], **options)
            rating_hint = "" if context.id is None else f"{FEEDBACK_PREFIX}{context.id}"
            return HookAnswer(
                context.text, rating_hint, not (context.packed or context.omitted or context.ranking.excluded)
            )

        yield call_tool


MAX_ANSWER_BYTES: Final = 1_048_576
"""Maximum number of bytes read from a server's answer."""

SERVER_TIMEOUT_SECONDS: Final = 600.0
"""Socket timeout in seconds; the parent's deadline usually comes first."""

MCP_REVISION: Final = "2026-07-28"
"""The MCP revision requested: it answers one request without a handshake."""

SERVER_ADDRESS_PATTERN: Final = r"http://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?(/[!-~]*)?"
"""The form of a server address: host, port and path."""


@contextmanager
def connect_to_server(address: str, key_file: str | None) -> Iterator[Callable[[str, Mapping[str, Any]], HookAnswer]]:
    """Connect to the server, and yield a function that calls one of its tools."""
    parts = re.fullmatch(SERVER_ADDRESS_PATTERN, address)
    if parts is None or int(parts[2] or 80) > 65_535:
        raise InvalidInput(f"{show(address)} is not a server address; write http://127.0.0.1:8765/mcp")
    key = None if key_file is None else _read_key(key_file)
    host = parts[1] if parts[2] is None else f"{parts[1]}:{parts[2]}"
    with _connect(parts[1].strip("[]"), int(parts[2] or 80), f"http://{host}") as connection:

        def call_tool(name: str, arguments: Mapping[str, Any]) -> HookAnswer:
            try:
                connection.sendall(_build_request(host, parts[3] or "/", key, name, arguments))
                response = _read_response(connection)
            except OSError as error:
                raise InvalidInput(
                    f"the connection to http://{host} failed: {describe_os_error(error)}; try again"
                ) from error
            return _parse_response(response, address)

        yield call_tool


def describe_os_error(error: OSError) -> str:
    """Describe a system error and the file it is about."""
    problem = error.strerror or type(error).__name__
    return problem if error.filename is None else f"{problem}: {show(error.filename)}"


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


def _connect(host: str, port: int, address: str) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=SERVER_TIMEOUT_SECONDS)
    except ConnectionRefusedError:
        raise InvalidInput(f"no server at {address}; start it with `recollect serve`") from None
    except (OSError, UnicodeError) as error:
        why = describe_os_error(error) if isinstance(error, OSError) else "invalid host name"
        raise InvalidInput(f"the server at {address} cannot be reached ({why}); check --server") from error


def _build_request(host: str, path: str, key: str | None, name: str, arguments: Mapping[str, Any]) -> bytes:
    """Build an HTTP/1.0 request, which is answered in one piece on a closing connection."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": dict(arguments), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = [
        f"POST {path} HTTP/1.0",
        f"Host: {host}",
        "Accept: application/json",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"MCP-Protocol-Version: {MCP_REVISION}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {name}",
        *([] if key is None else [f"Authorization: Bearer {key}"]),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def _read_response(connection: socket.socket) -> bytes:
    """Read a response up to its Content-Length, or until the connection ends."""
    response = bytearray()
    while part := connection.recv(65_536):
        response += part
        if len(response) > MAX_ANSWER_BYTES:
            raise InvalidInput(f"the answer of the server has more than {MAX_ANSWER_BYTES} bytes; lower --tokens")
        head, blank, body = response.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?:\r\n|$)", head)
        if blank and length is not None and len(body) >= int(length[1]):
            break
    return bytes(response)


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
