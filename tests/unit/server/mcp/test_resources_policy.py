"""One policy: whatever can be asked over MCP asks an operation, by its rights; what asks none tells no memory."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from recollect.api.auth import Caller, create_owner
from recollect.api.operations import OPERATIONS
from recollect.errors import AccessDenied
from recollect.server.mcp.catalog import load_tools
from recollect.server.mcp.resources import (
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    OperationClient,
    PromptTemplate,
    Resource,
    read_resource,
)
from tests.integration.mcp.rig import address_of
from tests.tables import table

FOR_ALL = {"recollect://guide", "save_lessons"}
"""What says the same to everybody, and nothing of any memory."""


class Refused(AccessDenied):
    """What an operation says to whoever may not ask."""


def refused_by(name: str) -> OperationClient:
    """Asks operations of which one may not be asked."""

    async def ask(asked: str, _: Mapping[str, Any], __: Caller) -> Mapping[str, Any]:
        if asked == name:
            raise Refused(asked)
        context = {"text": "", "packed": [], "omitted": [], "budget": 1200, "id": None, "marker": "0123456789abcdef"}
        return {**context, "failure_modes": []}

    return OperationClient(ask, create_owner())


def asked_of(one: Resource | PromptTemplate, asking: OperationClient) -> None:
    """Have it told."""
    given = {"task": "t", "scope": "acme/ana", "id": "1"}
    asyncio.run(one.read(asking, given) if isinstance(one, Resource) else one.render(asking, given))  # type: ignore[arg-type]


EVERYTHING: list[Resource | PromptTemplate] = [*RESOURCES.values(), *TEMPLATES.values(), *PROMPTS.values()]


def name_of(one: Resource | PromptTemplate | str) -> str:
    return one if isinstance(one, str) else one.address if isinstance(one, Resource) else one.name


def test_every_tool_is_an_operation() -> None:
    assert set(load_tools()) == set(OPERATIONS)


@table("one", EVERYTHING, ids=name_of)
def test_a_resource_or_prompt_names_the_operations_it_asks_or_is_for_all(one: Resource | PromptTemplate) -> None:
    assert set(one.operations) <= set(OPERATIONS)
    assert bool(one.operations) != (name_of(one) in FOR_ALL)


@table(("one", "name"), [(one, name) for one in EVERYTHING for name in one.operations], ids=name_of)
def test_what_may_not_be_asked_of_an_operation_may_not_be_read_either(
    one: Resource | PromptTemplate, name: str
) -> None:
    with pytest.raises(Refused):
        asked_of(one, refused_by(name))


@table("one", EVERYTHING, ids=name_of)
def test_nothing_is_asked_but_what_is_named(one: Resource | PromptTemplate) -> None:
    for name in set(OPERATIONS) - set(one.operations):
        asked_of(one, refused_by(name))


@table("scope", ["acme", "acme/ana", "acme/ana bo/€", "a%2Fb/c?d#e"])
def test_the_address_of_a_memory_leads_to_its_scope_and_its_id(scope: str) -> None:
    found: list[Mapping[str, Any]] = []

    async def ask(_: str, given: Mapping[str, Any], __: Caller) -> Mapping[str, Any]:
        found.append(given)
        return {}

    address = address_of(scope, "id/1")
    asyncio.run(read_resource(address, OperationClient(ask, create_owner())))
    assert found == [{"scope": scope, "id": "id/1"}]
    assert address.count("/") == 4
