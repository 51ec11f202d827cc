"""The examples: each runs as it is, in a folder of its own, and is shown to whoever reads the documentation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.model.context import Use
from tests.tables import table

from .serving import served

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
WORDLLAMA, HASHING = (pytest.param(name, marks=pytest.mark.thorough) for name in ("wordllama", "hashing"))
"""What an example is run with as well: it is to tell the same whatever embeds."""


def told(program: str, folder: Path, embedder: str, *arguments: str, **variables: str) -> list[str]:
    """The lines that the example prints, where warnings are errors."""
    there = {**os.environ, "RECOLLECT_EMBEDDER": embedder, "PYTHONUTF8": "1", **variables}
    command = [sys.executable, "-W", "error", str(EXAMPLES / program), *arguments]
    done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_first_ranking_is_ranked_explained_and_packed(tmp_path: Path) -> None:
    lines = told("first_ranking.py", tmp_path, "hashing")
    assert "1. 0.416  Billing now deploys on Tuesday mornings." in lines
    assert "272 of 300 tokens, some of them kept for constraints:" in lines
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", ["minilm", WORDLLAMA, HASHING])
def test_the_travel_assistant_knows_what_she_wants_now_and_what_she_wanted(embedder: str, tmp_path: Path) -> None:
    lines = told("travel_assistant.py", tmp_path, embedder)
    assert lines[0] == "what she said, and says now: ['Ana prefers window seats', 'Ana prefers aisle seats now']"
    (summary,) = [line for line in lines if line.startswith("<Context ")]
    assert lines[lines.index(summary) + 1].endswith("  Ana prefers aisle seats now")
    assert lines[-1] == "sixty days ago: ['Ana prefers window seats']"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", ["minilm", WORDLLAMA, HASHING])
def test_the_release_agent_avoids_what_went_wrong_before(embedder: str, tmp_path: Path) -> None:
    lines = told("release_agent.py", tmp_path, embedder)
    ends = [line for line in lines if line.startswith("  outcome ")]
    assert ends == [
        "  outcome 0.4, value 0.75",
        "  outcome 0.4, value 0.75",
        "  outcome 1, value 0.65",
        "  outcome 1, value 0.65",
    ]
    failed = [line.split(": ")[1] for line in lines if line.startswith("  failed")]
    assert failed == ["the push is denied without a login", "the image has no version without a tag"]  # each once
    warned = [line.split(" (")[0].removeprefix("  warned: ") for line in lines if line.startswith("  warned")]
    assert warned == [failed[0], *failed]
    assert "  Tag the commit before a release is pushed (sure 0.54)" in lines
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", ["wordllama", HASHING])
def test_the_service_desk_learns_from_its_colleagues_and_shows_it(embedder: str, tmp_path: Path) -> None:
    lines = told("service_desk.py", tmp_path, embedder)
    assert lines[0] == "colleagues said 40 times that a memory helped, 32 times that it misled"
    assert "  importance  0.03 -> 0.26" in lines
    assert "before: what was settled comes first for 0 of 40 questions, as for" in lines
    assert "after: what was settled comes first for 40 of 40 questions, as for" in lines
    assert lines[-1] == "    Settled for every wiki outage: the owner of the wiki decides within a day"
    assert max(map(len, lines)) < 100
    assert list(tmp_path.iterdir()) == []


def test_the_service_desk_can_be_had_as_an_export_with_what_its_colleagues_said(tmp_path: Path) -> None:
    lines = told("service_desk.py", tmp_path, "hashing", "--export")
    with recollect.open(":memory:", embedder="hashing") as memory:
        imported = memory.import_(f"{line}\n" for line in lines)
        assert (imported.memories, imported.contexts) == (80, 40)
        words = [vote.use for one in memory.contexts.training_examples(scope="acme/desk").told for vote in one.votes]
    assert (words.count(Use.HELPED), words.count(Use.MISLED)) == (40, 32)
    assert list(tmp_path.iterdir()) == []


def test_a_client_over_grpc_asks_the_server_that_is_named(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    with served(":memory:", tmp_path / "own", "--grpc-port", "0", others=("--no-mcp",)) as server:
        (address,) = (line.removeprefix("gRPC at ") for line in server.told if line.startswith("gRPC at "))
        key = server.token.read_text(encoding="utf-8").strip()
        server.given("remember", {"scope": "acme/ana", "text": "Ana prefers window seats", "key": "seat-1"})
        lines = told("grpc_client.py", here, "hashing", address, RECOLLECT_KEY=key)
        assert lines[0] == "updated: Ana prefers window seats"
        assert server.given("stats", {})["memories"] > 0


@pytest.mark.parametrize("embedder", ["wordllama", HASHING])
def test_a_client_over_grpc_is_answered_as_an_engine_answers(embedder: str, tmp_path: Path) -> None:
    lines = told("grpc_client.py", tmp_path, embedder)
    assert lines[0] == "created: Ana prefers window seats"
    assert lines[1].startswith("recalled 1 of 1 in ")
    assert "why: ranked" in lines
    assert "helped: 1" in lines
    assert "taught: Ask for the seat before paying" in lines
    assert "like it: Book a flight to Lisbon" in lines
    assert lines[-1].startswith("INVALID_ARGUMENT: field 'kind': 'preferense' is not a valid kind")
    assert list(tmp_path.iterdir()) == []


def test_the_langgraph_store_shares_between_threads_what_one_of_them_learned(tmp_path: Path) -> None:
    lines = told("langgraph_store.py", tmp_path, "hashing")
    after = lines[lines.index("thread friday") :]
    answers = [place for place, line in enumerate(after) if line.startswith("    -> ")]
    assert [after[place] for place in answers] == [
        "    -> Ana prefers an aisle seat now (seat)",
        "    -> Ana cannot eat peanuts (food)",
    ]
    assert all("  relevance " in after[place + 2] for place in answers)
    assert lines[-1].endswith("['Ana prefers a window seat', 'Ana prefers an aisle seat now']")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", ["wordllama", HASHING])
def test_the_agents_session_carries_its_history_and_its_agent_knows_what_another_one_heard(
    embedder: str, tmp_path: Path
) -> None:
    lines = told("agents_session.py", tmp_path, embedder)
    answers = [line.removeprefix("    -> I see ") for line in lines if line.startswith("    -> ")]
    assert [answers[place] for place in (0, 1, 3)] == [
        "0 turns before this one, and know: nothing",
        "2 turns before this one, and know: nothing",
        "0 turns before this one, and know: My router is a Fritzbox 7590",
    ]
    assert "taken back" in lines[-4]
    assert list(tmp_path.iterdir()) == []


def test_the_anthropic_memory_has_a_history_and_no_passwords(tmp_path: Path) -> None:
    lines = told("anthropic_memory.py", tmp_path, "hashing")
    refused = [line for line in lines if line.startswith("    refused: ")]
    assert ["it contains password" in line for line in refused] == [True, False]
    assert "  1. '# Ana\\n- prefers window seats\\n'" in lines
    assert "view /memories/people/ana.md, lines 2 to 3" in lines
    assert lines[-1] == "asked for her seat, the best memory is /memories/people/ana.md"
    assert list(tmp_path.iterdir()) == []


def test_the_pydantic_ai_agent_remembers_without_secrets_and_says_why(tmp_path: Path) -> None:
    lines = told("pydantic_ai_agent.py", tmp_path, "hashing")
    answers = [line.removeprefix("    -> ") for line in lines if line.startswith("    -> ")]
    assert answers[:3] == ["created", "created, without its pin", "created"]
    assert answers[3].startswith("you said: 'I prefer window seats' (it is in, at place 1, ")
    assert "4711" not in lines[-1]
    assert list(tmp_path.iterdir()) == []


@table("program", PROGRAMS, ids=lambda path: path.name)
@table("page", ["README.md", "docs/index.md"])
def test_every_example_is_shown(program: Path, page: str) -> None:
    assert f"examples/{program.name}" in (ROOT / page).read_text(encoding="utf-8")


def test_every_example_is_run() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in PROGRAMS if f'told("{path.name}"' not in here] == []
