"""The HTTP face: routes and their policy, what is refused and how, and that nothing gets past the gate."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from recollect.api.auth import Caller, Grant, Right, parse_reach
from recollect.api.dispatcher import RequestLimits
from recollect.api.operations import OPERATIONS
from recollect.api.problems import ProblemCode
from recollect.errors import RecollectError
from recollect.model.enums import Provenance
from recollect.server.health import Health
from recollect.server.http import middleware
from recollect.server.http.app import METRICS_PATH, PUBLIC_ENDPOINTS, create_app
from recollect.server.http.middleware import (
    HEAD_TOO_LARGE_MESSAGE,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    HttpProblem,
    refuse_large_head,
)
from tests.tables import table
from tests.unit.api.least import least

from .scene import HERE, KEY, PORT, Scene, a_scene, pieces, well

TEA = {"scope": "acme", "text": "Ana likes tea"}
JSON = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


@pytest.fixture
def scene() -> Iterator[Scene]:
    with a_scene() as made:
        yield made


@pytest.fixture(scope="module")
def standing() -> Iterator[Scene]:
    with a_scene() as made:
        yield made


def routes(scene: Scene) -> list[Route]:
    found = [one for one in scene.app.routes if isinstance(one, Route)]
    assert found == list(scene.app.routes)
    return found


def test_what_is_public_is_how_the_server_is_and_what_can_be_asked() -> None:
    assert set(PUBLIC_ENDPOINTS) == {"/health/live", "/health/ready", "/openapi.json"}


def test_every_route_is_an_operation_with_its_right_or_is_known_to_be_public(standing: Scene) -> None:
    paths = {one.path for one in routes(standing)}
    assert paths == {f"/v1/{name}" for name in OPERATIONS} | set(PUBLIC_ENDPOINTS) | {METRICS_PATH}
    for route in routes(standing):
        (method,) = (route.methods or set()) - {"HEAD"}
        answer = standing.send(method, route.path)
        assert (answer.status_code == 401) is (route.path not in PUBLIC_ENDPOINTS), route.path


@table("right", Right)
def test_an_operation_needs_its_own_right_and_no_other_will_do(right: Right, standing: Scene) -> None:
    standing.callers["one"] = Caller(name="one", grants=(Grant(frozenset({right}), parse_reach("acme")),))
    for name, operation in OPERATIONS.items():
        answer = standing.ask(name, least(name), key="one")
        wanted = {403} if operation.right is not right else {200, 404, 409}
        also_reads = name == "mem_session_start"  # it tells what is known
        assert answer.status_code in ({403} if also_reads else wanted), (name, answer.text)


def test_metrics_are_for_who_may_read_the_whole_store(standing: Scene) -> None:
    standing.callers["part"] = Caller(name="part", grants=(Grant(frozenset(Right), parse_reach("acme")),))
    assert standing.send("GET", METRICS_PATH, headers={"Authorization": "Bearer part"}).status_code == 403
    assert standing.send("GET", METRICS_PATH, headers={"Authorization": "Bearer nobody"}).status_code == 401
    heard = [(one.operation, one.caller, one.outcome) for one in standing.heard[-2:]]
    assert heard == [("metrics", "part", "forbidden"), ("metrics", "-", "unauthenticated")]
    told = standing.send("GET", METRICS_PATH, headers={"Authorization": f"Bearer {KEY}"})
    assert (told.status_code, told.text) == (200, "recollect_requests_total 1\n")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")


@table(
    "headers",
    [
        [("Host", "evil.example.org")],
        [("Host", "localhost")],
        [("Host", f"localhost:{PORT + 1}")],
        [("Host", f"localhost.:{PORT}")],
        [("Host", f"[::2]:{PORT}")],
        [("Host", "")],
        [],
        [("Host", f"127.0.0.1:{PORT}"), ("Host", "evil.example.org")],
        [("Host", f"127.0.0.1:{PORT}"), ("Origin", "null")],
        [("Host", f"127.0.0.1:{PORT}"), ("Origin", "")],
        [("Host", f"127.0.0.1:{PORT}"), ("Origin", "http://evil.example.org")],
        [("Host", f"127.0.0.1:{PORT}"), ("Origin", f"http://localhost:{PORT}")],
        [("Host", f"127.0.0.1:{PORT}"), ("Origin", HERE), ("Origin", "null")],
    ],
    ids=str,
)
def test_who_comes_from_elsewhere_is_refused_at_every_route(headers: list[tuple[str, str]], standing: Scene) -> None:
    everywhere = [("POST" if "POST" in (one.methods or ()) else "GET", one.path) for one in routes(standing)]
    for method, path in (*everywhere, ("GET", "/nowhere"), ("OPTIONS", "/v1/recall"), ("POST", "/mcp")):
        status, body = raw(standing, method, path, headers)
        assert (status, body["code"]) == (403, "forbidden"), path
    assert {one.outcome for one in standing.heard[-5:]} == {"forbidden"}


def raw(scene: Scene, method: str, path: str, headers: list[tuple[str, str]]) -> tuple[int, Any]:
    """What is answered to exactly these headers, which no client would send."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    asyncio.run(scene.app({**scope, "headers": given, "http_version": "1.1", "scheme": "http"}, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


@table(
    ("path", "headers"),
    [
        ("/health/live", [(f"x-{number}", "y") for number in range(MAX_HEADERS)]),
        ("/v1/stats", [("x", "a" * MAX_HEAD_BYTES)]),
        (f"/{'a' * MAX_HEAD_BYTES}", []),
        (f"/mcp/{'a' * MAX_HEAD_BYTES}", []),
    ],
    ids=lambda one: str(one)[:20],
)
def test_a_head_that_is_too_large_is_refused_at_every_path(
    path: str, headers: list[tuple[str, str]], standing: Scene
) -> None:
    status, told = raw(standing, "GET", path, [("host", f"127.0.0.1:{PORT}"), *headers])
    assert (status, told["detail"]) == (431, HEAD_TOO_LARGE_MESSAGE)


def test_a_head_may_have_as_many_headers_and_be_as_large_as_it_is_said() -> None:
    most = [(b"x", b"")] * (MAX_HEADERS - 1)
    room = MAX_HEAD_BYTES - len(b"/") - len(b"a=b") - len(most) - len(b"y")
    scope = {"raw_path": b"/", "query_string": b"a=b", "headers": [*most, (b"y", b"a" * room)]}
    refuse_large_head(scope)
    with pytest.raises(HttpProblem):
        refuse_large_head({**scope, "headers": [*most, (b"y", b"a" * (room + 1))]})
    with pytest.raises(HttpProblem):
        refuse_large_head({**scope, "headers": [*most, (b"x", b""), (b"x", b"")]})


def test_a_page_of_the_server_itself_may_ask(standing: Scene) -> None:
    answer = standing.ask("stats", {}, Origin=HERE)
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


@table("code", ProblemCode)
def test_every_code_has_a_status_and_a_title(code: ProblemCode) -> None:
    assert middleware.STATUSES[code] >= HTTPStatus.BAD_REQUEST
    assert middleware.TITLES[code]


def test_a_problem_is_told_as_rfc_9457_has_it(standing: Scene) -> None:
    answer = standing.ask("remember", {**TEA, "importance": 5})
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told.pop("detail").startswith("field 'importance': 5 is not within 0..1")
    assert told == {
        "status": 400,
        "title": "Invalid request",
        "code": "invalid",
        "field": "importance",
        "line": None,
        "retryable": False,
    }


@table(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("POST", "/v1/recal", 404, "not_found"),
        ("POST", "/v1/recall/", 404, "not_found"),
        ("GET", "/v1/recall", 405, "invalid"),
        ("DELETE", "/health/live", 405, "invalid"),
        ("OPTIONS", "/v1/recall", 405, "invalid"),
        ("GET", "/v1/%00", 404, "not_found"),
    ],
)
def test_what_no_route_answers_to_is_a_problem_too(
    method: str, path: str, status: int, code: str, standing: Scene
) -> None:
    answer = standing.send(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert status != 405 or "allow" in answer.headers
    heard = standing.heard[-1]
    assert (heard.transport, heard.operation, heard.caller, heard.outcome) == ("http", "-", "-", code)


@table("shown", [None, "", "Bearer", "Bearer ", "Bearer x", f"Basic {KEY}", KEY, f"Bearer {KEY} x", "Bearer \u00e9"])
def test_who_shows_no_key_that_holds_is_told_how_to_show_one(shown: str | None, standing: Scene) -> None:
    headers = {} if shown is None else {"Authorization": shown.encode("latin-1")}
    answer = standing.send("POST", "/v1/stats", json={}, headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert (standing.heard[-1].operation, standing.heard[-1].caller) == ("stats", "-")


@table(
    ("kind", "status"),
    [
        *((kind, 200) for kind in ("application/json", "Application/JSON; charset=UTF-8")),
        ('application/json;charset="utf-8"', 200),
        *((kind, 415) for kind in ("", "text/plain", "application/x-www-form-urlencoded")),
        ("application/json; charset=x", 415),
    ],
)
def test_a_body_is_taken_that_is_said_to_be_json_and_no_other(kind: str, status: int, standing: Scene) -> None:
    answer = standing.send("POST", "/v1/stats", content=b"{}", headers={**JSON, "Content-Type": kind})
    assert answer.status_code == status


@table(("encoding", "status"), [("gzip", 400), ("br, gzip", 400), ("identity", 200), ("Identity ", 200)])
def test_a_body_is_sent_as_it_is(encoding: str, status: int, standing: Scene) -> None:
    answer = standing.send("POST", "/v1/stats", content=b"{}", headers={**JSON, "Content-Encoding": encoding})
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["detail"] == f"content encoding {encoding!r} is not supported; send the body unencoded"


@table("body", [b"", b"[]", b"{", b"nul", b'{"scope": NaN}', b"[" * 5_000, b'{"a":"\xff"}'])
def test_a_body_that_is_no_object_is_refused(body: bytes, standing: Scene) -> None:
    answer = standing.send("POST", "/v1/stats", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_a_body_is_refused_as_soon_as_it_is_too_large() -> None:
    taken: list[bytes] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            taken.append(b"x" * 60)
            yield taken[-1]

    with a_scene(RequestLimits(body_bytes=100)) as scene:
        told = scene.send("POST", "/v1/stats", content=b" " * 101, headers=JSON)
        assert (told.status_code, told.json()["code"]) == (413, "too_large")
        assert told.headers["connection"] == "close"
        assert scene.send("POST", "/v1/stats", content=endless(), headers=JSON).status_code == 413
        assert len(taken) == 2
        assert scene.send("POST", "/v1/stats", content=pieces(b"{", b"}"), headers=JSON).status_code == 200
        assert scene.send("POST", "/v1/stats", content=b" " * 98 + b"{}", headers=JSON).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    with a_scene(RequestLimits(seconds=0.05)) as scene:
        answer = scene.send("POST", "/v1/stats", content=never(), headers=JSON)
    told = answer.json()
    assert (answer.status_code, told["code"], told["retryable"]) == (408, "overdue", True)
    assert told["detail"] == "the body did not arrive within 0.05 seconds; send it without pauses"


def test_a_busy_server_says_when_to_come_again() -> None:
    with a_scene(RequestLimits(threads=1, waiting=0)) as scene:
        scene.front.limits = RequestLimits(threads=0, waiting=0)
        answer = scene.ask("stats", {})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["retryable"] is True


def test_a_key_in_a_header_makes_a_retry_harmless(scene: Scene) -> None:
    first, again = (scene.given("remember", TEA, **{"Idempotency-Key": "a"}) for _ in range(2))
    assert (first["id"], first["verdict"]) == (again["id"], again["verdict"])
    assert scene.given("remember", {**TEA, "key": "a"}, **{"Idempotency-Key": "a"})["id"] == first["id"]
    differs = scene.ask("remember", {**TEA, "key": "b"}, **{"Idempotency-Key": "a"})
    assert (differs.status_code, differs.json()["code"]) == (409, "conflict")
    other = scene.ask("remember", {**TEA, "text": "Bo likes coffee"}, **{"Idempotency-Key": "a"})
    assert other.status_code == 409
    assert scene.ask("remember", TEA, **{"Idempotency-Key": "x" * 5_000}).status_code == 400


def test_where_no_key_is_taken_the_header_changes_nothing(scene: Scene) -> None:
    assert scene.given("browse", {"scope": "acme"}, **{"Idempotency-Key": "2026"})["place"] is None
    assert {name for name, one in OPERATIONS.items() if one.takes_key} == {
        "remember",
        "observe",
        "start_episode",
        "record_action",
    }


def test_a_key_is_believed_no_more_than_it_may_be_and_speaks_for_itself(scene: Scene) -> None:
    tool = Caller(name="tool", grants=scene.callers[KEY].grants, provenance=Provenance.TOOL_EXTERNAL)
    scene.callers["tool"] = tool
    told = scene.given("remember", {**TEA, "provenance": "operator"}, key="tool")["memory"]
    assert (told["provenance"], told["trust"]) == ("tool_external", "external")
    scene.given("remember", {**TEA, "text": "Ana drinks green tea", "provenance": "direct_user"})
    context = scene.given("recall", {"scope": "acme", "query": "what does Ana drink?"})
    (packed, *_) = [one["id"] for one in context["packed"]]
    vote = {"scope": "acme", "context_id": context["id"], "helped": [packed]}
    scene.given("feedback", {**vote, "by": "ana"}, key="tool")
    scene.given("feedback", vote, key="tool")
    scene.given("feedback", {**vote, "by": "tool/ana"})
    assert scene.given("get_memory", {"scope": "acme", "id": packed})["usage"]["helped"] == 3


def test_whatever_breaks_inside_is_logged_with_an_id_and_told_without_details(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    def breaking(_: str | None) -> Caller:
        raise ZeroDivisionError("Ana likes tea")

    scene.front.authenticate = breaking
    with caplog.at_level(logging.INFO):
        answer = scene.ask("remember", TEA)
    told = answer.json()
    assert (answer.status_code, told["code"], told["title"]) == (500, "internal", "Internal error")
    (record,) = [one for one in caplog.records if one.name.startswith("recollect")]
    assert (record.getMessage(), vars(record)["face"], vars(record)["error"]) == (
        "internal_error",
        "http",
        "ZeroDivisionError",
    )
    assert vars(record)["id"] in told["detail"]
    assert "tea" not in repr(vars(record)) + answer.text


def test_keys_that_cannot_be_read_are_a_fault_of_the_server(scene: Scene) -> None:
    def unreadable(_: str | None) -> Caller:
        raise RecollectError("the keys of this server cannot be read, so nobody is let in")

    scene.front.authenticate = unreadable
    answer = scene.ask("remember", TEA)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "nobody is let in" in answer.json()["detail"]


def test_half_a_character_is_told_by_its_number() -> None:
    assert middleware.encode_json({"a": "\ud800é"}) == b'{"a":"\\ud800\xc3\xa9"}'


def test_another_face_is_asked_at_its_path_behind_the_same_gate(scene: Scene) -> None:
    beside = Starlette(routes=[Route("/{rest:path}", lambda _: Response("beside"), methods=["POST"])])
    made = create_app(scene.front, well, bytes, mounts={"/mcp": beside})
    asked = Scene(made, scene.front, {})
    assert asked.send("POST", "/mcp").text == "beside"
    assert asked.send("POST", "/mcp", headers={"Host": "evil.example.org"}).status_code == 403
    assert asked.send("POST", "/mcp/x").status_code == 404


@table("there", [True, False])
def test_health_says_whether_it_can_work_and_nothing_of_memories(there: bool) -> None:
    async def health() -> Health:
        return Health(store=there, embedder=None, degraded=("embedder absent",))

    with a_scene(health=health) as scene:
        assert scene.send("GET", "/health/live").json() == {"live": True}
        answer = scene.send("GET", "/health/ready")
    assert answer.status_code == (200 if there else 503)
    assert answer.json() == {
        "ready": there,
        "store": "reachable" if there else "unreachable",
        "embedder": None,
        "degraded": ["embedder absent"],
    }
    assert ("retry-after" in answer.headers) is not there
