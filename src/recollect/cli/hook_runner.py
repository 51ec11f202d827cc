"""What a coding agent waits for: its hook is answered in time, or stepped aside for, and never fails."""

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from recollect.cli.hook_client import HookAnswer, connect_to_server, describe_os_error
from recollect.errors import InvalidInput, RecollectError, list_frames, show
from recollect.model.format import FEEDBACK_PREFIX, make_printable

if TYPE_CHECKING:
    from recollect.cli.target import StoreTarget

    OpenTarget = Callable[[], AbstractContextManager[StoreTarget]]
    """The place of the store, once it is needed."""

    CallTool = Callable[[str, Mapping[str, Any]], HookAnswer]
    """What gives what is found."""

    ChildReply = Mapping[str, str]
    """What the child tells: the `line` to print, `why` there is none, or that all is `empty`; or nothing."""

HOOK_EVENTS: Mapping[str, str] = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""What can be hooked, and what coding agents call it."""

DEFAULT_BUDGET_MS: Final = 200
"""How many milliseconds of the process a hook takes, unless told otherwise."""

MAX_BUDGET_MS: Final = 600_000
"""How many it takes at most."""

DEFAULT_TOKENS: Final = 800
"""How many tokens are asked for, unless told otherwise."""

MAX_PROMPT_CHARS: Final = 4_000
"""How many characters of a prompt are asked about: what is wanted is said there."""

MAX_INPUT_BYTES: Final = 16_777_216
"""How many bytes of a hook are read at most."""

MAX_OUTPUT_BYTES: Final = 65_536
"""How many bytes are printed at most: what an empty pipe takes, whether or not anybody reads."""

PIPE_CHUNK_BYTES: Final = 4_096
"""How many bytes a pipe takes at once if it takes any; whoever prints no more than that is never held up."""

MAX_PROCESS_AGE_SECONDS: Final = 60.0
"""How many seconds ago a process can have begun that has come no further than this."""

HOOK_OPTIONS: Mapping[str, str] = {
    "--scope": "scope",
    "--budget-ms": "budget_ms",
    "--tokens": "tokens",
    "--server": "server",
    "--key-file": "key_file",
}
"""What a hook can be told, and as what it is known here."""


def parse_plain_arguments(typed: Sequence[str]) -> dict[str, Any] | None:
    """What is typed, read without anything that takes its time to load; nothing if it is wrong or out of the way."""
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
    """The number that is said in digits; 0 for what is none."""
    if isinstance(said, int):
        return said
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0


def run_hook(where: "OpenTarget", *, budget_ms: int, **asked: Any) -> NoReturn:
    """Answer a hook in time, or step aside; whatever happens, it is no failure."""
    until = 0.0
    try:
        _open_closed_streams()
        until = time.monotonic() + budget_ms / 1000 - read_process_age()
        whence = "" if asked["server"] is None else f" from {asked['server']}"
        late = f"there was no answer within {budget_ms} ms{whence}; --budget-ms gives it more"
        _call_with_deadline(until, late, partial(_answer_hook, where, **asked))
    except Exception as error:  # the outermost door: whatever it is, the agent goes on
        warn_skipped(describe_failure(error), until)
    finally:
        os._exit(0)  # at once: there is nothing to tidy up, and that would take its time


def _open_closed_streams() -> None:
    """Open what is closed of standard input, output and error, lest a pipe of ours takes its place."""
    for file in range(3):
        try:
            os.fstat(file)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _call_with_deadline(until: float, late: str, answering: "Callable[[], AbstractContextManager[ChildReply]]") -> None:
    """Have a child do the work, so that nothing it is busy with holds up the process that the agent waits for.

    It goes on when the answer is told, to close the store well, and is ended when the time is over.
    """
    if not hasattr(os, "fork"):
        warn_skipped("this system cannot fork, and nothing else is sure to end in time")
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
    """Tell the answer or why there is none, which nobody else hears of, and end."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with answering() as found:
            _send_reply(told, found)
    except BaseException as error:  # whatever it is, the agent goes on
        _send_reply(told, {"why": describe_failure(error)})
    finally:
        os._exit(0)


def describe_failure(error: BaseException) -> str:
    """Why there is no answer; of a fault of ours its kind and its place, and nothing of what it was about."""
    if isinstance(error, RecollectError):
        return str(error) or type(error).__name__
    if isinstance(error, OSError):
        return describe_os_error(error)
    places = list_frames(error)
    return f"something went wrong that should not: {type(error).__name__} at {', '.join(places[-1:])}"


def _send_reply(file: int, told: "ChildReply") -> None:
    """Tell it whole; a second time there is nobody to hear it."""
    with suppress(OSError), open(file, "wb") as heard:
        heard.write(json.dumps(told).encode())


def _read_reply(file: int, until: float) -> Mapping[str, Any] | None:
    """What is told until a moment; nothing, if it is over before the end of it."""
    heard = bytearray()
    while select.select([file], [], [], max(until - time.monotonic(), 0.0))[0]:
        if not (part := os.read(file, 65_536)):
            try:
                told: Mapping[str, Any] = json.loads(heard)
            except ValueError:
                return {"why": "it ended without an answer"}
            return told
        heard += part
    return None


def _write_stdout(line: bytes, until: float) -> None:
    """Print all of the line, as long as there is time or room for it."""
    rest = line
    while rest and select.select([], [1], [], max(until - time.monotonic(), 0.0))[1]:
        rest = rest[os.write(1, rest[:PIPE_CHUNK_BYTES]) :]
    if len(rest) == len(line):
        warn_skipped("nobody has taken the answer in time from standard output")
    elif rest:
        warn_skipped(f"only {len(line) - len(rest)} of {len(line)} bytes were taken in time", what="the answer is cut")


def warn_skipped(why: str, until: float = 0.0, *, what: str = "nothing is recalled this time") -> None:
    """One line on why nothing is recalled."""
    write_stderr(f"{what}: {why}", until)


def write_stderr(what: str, until: float = 0.0) -> None:
    """One line on standard error, if anybody can hear it and there is room for it by then, or else at once."""
    line = f"recollect hook: {make_printable(what)[:550]}\n"
    with suppress(OSError):
        if select.select([], [2], [], max(until - time.monotonic(), 0.0))[1]:
            os.write(2, line.encode("utf-8", "backslashreplace"))


def read_process_age() -> float:
    """How many seconds ago this process began; none, where the system does not tell."""
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
    """What answers the hook: a line, nothing if nothing is known, or that the scope is empty when a session begins."""
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
                f"what is known takes {len(line)} bytes, and {MAX_OUTPUT_BYTES} can be told; --tokens asks for less"
            )
        if found.prompt_text:
            yield {"line": line}
        else:
            yield {"empty": f"nothing is kept in {scope} yet"} if found.is_empty and event != "prompt" else {}


def _parse_hook_input(said: bytes) -> Mapping[str, Any]:
    if len(said) > MAX_INPUT_BYTES:
        raise InvalidInput(f"the hook has more than {MAX_INPUT_BYTES} bytes")
    if not said.strip():
        raise InvalidInput("nothing is said on standard input; the agent's hook belongs there as JSON")
    try:
        told = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"what the hook says is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise InvalidInput(f"what the hook says is {show(told)}, and no JSON object")
    return told


def _read_prompt(told: Mapping[str, Any]) -> str:
    prompt = told.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("the hook has no prompt")
    return prompt.strip()[:MAX_PROMPT_CHARS]


@contextmanager
def _connect_to_store(where: "OpenTarget") -> "Iterator[CallTool]":
    """What asks the store, which is opened when it is asked, and closed once the answer is told."""
    with ExitStack() as opened:

        def ask(name: str, given: Mapping[str, Any]) -> HookAnswer:
            engine = opened.enter_context(opened.enter_context(where()).open_existing())
            about = {field: value for field, value in given.items() if field != "query"}
            context = engine.brief(**about) if name == "brief" else engine.recall(given["query"], **about)
            rated = "" if context.id is None else f"{FEEDBACK_PREFIX}{context.id}"
            return HookAnswer(context.text, rated, not (context.packed or context.omitted or context.ranking.excluded))

        yield ask
