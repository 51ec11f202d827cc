"""Resources: what a client can read by an address, and the operations by whose rights it may."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from recollect.errors import NotFound, show, suggest
from recollect.server.mcp.instructions import GUIDE
from recollect.server.mcp.operation_client import OperationClient
from recollect.server.mcp.results import to_json_line

JSON_MEDIA_TYPE: Final = "application/json"
MARKDOWN_MEDIA_TYPE: Final = "text/markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something to read: by which address or template of one, what it is, and which operations it asks.

    One that asks none tells the same to everybody who is let in.
    """

    address: str
    name: str
    title: str
    about: str
    type: str
    operations: tuple[str, ...]
    read: Callable[[OperationClient, Mapping[str, str]], Awaitable[str]]


async def _read_guide(_: OperationClient, __: Mapping[str, str]) -> str:
    return GUIDE


async def _read_profiles(asking: OperationClient, _: Mapping[str, str]) -> str:
    return to_json_line(await asking("list_profiles", {}))


async def _read_stats(asking: OperationClient, _: Mapping[str, str]) -> str:
    return to_json_line(await asking("stats", {}))


async def _read_memory(asking: OperationClient, found: Mapping[str, str]) -> str:
    return to_json_line(await asking("get_memory", found))


RESOURCES: Mapping[str, Resource] = {
    one.address: one
    for one in (
        Resource(
            address="recollect://guide",
            name="guide",
            title="How to use this memory",
            about="When to recall, what to remember and how, in a page.",
            type=MARKDOWN_MEDIA_TYPE,
            operations=(),
            read=_read_guide,
        ),
        Resource(
            address="recollect://profiles",
            name="profiles",
            title="Rank profiles",
            about="The rank profiles that a question can name, and what each is for.",
            type=JSON_MEDIA_TYPE,
            operations=("list_profiles",),
            read=_read_profiles,
        ),
        Resource(
            address="recollect://stats",
            name="stats",
            title="How much there is",
            about="How many memories there are by status and kind: of your scope and those below it, or of all.",
            type=JSON_MEDIA_TYPE,
            operations=("stats",),
            read=_read_stats,
        ),
    )
}
"""What has an address of its own."""

TEMPLATES: Mapping[str, Resource] = {
    one.address: one
    for one in (
        Resource(
            address="recollect://memory/{scope}/{id}",
            name="memory",
            title="A memory",
            about="All that is known of one memory. The slashes of the scope are written as %2F.",
            type=JSON_MEDIA_TYPE,
            operations=("get_memory",),
            read=_read_memory,
        ),
    )
}
"""What has as many addresses as there are things."""

_MEMORY_ADDRESS = re.compile(r"recollect://memory/(?P<scope>.+)/(?P<id>[^/]+)")


async def read_resource(address: str, asking: OperationClient) -> tuple[Resource, str]:
    """The resource at an address, and what it says now; slashes of a scope that are written as they are do no harm."""
    if (found := RESOURCES.get(address)) is not None:
        return found, await found.read(asking, {})
    if (memory := _MEMORY_ADDRESS.fullmatch(address)) is None:
        raise NotFound(f"there is no resource {show(address)}; {suggest(address, (*RESOURCES, *TEMPLATES))}")
    (template,) = TEMPLATES.values()
    return template, await template.read(asking, {name: unquote(one) for name, one in memory.groupdict().items()})
