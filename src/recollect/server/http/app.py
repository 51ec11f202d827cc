"""The HTTP app: a route for each operation, and health, metrics and OpenAPI beside them."""

import asyncio
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

from recollect.api.auth import WHOLE_STORE, Caller, Right
from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher, RequestLimits, read_json
from recollect.api.keys import parse_bearer
from recollect.api.operation import Operation
from recollect.api.operations import OPERATIONS, OPERATIONS_BY_SUBJECT
from recollect.errors import NotFound, RecollectError, show
from recollect.server.health import HealthCheck
from recollect.server.http import openapi
from recollect.server.http.middleware import (
    IDEMPOTENCY_KEY_HEADER,
    JSON_MEDIA_TYPE,
    STATUS_HEADERS,
    TRANSPORT,
    EdgeMiddleware,
    HttpProblem,
    body_timeout_error,
    body_too_large_error,
    encode_json,
    error_response,
    read_single_header,
    refuse_encoded_body,
    refuse_large_body,
)

Endpoint = Callable[[Request], Awaitable[Response]]

PUBLIC_ENDPOINTS: Mapping[str, Callable[[HealthCheck], Endpoint]] = {
    "/health/live": lambda _: _get_liveness,
    "/health/ready": lambda health: partial(_get_readiness, health),
    "/openapi.json": lambda _: partial(_get_openapi, encode_json(openapi.build_document(OPERATIONS_BY_SUBJECT))),
}
"""Endpoints that need no key, by path; they reveal nothing of memories."""

METRICS_PATH = "/metrics"
METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


def create_app(
    dispatcher: Dispatcher,
    health: HealthCheck,
    metrics: Callable[[], bytes],
    *,
    mounts: Mapping[str, ASGIApp] | None = None,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """Return the HTTP app of a dispatcher; `mounts` are other transports, by path."""
    routes = [
        *(Route(path, endpoint=one) for path, one in (mounts or {}).items()),
        *(_to_route(dispatcher, one) for one in OPERATIONS.values()),
        *(Route(path, create_endpoint(health)) for path, create_endpoint in PUBLIC_ENDPOINTS.items()),
        Route(METRICS_PATH, partial(_get_metrics, dispatcher, metrics)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(EdgeMiddleware, dispatcher=dispatcher)],
        exception_handlers={HTTPException: partial(_handle_no_route, dispatcher)},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _to_route(dispatcher: Dispatcher, operation: Operation[Any, Any]) -> Route:
    return Route(
        f"{openapi.PATH_PREFIX}{operation.name}",
        partial(_run_operation, dispatcher, operation),
        methods=["POST"],
        name=operation.name,
    )


async def _run_operation(dispatcher: Dispatcher, operation: Operation[Any, Any], request: Request) -> Response:
    caller_name = UNIDENTIFIED
    try:
        caller = dispatcher.authenticate(parse_bearer(read_single_header(request.headers.getlist, "authorization")))
        caller_name = caller.name
        arguments = await read_arguments(request, operation, dispatcher.limits)
    except RecollectError as error:
        dispatcher.record_refusal(TRANSPORT, operation.name, caller_name, error)
        raise
    return _json_response(await dispatcher.dispatch(TRANSPORT, operation.name, arguments, caller))


async def _get_liveness(_: Request) -> Response:
    return _json_response({"live": True})


async def _get_readiness(health: HealthCheck, _: Request) -> Response:
    status = await health()
    return _json_response(status.fields(), HTTPStatus.OK if status.ready else HTTPStatus.SERVICE_UNAVAILABLE)


async def _get_openapi(document: bytes, _: Request) -> Response:
    return Response(document, media_type=JSON_MEDIA_TYPE)


async def _get_metrics(dispatcher: Dispatcher, metrics: Callable[[], bytes], request: Request) -> Response:
    caller_name = UNIDENTIFIED
    try:
        caller: Caller = dispatcher.authenticate(
            parse_bearer(read_single_header(request.headers.getlist, "authorization"))
        )
        caller_name = caller.name
        caller.require_right(Right.READ, WHOLE_STORE)
    except RecollectError as error:
        dispatcher.record_refusal(TRANSPORT, METRICS_PATH.strip("/"), caller_name, error)
        raise
    return Response(metrics(), media_type=METRICS_MEDIA_TYPE)


async def _handle_no_route(dispatcher: Dispatcher, request: Request, error: Exception) -> Response:
    """Answer a request without a route; it is recorded without its path, which can be any text."""
    problem = _routing_error(request, error)
    dispatcher.record_refusal(TRANSPORT, UNIDENTIFIED, UNIDENTIFIED, problem)
    return error_response(problem)


def _routing_error(request: Request, error: Exception) -> RecollectError:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    if status is HTTPStatus.NOT_FOUND:
        hint = f"operations are at {openapi.PATH_PREFIX}<name>, and /openapi.json lists them"
        return NotFound(f"unknown path {show(request.url.path)}; {hint}")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    problem = f"method {request.method} is not allowed for {show(request.url.path)}"
    return HttpProblem(status, f"{problem}; use {headers.get('Allow', 'another')}", headers)


def _json_response(value: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    headers = STATUS_HEADERS.get(status, {}) if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Response(encode_json(value), status.value, dict(headers), JSON_MEDIA_TYPE)


async def read_arguments(request: Request, operation: Operation[Any, Any], limits: RequestLimits) -> Mapping[str, Any]:
    """Return the arguments in the body; raise as soon as it is too large or too slow.

    The idempotency key of the header is added to them.
    """
    _require_json(request)
    refuse_encoded_body(request.headers.getlist)
    try:
        async with asyncio.timeout(limits.seconds):
            body = await _read_body(request, limits.body_bytes)
    except TimeoutError as error:
        raise body_timeout_error(limits.seconds) from error
    return operation.with_key(
        read_json(body), read_single_header(request.headers.getlist, IDEMPOTENCY_KEY_HEADER), IDEMPOTENCY_KEY_HEADER
    )


def _require_json(request: Request) -> None:
    content_type = read_single_header(request.headers.getlist, "content-type") or ""
    media_type, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media_type.strip().lower() != JSON_MEDIA_TYPE or charset not in ("", "charset=utf-8"):
        raise HttpProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the content type is not {JSON_MEDIA_TYPE}; send JSON, and say so in Content-Type",
        )


async def _read_body(request: Request, max_bytes: int) -> bytes:
    refuse_large_body(request.headers.getlist, max_bytes)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise body_too_large_error(max_bytes)
    return bytes(body)
