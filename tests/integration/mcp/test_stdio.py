"""The process that speaks over standard input and output: only the protocol goes out, and it ends well."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp_types import JSONRPCRequest

import recollect
from recollect.server.mcp.stdio_transport import (
    CHUNK_BYTES,
    DEFAULT_MAX_LINE_BYTES,
    EDGE_BYTES,
    OversizedLine,
    read_lines,
)
from tests.integration.providers.server import Handler, Request, saying, serving, well
from tests.tables import table

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


def piped(path: Path, *lines: bytes, **settings: str) -> tuple[list[dict[str, Any]], str]:
    """What is answered to lines that are all there is, and what is said beside it."""
    done = subprocess.run(
        command(path, "--scope", SCOPE),
        input=b"\n".join(lines),
        capture_output=True,
        env={**environment(), **settings},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def in_turn(path: Path, *lines: bytes, **settings: str) -> tuple[list[dict[str, Any]], str]:
    """The same for lines of which each is said when the one before it is answered."""
    with subprocess.Popen(
        command(path, "--scope", SCOPE),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(), **settings},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for line in lines:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        rest, said = process.communicate(timeout=60)
        assert (process.returncode, rest) == (0, b""), said
    return answers, said.decode()


def remembered(path: Path) -> list[str]:
    with recollect.open(path, embedder="hashing") as engine:
        return [one.text for one in engine.memories(scope=SCOPE)]


def test_all_that_is_said_at_once_is_answered_and_the_store_is_closed_well(tmp_path: Path) -> None:
    path, twice = tmp_path / "agent.db", [1, *range(2, 9), *[2] * 7]
    facts = [tool(id, "remember", text=f"fact {number}") for number, id in enumerate(twice[1:])]
    answers, said = piped(path, request(1, "tools/list"), *facts)
    assert sorted(one["id"] for one in answers) == sorted(twice)  # under one id as often as it was asked
    assert all("result" in one for one in answers)
    assert said == ""
    assert sorted(remembered(path)) == sorted(f"fact {number}" for number in range(len(facts)))
    assert not list(tmp_path.glob("*-wal"))


NO_JSON, NO_MESSAGE = -32700, -32600
HALF_CHARACTER = b'{"jsonrpc": "2.0", "method": "x\\ud800", "id": %s}'
REFUSED = [
    (b"garbage", NO_JSON, None),
    (b"\xff", NO_JSON, None),
    (b"[" * 100_000, NO_JSON, None),
    (b'{"jsonrpc": "2.0", "id": 1}', NO_MESSAGE, 1),
    (b"x" * (DEFAULT_MAX_LINE_BYTES + 1), NO_MESSAGE, None),
    *(
        (tool(1, "remember", text="tea").replace(b'"id": 1', b'"id": ' + odd), NO_MESSAGE, None)
        for odd in (b"null", b"1.5", b"true", b"{}")
    ),
    (tool(5, "remember", text="tea\ud800"), NO_MESSAGE, 5),
    (request(6, "tools/\udfff"), NO_MESSAGE, 6),
    (tool(7, "stats", scope="\ud800"), NO_MESSAGE, 7),
    (HALF_CHARACTER % b'"ten"', NO_MESSAGE, "ten"),
    *((HALF_CHARACTER % odd, NO_MESSAGE, None) for odd in (b'"a\\ud800"', b"true", b"1" * 400, b"null")),
]
"""Lines that are no messages, or have an odd id or half a character, and by which code and id each is refused."""


def test_a_line_that_is_no_message_is_refused_and_the_next_one_answered(tmp_path: Path) -> None:
    begun = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    lines = [line for line, _, _ in REFUSED]
    answers, _ = piped(tmp_path / "agent.db", *lines[:2], b"", begun, *lines[2:], tool(8, "stats"))
    errors = [(one["error"]["code"], one["id"]) for one in answers if "error" in one]
    assert errors == [(code, id) for _, code, id in REFUSED]
    assert [one["id"] for one in answers if "result" in one] == [8]
    assert remembered(tmp_path / "agent.db") == []


def test_a_line_may_be_as_long_as_the_settings_say(tmp_path: Path) -> None:
    lines = [
        tool(1, "remember", text="tea " * 25_000),
        tool(2, "remember", text="tea " * 20_000),
        b'{"t": "%s", "id": "\xff"}' % (b"x" * 95_000),
        tool(7, "stats"),
    ]
    answers, said = piped(tmp_path / "agent.db", *lines, RECOLLECT_SERVER_BODY_BYTES="90000")
    told = {one["id"]: one for one in answers}
    assert sorted(map(str, told)) == ["1", "2", "7", "None"]
    assert all("more than 90000 bytes" in told[id]["error"]["message"] for id in (1, None))
    assert "result" in told[2]
    assert "result" in told[7]
    assert said == ""


def answering_late(handler: Handler, asked: Request) -> None:
    """Say nothing until the test has heard enough."""
    handler.told.over.wait()
    well(handler, asked)


def test_a_call_may_take_as_long_as_the_settings_say(tmp_path: Path) -> None:
    with serving(well, answering_late) as model:
        settings = {"RECOLLECT_SERVER_SECONDS": "0.5", "RECOLLECT_EMBEDDER": f"{model.url}#tiny"}
        command_line = [*command(tmp_path / "agent.db", "--scope", SCOPE)]
        with subprocess.Popen(
            command_line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment(), **settings},
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(tool(1, "remember", text="tea") + b"\n")
            process.stdin.flush()
            told = json.loads(process.stdout.readline())["result"]["structuredContent"]
            model.over.set()
            process.stdin.close()
            assert process.wait(60) == 0
    assert (told["code"], told["retryable"]) == ("overdue", True)
    assert "longer than 0.5 seconds" in told["message"]


def test_a_model_that_fails_is_said_on_standard_error_and_that_it_works_again(tmp_path: Path) -> None:
    with serving(well, saying({"error": "no such model"}, 404), well) as model:
        address = {"RECOLLECT_EMBEDDER": f"{model.url}#tiny"}
        calls = [tool(number, "remember", text=f"fact {number}") for number in (1, 2)]
        answers, said = in_turn(tmp_path / "agent.db", *calls, **address)
    assert [one["result"].get("isError", False) for one in answers] == [True, False]
    logged = [(one["event"], one["modes"]) for one in map(json.loads, said.splitlines())]
    assert logged == [("degraded", ["embedder failing"]), ("recovered", ["embedder failing"])]


def test_a_store_that_cannot_be_opened_is_the_problem_of_each_call_and_not_of_the_list(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    path.write_bytes(b"no store of ours, by any means" * 100)
    answers, said = piped(path, request(1, "tools/list"), tool(2, "stats"))
    told = {one["id"]: one["result"] for one in answers}
    assert told[1]["tools"]
    assert told[2]["isError"]
    assert told[2]["structuredContent"]["code"] == "store"
    (line,) = map(json.loads, said.splitlines())
    assert (line["level"], line["event"]) == ("warning", "store_open_failed")
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


def test_lines_are_read_as_they_come_and_of_one_that_is_too_long_only_the_edges_are_kept(tmp_path: Path) -> None:
    file, most = tmp_path / "lines", CHUNK_BYTES + 10
    longest, too_long = b"y" * most, b"y" * (most + 1)
    lines = [b"one", b"a" + b"x" * 200_000 + b"b", b"", b"two", longest, too_long, b"last", too_long]
    file.write_bytes(b"\n".join(lines))
    with file.open("rb") as opened:
        found = list(read_lines(opened, lambda: most))
    inner, edge = b"x" * (EDGE_BYTES - 1), b"y" * EDGE_BYTES
    assert found == [
        *(b"one", OversizedLine(b"a" + inner, inner + b"b"), b"", b"two"),
        *(longest, OversizedLine(edge, edge), b"last", OversizedLine(edge, edge)),
    ]


def test_the_limit_is_not_asked_for_by_lines_that_are_always_allowed(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"y" * CHUNK_BYTES + b"\nlast")
    with file.open("rb") as opened:
        assert [len(line) for line in read_lines(opened, pytest.fail) if isinstance(line, bytes)] == [CHUNK_BYTES, 4]


LONG = b'"params": {"name": "remember", "arguments": {"id": 3, "text": "%s"}}' % (b'{\\"id\\": 4}' * 500)


LONG_CLIENT_REQUEST = JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call", params={"text": "x" * 5_000})


@table(
    ("line", "id"),
    [
        (
            LONG_CLIENT_REQUEST.model_dump_json(by_alias=True, exclude_unset=True).encode(),
            2,
        ),  # as the official client writes it
        (b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", %s}' % LONG, 2),
        (b'{"id": "a-2", %s, "jsonrpc": "2.0"}' % LONG, "a-2"),
        (b'{"method": "tools/call", %s, "jsonrpc": "2.0", "id": 2}' % LONG, 2),
        (b'{"method": "tools/call", %s, "jsonrpc": "2.0", "id": "a-2"}' % LONG, "a-2"),
        (b'{"method": "tools/call", %s}' % LONG, None),
        (b'{"id": null, "method": "tools/call", %s}' % LONG, None),
        (b'{"id": 1%s}' % (b"0" * 5_000), None),
        (b'{"x": "%s", "id": 12345678}' % (b"x" * (EDGE_BYTES - 20)), 12345678),
        (b"x" * 5_000, None),
        (b"[" * 5_000, None),
        (b'%s, "id": "a\tb"}' % (b"x" * 5_000), None),
        (b'%s, "id": "\xff"}' % (b"x" * 5_000), None),
    ],
    ids=lambda one: str(one[:20]) if isinstance(one, bytes) else str(one),
)
def test_a_line_that_is_too_long_is_known_by_its_id_where_that_stands_at_an_edge(
    line: bytes, id: str | int | None
) -> None:
    assert OversizedLine(line[:EDGE_BYTES], line[-EDGE_BYTES:]).id == id
