"""Long replies of an assistant beside short turns of a user: what the user said is still found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic.replies import replies
from synthetic.script import Dice, files

from recollect.ranking.profiles import builtin_profile

from .bench import bench

WITHIN = 5
"""Among how many of the best the user's own words must be."""

LONGER = 10
HARDLY = 1
"""How many places a memory may move when replies are so many times longer."""


def folder(place: Path, said: Callable[[str], str]) -> Path:
    """Two users' judgements, with each reply as it is then said."""
    place.mkdir()
    for name, text in files([replies(f"user-{number}", Dice(f"long/{number}")) for number in (1, 2)]).items():
        lines = text.splitlines()
        if name == "memories.jsonl":
            memories = [json.loads(line) for line in lines]
            for memory in memories:
                if memory["speaker"] == "assistant":
                    memory["text"] = said(memory["text"])
            lines = [json.dumps(memory) for memory in memories]
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return place


def ranks(place: Path) -> dict[str, int]:
    """At which place the judged memory of each query is, with `default`."""
    with bench(place) as judged:
        answers = judged.answers(builtin_profile("default"))
    return {answer.query.id: 1 + answer.found_ids.index(id) for answer in answers for id in answer.query.grades}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return ranks(folder(tmp_path_factory.mktemp("replies") / "usual", str))


def test_replies_are_long_and_what_users_say_is_short(tmp_path: Path) -> None:
    lines = (folder(tmp_path / "usual", str) / "memories.jsonl").read_text(encoding="utf-8").splitlines()
    words = {"user": list[int](), "assistant": list[int]()}
    for memory in map(json.loads, lines):
        words[memory["speaker"]].append(len(memory["text"].split()))
    assert max(words["user"]) <= 20
    assert 150 <= min(words["assistant"]) <= max(words["assistant"]) <= 400


def test_what_a_user_said_shortly_is_among_the_best(usual: dict[str, int]) -> None:
    assert {id: place for id, place in usual.items() if place > WITHIN} == {}


def test_it_hardly_matters_how_long_the_replies_are(tmp_path: Path, usual: dict[str, int]) -> None:
    longer = ranks(folder(tmp_path / "longer", lambda text: " ".join([text] * LONGER)))
    assert {id: (usual[id], place) for id, place in longer.items() if abs(place - usual[id]) > HARDLY} == {}
