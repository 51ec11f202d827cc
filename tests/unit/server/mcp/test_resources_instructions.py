"""What a model is told of how to use the memory: only of tools that it has."""

import asyncio
import re
from itertools import combinations

import pytest

from recollect.api.auth import WHOLE_STORE, Caller, Grant, Right, create_owner
from recollect.api.operation import Toolset
from recollect.server.mcp.catalog import list_allowed_tools, load_tools
from recollect.server.mcp.resources import GUIDE, INSTRUCTION_SENTENCES, PROMPTS, OperationClient, build_instructions
from tests.tables import table


async def unasked(*_: object) -> dict[str, object]:
    raise AssertionError("it is written without asking")


async def written(name: str) -> str:
    return await PROMPTS[name].render(OperationClient(unasked, create_owner()), {})


SAVE_LESSONS = asyncio.run(written("save_lessons"))
MORE = [name if "_" in name else f"`{name}`" for name, one in load_tools().items() if one.toolset != Toolset.CORE]
"""What names a tool that not every model has; a word that may mean something else does so only as code."""


@table("told", [GUIDE, SAVE_LESSONS], ids=["guide", "save_lessons"])
def test_a_tool_that_not_every_model_has_is_named_as_one_that_it_may_have(told: str) -> None:
    for sentence in re.split(r"(?<=[.:])\s+", told):
        assert "you have" in sentence or not any(name in sentence for name in MORE), sentence


def named(told: str) -> set[str]:
    """The tools that a text names."""
    return {name for name in load_tools() if re.search(rf"\b{name}\b", told)}


def test_a_sentence_of_the_instructions_knows_the_tools_that_it_names() -> None:
    assert [set(tools) for tools, _ in INSTRUCTION_SENTENCES] == [named(told) for _, told in INSTRUCTION_SENTENCES]


READER = Caller(name="reader", grants=(Grant(frozenset({Right.READ}), WHOLE_STORE),))
OFFERED = [
    pytest.param(
        {one.name for one in list_allowed_tools(frozenset(sets), caller)}, id=f"{'+'.join(sets)} of the {caller.name}"
    )
    for size in range(1, len(Toolset) + 1)
    for sets in combinations(Toolset, size)
    for caller in (create_owner(), READER)
]


@table("tools", OFFERED)
def test_the_instructions_name_only_tools_that_are_offered(tools: set[str]) -> None:
    assert named(build_instructions(tools)) <= tools
    assert build_instructions(tools).startswith("A memory of earlier conversations and tasks. ")


def test_the_instructions_say_what_every_model_is_to_do_and_what_those_with_more_tools_are() -> None:
    def told(*sets: Toolset) -> set[str]:
        return named(build_instructions({one.name for one in list_allowed_tools(frozenset(sets), create_owner())}))

    assert told(Toolset.CORE) == {"brief", "recall", "remember", "feedback"}
    assert told(Toolset.CORE, Toolset.EPISODES) > told(Toolset.CORE)
    assert "start_episode" in told(Toolset.EPISODES)
    assert "mem_save" in told(Toolset.OBSERVATIONS)


@table(
    ("sets", "rights", "listed"),
    [
        ({Toolset.CORE}, {Right.READ, Right.WRITE}, ["start_session", "before_task", "save_lessons"]),
        ({Toolset.CORE}, {Right.READ}, ["start_session", "before_task"]),
        ({Toolset.CORE}, {Right.WRITE}, ["save_lessons"]),
        ({"episodes"}, {Right.READ, Right.WRITE}, ["start_session", "before_task"]),
    ],
    ids=["core, both", "core, read", "core, write", "episodes, both"],
)
def test_a_prompt_is_of_use_to_who_may_ask_what_it_asks_and_has_the_tools_it_tells_of(
    sets: set[str], rights: set[Right], listed: list[str]
) -> None:
    caller = Caller(name="somebody", grants=(Grant(frozenset(rights), WHOLE_STORE),))
    tools = {one.name for one in list_allowed_tools(frozenset(sets), caller)}
    assert [name for name, one in PROMPTS.items() if one.is_available(caller, tools)] == listed


def test_a_prompt_knows_the_tools_that_it_tells_the_model_to_call() -> None:
    assert list(PROMPTS["save_lessons"].mentioned_tools) == re.findall(r"(?i)\bcall (\w+)", SAVE_LESSONS)


def test_a_model_is_told_that_another_can_restore_what_it_forgets_where_it_cannot_itself() -> None:
    restore = load_tools()["restore"]
    assert (restore.toolset, restore.right) == (Toolset.OPERATOR, Right.ADMIN)
    assert load_tools()["forget"].about.endswith(" Nothing is erased: an operator can restore it.")
