"""What the README has people type in "Use it from your agent" does what it says."""

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from mcp import Client, StdioServerParameters

from tests.architecture.source import ROOT

from .at_home import environment, served

SECTION = (ROOT / "README.md").read_text(encoding="utf-8").split("## Use it from your agent\n")[1].split("\n## ")[0]
LINES = [line.removeprefix("$ ") for line in SECTION.split("\n") if line.startswith("$ ")]
TOKEN = "$(cat ~/.config/recollect/token)"  # noqa: S105  # what a shell puts the token in place of


def sent(line: str, url: str, home: Path) -> Any:
    """What a line of curl asks for, asked by a shell, or where there is no curl, as it would."""
    address = url.removeprefix("http://")
    if shutil.which("curl"):
        here = line.replace("localhost:8765", address)
        done = subprocess.run(["bash", "-c", here], env=environment(home), capture_output=True, check=True, timeout=120)
        return json.loads(done.stdout)
    token = (home / ".config" / "recollect" / "token").read_text(encoding="utf-8").strip()
    _, _, asked, _, key, _, sort, _, body = shlex.split(line.replace(TOKEN, token))
    headers = dict(header.split(": ") for header in (key, sort))
    path = asked.removeprefix("localhost:8765")
    return httpx.post(f"{url}{path}", headers=headers, content=body, timeout=60).json()


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


def test_the_lines_for_a_service_remember_and_recall(tmp_path: Path) -> None:
    serve, *asked = (one for one in LINES if not one.startswith("claude"))
    with served(serve, tmp_path) as url:
        kept, recalled = (sent(line, url, tmp_path) for line in asked)
    assert kept["verdict"] == "created"
    assert "Ana prefers window seats" in recalled["text"]
    assert (tmp_path / "recollect.db").exists()
