"""The eight methods of seed 003, over HTTP and as the only tools that a server offers over MCP."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from recollect.api.problems import ProblemCode
from tests.contract.clients import Http, Refusal, over_http
from tests.contract.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder / "memories.db", folder, tools="observations") as found:
        yield found


@pytest.mark.parametrize("face", ["http", "2026-07-28", "legacy"])
def test_a_session_is_begun_saved_in_found_and_ended(face: str, served: Served) -> None:
    with closing(Http(served) if face == "http" else over_http(served, face)) as asked:

        def ask(name: str, **given: Any) -> Any:
            answer = asked.ask(name, {"user_id": f"user-{face}", **given})
            assert not isinstance(answer, Refusal), answer
            return answer

        started = ask("mem_session_start")
        assert (started["is_new"], started["memories"], started["sessions_context"]) == (True, [], [])
        saved = ask("mem_save", content="Ana lints with ruff", type="preference", title="Linter", topic_key="linter")
        assert (saved["outcome"], saved["session_id"]) == ("created", started["session_id"])
        again = ask("mem_save", content="Ana lints with ruff", type="preference", title="Linter", topic_key="linter")
        assert (again["outcome"], again["id"]) == ("deduped", saved["id"])
        (found,) = ask("mem_search", query="ruff")["observations"]
        assert found["score"].keys() == {"value", "fts5_rank", "recency", "revision"}
        assert ask("mem_get_observation", observation_id=saved["id"])["content"] == "Ana lints with ruff"
        assert ask("mem_timeline", observation_id=saved["id"])["observation"]["id"] == saved["id"]
        assert ask("mem_session_summary", summary="Linters")["status"] == "active"
        assert ask("mem_stats")["sessions"] == 1
        assert ask("mem_session_end", summary="Linters and formatters")["status"] == "completed"
        (known,) = ask("mem_session_start")["memories"]
        assert known["score"].keys() == {"value", "recency", "revision", "type_priority"}


def test_an_observation_of_another_user_is_as_one_that_is_not_there(served: Served) -> None:
    with closing(Http(served)) as asked:
        saved = asked.ask("mem_save", {"user_id": "bo", "content": "Bo sails", "type": "fact", "title": "Boat"})
        assert not isinstance(saved, Refusal)
        for id in (saved["id"], "nobody"):
            refused = asked.ask("mem_get_observation", {"user_id": "eve", "observation_id": id})
            assert isinstance(refused, Refusal)
            assert refused.code == ProblemCode.NOT_FOUND
