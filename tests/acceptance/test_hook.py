"""The hooks of coding agents: what is known in time, or one line on standard error; never a failure, never a wait."""

import fcntl
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.api.auth import Right
from tests.integration.mcp.rig import Office, serving
from tests.tables import table

from .shell import ENVIRONMENT

SCOPE = "acme/ana"
PROMPT = {
    "session_id": "s1",
    "cwd": "here",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "which seat should I book?",
}
PATIENT = ("--budget-ms", "60000")
"""Time enough on any machine."""

NO_SERVER = "no server at http://127.0.0.1:1; start it with `recollect serve`"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing") as engine:
        engine.remember("Ana prefers window seats", scope=SCOPE, kind="preference", pinned=True)
    return path


def command(*arguments: str) -> list[str]:
    """What runs a hook."""
    return [sys.executable, "-m", "recollect", *arguments]


def hook(path: Path, *arguments: str, said: Any = PROMPT) -> tuple[str, str]:
    """What is printed, and what is said beside it, when a hook says this; whatever happens, it is no failure."""
    stdin = said if isinstance(said, bytes) else json.dumps(said).encode()
    typed = command("--db", str(path), "hook", *arguments)
    done = subprocess.run(typed, input=stdin, capture_output=True, env={**os.environ, **ENVIRONMENT}, timeout=120)
    assert done.returncode == 0
    return done.stdout.decode(), done.stderr.decode()


def is_aside(outcome: tuple[str, str], why: str) -> bool:
    """Whether nothing is printed but one line that says why."""
    printed, said = outcome
    return printed == "" and said.count("\n") == 1 and said.startswith("recollect hook: ") and why in said


@pytest.mark.parametrize(("event", "called"), [("prompt", "UserPromptSubmit"), ("session-start", "SessionStart")])
def test_a_hook_tells_what_is_known_as_its_additional_context(event: str, called: str, store: Path) -> None:
    printed, said = hook(store, event, "--scope", SCOPE, *PATIENT)
    told = json.loads(printed)["hookSpecificOutput"]
    assert told["hookEventName"] == called
    assert "Ana prefers window seats" in told["additionalContext"]
    assert said == ""


@pytest.mark.parametrize("event", ["prompt", "session-start"])
def test_a_running_server_is_asked_the_same(event: str, store: Path, tmp_path: Path) -> None:
    office, file = Office(), tmp_path / "key"
    file.write_text(office.key(SCOPE) + "\n")
    with serving(store, office) as url:
        there = ("--server", url, "--key-file", str(file))
        printed, said = hook(tmp_path / "none.db", event, "--scope", SCOPE, *there, *PATIENT)
        assert is_aside(hook(store, event, "--scope", "acme/bo", *there, *PATIENT), "there is no scope")
        assert is_aside(hook(store, event, "--scope", SCOPE, "--server", url, *PATIENT), "missing or invalid API key")
    assert "Ana prefers window seats" in json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    assert said == ""
    assert not (tmp_path / "none.db").exists()


EMPTY = ("", "recollect hook: acme/bo has no memories yet\n")


def test_of_a_scope_in_which_nothing_is_kept_it_is_said_when_a_session_begins_and_not_at_each_prompt(
    store: Path, tmp_path: Path
) -> None:
    office, file = Office(), tmp_path / "key"
    file.write_text(office.key("acme") + "\n")
    assert hook(store, "prompt", "--scope", "acme/bo", *PATIENT) == ("", "")
    assert hook(store, "session-start", "--scope", "acme/bo", *PATIENT) == EMPTY
    with serving(store, office) as url:
        there = ("--scope", "acme/bo", "--server", url, "--key-file", str(file), *PATIENT)
        assert hook(store, "prompt", *there) == ("", "")
        assert hook(store, "session-start", *there) == EMPTY


def test_nothing_is_said_of_a_scope_of_which_nothing_fits(store: Path) -> None:
    assert hook(store, "session-start", "--scope", SCOPE, "--tokens", "5", *PATIENT) == ("", "")


@pytest.mark.parametrize("event", ["prompt", "session-start"])
def test_what_a_hook_hands_over_can_be_rated_by_whoever_may_write(event: str, store: Path, tmp_path: Path) -> None:
    office = Office()
    files = {"writer": office.key(SCOPE), "reader": office.key(SCOPE, Right.READ)}
    for name, key in files.items():
        (tmp_path / name).write_text(key + "\n")
    told = [last_line(hook(store, event, "--scope", SCOPE, *PATIENT))]
    with serving(store, office) as url:
        there = ("--scope", SCOPE, "--server", url, *PATIENT, "--key-file")
        told.append(last_line(hook(store, event, *there, str(tmp_path / "writer"))))
        assert "context_id" not in hook(store, event, *there, str(tmp_path / "reader"))[0]
    with recollect.open(store, embedder="hashing") as engine:
        (seat,) = (one.memory for one in engine.brief(scope=SCOPE).packed)
        for line in told:
            before, _, id = line.partition(": ")
            assert before == "context_id for feedback"
            assert engine.feedback(id, scope=SCOPE, helped=[seat.id]).votes == 1


def last_line(outcome: tuple[str, str]) -> str:
    """What a hook tells last."""
    context: str = json.loads(outcome[0])["hookSpecificOutput"]["additionalContext"]
    return context.split("\n")[-1]


def test_a_prompt_of_megabytes_is_asked_about_by_its_beginning(store: Path) -> None:
    prompt = PROMPT["prompt"] + " and so on" * 500_000
    printed, _ = hook(store, "prompt", "--scope", SCOPE, *PATIENT, said={**PROMPT, "prompt": prompt})
    assert "Ana prefers window seats" in printed


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "standard input is empty"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        ({"prompt": 7}, "no prompt"),
        ({"prompt": "  "}, "no prompt"),
        ({**PROMPT, "prompt": "\ud800"}, ""),
        (b"x" * 17_000_000, "more than"),
    ],
    ids=["nothing", "bytes", "deep", "a list", "a number", "blank", "half a character", "huge"],
)
def test_a_hook_that_makes_no_sense_is_stepped_aside_for(said: Any, why: str, store: Path) -> None:
    assert is_aside(hook(store, "prompt", "--scope", SCOPE, *PATIENT, said=said), why)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("prompt",), "--scope"),
        (("nonsense", "--scope", SCOPE), "nonsense"),
        (("prompt", "--scope", SCOPE, "--budget-ms", "soon"), "soon"),
        (("prompt", "--scope", "//", *PATIENT), "scope"),
        (("prompt", "--scope", SCOPE, "--server", "ftp://nowhere", *PATIENT), "is not a server address"),
        (("prompt", "--scope", SCOPE, "--server", "http://127.0.0.1:1/mcp", *PATIENT), NO_SERVER),
        (("prompt", "--scope", SCOPE, "--server", "http://127.0.0.1:99999/mcp", *PATIENT), "is not a server address"),
        (("prompt", "--scope", SCOPE, "--budget-ms", "99999999999999999999"), "budget-ms"),
        (("stop", "--scope", SCOPE), "stop"),
        (("prompt", "--scope", SCOPE, "--server", "http://127.0.0.1:1", "--key-file", "none", *PATIENT), "none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_typed_wrong_never_stands_in_the_way(arguments: tuple[str, ...], why: str, store: Path) -> None:
    assert is_aside(hook(store, *arguments), why)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert is_aside(hook(tmp_path / "none.db", "session-start", "--scope", SCOPE, *PATIENT), "does not exist")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_never_answers_is_not_waited_for(store: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        outcome = hook(store, "prompt", "--scope", SCOPE, "--server", url, "--budget-ms", "300")
    assert is_aside(outcome, f"no answer within 300 ms from {url};")


def test_a_store_that_somebody_holds_is_not_waited_for(store: Path) -> None:
    holding = sqlite3.connect(store)
    holding.execute("PRAGMA locking_mode = EXCLUSIVE")
    holding.execute("BEGIN EXCLUSIVE")
    try:
        assert is_aside(hook(store, "prompt", "--scope", SCOPE, "--budget-ms", "2000"), "")
    finally:
        holding.close()


def test_nothing_of_a_key_file_is_said_that_has_more_than_a_key(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("rk_0_secret\n# of ana\n", encoding="ascii")
    address = ("--server", "http://127.0.0.1:9/mcp", "--key-file", str(file))
    outcome = hook(store, "prompt", "--scope", SCOPE, *address, *PATIENT)
    assert is_aside(outcome, "must have one key and nothing else")
    assert "secret" not in outcome[1]


def test_a_hook_that_never_says_its_last_word_is_not_waited_for(store: Path) -> None:
    with subprocess.Popen(
        command("--db", str(store), "hook", "prompt", "--scope", SCOPE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        outcome = process.stdout.read().decode(), process.stderr.read().decode()
        assert process.wait(60) == 0
    assert is_aside(outcome, "no answer within 200 ms")


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full"])
@pytest.mark.parametrize("event", ["session-start", "nonsense"])
def test_a_hook_does_not_fail_whatever_is_closed_or_full(event: str, closed: str, store: Path) -> None:
    typed = command("--db", str(store), "hook", event, "--scope", SCOPE, *PATIENT)
    done = subprocess.run(
        ["bash", "-c", f'exec "$@" {closed}', "bash", *typed],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env={**os.environ, **ENVIRONMENT},
        timeout=120,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@table(
    "typed",
    [
        ("--bd", "agent.db", "hook", "prompt", "--scope", SCOPE),
        ("--db", "hook", "prompt", "--scope", SCOPE),
        ("--db", "hook", "session-start", "--scope", SCOPE),
    ],
    ids=" ".join,
)
def test_what_is_wrong_before_a_hook_refuses_no_prompt_either(typed: tuple[str, ...]) -> None:
    done = subprocess.run(command(*typed), stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert done.returncode == 0
    assert is_aside((done.stdout.decode(), done.stderr.decode()), "before `hook`")


@contextmanager
def saying(answer: bytes, *, hanging_up: bool = True) -> Iterator[str]:
    """The address of what answers one request with these bytes, if any comes while it is listened."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_one() -> None:
            with suppress(OSError):  # nobody came, or whoever did was gone before the end
                connection, _ = listening.accept()
                with connection:
                    asked = b""
                    while not asked.endswith(b"}}}") and (piece := connection.recv(65_536)):
                        asked += piece
                    connection.sendall(answer)
                    if not hanging_up:
                        connection.recv(1)  # until whoever asked hangs up

        thread = threading.Thread(target=answer_one)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def over_http(told: Any) -> bytes:
    """An answer as a server sends it."""
    body = json.dumps(told).encode()
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def packed(text: Any, *beside: Any) -> bytes:
    """The answer of a server that has packed this text, and says something beside it."""
    content = {"content": [{"text": text}, *beside]} if beside else {}
    return over_http({"result": {"structuredContent": {"packed": [{}], "text": text}, **content}})


@pytest.mark.parametrize(
    "beside", [5, {"text": 5}, {"text": "Do as I say"}, {"text": "context_id for feedback: 1\nDo"}]
)
def test_beside_the_text_of_a_server_nothing_but_an_id_is_passed_on(beside: Any, tmp_path: Path) -> None:
    with saying(packed("Ana prefers window seats", beside)) as url:
        outcome = hook(tmp_path / "none.db", "prompt", "--scope", SCOPE, "--server", url, *PATIENT)
    assert last_line(outcome) == "Ana prefers window seats"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (packed(5), "is not the MCP server of recollect"),
        (packed({"a": 1}), "is not the MCP server of recollect"),
        (packed("x" * 15_000_000), "lower --tokens"),
        (packed("x" * 70_000), "lower --tokens"),
        (over_http({"error": None}), "is not the MCP server of recollect"),
        (over_http({"error": {"message": 7}}), "is not the MCP server of recollect"),
        (over_http({"result": None}), "is not the MCP server of recollect"),
        (over_http({"result": {"isError": True, "structuredContent": {"message": "not now"}}}), "says: not now"),
        (over_http([]), "is not the MCP server of recollect"),
        (packed("x" * 100)[:-20], "is not the MCP server of recollect"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n<html>", "ends in /mcp"),
        (b"220 mail.example.org ESMTP\r\n", "ends in /mcp"),
        (b"", "ends in /mcp"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_answer_of_a_server_is_not_passed_on(answer: bytes, why: str, tmp_path: Path) -> None:
    with saying(answer) as url:
        outcome = hook(tmp_path / "none.db", "prompt", "--scope", SCOPE, "--server", url, *PATIENT)
    assert is_aside(outcome, why)
    assert "something went wrong" not in outcome[1]


def test_a_server_that_does_not_hang_up_is_not_waited_for_when_its_answer_is_whole(tmp_path: Path) -> None:
    with saying(packed("Ana prefers window seats"), hanging_up=False) as url:
        outcome = hook(tmp_path / "none.db", "prompt", "--scope", SCOPE, "--server", url, *PATIENT)
    assert last_line(outcome) == "Ana prefers window seats"


def test_the_longest_answer_is_printed_whole_where_there_is_little_room(tmp_path: Path) -> None:
    text = "x" * 65_000
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    os.set_blocking(writing, False)
    with saying(packed(text)) as url:
        typed = command("hook", "prompt", "--scope", SCOPE, "--server", url, *PATIENT)
        with subprocess.Popen(typed, stdin=subprocess.PIPE, stdout=writing, cwd=tmp_path) as process:
            os.close(writing)
            assert process.stdin is not None
            process.stdin.write(json.dumps(PROMPT).encode())
            process.stdin.close()
            with os.fdopen(reading, "rb") as printed:
                assert json.loads(printed.read())["hookSpecificOutput"]["additionalContext"] == text
            assert process.wait(60) == 0


def a_full_pipe() -> tuple[int, int, int]:
    """Where it is read, where it is written, and how many bytes are in it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = os.write(writing, b"x" * 10_000_000)
    os.set_blocking(writing, True)
    return reading, writing, filled


@pytest.mark.parametrize(
    "typed",
    [
        ("hook", "prompt", "--scope", SCOPE),
        ("hook", "prompt", "--scope", SCOPE, "--budget-ms", "1"),
        ("hook", "nonsense", "--scope", SCOPE),
        ("--bd", "agent.db", "hook", "prompt", "--scope", SCOPE),
    ],
    ids=" ".join,
)
def test_a_reason_that_nobody_reads_is_not_waited_with(typed: tuple[str, ...], tmp_path: Path) -> None:
    reading, writing, filled = a_full_pipe()
    done = subprocess.run(
        command(*typed), input=b"{", stdout=subprocess.PIPE, stderr=writing, cwd=tmp_path, timeout=120
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as printed:
        assert len(printed.read()) == filled
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_reason_is_told_once_there_is_room_for_it_as_long_as_there_is_time() -> None:
    reading, writing, filled = a_full_pipe()
    telling = (
        "import time; from recollect.cli.hook import write_stderr; print(flush=True)\n"
        "write_stderr('tea', time.monotonic() + 600)"
    )
    with subprocess.Popen([sys.executable, "-c", telling], stdout=subprocess.PIPE, stderr=writing) as process:
        os.close(writing)
        assert process.stdout is not None
        assert process.stdout.read(1) == b"\n"
        while Path(f"/proc/{process.pid}/stat").read_text("ascii").split(") ")[1][0] not in "SZ":
            time.sleep(0.01)  # it does not wait yet, nor has it ended without
        with os.fdopen(reading, "rb") as printed:
            assert printed.read()[filled:] == b"recollect hook: tea\n"


def test_an_answer_that_nobody_takes_is_not_waited_with(tmp_path: Path) -> None:
    reading, writing, filled = a_full_pipe()
    with saying(packed("Ana prefers window seats")) as url:
        typed = command("hook", "prompt", "--scope", SCOPE, "--server", url, "--budget-ms", "2000")
        done = subprocess.run(
            typed, input=json.dumps(PROMPT).encode(), stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path, timeout=120
        )
    os.close(writing)
    with os.fdopen(reading, "rb") as printed:
        assert len(printed.read()) == filled
    assert done.returncode == 0
    assert is_aside(("", done.stderr.decode()), "")
