"""The faces beside HTTP: MCP on the same port, gRPC on one of its own; each is loaded when it is wanted."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.types import Receive, Scope, Send

from recollect.api.dispatcher import Dispatcher

MCP_PATH = "/mcp"


class RunningTransport(Protocol):
    """A face that listens by itself."""

    @property
    def port(self) -> int:
        """Where."""
        ...

    def stop(self, grace: float) -> object:
        """Take nothing more, and finish what is under way within so many seconds."""
        ...


class MountedTransport(Protocol):
    """A face that speaks HTTP at a path of a server, while it runs."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Have requests answered meanwhile."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one."""
        ...


def create_mcp_transport(front: Dispatcher, tools: str) -> MountedTransport:
    """What speaks MCP, with the tools of the toolsets that are named."""
    from recollect.server.mcp.catalog import parse_toolsets
    from recollect.server.mcp.http_transport import McpHttpApp

    return McpHttpApp(front, parse_toolsets(tools))


def start_grpc(front: Dispatcher, address: str, is_ready: Callable[[], bool]) -> RunningTransport:
    """gRPC, listening at an address; its health is what HTTP tells, too."""
    from recollect.server.grpc.server import start_server

    return start_server(front, address, is_ready)
