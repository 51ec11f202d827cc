"""`recollect serve` as a process: it starts, answers, says how it is, and ends well whatever happens to it."""

import errno
import os
import resource
import signal
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Event

import grpc
import httpx
from grpc_health.v1 import health_pb2, health_pb2_grpc

import recollect
from recollect.cli.options import strip_secrets
from tests.integration.postgres.scene import until
from tests.integration.providers.server import Handler, Request, saying, serving, well

from .serving import LONG, command, served
from .shell import ENVIRONMENT, Shell
from .stores import on_both_stores

TEA = {"scope": "acme/ana", "text": "Ana likes tea"}
ASKED = {"scope": "acme/ana", "query": "what does Ana like?"}


@on_both_stores
def test_a_server_starts_answers_and_ends_well_on_either_store(target: str, tmp_path: Path) -> None:
    with served(target, tmp_path / "own") as server:
        ready = httpx.get(f"{server.url}/health/ready", timeout=LONG)
        assert (ready.status_code, ready.json()["embedder"]) == (200, "hashing-256")
        assert ready.json()["degraded"] == ["authorisation by token file"]
        kept = server.given("remember", TEA, **{"Idempotency-Key": "tea"})
        context = server.given("recall", ASKED)
        assert [one["id"] for one in context["packed"]] == [kept["id"]]
        assert server.token.stat().st_mode & 0o777 == stat.S_IRUSR | stat.S_IWUSR
        shown = strip_secrets(target) if "://" in target else target
        assert server.told[1] == f"store: {shown}"
        assert server.told[2].startswith(f"authorized by the token in {server.token}")
        assert server.told[3] == "jobs run when they are due"
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        events = server.events()
    asked = [one for one in events if one["event"] == "request"]
    assert [(one["face"], one["operation"], one["caller"], one["outcome"]) for one in asked] == [
        ("http", "remember", "owner", "ok"),
        ("http", "recall", "owner", "ok"),
    ]
    assert all(one["milliseconds"] > 0.0 and one["level"] == "info" for one in asked)
    assert events[-1]["event"] == "stopped"
    assert "tea" not in str(events).replace(shown, "").lower().replace("instead", "")  # a folder may be called so
    with recollect.open(target, embedder="hashing") as engine:
        assert engine.contexts.usage(kept["id"], scope="acme/ana").served == 1


@on_both_stores
def test_what_is_under_way_is_finished_when_it_is_told_to_end(target: str, tmp_path: Path) -> None:
    asked, go = Event(), Event()

    def waiting(handler: Handler, request: Request) -> None:
        asked.set()
        assert go.wait(LONG)
        well(handler, request)

    with (
        serving(well, waiting) as model,
        ThreadPoolExecutor(1) as client,
        served(target, tmp_path / "own", "--no-scheduler", settings=(f"embedder={model.url}#tiny",)) as server,
    ):
        answer = client.submit(server.post, "remember", TEA)
        assert asked.wait(LONG), server.log.read_text(encoding="utf-8")
        server.process.send_signal(signal.SIGTERM)
        _until_nobody_listens(server.port)
        go.set()
        assert answer.result(LONG).status_code == 200
        assert server.ended() == 0
        again = recollect.open(target, embedder=f"{model.url}#tiny")
        with again as engine:
            assert [one.text for one in engine.memories(scope="acme/ana")] == [TEA["text"]]


def _until_nobody_listens(port: int) -> None:
    def is_refused() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    until(is_refused, LONG)


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    asked = Event()
    over = Event()

    def stuck(handler: Handler, request: Request) -> None:
        asked.set()
        assert over.wait(LONG)
        well(handler, request)

    settings = ["server.drain_seconds=600"]
    with serving(well, stuck) as model, ThreadPoolExecutor(1) as client:
        settings.append(f"embedder={model.url}#tiny")
        with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler", settings=tuple(settings)) as server:
            gone = client.submit(server.post, "remember", TEA)
            assert asked.wait(LONG)
            server.process.send_signal(signal.SIGINT)
            _until_nobody_listens(server.port)
            server.process.send_signal(signal.SIGTERM)
            assert server.ended() == 128 + signal.SIGTERM
            over.set()
            assert isinstance(gone.exception(LONG), httpx.TransportError)


def test_what_does_not_end_in_time_is_left_and_told(tmp_path: Path) -> None:
    asked, over = Event(), Event()

    def stuck(handler: Handler, request: Request) -> None:
        asked.set()
        assert over.wait(LONG)
        well(handler, request)

    with serving(well, stuck) as model, ThreadPoolExecutor(1) as client:
        settings = ("server.drain_seconds=0.2", f"embedder={model.url}#tiny")
        with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler", settings=settings) as server:
            gone = client.submit(server.post, "remember", TEA)
            assert asked.wait(LONG)
            server.process.send_signal(signal.SIGTERM)
            assert server.ended() == 1
            over.set()
            told = gone.result(LONG)
            assert (told.status_code, told.json()["retryable"]) == (503, True)
            assert [one["what"] for one in server.events() if one["event"] == "work_unfinished"] == [["a request"]]


def over_grpc(told: list[str]) -> int:
    """What the health of gRPC is, at where the server says that it listens."""
    (address,) = [line.removeprefix("gRPC at ") for line in told if line.startswith("gRPC at ")]
    with grpc.insecure_channel(address) as channel:
        asked = health_pb2.HealthCheckRequest()
        status: int = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=LONG).status
        return status


def test_keys_that_break_leave_it_not_ready_on_every_face_until_they_are_mended(shell: Shell, tmp_path: Path) -> None:
    own, store = tmp_path / "own", str(tmp_path / "a.db")
    shell("--setting", f"server.keys={own / 'keys.json'}", "keys", "add", "ana", "--right", "read", "--whole-store")
    with served(store, own, "--no-scheduler", "--no-mcp", "--grpc-port", "0", others=()) as server:

        def how() -> tuple[int, list[str], int]:
            found = httpx.get(f"{server.url}/health/ready", timeout=LONG)
            return found.status_code, found.json()["degraded"], over_grpc(server.told)

        assert how() == (200, [], health_pb2.HealthCheckResponse.SERVING)
        kept = (own / "keys.json").read_text(encoding="utf-8")
        (own / "keys.json").write_text("{", encoding="utf-8")
        assert how() == (503, ["keys unreadable"], health_pb2.HealthCheckResponse.NOT_SERVING)
        assert server.post("stats", {}, key="any").status_code == 500
        (own / "keys.json").write_text(kept, encoding="utf-8")
        assert how() == (200, [], health_pb2.HealthCheckResponse.SERVING)
        logged = [(one["event"], one["modes"]) for one in server.events() if "modes" in one]
    assert logged == [("degraded", ["keys unreadable"]), ("recovered", ["keys unreadable"])]


def test_a_model_that_fails_is_told_of_until_it_works_again(tmp_path: Path) -> None:
    with serving(well, saying({"error": "no such model"}, 404), well) as model:
        settings = (f"embedder={model.url}#tiny",)
        with served(str(tmp_path / "a.db"), tmp_path / "own", "--no-scheduler", settings=settings) as server:

            def how() -> tuple[bool, bool, str]:
                ready = httpx.get(f"{server.url}/health/ready", timeout=LONG).json()
                shown = {"Authorization": f"Bearer {server.token.read_text(encoding='utf-8').strip()}"}
                metrics = httpx.get(f"{server.url}/metrics", headers=shown, timeout=LONG).text
                (counted,) = [one for one in metrics.splitlines() if 'mode="embedder failing"' in one]
                return ready["ready"], "embedder failing" in ready["degraded"], counted.split()[-1]

            assert how() == (True, False, "0.0")
            assert server.post("remember", TEA).status_code == 502
            assert how() == (True, True, "1.0")
            assert server.post("list_memories", {"scope": "acme/ana"}).status_code == 200
            assert how() == (True, True, "1.0")  # which needs no model, and says nothing of it
            assert server.post("remember", TEA).status_code == 200
            assert how() == (True, False, "0.0")
            logged = [(one["event"], one["modes"]) for one in server.events() if "modes" in one]
    assert logged[1:] == [("degraded", ["embedder failing"]), ("recovered", ["embedder failing"])]


def refused(target: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    calling = command(target, folder, "serve", *arguments)
    return subprocess.run(calling, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=LONG)


def test_a_port_that_is_taken_is_told_with_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = refused(str(tmp_path / "a.db"), tmp_path, "--port", str(taken.getsockname()[1]))
    assert outcome.returncode == 1
    assert "cannot listen on 127.0.0.1:" in outcome.stderr
    assert ": Address already in use; stop the program that uses it, or choose another port" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_port_of_grpc_that_is_taken_is_told_with_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = refused(str(tmp_path / "a.db"), tmp_path, "--port", "0", "--grpc-port", str(taken.getsockname()[1]))
    assert outcome.returncode == 2
    assert "choose another port with --grpc-port, or disable gRPC with --no-grpc" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_others_are_not_listened_to_without_keys(tmp_path: Path) -> None:
    outcome = refused(str(tmp_path / "a.db"), tmp_path, "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert outcome.returncode == 2
    assert "has no keys" in outcome.stderr
    assert "create one with `recollect keys add`, or listen on 127.0.0.1" in outcome.stderr
    assert not (tmp_path / "a.db").exists()
    nowhere = refused(str(tmp_path / "a.db"), tmp_path, "--host", "nowhere.invalid")
    assert nowhere.returncode == 2


def test_without_its_extra_a_server_is_refused_with_how_to_get_it(tmp_path: Path) -> None:
    script = "import sys; sys.modules['uvicorn'] = None\nfrom recollect.cli.main import main\nmain()"
    calling = [command("", tmp_path)[0], "-c", script, "--db", str(tmp_path / "a.db"), "serve"]
    outcome = subprocess.run(calling, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    assert (outcome.returncode, "pip install '.[server]'" in outcome.stderr) == (2, True)


def test_keys_are_heard_of_by_a_server_that_runs(shell: Shell, tmp_path: Path) -> None:
    own = ("--setting", f"server.keys={tmp_path / 'own' / 'keys.json'}")
    with served(shell.target, tmp_path / "own") as server:
        server.given("remember", TEA)
        reader = shell(*own, "keys", "add", "ana", "--right", "read", "--scope", "acme/ana").stdout.strip()
        assert server.post("recall", ASKED).status_code == 401  # the token is good only while there is no key
        assert server.given("recall", {"query": "tea?"}, key=reader)["packed"]
        assert server.post("remember", TEA, key=reader).status_code == 403
        assert server.post("recall", {**ASKED, "scope": "acme"}, key=reader).status_code == 404
        metrics = {"Authorization": f"Bearer {reader}"}
        assert httpx.get(f"{server.url}/metrics", headers=metrics, timeout=LONG).status_code == 403
        (known,) = shell.json(*own, "keys", "list")["keys"]
        keys = tmp_path / "own" / "keys.json"
        whole = keys.read_bytes()
        keys.write_bytes(b"{")
        broken = server.post("recall", ASKED, key=reader)
        assert (broken.status_code, "it refuses all requests" in broken.text) == (500, True)
        assert str(keys) not in broken.text
        assert "keys unreadable" in httpx.get(f"{server.url}/health/ready", timeout=LONG).json()["degraded"]
        keys.write_bytes(whole)
        assert server.given("recall", ASKED, key=reader)["packed"]
        shell(*own, "keys", "revoke", known["id"])
        assert server.post("recall", ASKED, key=reader).status_code == 401
        assert "keys_unreadable" in [one["event"] for one in server.events()]
        assert reader not in server.log.read_text(encoding="utf-8")


def test_with_keys_the_token_lets_nobody_in_until_the_last_is_gone(shell: Shell, tmp_path: Path) -> None:
    keys = tmp_path / "own" / "keys.json"
    key = shell(
        "--setting", f"server.keys={keys}", "keys", "add", "root", "--right", "read", "--whole-store"
    ).stdout.strip()
    with served(shell.target, tmp_path / "own") as server:
        assert (
            server.told[2] == f"authorized by the keys in {keys}; by the token in {server.token} once no keys are left"
        )
        assert server.post("stats", {}).status_code == 401
        assert server.given("stats", {}, key=key)["memories"] == 0
        counted = httpx.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {key}"}, timeout=LONG).text
        assert 'recollect_requests_total{face="http",operation="stats",outcome="ok"} 1.0' in counted
        shell("--setting", f"server.keys={keys}", "keys", "revoke", "root")
        assert server.post("stats", {}, key=key).status_code == 401
        assert server.given("stats", {})["memories"] == 0
        assert httpx.get(f"{server.url}/health/ready", timeout=LONG).json()["degraded"] == [
            "authorisation by token file"
        ]


def test_a_throw_away_is_served_without_jobs(tmp_path: Path) -> None:
    with served(":memory:", tmp_path / "own") as server:
        assert server.told[3] == "jobs do not run here"
        assert server.given("remember", TEA)["verdict"] == "created"


def test_a_server_takes_no_more_and_waits_no_longer_than_its_settings_say(tmp_path: Path) -> None:
    small = ("server.body_bytes=1000", "server.seconds=0.05")
    with served(":memory:", tmp_path / "own", settings=small) as server:
        refused = server.post("remember", {"scope": "acme/ana", "text": "tea " * 1_000})
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        assert "1000 bytes" in refused.json()["detail"]
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=LONG)) as connection:
            connection.putrequest("POST", "/v1/stats")
            connection.putheader("Authorization", f"Bearer {server.token.read_text(encoding='utf-8').strip()}")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", "100")
            connection.endheaders(b"{")  # and then nothing
            with connection.getresponse() as late:
                assert late.status == 408


def test_a_store_that_takes_no_writes_is_told_of_until_it_does(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with served(str(path), tmp_path / "own", "--no-scheduler") as server:

        def degraded() -> list[str]:
            ready = httpx.get(f"{server.url}/health/ready", timeout=LONG)
            assert ready.status_code == 200
            found: list[str] = ready.json()["degraded"]
            return found

        server.given("remember_all", {"scope": "acme/ana", "drafts": [{"text": f"fact {one}"} for one in range(50)]})
        most = max(one.stat().st_size for one in tmp_path.glob("memory.db*"))
        pid, (soft, hard) = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, hard))  # as if the disk were full
        answers = (server.post("remember", {**TEA, "text": f"Ana likes tea {one}"}).status_code for one in range(99))
        assert 500 in answers
        assert "store takes no writes" in degraded()
        assert server.given("search", ASKED)["results"]
        asking = {"Authorization": f"Bearer {server.token.read_text(encoding='utf-8').strip()}"}
        counted = httpx.get(f"{server.url}/metrics", headers=asking, timeout=LONG).text
        assert 'recollect_degraded{mode="store takes no writes"} 1.0' in counted
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        server.given("remember", TEA)
        assert "store takes no writes" not in degraded()
        told = [(one["event"], one["modes"]) for one in server.events() if "modes" in one]
    assert told[-2:] == [("degraded", ["store takes no writes"]), ("recovered", ["store takes no writes"])]


def test_a_store_that_takes_no_writes_is_told_of_also_if_agents_only_recall_and_fails_no_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with served(str(path), tmp_path / "own", "--no-scheduler") as server:

        def degraded() -> bool:
            return "store takes no writes" in httpx.get(f"{server.url}/health/ready", timeout=60).json()["degraded"]

        server.given("remember_all", {"scope": "acme/ana", "drafts": [{"text": f"fact {one}"} for one in range(50)]})
        most = max(one.stat().st_size for one in tmp_path.glob("memory.db*"))
        pid, (soft, hard) = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, hard))  # as if the disk were full
        assert any(server.given("recall", ASKED) and degraded() for _ in range(999))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        server.given("remember", {**TEA, "scope": "other/bo"})
        assert server.given("stats", {"scope": "other/bo"})["memories"] == 1
        assert not degraded()
        server.process.terminate()
        assert server.ended() == 0
    lost = [one for one in server.events() if one["event"] == "flush_failed"]
    assert "deferred writes failed" in lost[0]["problem"]


WATCHED = """
import atexit, gc, runpy
atexit.register(lambda: print(gc.get_freeze_count(), flush=True))
runpy.run_module("recollect", run_name="__main__")
"""


def test_a_server_has_the_collector_look_past_what_it_is_made_of(tmp_path: Path) -> None:
    python, _, _, *rest = command(str(tmp_path / "memory.db"), tmp_path, "serve", "--port", "0", "--no-grpc")
    environment = {**os.environ, **ENVIRONMENT}
    with subprocess.Popen([python, "-c", WATCHED, *rest], env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = iter(server.stdout)
        port = next(told).rpartition(":")[2].strip()
        assert httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=LONG).status_code == 200
        server.send_signal(signal.SIGTERM)
        *_, frozen = told
    assert int(frozen) > 50_000
