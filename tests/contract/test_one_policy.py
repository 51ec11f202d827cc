"""One policy: every operation, route, tool and call has one, and one that is added without is found out."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.struct_pb2 import DESCRIPTOR as STRUCT
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

import recollect
from recollect.api.auth import HostPolicy, Right, create_owner
from recollect.api.dispatcher import Dispatcher, OperationRunner
from recollect.api.keys import authenticate_key
from recollect.api.operation import Operation
from recollect.api.operations import OPERATIONS
from recollect.errors import NotFound
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.server import METHODS, SERVICE, start_server
from recollect.server.health import Health
from recollect.server.http.app import METRICS_PATH, PUBLIC_ENDPOINTS, create_app
from recollect.server.mcp.catalog import ToolEntry, load_tools, parse_toolsets
from recollect.server.mcp.http_transport import McpHttpApp
from recollect.server.serve import MCP_PATH
from tests.contract.served import TOOLS

PORT = 8765
PEEK = "peek"
"""What somebody might add and forget to say who may ask for it."""

UNSCOPED = {"list_profiles"}
"""The operations that are about nobody's memories."""


def operations_without(operations: Collection[Operation[Any, Any]]) -> set[str]:
    """The operations that do not say who may ask for them, or about whose memories they are."""
    scoped = {one.name for one in operations if one.request.scope_field in one.request.model_fields} | UNSCOPED
    return {one.name for one in operations if one.right not in tuple(Right) or one.name not in scoped}


def routes_without(served: Starlette) -> set[str]:
    """The routes that answer whoever shows no key, and are not known to be for everybody."""

    async def asked(client: httpx.AsyncClient, route: Route) -> int:
        method = "POST" if "POST" in (route.methods or {"POST"}) else "GET"
        return (await client.request(method, route.path, json={})).status_code

    async def answering() -> set[str]:
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
            routes = [one for one in served.routes if isinstance(one, Route)]
            assert len(routes) == len(served.routes)
            return {one.path for one in routes if await asked(client, one) != httpx.codes.UNAUTHORIZED}

    return asyncio.run(answering()) - set(PUBLIC_ENDPOINTS)


def tools_without(tools: Collection[ToolEntry]) -> set[str]:
    """The tools that are no operation, or are offered by another right than the operation has."""
    policy = {one.name: (one.right, one.request.scope_field) for one in OPERATIONS.values()}
    return {one.name for one in tools if policy.get(one.name) != (one.right, one.whose)}


def calls_without(service: ServiceDescriptor) -> set[str]:
    """The calls of a service that are no operation."""
    return {one.name for one in service.methods} - {one.call_name for one in OPERATIONS.values()}


@pytest.fixture
def front() -> Iterator[Dispatcher]:
    with recollect.open(":memory:", embedder="hashing") as engine:
        made = Dispatcher(
            OperationRunner(engine),
            lambda shown: authenticate_key({}, shown, datetime.now(UTC)),
            HostPolicy.for_ports(PORT),
        )
        yield made
        made.close()


def served(front: Dispatcher) -> Starlette:
    """All that a server has at its port for HTTP."""

    async def well() -> Health:
        return Health(store=True, embedder=None)

    return create_app(front, well, bytes, mounts={MCP_PATH: McpHttpApp(front, parse_toolsets(TOOLS))})


def test_every_operation_route_tool_and_call_has_a_policy(front: Dispatcher) -> None:
    assert operations_without(OPERATIONS.values()) == set()
    assert routes_without(served(front)) == set()
    assert tools_without(load_tools().values()) == set()
    assert calls_without(SERVICE) == set()


def test_each_face_has_each_operation_and_what_has_a_door_of_its_own_beside(front: Dispatcher) -> None:
    paths = {one.path for one in served(front).routes if isinstance(one, Route)}
    assert paths == {f"/v1/{name}" for name in OPERATIONS} | {*PUBLIC_ENDPOINTS, METRICS_PATH, MCP_PATH}
    assert set(load_tools()) == set(OPERATIONS)
    assert {path.rpartition("/")[2] for path in METHODS} == {one.call_name for one in OPERATIONS.values()}


def test_an_operation_without_a_policy_is_found_out() -> None:
    stats = OPERATIONS["stats"]
    nobodys = replace(stats, name=PEEK, right=None)  # type: ignore[arg-type]
    anybodys = replace(stats, name=PEEK, request=OPERATIONS["list_profiles"].request)
    for added in (nobodys, anybodys):
        assert operations_without([*OPERATIONS.values(), added]) == {PEEK}
    assert operations_without([*OPERATIONS.values(), replace(stats, name=PEEK)]) == set()


def test_a_route_without_a_policy_is_found_out(front: Dispatcher) -> None:
    whole = served(front)
    for path in (f"/v1/{PEEK}", f"/{PEEK}"):
        whole.router.routes.append(Route(path, lambda _: Response("all that is known"), methods=["POST"]))
    assert routes_without(whole) == {f"/v1/{PEEK}", f"/{PEEK}"}


def test_a_tool_without_a_policy_is_found_out_and_answers_nothing(front: Dispatcher) -> None:
    stats = load_tools()["stats"]
    assert tools_without([*load_tools().values(), replace(stats, name=PEEK)]) == {PEEK}
    assert tools_without([*load_tools().values(), replace(load_tools()["erase"], right=Right.READ)]) == {"erase"}
    assert tools_without([*load_tools().values(), replace(stats, whose=None)]) == {"stats"}
    with pytest.raises(NotFound, match=f"unknown operation '{PEEK}'"):
        asyncio.run(front.dispatch("mcp", PEEK, {}, create_owner()))


def test_a_call_without_a_policy_is_found_out_and_answers_nothing(front: Dispatcher) -> None:
    written = FileDescriptorProto()
    recollect_pb2.DESCRIPTOR.CopyToProto(written)
    stats = next(one for one in written.service[0].method if one.name == "Stats")
    written.service[0].method.add(name="Peek", input_type=stats.input_type, output_type=stats.output_type)
    pool = DescriptorPool()
    pool.AddSerializedFile(STRUCT.serialized_pb)
    pool.AddSerializedFile(written.SerializeToString())
    assert calls_without(pool.FindServiceByName(SERVICE.full_name)) == {"Peek"}
    running = start_server(front, "127.0.0.1:0")
    try:
        with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel, pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(f"/{SERVICE.full_name}/Peek")(b"", timeout=60)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    finally:
        running.stop(0.0)
