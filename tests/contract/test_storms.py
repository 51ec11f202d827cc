"""A storm on every face that writes: each write is sent three times, connections are cut, and one of each is kept."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from random import Random

import httpx
import pytest

import recollect
from tests.acceptance.shell import ENVIRONMENT
from tests.contract import cutting
from tests.contract.clients import PATIENCE, Face, Grpc, Http, Refusal, over_http
from tests.contract.cutting import Cutting, a_call
from tests.contract.local_clients import Python
from tests.contract.served import TOOLS, Served, serving
from tests.contract.storm import ONCE, Storm

CLIENTS = 6


@contextmanager
def http(served: Served) -> Iterator[tuple[Face, Cutting]]:
    with closing(Http(served)) as face:
        yield face, cutting.http(served)


@contextmanager
def mcp(served: Served) -> Iterator[tuple[Face, Cutting]]:
    with closing(over_http(served, "2026-07-28")) as face:
        yield face, cutting.mcp(served)


@contextmanager
def rpc(served: Served) -> Iterator[tuple[Face, Cutting]]:
    with closing(Grpc(served)) as face, cutting.rpc(served) as cut:
        yield face, cut


FACES: Mapping[str, Callable[[Served], AbstractContextManager[tuple[Face, Cutting]]]] = {
    "http": http,
    "mcp": mcp,
    "grpc": rpc,
}


@pytest.fixture
def target(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store on the backend that the test names."""
    if store == "sqlite":
        return str(tmp_path / "store.db")
    found: str = request.getfixturevalue("postgres_store_url")
    return found


def blown(face: Face, cut: Cutting, storm: Storm, chance: Random) -> None:
    """Send every write three times, in any order and by several at once; who sends it is gone, but for one time."""
    sent = [(write, way) for write in storm.writes for way in ("cut", "cut", "whole")]
    chance.shuffle(sent)

    def send(one: tuple[tuple[str, Mapping[str, object]], str]) -> None:
        (operation, given), way = one
        if way == "cut":
            cut(operation, given)
            return
        answer = face.ask(operation, given)
        assert not isinstance(answer, Refusal), (operation, answer)

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(send, sent))


def requests(served: Served, face: str) -> int:
    """How many requests for operations a server has heard through a face."""
    told = httpx.get(
        f"{served.web}/metrics", headers={"Authorization": f"Bearer {served.token}"}, timeout=PATIENCE
    ).text
    found = re.findall(rf'^recollect_requests_total{{face="{face}",.*}} (\S+)$', told, re.MULTILINE)
    return round(sum(map(float, found)))


@pytest.mark.parametrize(
    ("store", "faces"),
    [
        ("sqlite", ("http", "mcp")),
        ("postgres", ("grpc",)),
        pytest.param("sqlite", ("grpc",), marks=pytest.mark.thorough),
        pytest.param("postgres", ("http", "mcp"), marks=pytest.mark.thorough),
    ],
    ids=lambda one: one if isinstance(one, str) else " and ".join(one),
)
def test_however_often_and_however_broken_a_write_is_sent_it_is_done_once_on_every_face(
    target: str, faces: Sequence[str], tmp_path: Path
) -> None:
    with serving(target, tmp_path) as served, ExitStack() as open:
        owner = open.enter_context(closing(Http(served)))
        storms = {name: Storm.prepared(owner, f"acme/{name}") for name in faces}
        for name, storm in storms.items():
            face, cut = open.enter_context(FACES[name](served))
            before = requests(served, name)
            blown(face, cut, storm, Random(name))
            assert requests(served, name) - before > len(storm.writes)  # those who were gone were heard too
    with recollect.open(target, embedder="hashing") as engine:
        assert {name: storm.kept(engine) for name, storm in storms.items()} == dict.fromkeys(faces, ONCE)


def spoken(target: str, lines: Sequence[bytes], answers: int) -> list[int]:
    """Say the lines to a new process, hear so many answers, and kill it where it stands; which were answered."""
    command = [sys.executable, "-m", "recollect", "--db", target, "mcp", "--tools", TOOLS]
    with subprocess.Popen(
        command,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        heard = [json.loads(process.stdout.readline()) for _ in range(answers)]
        process.kill()
    assert all("result" in one and not one["result"].get("isError") for one in heard), heard
    return [one["id"] for one in heard]


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def test_a_process_that_is_killed_in_the_middle_and_started_again_does_nothing_twice(target: str) -> None:
    with closing(Python(target)) as library:
        storm = Storm.prepared(library, "acme/stdio")
    lines = [a_call(operation, given, number) for number, (operation, given) in enumerate(storm.writes)]
    for share in (3, 2):
        spoken(target, lines, len(lines) // share)
    assert sorted(spoken(target, lines, len(lines))) == list(range(len(lines)))
    with recollect.open(target, embedder="hashing") as engine:
        assert storm.kept(engine) == ONCE
