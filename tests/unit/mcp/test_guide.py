"""What a model is told of how to use the memory: only of tools that it has."""

import asyncio
import re

import pytest

from recollect.mcp.asking import Asking
from recollect.mcp.catalogue import CORE, entries
from recollect.mcp.guide import GUIDE, INSTRUCTIONS
from recollect.mcp.prompts import PROMPTS
from recollect.service.access import owner


async def unasked(*_: object) -> dict[str, object]:
    raise AssertionError("it is written without asking")


async def save_lessons() -> str:
    return await PROMPTS["save_lessons"].written(Asking(unasked, owner()), {})


SAVE_LESSONS = asyncio.run(save_lessons())
MORE = [name if "_" in name else f"`{name}`" for name, one in entries().items() if one.toolset != CORE]
"""What names a tool that not every model has; a word that may mean something else does so only as code."""


@pytest.mark.parametrize("told", [INSTRUCTIONS, GUIDE, SAVE_LESSONS], ids=["instructions", "guide", "save_lessons"])
def test_a_tool_that_not_every_model_has_is_named_as_one_that_it_may_have(told: str) -> None:
    for sentence in re.split(r"(?<=[.:])\s+", told):
        assert "you have" in sentence or not any(name in sentence for name in MORE), sentence
