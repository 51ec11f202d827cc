"""What the README has people type in "Use it from your agent" does what it says."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.architecture.source import ROOT

from .at_home import WAYS, asked, environment, served

SECTION = (ROOT / "README.md").read_text(encoding="utf-8").split("## Use it from your agent\n")[1].split("\n## ")[0]
LINES = [line.removeprefix("$ ") for line in SECTION.split("\n") if line.startswith("$ ")]


def test_the_line_for_an_agent_starts_a_memory_that_remembers(tmp_path: Path) -> None:
    (line,) = (one for one in LINES if one.startswith("claude mcp add"))
    _, *words = shlex.split(line.split(" -- ")[1])
    there = dict(environment(tmp_path))
    how = StdioServerParameters(command=sys.executable, args=["-m", "recollect", *words], env=there, cwd=tmp_path)

    async def ask() -> None:
        async with Client(how) as client:
            tools = {one.name for one in (await client.list_tools()).tools}
            assert {"recall", "remember", "brief", "feedback"} <= tools
            await client.call_tool("remember", {"text": "Ana prefers window seats"})
            recalled = await client.call_tool("recall", {"query": "which seat should I book?"})
            assert "Ana prefers window seats" in (recalled.structured_content or {})["text"]

    asyncio.run(ask())
    assert (tmp_path / "recollect.db").exists()


@pytest.mark.parametrize("way", WAYS)
def test_the_lines_for_a_service_remember_and_recall(way: str, tmp_path: Path) -> None:
    serve, *asking = (one for one in LINES if not one.startswith("claude"))
    with served(serve, tmp_path) as url:
        kept, recalled = (asked(line, way, url, tmp_path) for line in asking)
    assert kept["verdict"] == "created"
    assert "Ana prefers window seats" in recalled["text"]
    assert (tmp_path / "recollect.db").exists()
