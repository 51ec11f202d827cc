"""recollect hook: what a coding agent is told before it begins, in time or not at all."""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import urlsplit

import click

from recollect.errors import InvalidInput, RecollectError, show
from recollect.model.wording import printable

if TYPE_CHECKING:
    from recollect.cli.place import Place

EVENTS: Mapping[str, str] = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""What can be hooked, and what coding agents call it."""

LONGEST: Final = 4_000
"""How many characters of a prompt are asked about: what is wanted is said there."""

LARGEST: Final = 16_777_216
"""How many bytes of a hook or of an answer are read at most."""

OLDEST: Final = 60.0
"""How many seconds ago a process can have begun that has come no further than this."""

REVISION: Final = "2026-07-28"
"""The revision of MCP that a server is asked in: one request, one answer, and nothing before."""


class Aside(click.Command):
    """A command that is in nobody's way: what is typed wrong is told, and is no failure."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            say_aside(error.format_message())
            ctx.exit(0)


@click.command(cls=Aside, short_help="Tell a coding agent what is known, in time or not at all.")
@click.argument("event", type=click.Choice(list(EVENTS)))
@click.option("--scope", metavar="S", required=True, help="Whose memory, as acme/ana.")
@click.option(
    "--budget-ms",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="After how many milliseconds of the process it steps aside.",
)
@click.option(
    "--tokens", type=click.IntRange(min=1), metavar="N", default=800, show_default=True, help="The budget in tokens."
)
@click.option("--server", metavar="URL", help="Ask a running server, as http://127.0.0.1:8765/mcp, not the store.")
@click.option("--key-file", metavar="FILE", help="The file with the key or the token that the server wants.")
@click.pass_obj
def hook(place: "Place", /, **asked: Any) -> None:
    """Read the JSON of a hook on standard input, and print what is known as its additional context.

    EVENT is session-start or prompt. If there is no answer in time, or anything is wrong, nothing is printed but a line
    on standard error, and the exit code is 0: an agent never waits for its memory.

    \b
    recollect hook prompt --scope acme/ana --server http://127.0.0.1:8765/mcp
    """
    answer(lambda: nullcontext(place), **asked)


Where = Callable[[], "AbstractContextManager[Place]"]
"""The place of the store, once it is needed."""


def answer(where: Where, *, budget_ms: int, **asked: Any) -> NoReturn:
    """Answer a hook in time, or step aside.

    A child does the work, so that nothing it is busy with holds up the process that the agent waits for. It goes on
    when the answer is told, to close the store well, and is ended when the time is over.
    """
    if not hasattr(os, "fork"):
        say_aside("this system cannot fork, and nothing else is sure to end in time")
        os._exit(0)
    until = time.monotonic() + budget_ms / 1000 - age()
    ours, childs = os.pipe()
    child = os.fork()
    if child == 0:
        _work(partial(_answering, where, **asked), childs)
    os.close(childs)
    told = _wait(ours, until)
    match told:
        case {"line": str() as line}:
            os.write(1, line.encode() + b"\n")
        case {"why": str() as why}:
            say_aside(why)
        case None:
            os.kill(child, signal.SIGKILL)
            say_aside(f"there was no answer within {budget_ms} ms; --budget-ms gives it more")
        case _:
            pass
    os._exit(0)  # at once: there is nothing to tidy up, and that would take its time


def _work(answering: "Callable[[], AbstractContextManager[str | None]]", told: int) -> NoReturn:
    """Tell the answer or why there is none, which nobody else hears of, and end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        with answering() as line:
            _tell(told, {"line": line})
    except BaseException as error:  # whatever it is, the agent goes on
        _tell(told, {"why": why_not(error)})
    finally:
        os._exit(0)


def why_not(error: BaseException) -> str:
    """Why there is no answer; of a fault of ours its kind and its place, and nothing of what it was about."""
    if isinstance(error, RecollectError | OSError):
        return str(error) or type(error).__name__
    places = import_module("recollect.service.faults").frames(error.__traceback__)
    return f"something went wrong that should not: {type(error).__name__} at {', '.join(places[-1:])}"


def _tell(file: int, told: Mapping[str, str | None]) -> None:
    """Tell it whole; a second time there is nobody to hear it."""
    with suppress(OSError), open(file, "wb") as heard:
        heard.write(json.dumps(told).encode())


def _wait(file: int, until: float) -> Mapping[str, Any] | None:
    """What is told until a moment; nothing, if it is over before the end of it."""
    heard = bytearray()
    while select.select([file], [], [], max(until - time.monotonic(), 0.0))[0]:
        if not (part := os.read(file, 65_536)):
            told: Mapping[str, Any] = json.loads(heard) if heard else {"why": "it ended without an answer"}
            return told
        heard += part
    return None


@contextmanager
def _answering(
    where: Where, *, event: str, scope: str, tokens: int, server: str | None, key_file: str | None
) -> Iterator[str | None]:
    """The line that answers the hook; none, if nothing is known."""
    told = _read(sys.stdin.buffer.read(LARGEST + 1))
    given: dict[str, Any] = {"scope": scope, "tokens": tokens}
    if event == "prompt":
        given["query"] = _prompt(told)
    name = "recall" if event == "prompt" else "brief"
    asking = _from_store(where, name, given) if server is None else _from_server(server, key_file, name, given)
    with asking as text:
        said = {"hookEventName": EVENTS[event], "additionalContext": text}
        yield json.dumps({"hookSpecificOutput": said}) if text else None


def say_aside(why: str) -> None:
    """One line on why nothing is recalled."""
    line = f"recollect hook: nothing is recalled this time: {printable(' '.join(why.split()))[:500]}\n"
    os.write(2, line.encode("utf-8", "backslashreplace"))


def age() -> float:
    """How many seconds ago this process began; none, where the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        found = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return found if 0.0 <= found <= OLDEST else 0.0


def _read(said: bytes) -> Mapping[str, Any]:
    if len(said) > LARGEST:
        raise InvalidInput(f"the hook has more than {LARGEST} bytes")
    try:
        told = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"what the hook says is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise InvalidInput(f"what the hook says is {show(told)}, and no JSON object")
    return told


def _prompt(told: Mapping[str, Any]) -> str:
    prompt = told.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("the hook has no prompt")
    return prompt.strip()[:LONGEST]


@contextmanager
def _from_store(where: Where, name: str, given: dict[str, Any]) -> Iterator[str]:
    """What the store says; it is closed once that is told."""
    with where() as place, place.there() as engine:
        query = given.pop("query", None)
        yield (engine.brief(**given) if name == "brief" else engine.recall(query, **given)).text


@contextmanager
def _from_server(address: str, key_file: str | None, name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """What a running server says."""
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname is None:
        raise InvalidInput(f"{show(address)} is no address of a server; write http://127.0.0.1:8765/mcp")
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
    }
    if key_file is not None:
        headers["Authorization"] = f"Bearer {_key_in(key_file)}"
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": dict(given), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection = import_module("http.client").HTTPConnection(parts.hostname, parts.port, timeout=OLDEST)
    connection.request("POST", parts.path or "/", body, headers)
    yield _answered(connection.getresponse().read(LARGEST))


def _key_in(file: str) -> str:
    """The key in a file; nothing of what is in it is told if it is none."""
    try:
        key = Path(file).expanduser().read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the key file {show(file)} cannot be read: {type(error).__name__}") from None
    if not key or not key.isprintable() or " " in key:
        raise InvalidInput(f"the key file {show(file)} has no key, or more than that")
    return key


def _answered(body: bytes) -> str:
    """The text of an answer that has memories; nothing, if it has none."""
    told = _read(body)
    if "error" in told:
        raise InvalidInput(f"the server says: {told['error']['message']}")
    if "result" not in told:
        raise InvalidInput("what answers there is no MCP; the address of a server ends in /mcp")
    answer = told["result"]["structuredContent"]
    if told["result"].get("isError"):
        raise InvalidInput(f"the server says: {answer['message']}")
    return answer["text"] if answer["packed"] else ""
