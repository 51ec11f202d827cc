"""What speaks MCP with us in the tests: the official client, over HTTP and over standard input and output."""

import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

import recollect
from recollect.api.auth import WHOLE_STORE, Grant, HostPolicy, Reach, Right
from recollect.api.dispatcher import Dispatcher, OperationRunner, RequestLimits, RequestOutcome
from recollect.api.keys import ApiKey, authenticate_key, issue_key
from recollect.model.scope import Scope
from recollect.server.mcp.catalog import Toolsets, parse_toolsets
from recollect.server.mcp.http_transport import McpHttpApp

ENVIRONMENT = {"RECOLLECT_EMBEDDER": "hashing", "RECOLLECT_CONFIG": ""}
ALL = parse_toolsets("core,episodes,observations,operator")
ERAS = {"2026-07-28": "auto", "2025-11-25": "legacy"}
"""The revisions, and how the client is told to speak each."""

SMALL = RequestLimits(body_bytes=100_000)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Office:
    """Who has which key, and all that was asked."""

    keys: dict[str, ApiKey] = field(default_factory=dict)
    asked: list[RequestOutcome] = field(default_factory=list)

    def key(self, reach: str = WHOLE_STORE, *rights: Right, over: bool = False) -> str:
        """The text of a new key for a scope, with all rights unless some are named; one that has expired, if over."""
        at = NOW - timedelta(days=2) if over else NOW
        to: Reach = WHOLE_STORE if reach == WHOLE_STORE else Scope.parse(reach)
        grants = [Grant(frozenset(rights or Right), to)]
        made, text = issue_key(f"key{len(self.keys)}", grants, at=at, expires_at=at + timedelta(days=1))
        self.keys[made.id] = made
        return text

    def front(self, engine: recollect.Engine, port: int, limits: RequestLimits) -> Dispatcher:
        """What answers whoever has a key."""
        return Dispatcher(
            OperationRunner(engine),
            lambda shown: authenticate_key(self.keys, shown, NOW),
            HostPolicy.for_ports(port),
            limits=limits,
            on_outcome=self.asked.append,
        )


@contextmanager
def serving(
    path: Path | str,
    office: Office,
    *,
    limits: RequestLimits = SMALL,
    wanted: Toolsets = ALL,
    embedder: Any = "hashing",
) -> Iterator[str]:
    """The address of a server for a store; it ends with the block."""
    with recollect.open(path, embedder=embedder) as engine:
        listening = uvicorn.Config("", port=0).bind_socket()
        listening.listen()  # whoever connects before the server is there waits for it
        port = listening.getsockname()[1]
        front = office.front(engine, port, limits)
        door = McpHttpApp(front, wanted)
        app = Starlette(routes=[Route("/mcp", endpoint=door)], lifespan=lambda _: door.run())
        server = uvicorn.Server(uvicorn.Config(app, http="h11", log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            thread.join()
            front.close()


@asynccontextmanager
async def over_http(url: str, key: str, era: str = "2026-07-28") -> AsyncIterator[Client]:
    """The official client with a key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=ERAS[era]) as client,
    ):
        assert client.protocol_version == era
        yield client


def command(path: Path, *arguments: str) -> list[str]:
    """What starts the server that speaks over standard input and output."""
    return [sys.executable, "-m", "recollect", "--db", str(path), "mcp", *arguments]


def environment() -> Mapping[str, str]:
    """In what it is started."""
    return {**os.environ, **ENVIRONMENT}


@asynccontextmanager
async def over_stdio(path: Path, *arguments: str, era: str = "2026-07-28") -> AsyncIterator[Client]:
    """The official client with a process that it starts."""
    python, *rest = command(path, *arguments)
    started = StdioServerParameters(command=python, args=rest, env=dict(environment()))
    async with Client(started, mode=ERAS[era]) as client:
        assert client.protocol_version == era
        yield client


def address_of(scope: str, id: str) -> str:
    """The address of a memory, as a client writes it by the template."""
    return f"recollect://memory/{quote(scope, safe='')}/{quote(id, safe='')}"


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool gives, which the client has held to the tool's output schema; refused is a failure of the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    return result.structured_content


async def problem(client: Client, tool: str, **arguments: Any) -> Any:
    """What is wrong with a call."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert set(result.structured_content) == {"code", "message", "field", "line", "retryable"}
    return result.structured_content
