"""The face over HTTP as the conformance suite meets it: on a port of this machine, with nobody asked for a key."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

import recollect
from mcp_conformance.fixtures import Fixtures
from recollect.api.auth import Caller, HostPolicy, create_owner
from recollect.api.dispatcher import Dispatcher, OperationRunner
from recollect.api.operation import Toolset
from recollect.server.mcp.http_transport import McpHttpApp

SCOPE = "conformance/suite"


def _anybody(_: str | None) -> Caller:
    return create_owner(reach=recollect.Scope.parse(SCOPE))


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server with an empty store, which ends with the block."""
    with recollect.open(":memory:") as engine:
        listening = uvicorn.Config("", port=0).bind_socket()
        port = listening.getsockname()[1]
        door = McpHttpApp(
            Dispatcher(OperationRunner(engine), _anybody, HostPolicy.for_ports(port)),
            frozenset({Toolset.CORE}),
            Fixtures,
        )
        app = Starlette(routes=[Route("/mcp", endpoint=door)], lifespan=lambda _: door.run())
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            thread.join()
