"""What the README shows is what a user sees after the plain install."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
from mcp import Client, StdioServerParameters

from tests.architecture.markdown import Page
from tests.architecture.source import ROOT

from .at_home import environment, served

README = Page.read(ROOT / "README.md")
STATIC_TABLE = "wordllama"
"""The embedder of the plain install; the tests have the extra `minilm` too, which would be chosen instead."""


def inline_command(start: str) -> str:
    """Return the command in the table of clients that begins with these words."""
    (found,) = re.findall(rf"`({re.escape(start)}[^`]*)`", README.text())
    return str(found)


def without_random_parts(text: str) -> str:
    """Replace the marker, the id and the date, which differ in every run."""
    return re.sub(r"\b\d{18,}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b\d{4}-\d\d-\d\d\b", "…", text)


def test_the_six_lines_print_what_is_shown(tmp_path: Path) -> None:
    [code], [shown] = README.blocks("python"), README.blocks("text")
    environment = os.environ | {"RECOLLECT_EMBEDDER": STATIC_TABLE, "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr
    assert without_random_parts(run.stdout.strip()) == without_random_parts("\n".join(shown).strip())


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    commands = ["\n".join(block) for block in README.blocks("bash")]
    assert commands == ["scripts/setup --core && venv/bin/recollect demo", "scripts/test"]
    assert "exec scripts/test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_mcp_command_starts_a_server_that_remembers(tmp_path: Path) -> None:
    _, *words = shlex.split(inline_command("claude mcp add").split(" -- ")[1])
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


def test_the_serve_command_answers_over_http(tmp_path: Path) -> None:
    with served(inline_command("recollect --db ~/recollect.db serve"), tmp_path) as url:
        assert httpx.get(f"{url}/health/ready", timeout=60).status_code == 200
    assert (tmp_path / "recollect.db").exists()
