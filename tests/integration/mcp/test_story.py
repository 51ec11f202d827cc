"""A model that uses every tool once, through the official client: over both transports, in both revisions."""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import recollect
from recollect.api.auth import Right
from recollect.api.operation import Toolset
from recollect.server.mcp.catalog import COMPACT_FIELDS, parse_toolsets, select_tools
from tests.unit.api import story as operations_story

from .rig import ERAS, Office, call, over_http, over_stdio, problem, serving

SCOPE = "acme/kim"
WANTED = "core,episodes,operator,observations"
TOOLS = select_tools(parse_toolsets(WANTED))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in which something happened, and was rolled up."""
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing") as engine:
        days = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2)]
        engine.observe([{"text": f"Ana took the train to Lyon on {day:%A}", "at": day} for day in days], scope=SCOPE)
        engine.timeline.rollup(scope=SCOPE)
    return path


class Model:
    """Calls tools as a model would."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """What the tool gives."""
        told = {} if tool == "list_profiles" else {"scope": SCOPE}
        return await call(self._client, tool, **told, **arguments)


async def remembers_and_recalls(model: Model) -> None:
    seat = await model("remember", text="Ana prefers window seats", kind="preference", subject="ana/seat")
    assert (await model("remember", text="Ana prefers window seats", kind="preference"))["id"] == seat["id"]
    several = await model("remember_all", drafts=[{"text": "Bo drinks tea"}, {"text": "Cy runs at dawn"}])
    tea = several["receipts"][0]["id"]
    context = await model("recall", query="which seat does Ana like?")
    assert "Ana prefers window seats" in context["text"]
    assert (await model("feedback", context_id=context["id"], helped=[seat["id"]]))["helped"] == [seat["id"]]
    assert (await model("replay", context_id=context["id"]))["identical"]
    assert (await model("brief"))["packed"]
    assert (await model("search", query="window seats"))["results"][0]["id"] == seat["id"]
    assert (await model("why", id=seat["id"], query="window seats"))["id"] == seat["id"]
    await model("revise", id=seat["id"], text="Ana prefers aisle seats")
    assert len((await model("get_history", id=seat["id"]))["versions"]) > 1
    await model("forget", id=tea)
    assert (await model("restore", id=tea))["verdict"] == "changed"
    await model("pin", id=seat["id"])
    await model("unpin", id=seat["id"])
    assert (await model("get_memory", id=seat["id"]))["text"] == "Ana prefers aisle seats"
    assert tea in [one["id"] for one in (await model("list_memories"))["memories"]]
    assert (await model("erase", id=tea))["dry_run"]
    assert (await model("get_memory", id=tea))["status"] == "active"
    assert (await model("erase", id=tea, dry_run=False))["proven"]


async def looks_around(model: Model) -> None:
    await model("observe", events=[{"content": "The tests are green", "role": "tool"}])
    await model("extract", turns=[{"content": "I prefer tea to coffee."}])
    place = (await model("browse"))["parts"][0]
    while place["level"] != "segment":
        place = (await model("browse", key=place["key"]))["parts"][0]
    assert (await model("expand", id=place["key"]))["events"]
    name = (await model("list_entities"))["entities"][0]["name"]
    assert (await model("get_neighbours", name_or_id=name))["name"] == name
    await model("list_topics")
    assert (await model("stats"))["memories"] > 0
    assert (await model("list_scopes"))["scopes"] == [SCOPE]
    assert "default" in [one["name"] for one in (await model("list_profiles"))["profiles"]]
    assert (await model("run_job", job="consolidate"))["dry_run"]
    assert (await model("prune_vector_index"))["dry_run"]


async def works(model: Model) -> None:
    task = await model("start_episode", task="Deploy the site to production", plan=["build", "copy"])
    await model("record_action", id=task["id"], type="deploy", input={"host": "a"}, result="failed")
    done = await model("complete_episode", id=task["id"], outcome=0.2, failure_modes=["The cache was not cleared"])
    assert (await model("get_similar_episodes", task="Deploy the site to staging"))["episodes"]
    found = (await model("get_failure_modes", task="Deploy the site to staging"))["failure_modes"]
    assert [one["text"] for one in found] == ["The cache was not cleared"]
    assert [one["id"] for one in (await model("list_episodes"))["episodes"]] == [task["id"]]
    assert (await model("get_episode", id=task["id"]))["finished"]
    assert (await model("undo", run=done["run"]))["undone"] == done["run"]


async def story(connecting: AbstractAsyncContextManager[Client], store: Path) -> None:
    """All of it, then the story of every operation; the client holds each answer to its schema."""
    async with connecting as client:
        listed = (await client.list_tools()).tools
        assert [one.name for one in listed] == list(TOOLS)
        model = Model(client)
        await remembers_and_recalls(model)
        await looks_around(model)
        await works(model)
        assert set(await asyncio.to_thread(tell_story, client, asyncio.get_running_loop(), store)) == set(TOOLS)


def tell_story(client: Client, loop: asyncio.AbstractEventLoop, store: Path) -> list[str]:
    """Call every tool as the story of the operations does, in full, and return their names."""

    def ask(tool: str, given: Mapping[str, Any]) -> Any:
        full = {"explain": True} if tool in COMPACT_FIELDS else {}
        return asyncio.run_coroutine_threadsafe(call(client, tool, **given, **full), loop).result()

    with recollect.open(store, embedder="hashing") as engine:
        return [name for name, _ in operations_story.told(ask, engine)]


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_answers_over_http_as_its_schema_says(era: str, store: Path) -> None:
    office = Office()
    with serving(store, office, wanted=parse_toolsets(WANTED)) as url:
        asyncio.run(story(over_http(url, office.key(), era), store))
    assert {one.transport for one in office.asked} == {"mcp"}
    assert {one.outcome for one in office.asked} == {"ok"}


@pytest.mark.parametrize("era", ["2026-07-28", pytest.param("2025-11-25", marks=pytest.mark.thorough)])
def test_every_tool_answers_over_stdio_as_its_schema_says(era: str, store: Path) -> None:
    asyncio.run(story(over_stdio(store, "--tools", WANTED, era=era), store))


def test_a_tool_tells_the_same_as_text_and_what_is_recalled_is_ready_to_read(store: Path) -> None:
    office = Office()

    async def look(url: str) -> None:
        async with over_http(url, office.key(SCOPE)) as client:
            counted = await client.call_tool("stats", {})
            assert [json.loads(one.text) for one in counted.content] == [counted.structured_content]  # type: ignore[union-attr]
            recalled = await client.call_tool("recall", {"query": "which seat did Ana book?"})
            text, after = (one.text for one in recalled.content)  # type: ignore[union-attr]
            assert text == recalled.structured_content["text"]
            assert recalled.structured_content["id"] in after
            assert "omitted" not in recalled.structured_content
            packed = recalled.structured_content["packed"]
            assert set(packed[0]) == {"id", "scope", "kind", "score"}
            explained = await call(client, "recall", query="which seat did Ana book?", explain=True)
            assert [one["id"] for one in explained["packed"]] == [one["id"] for one in packed]
            assert explained["omitted"] == []
            assert explained["packed"][0]["parts"]
            wrong = await problem(client, "recall", query="which seat did Ana book?", explain="perhaps")
            assert (wrong["code"], wrong["field"]) == ("invalid", "explain")

    with serving(store, office) as url:
        asyncio.run(look(url))


def test_a_context_without_memories_says_why_also_to_who_reads_only_what_is_structured(store: Path) -> None:
    office = Office()
    asked = {"query": "which train did Ana take to Lyon?"}

    async def look(url: str) -> None:
        async with over_http(url, office.key(SCOPE)) as client:

            async def said(tool: str, **given: Any) -> str:
                """What is said of nothing."""
                result = await client.call_tool(tool, given)
                told = result.structured_content
                assert [one.text for one in result.content] == [told["text"]]  # type: ignore[union-attr]
                assert (told["packed"], told["tokens"]) == ([], 0)
                return str(told["text"])

            await call(client, "remember", text="Ana takes the early train to Lyon", kind="preference")
            assert await said("recall", **asked, kinds=["decision"]) == "Nothing is remembered that would help here."
            for tool, given in (("recall", asked), ("brief", {})):
                for tokens in (9, 30):
                    narrow = await said(tool, **given, tokens=tokens)
                    wanted = re.search(rf"and none fits into {tokens} tokens; ask again with (\d+) or more\.$", narrow)
                    assert wanted is not None
                    await said(tool, **given, tokens=int(wanted[1]) - 1)
                    assert (await call(client, tool, **given, tokens=int(wanted[1])))["packed"]
            assert (await call(client, "recall", **asked, tokens=9, explain=True))["text"] == ""

    with serving(store, office) as url:
        asyncio.run(look(url))


def test_a_scope_that_goes_without_saying_is_not_required_and_only_those_below_it_can_be_named(store: Path) -> None:
    async def look() -> None:
        async with over_stdio(store, "--scope", SCOPE, era="2025-11-25") as client:
            tools = (await client.list_tools()).tools
            assert [one.name for one in tools] == list(select_tools(frozenset({Toolset.CORE})))
            assert [one.name for one in tools if "scope" in one.input_schema.get("required", ())] == []
            assert (await call(client, "stats"))["scope"] == SCOPE
            prompts = (await client.list_prompts()).prompts
            assert [one.name for prompt in prompts for one in prompt.arguments or () if one.required] == ["task"]
            whose = {one.description for prompt in prompts for one in prompt.arguments or () if one.name == "scope"}
            assert whose == {f"Leave it out: then it is {SCOPE}."}
            await call(client, "brief")
            other = await client.call_tool("brief", {"scope": "acme/bo"})
            assert other.is_error
            await has_a_memory_of_its_own(client, f"{SCOPE}/notes")

    async def has_a_memory_of_its_own(client: Client, below: str) -> None:
        kept = await call(client, "remember", text="Ana keeps bees on the roof", scope=below)
        there = await call(client, "recall", query="where are the bees of Ana?", scope=below)
        assert kept["id"] in [one["id"] for one in there["packed"]]
        above = await call(client, "recall", query="where are the bees of Ana?")
        assert kept["id"] not in [one["id"] for one in above["packed"]]

    asyncio.run(look())


def test_a_server_that_only_reads_offers_nothing_else_and_refuses_it(store: Path) -> None:
    async def look() -> None:
        async with over_stdio(store, "--scope", SCOPE, "--read-only") as client:
            tools = (await client.list_tools()).tools
            assert {one.annotations.read_only_hint for one in tools if one.annotations} == {True}
            refused = await client.call_tool("remember", {"text": "Bo drinks tea"})
            assert refused.structured_content["code"] == "forbidden"
            assert refused.structured_content["message"].endswith("; recollect mcp was started with --read-only")
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("rememver", {})
            known = "recall, brief, search, why, get_memory, stats"
            assert unknown.value.message == f"unknown tool 'rememver'; known are {known}"
            assert "recall" in (client.instructions or "")
            assert "remember" not in (client.instructions or "")
            assert [one.name for one in (await client.list_prompts()).prompts] == ["start_session", "before_task"]

    asyncio.run(look())


def test_over_http_the_instructions_follow_the_toolsets_of_the_server_and_the_prompts_the_key(store: Path) -> None:
    office = Office()

    async def look(url: str, *rights: Right) -> tuple[str, list[str]]:
        async with over_http(url, office.key(SCOPE, *rights)) as client:
            return client.instructions or "", [one.name for one in (await client.list_prompts()).prompts]

    with serving(store, office, wanted=parse_toolsets("episodes")) as url:
        told, prompts = asyncio.run(look(url))
    assert "start_episode" in told
    assert "recall " not in told
    assert prompts == ["start_session", "before_task"]
    with serving(store, office, wanted=frozenset({Toolset.CORE})) as url:
        assert asyncio.run(look(url, Right.READ))[1] == ["start_session", "before_task"]
        assert asyncio.run(look(url))[1] == ["start_session", "before_task", "save_lessons"]
