"""The faces as their clients see them: each asks for operations, and gives what is answered or how it is refused."""

import dataclasses
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import grpc
import httpx
import httpx2
from anyio.from_thread import start_blocking_portal
from google.protobuf.json_format import MessageToDict, ParseDict
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from recollect.api.operations import OPERATIONS
from recollect.api.problems import ProblemCode
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.server import METHODS, PROBLEM_METADATA, SERVICE
from recollect.server.mcp.catalog import COMPACT_FIELDS, EXPLAIN_ARGUMENT
from tests.acceptance.shell import ENVIRONMENT
from tests.contract.served import TOOLS, Served

PATIENCE = 60.0
"""For how many seconds an answer is waited for."""

ERAS = {"present revision": "2026-07-28", "previous revision": "legacy"}
"""The revisions of MCP, and how the official client is told to speak each."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a face refuses: the problem, the same on every face, and all of it as this face sent it, byte for byte."""

    code: ProblemCode
    message: str
    field: str | None = None
    line: int | None = None
    retryable: bool = False
    sent: tuple[object, bytes] = dataclasses.field(default=(None, b""), compare=False)

    @classmethod
    def of(cls, problem: Mapping[str, Any], status: object, sent: bytes) -> Self:
        """The refusal that a problem in JSON is."""
        told = {name: problem[name] for name in ("message", "field", "line", "retryable")}
        return cls(code=ProblemCode(problem["code"]), sent=(status, sent), **told)


Answer = Mapping[str, Any] | Refusal


class Face(Protocol):
    """A way to ask; what is answered is as JSON has it."""

    name: str

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        """What is answered."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


class Http:
    """A client of the HTTP face."""

    name = "http"

    def __init__(self, served: Served, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key or served.token}"}
        self._client = httpx.Client(base_url=served.web, headers=headers, timeout=PATIENCE)

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        response = self._client.post(f"/v1/{operation}", json=dict(given))
        body: dict[str, Any] = response.json()
        if response.is_success:
            return body
        return Refusal.of({**body, "message": body["detail"]}, response.status_code, response.content)

    def close(self) -> None:
        self._client.close()


class Mcp:
    """The official client of MCP, at one revision of the protocol, with whatever it is connected to.

    It asks for all that the other faces give, or, if it asks `in_short`, for what a model is told by itself.
    """

    def __init__(self, name: str, connecting: AbstractAsyncContextManager[Client], *, in_short: bool = False) -> None:
        self.name = name
        self._explain = {} if in_short else {name: {EXPLAIN_ARGUMENT: True} for name in COMPACT_FIELDS}
        self._open = ExitStack()
        with ExitStack() as opening:
            self._portal = opening.enter_context(start_blocking_portal())
            self._client = opening.enter_context(self._portal.wrap_async_context_manager(connecting))
            self._open = opening.pop_all()

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        """What a tool answers; the client holds it to the schema that the tool has."""
        asked = {**self._explain.get(operation, {}), **given}
        result = self._portal.call(self._client.call_tool, operation, asked)
        found: dict[str, Any] = result.structured_content or {}
        if not result.is_error:
            return found
        return Refusal.of(found, "isError", json.dumps(result.model_dump(mode="json")).encode())

    def close(self) -> None:
        self._open.close()


def over_http(served: Served, mode: Any, key: str | None = None) -> Mcp:
    """Over streamable HTTP."""
    return Mcp(f"mcp {mode}", _over_http(served, mode, key or served.token))


@asynccontextmanager
async def _over_http(served: Served, mode: Any, key: str) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE) as web:
        transport = streamable_http_client(f"{served.web}/mcp", http_client=web, max_sse_event_size=None)
        async with Client(transport, mode=mode) as client:
            yield client


def over_stdio(mode: Any, store: Path, *more: str, in_short: bool = False) -> Mcp:
    """Over standard input and output of a process that the client starts."""
    arguments = ["-m", "recollect", "--db", str(store), "mcp", "--tools", TOOLS, *more]
    started = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, **ENVIRONMENT})
    return Mcp(f"mcp {mode} over stdio", Client(started, mode=mode), in_short=in_short)


class Grpc:
    """A client of the gRPC face."""

    name = "grpc"

    def __init__(self, served: Served, key: str | None = None) -> None:
        self._channel = grpc.insecure_channel(served.rpc)
        self._key = key or served.token

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        try:
            return read(self.called(self._channel, self._key, operation, given))
        except grpc.RpcError as error:
            return _refused(error)

    @staticmethod
    def called(channel: grpc.Channel, key: str, operation: str, given: Mapping[str, Any]) -> Any:
        """The message that answers a call; what is null or empty is absent from it."""
        path = f"/{SERVICE.full_name}/{OPERATIONS[operation].call_name}"
        method = METHODS[path]
        call = channel.unary_unary(
            path, request_serializer=method.request.SerializeToString, response_deserializer=method.answer.FromString
        )
        asked = ParseDict(dict(given), method.request())
        return call(asked, metadata=(("authorization", f"Bearer {key}"),), timeout=PATIENCE)

    def close(self) -> None:
        self._channel.close()


def _refused(call: Any) -> Refusal:
    """How a call was refused: the status and its words are the problem's own, and so is what programs read."""
    details = dict(call.trailing_metadata())[PROBLEM_METADATA]
    problem = recollect_pb2.Problem.FromString(details)
    assert call.details() == problem.message
    told = {"field": None, "line": None, **read(problem)}
    return Refusal.of(told, call.code(), call.details().encode() + details)


def read(message: Any) -> dict[str, Any]:
    """What a message says, whole numbers as such, which protobuf's own JSON writes as texts."""
    found: dict[str, Any] = {}
    for one in message.DESCRIPTOR.fields:
        value, inner = getattr(message, one.name), one.message_type
        if one.has_presence and not message.HasField(one.name):
            continue
        if inner is None:
            found[one.name] = list(value) if one.is_repeated else value
        elif inner.GetOptions().map_entry:
            found[one.name] = dict(value)
        elif inner.file.package == message.DESCRIPTOR.file.package:
            found[one.name] = [read(each) for each in value] if one.is_repeated else read(value)
        else:
            found[one.name] = [MessageToDict(each) for each in value] if one.is_repeated else MessageToDict(value)
    return found
