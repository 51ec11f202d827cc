"""What a request over HTTP asks for: its key, its body and what its headers add to that."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from recollect.api.dispatcher import Limits
from recollect.api.operation import Operation
from recollect.api.request_parser import read_json
from recollect.server.http.headers import RETRY_KEY, body_overdue, refuse_encoded, refuse_too_large, single, too_large
from recollect.server.http.problems import HttpProblem

JSON = "application/json"


async def read_asked(request: Request, operation: Operation[Any], limits: Limits) -> Mapping[str, Any]:
    """What is given to the operation; refused as soon as it is too large, or takes too long to come."""
    _refuse_other_types(request)
    refuse_encoded(request.headers.getlist)
    try:
        async with asyncio.timeout(limits.seconds):
            body = await _body(request, limits.body_bytes)
    except TimeoutError as error:
        raise body_overdue(limits.seconds) from error
    return operation.with_key(read_json(body), single(request.headers.getlist, RETRY_KEY), RETRY_KEY)


def _refuse_other_types(request: Request) -> None:
    said = single(request.headers.getlist, "content-type") or ""
    kind, _, rest = said.partition(";")
    charset = rest.strip().lower().replace('"', "")
    if kind.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
        raise HttpProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body is not said to be {JSON}; send that as its type"
        )


async def _body(request: Request, most: int) -> bytes:
    refuse_too_large(request.headers.getlist, most)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise too_large(most)
    return bytes(body)
