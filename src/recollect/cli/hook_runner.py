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
        """All text for the model; empty if nothing is known."""
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
"""Maximum number of characters of a prompt used as the query; its start says what is wanted."""

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


def parse_plain_arguments(typed: Sequence[str]) -> dict[str, Any] | None:
    """Parse the arguments without slow imports; None if they are wrong or unusual."""
    asked: dict[str, Any] = {"event": None, "scope": None, "budget_ms": DEFAULT_BUDGET_MS, "tokens": DEFAULT_TOKENS}
    asked |= {"server": None, "key_file": None}
    words = iter(typed)
    for word in words:
        name, given, value = word.partition("=")
        if word in HOOK_EVENTS and asked["event"] is None:
            asked["event"] = word
        elif name in HOOK_OPTIONS:
            asked[HOOK_OPTIONS[name]] = value if given else next(words, None)
            if asked[HOOK_OPTIONS[name]] is None:
                return None
        else:
            return None
    for name, most in (("budget_ms", MAX_BUDGET_MS), ("tokens", 10**9 - 1)):
        if not 1 <= (count := _parse_count(asked[name])) <= most:
            return None
        asked[name] = count
    return None if asked["event"] is None or asked["scope"] is None else asked


def _parse_count(said: str | int) -> int:
    """Parse a count written in decimal digits; 0 if it is not one."""
    if isinstance(said, int):
        return said
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0


def run_hook(where: "OpenTarget", *, budget_ms: int, **asked: Any) -> NoReturn:
    """Answer a hook before its deadline or print a warning; always exit with 0."""
    until = 0.0
    try:
        _open_closed_streams()
        until = time.monotonic() + budget_ms / 1000 - read_process_age()
        whence = "" if asked["server"] is None else f" from {asked['server']}"
        late = f"no answer within {budget_ms} ms{whence}; raise --budget-ms"
        _call_with_deadline(until, late, partial(_answer_hook, where, **asked))
    except Exception as error:  # outermost handler: the agent must go on, whatever failed
        warn_skipped(describe_failure(error), until)
    finally:
        os._exit(0)  # exit at once: there is nothing to clean up, and cleaning up takes time


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null, so that no pipe gets their numbers."""
    for file in range(3):
        try:
            os.fstat(file)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _call_with_deadline(until: float, late: str, answering: "Callable[[], AbstractContextManager[ChildReply]]") -> None:
    """Run the work in a child process, so that nothing it does can delay the parent.

    Once the child has replied, it may finish closing the store. If there is no reply at the deadline, it is killed.
    """
    if not hasattr(os, "fork"):
        warn_skipped("this system has no fork, without which the hook cannot keep its deadline")
        return
    ours, childs = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(answering, childs)
    os.close(childs)
    match _read_reply(ours, until):
        case {"line": str() as line}:
            _write_stdout(line.encode() + b"\n", until)
        case {"why": str() as why}:
            warn_skipped(why, until)
        case {"empty": str() as empty}:
            write_stderr(empty, until)
        case None:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
            warn_skipped(late)
        case _:
            pass


def _run_child(answering: "Callable[[], AbstractContextManager[ChildReply]]", told: int) -> NoReturn:
    """Send the answer, or the reason there is none, to the parent, and exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with answering() as found:
            _send_reply(told, found)
    except BaseException as error:  # the agent must go on, whatever failed
        _send_reply(told, {"why": describe_failure(error)})
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
    places = list_frames(error)
    return f"internal error: {type(error).__name__} at {', '.join(places[-1:])}"


def _send_reply(file: int, told: "ChildReply") -> None:
    """Write the reply to the pipe; a second reply is ignored because the pipe is closed."""
    with suppress(OSError), open(file, "wb") as heard:
        heard.write(json.dumps(told).encode())


def _read_reply(file: int, until: float) -> Mapping[str, Any] | None:
    """Read the whole reply of the child, or return None at the deadline."""
    heard = bytearray()
    while select.select([file], [], [], max(until - time.monotonic(), 0.0))[0]:
        if not (part := os.read(file, 65_536)):
            try:
                told: Mapping[str, Any] = json.loads(heard)
            except ValueError:
                return {"why": "the worker process ended without an answer"}
            return told
        heard += part
    return None


def _write_stdout(line: bytes, until: float) -> None:
    """Write the line to standard output until all is written or the deadline has passed."""
    rest = line
    while rest and select.select([], [1], [], max(until - time.monotonic(), 0.0))[1]:
        rest = rest[os.write(1, rest[:PIPE_CHUNK_BYTES]) :]
    if len(rest) == len(line):
        warn_skipped("stdout was not read before the deadline")
    elif rest:
        warn_skipped(
            f"stdout took only {len(line) - len(rest)} of {len(line)} bytes before the deadline", what="answer cut off"
        )


def warn_skipped(why: str, until: float = 0.0, *, what: str = "nothing recalled") -> None:
    """Print one line on why nothing was recalled."""
    write_stderr(f"{what}: {why}", until)


def write_stderr(what: str, until: float = 0.0) -> None:
    """Print one line on standard error if it takes output before the deadline."""
    line = f"recollect hook: {make_printable(what)[:550]}\n"
    with suppress(OSError):
        if select.select([], [2], [], max(until - time.monotonic(), 0.0))[1]:
            os.write(2, line.encode("utf-8", "backslashreplace"))


def read_process_age() -> float:
    """Return how many seconds ago this process started; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # pathlib takes longer to load than all of this
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        found = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return found if 0.0 <= found <= MAX_PROCESS_AGE_SECONDS else 0.0


@contextmanager
def _answer_hook(
    where: "OpenTarget", *, event: str, scope: str, tokens: int, server: str | None, key_file: str | None
) -> "Iterator[ChildReply]":
    """Yield the reply to the hook: a line to print, a note that the scope is empty, or nothing.

    The note is given only at the start of a session.
    """
    with _connect_to_store(where) if server is None else connect_to_server(server, key_file) as ask:
        with open(0, "rb", closefd=False) as stdin:
            told = _parse_hook_input(stdin.read(MAX_INPUT_BYTES + 1))
        given: dict[str, Any] = {"scope": scope, "tokens": tokens}
        if event == "prompt":
            given["query"] = _read_prompt(told)
        found = ask("recall" if event == "prompt" else "brief", given)
        said = {"hookEventName": HOOK_EVENTS[event], "additionalContext": found.prompt_text}
        line = json.dumps({"hookSpecificOutput": said})
        if len(line) >= MAX_OUTPUT_BYTES:
            raise InvalidInput(
                f"the answer has {len(line)} bytes; at most {MAX_OUTPUT_BYTES} are allowed: lower --tokens"
            )
        if found.prompt_text:
            yield {"line": line}
        else:
            yield {"empty": f"{scope} has no memories yet"} if found.is_empty and event != "prompt" else {}


def _parse_hook_input(said: bytes) -> Mapping[str, Any]:
    if len(said) > MAX_INPUT_BYTES:
        raise InvalidInput(f"standard input has more than {MAX_INPUT_BYTES} bytes")
    if not said.strip():
        raise InvalidInput("standard input is empty; pass the hook's JSON there")
    try:
        told = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"standard input is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise InvalidInput(f"standard input is {show(told)}, not a JSON object")
    return told


def _read_prompt(told: Mapping[str, Any]) -> str:
    prompt = told.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("the JSON on standard input has no prompt")
    return prompt.strip()[:MAX_PROMPT_CHARS]


@contextmanager
def _connect_to_store(where: "OpenTarget") -> "Iterator[CallTool]":
    """Yield a function that queries the store, which is opened on the first call.

    The store is closed after the answer was sent.
    """
    with ExitStack() as opened:

        def ask(name: str, given: Mapping[str, Any]) -> HookAnswer:
            engine = opened.enter_context(opened.enter_context(where()).open_existing())
            about = {field: value for field, value in given.items() if field != "query"}
            context = engine.brief(**about) if name == "brief" else engine.recall(given["query"], **about)
            rated = "" if context.id is None else f"{FEEDBACK_PREFIX}{context.id}"
            return HookAnswer(context.text, rated, not (context.packed or context.omitted or context.ranking.excluded))

        yield ask


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

        def ask(name: str, given: Mapping[str, Any]) -> HookAnswer:
            try:
                connection.sendall(_build_request(host, parts[3] or "/", key, name, given))
                heard = _read_response(connection)
            except OSError as error:
                raise InvalidInput(
                    f"the connection to http://{host} failed: {describe_os_error(error)}; try again"
                ) from error
            return _parse_response(heard, address)

        yield ask


def describe_os_error(error: OSError) -> str:
    """Describe a system error and the file it is about."""
    said = error.strerror or type(error).__name__
    return said if error.filename is None else f"{said}: {show(error.filename)}"


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


def _build_request(host: str, path: str, key: str | None, name: str, given: Mapping[str, Any]) -> bytes:
    """Build an HTTP/1.0 request, which is answered in one piece on a closing connection."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": dict(given), "_meta": meta}
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
    heard = bytearray()
    while part := connection.recv(65_536):
        heard += part
        if len(heard) > MAX_ANSWER_BYTES:
            raise InvalidInput(f"the answer of the server has more than {MAX_ANSWER_BYTES} bytes; lower --tokens")
        head, blank, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?:\r\n|$)", head)
        if blank and length is not None and len(body) >= int(length[1]):
            break
    return bytes(heard)


def _parse_response(heard: bytes, address: str) -> HookAnswer:
    """Parse the response of the server into an answer, or raise InvalidInput."""
    try:
        told = json.loads(heard.partition(b"\r\n\r\n")[2])
    except (ValueError, RecursionError):
        told = None
    match told:
        case {"error": {"message": str() as problem}}:
            unlocked = "; name a key file with --key-file" if re.match(rb"HTTP/1.\d 401 ", heard) else ""
            raise InvalidInput(f"the server says: {problem}{unlocked}")
        case {"result": {"isError": True, "structuredContent": {"message": str() as problem}}}:
            raise InvalidInput(f"the server says: {problem}")
        case {"result": {"structuredContent": {"packed": [], "text": str()} as answer}}:
            return HookAnswer("", is_empty=answer.get("left_out") == {})
        case {"result": {"structuredContent": {"packed": list(), "text": str() as text}, **around}}:
            return HookAnswer(text, _parse_rating_hint(around.get("content")))
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
