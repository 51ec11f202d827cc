"""The faces beside HTTP: MCP on the same port, gRPC on one of its own; each is loaded when it is wanted."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from starlette.applications import Starlette

from recollect.service.front import Front

MCP_PATH = "/mcp"


class Listening(Protocol):
    """A face that listens by itself."""

    @property
    def port(self) -> int:
        """Where."""
        ...

    def stop(self, grace: float) -> object:
        """Take nothing more, and finish what is under way within so many seconds."""
        ...


def mcp(front: Front, tools: str) -> Starlette:
    """The app that speaks MCP, with the tools of the toolsets that are named."""
    from recollect.mcp.catalogue import toolsets
    from recollect.mcp.server import http_app

    return http_app(front, toolsets(tools))


def grpc(front: Front, address: str, is_ready: Callable[[], bool]) -> Listening:
    """gRPC, listening at an address; its health is what HTTP tells, too."""
    from recollect.grpc.server import start

    return start(front, address, is_ready)


@asynccontextmanager
async def living(app: Starlette | None) -> AsyncIterator[None]:
    """Have a mounted app begin and end with the server, which Starlette leaves to whoever mounts it."""
    if app is None:
        yield
        return
    async with app.router.lifespan_context(app):
        yield
