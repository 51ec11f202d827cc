"""The app: every operation as a route, and what watches over a server beside them."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from recollect.api.auth import WHOLE, Caller, Right
from recollect.api.dispatcher import NOBODY, Front
from recollect.api.health import LookAfter
from recollect.api.keys import bearer
from recollect.api.operation import Operation
from recollect.api.operation_table import OPERATIONS, SUBJECTS
from recollect.errors import NotFound, RecollectError, show
from recollect.server.http import openapi, problems
from recollect.server.http.headers import single
from recollect.server.http.middleware import FACE, Door
from recollect.server.http.request import JSON, read_asked

Endpoint = Callable[[Request], Awaitable[Response]]

PUBLIC: Mapping[str, Callable[[LookAfter], Endpoint]] = {
    "/health/live": lambda _: _live,
    "/health/ready": lambda health: partial(_ready, health),
    "/openapi.json": lambda _: partial(_described, problems.as_json(openapi.document(SUBJECTS))),
}
"""What needs no key, and tells nothing of memories: what answers at each path, for a server that is so looked after."""

METRICS = "/metrics"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def app(
    front: Front,
    health: LookAfter,
    metrics: Callable[[], bytes],
    *,
    mounts: Mapping[str, ASGIApp] | None = None,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """The HTTP face of a front; `mounts` are other faces that speak HTTP, each at its path."""
    routes = [
        *(Route(path, endpoint=one) for path, one in (mounts or {}).items()),
        *(_route(front, one) for one in OPERATIONS.values()),
        *(Route(path, made(health)) for path, made in PUBLIC.items()),
        Route(METRICS, partial(_metrics, front, metrics)),
    ]
    made = Starlette(
        routes=routes,
        middleware=[Middleware(Door, front=front)],
        exception_handlers={HTTPException: partial(_no_route, front)},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False
    return made


def _route(front: Front, operation: Operation[Any]) -> Route:
    return Route(
        f"{openapi.PREFIX}{operation.name}", partial(_answer, front, operation), methods=["POST"], name=operation.name
    )


async def _answer(front: Front, operation: Operation[Any], request: Request) -> Response:
    who = NOBODY
    try:
        caller = front.authenticate(bearer(single(request.headers.getlist, "authorization")))
        who = caller.name
        given = await read_asked(request, operation, front.limits)
    except RecollectError as error:
        front.refused(FACE, operation.name, who, error)
        raise
    return _json(await front.ask(FACE, operation.name, given, caller))


async def _live(_: Request) -> Response:
    return _json({"live": True})


async def _ready(health: LookAfter, _: Request) -> Response:
    found = await health()
    return _json(found.fields(), HTTPStatus.OK if found.ready else HTTPStatus.SERVICE_UNAVAILABLE)


async def _described(document: bytes, _: Request) -> Response:
    return Response(document, media_type=JSON)


async def _metrics(front: Front, metrics: Callable[[], bytes], request: Request) -> Response:
    who = NOBODY
    try:
        caller: Caller = front.authenticate(bearer(single(request.headers.getlist, "authorization")))
        who = caller.name
        caller.refuse_unless(Right.READ, WHOLE)
    except RecollectError as error:
        front.refused(FACE, METRICS.strip("/"), who, error)
        raise
    return Response(metrics(), media_type=METRICS_TYPE)


async def _no_route(front: Front, request: Request, error: Exception) -> Response:
    """What no route answers to; it is heard of without the path, which may say anything."""
    problem = _unanswered(request, error)
    front.refused(FACE, NOBODY, NOBODY, problem)
    return problems.of_error(problem)


def _unanswered(request: Request, error: Exception) -> RecollectError:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    if status is HTTPStatus.NOT_FOUND:
        known = f"operations are at {openapi.PREFIX}<name>, and /openapi.json has them all"
        return NotFound(f"there is no {show(request.url.path)}; {known}")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    told = f"{request.method} is no method of {show(request.url.path)}; {headers.get('Allow', 'another')} is"
    return problems.HttpProblem(status, told, headers)


def _json(value: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    headers = problems.HEADERS.get(status, {}) if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(problems.as_json(value), status.value, dict(headers), JSON)
