"""What a request over HTTP asks for: its key, its body and what its headers add to that."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from recollect.api.dispatcher import RequestLimits
from recollect.api.operation import Operation
from recollect.api.request_parser import read_json
from recollect.server.http.headers import (
    IDEMPOTENCY_KEY_HEADER,
    body_timeout_error,
    body_too_large_error,
    read_single_header,
    refuse_encoded_body,
    refuse_large_body,
)
from recollect.server.http.problems import HttpProblem

JSON_MEDIA_TYPE = "application/json"


async def read_arguments(request: Request, operation: Operation[Any], limits: RequestLimits) -> Mapping[str, Any]:
    """What is given to the operation; refused as soon as it is too large, or takes too long to come."""
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
    said = read_single_header(request.headers.getlist, "content-type") or ""
    kind, _, rest = said.partition(";")
    charset = rest.strip().lower().replace('"', "")
    if kind.strip().lower() != JSON_MEDIA_TYPE or charset not in ("", "charset=utf-8"):
        raise HttpProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body is not said to be {JSON_MEDIA_TYPE}; send that as its type"
        )


async def _read_body(request: Request, most: int) -> bytes:
    refuse_large_body(request.headers.getlist, most)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise body_too_large_error(most)
    return bytes(body)
