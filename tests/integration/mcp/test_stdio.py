"""The process that speaks over standard input and output: only the protocol goes out, and it ends well."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.mcp.stdio import LONGEST, TooLong, read_lines

from .rig import command, environment

SCOPE = "acme/ana"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(id: int, method: str, **params: Any) -> bytes:
    """One line of the present revision."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}).encode()


def tool(id: int, name: str, **arguments: Any) -> bytes:
    """One call."""
    return request(id, "tools/call", name=name, arguments=arguments)


def piped(path: Path, *lines: bytes) -> tuple[list[dict[str, Any]], str]:
    """What is answered to lines that are all there is, and what is said beside it."""
    done = subprocess.run(
        command(path, "--scope", SCOPE), input=b"\n".join(lines), capture_output=True, env=environment(), timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def remembered(path: Path) -> list[str]:
    with recollect.open(path, embedder="hashing") as engine:
        return [one.text for one in engine.memories(scope=SCOPE)]


def test_whoever_says_all_at_once_and_ends_is_answered_all_and_the_store_is_closed_well(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    answers, said = piped(path, request(1, "tools/list"), *(tool(n, "remember", text=f"fact {n}") for n in range(2, 9)))
    assert sorted(one["id"] for one in answers) == list(range(1, 9))
    assert all("result" in one for one in answers)
    assert said == ""
    assert sorted(remembered(path)) == [f"fact {n}" for n in range(2, 9)]
    assert not list(tmp_path.glob("*-wal"))


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(tmp_path: Path) -> None:
    garbage = [b"garbage", b"\xff", b"", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1}', b"x" * (LONGEST + 1)]
    answers, _ = piped(tmp_path / "agent.db", *garbage, tool(7, "stats"))
    errors = [one["error"]["code"] for one in answers if "error" in one]
    assert errors == [-32700, -32700, -32700, -32700, -32600]
    assert [one["id"] for one in answers if "result" in one] == [7]


def test_a_store_that_cannot_be_opened_is_the_problem_of_each_call_and_not_of_the_list(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    path.write_bytes(b"no store of ours, by any means" * 100)
    answers, said = piped(path, request(1, "tools/list"), tool(2, "stats"))
    told = {one["id"]: one["result"] for one in answers}
    assert told[1]["tools"]
    assert told[2]["isError"]
    assert told[2]["structuredContent"]["code"] == "store"
    (line,) = map(json.loads, said.splitlines())
    assert (line["level"], line["event"]) == ("warning", "store_not_opened")
    assert line["problem"] == told[2]["structuredContent"]["message"]


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_store_well_and_is_no_failure(told: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with subprocess.Popen(
        command(path, "--scope", SCOPE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(tool(1, "remember", text="fact 1") + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["structuredContent"]["verdict"] == "created"
        process.send_signal(told)
        rest, said = process.communicate(timeout=60)
        assert (process.returncode, rest, said) == (0, b"", b"")
    assert remembered(path) == ["fact 1"]
    assert not list(tmp_path.glob("*-wal"))


def test_lines_are_read_as_they_come_and_one_that_is_too_long_is_only_told_of(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\n" + b"x" * 200_000 + b"\n\ntwo\n" + b"y" * 11 + b"\nlast")
    with file.open("rb") as opened:
        found = [one if isinstance(one, bytes) else TooLong for one in read_lines(opened.fileno(), 10)]
    assert found == [b"one", TooLong, b"", b"two", TooLong, b"last"]
