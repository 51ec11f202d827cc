"""A server as tests ask it: a process of its own on loopback, and a client for each of its faces."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import httpx2
from google.protobuf.json_format import MessageToDict, ParseDict
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from recollect.grpc.server import METHODS, SERVICE, camel
from recollect.grpc.statuses import STATUSES
from recollect.service.problems import Code
from tests.acceptance.shell import ENVIRONMENT

Answer = Mapping[str, Any] | Code


@dataclass(frozen=True, slots=True)
class Served:
    """Where a server listens, and what lets in."""

    web: str
    rpc: str
    token: str


@contextmanager
def serving(store: Path, **settings: str) -> Iterator[Served]:
    """A server of the store, until it is told to end, which it does well; `settings` are those of its section."""
    token = store.with_suffix(".token")
    environment = {
        **os.environ,
        **ENVIRONMENT,
        **{f"RECOLLECT_SERVER_{name.upper()}": value for name, value in settings.items()},
        "RECOLLECT_SERVER_TOKEN_FILE": str(token),
        "RECOLLECT_SERVER_KEYS": str(store.with_suffix(".keys")),
    }
    command = [sys.executable, "-m", "recollect", "--db", str(store), "serve", "--port", "0", "--grpc-port", "0"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        try:
            said = _until(run, "authorised")
            web, rpc = re.findall(r"(http://\S+)\n|gRPC at (\S+)", said)[0][0], re.findall(r"gRPC at (\S+)", said)[0]
            yield Served(web, rpc, token.read_text(encoding="utf-8").strip())
        finally:
            run.terminate()
            assert run.wait() == 0


def _until(run: "subprocess.Popen[str]", word: str) -> str:
    """What a process says, up to the line that begins so."""
    assert run.stdout is not None
    said = ""
    for line in run.stdout:
        said += line
        if line.startswith(word):
            return said
    raise AssertionError(f"it ended without a word of {word}: {said}")


class Http:
    """A client of the HTTP face."""

    name = "http"

    def __init__(self, served: Served) -> None:
        headers = {"Authorization": f"Bearer {served.token}"}
        self._client = httpx.Client(base_url=served.web, headers=headers, timeout=60.0)

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        """What is answered to a request."""
        response = self._client.post(f"/v1/{operation}", json=dict(given))
        body: dict[str, Any] = response.json()
        return body if response.is_success else Code(body["code"])

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


class Mcp:
    """The official client of MCP, over streamable HTTP, at one revision of the protocol."""

    def __init__(self, served: Served, mode: Any) -> None:
        self.name = f"mcp {mode}"
        self._served, self._mode = served, mode

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        """What a tool answers; the client holds it to the schema that the tool has."""
        return asyncio.run(self._ask(operation, given))

    async def _ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        headers = {"Authorization": f"Bearer {self._served.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60.0) as web:
            transport = streamable_http_client(f"{self._served.web}/mcp", http_client=web, max_sse_event_size=None)
            async with Client(transport, mode=self._mode) as client:
                result = await client.call_tool(operation, dict(given))
        found: dict[str, Any] = result.structured_content or {}
        return Code(found["code"]) if result.is_error else found

    def close(self) -> None:
        """Nothing is kept open."""


def read(message: Any) -> dict[str, Any]:
    """What a message says, whole numbers as such, which protobuf's own JSON writes as texts."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value, inner = getattr(message, field.name), field.message_type
        if field.has_presence and not message.HasField(field.name):
            continue
        if inner is None:
            found[field.name] = list(value) if field.is_repeated else value
        elif inner.GetOptions().map_entry:
            found[field.name] = dict(value)
        elif inner.file.package == message.DESCRIPTOR.file.package:
            found[field.name] = [read(one) for one in value] if field.is_repeated else read(value)
        else:
            found[field.name] = [MessageToDict(one) for one in value] if field.is_repeated else MessageToDict(value)
    return found


CODES: Mapping[Any, Code] = {status: code for code, status in reversed([*STATUSES.items()])}


class Grpc:
    """A client of the gRPC face."""

    name = "grpc"

    def __init__(self, served: Served) -> None:
        self._channel = grpc.insecure_channel(served.rpc)
        self._metadata = (("authorization", f"Bearer {served.token}"),)

    def ask(self, operation: str, asked: Mapping[str, Any]) -> Answer:
        """What is answered to a call; what is null or empty is absent from a message."""
        path = f"/{SERVICE.full_name}/{camel(operation)}"
        method = METHODS[path]
        call = self._channel.unary_unary(
            path, request_serializer=method.request.SerializeToString, response_deserializer=method.answer.FromString
        )
        try:
            answer = call(ParseDict(dict(asked), method.request()), metadata=self._metadata, timeout=60.0)
        except grpc.RpcError as error:
            status: Any = error
            return CODES[status.code()]
        return read(answer)

    def close(self) -> None:
        """Let go of the channel."""
        self._channel.close()
