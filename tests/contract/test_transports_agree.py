"""One story played through every face gives the same answers, and the same refusals."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from recollect.api.operations import OPERATIONS
from recollect.api.problems import ProblemCode
from recollect.server.mcp import catalog
from recollect.server.mcp.catalog import COMPACT_FIELDS
from tests.contract.clients import ERAS, Face, Grpc, Http, Refusal, over_http, over_stdio
from tests.contract.comparable_answers import ROOT, ComparableAnswers
from tests.contract.local_clients import CommandLine, Python, in_a_shell
from tests.contract.served import Served, serving
from tests.contract.story import STORIES, TYPED, Step, play
from tests.tables import check_each

ROOTS = {"http": "http", "grpc": "grpc", **{f"mcp, {era}": f"mcp{number}" for number, era in enumerate(ERAS)}}
"""The root below which each face of the one server keeps its memories; as long as any other, for words cost tokens."""

SERVED: Mapping[str, Callable[[Served], Face]] = {
    "http": Http,
    "grpc": Grpc,
    **{f"mcp, {era}": partial(over_http, mode=mode) for era, mode in ERAS.items()},
}


def spoken_with(mode: str, *, in_short: bool = False) -> Callable[[Path], Face]:
    """What starts a process that speaks MCP over standard input and output."""
    return lambda store: over_stdio(mode, store, in_short=in_short)


IN_SHORT = "mcp in short"
"""MCP as models ask it, who are told a part of what all others are."""


ALONE: Mapping[str, Callable[[Path], Face]] = {
    "python": Python,
    "command line": CommandLine,
    **{f"mcp over stdio, {era}": spoken_with(mode) for era, mode in ERAS.items()},
    IN_SHORT: spoken_with("2026-07-28", in_short=True),
}
FACES = [name for name in (*ALONE, *SERVED) if name != "python"]

LOOKED_AT: Mapping[str, str] = dict.fromkeys(
    ("served", "uses", "last_served_at"),
    "the command line shows what it finds to somebody who looks, and a tool hands it to an agent",
)
"""What the command line counts otherwise, and why."""

Played = list[tuple[Step, Any]]


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Face]]:
    """Every face by its name: those of one server, and each of the others with a store of its own."""
    with ExitStack() as open:

        @cache
        def served() -> Served:
            folder = tmp_path_factory.mktemp("served")
            return open.enter_context(serving(folder / "store.db", folder))

        @cache
        def made(name: str) -> Face:
            if name in SERVED:
                return open.enter_context(closing(SERVED[name](served())))
            return open.enter_context(closing(ALONE[name](tmp_path_factory.mktemp("alone") / "store.db")))

        yield made


@pytest.fixture(scope="module")
def expected(face: Callable[[str], Face]) -> Callable[[str], Played]:
    """A story as the library tells it."""

    @cache
    def told(story: str) -> list[tuple[Step, Any]]:
        return list(play(face("python"), story, ROOT))

    return told


def as_sent(answer: Any) -> Any:
    """The answer as a message has it, in which what is null is absent, and a list or an object that is empty too."""
    match answer:
        case dict():
            sent = {name: as_sent(value) for name, value in answer.items()}
            return {name: value for name, value in sent.items() if value is not None and value not in ([], {})}
        case list():
            return [as_sent(one) for one in answer]
        case _:
            return answer


def known_by(name: str, step: Step, told: Any) -> Any:
    """What a face is to tell of the library's answer: all of it, but for a model."""
    kept = COMPACT_FIELDS.get(step.operation) if name == IN_SHORT else None
    return told if kept is None or isinstance(told, Refusal) else catalog.compact_answer(kept, told)


def seen(name: str, step: Step, told: Any) -> Any:
    """What is told as far as a face can tell it."""
    if isinstance(told, Refusal):
        return told if step.worded else replace(told, message="")
    return as_sent(told) if name == "grpc" else told


@pytest.mark.parametrize("name", FACES)
def test_every_story_is_the_same_through_every_face(
    name: str, face: Callable[[str], Face], expected: Callable[[str], Played]
) -> None:
    typed = name == "command line"
    root, apart = ROOTS.get(name, ROOT), LOOKED_AT if typed else {}

    def check(story: str) -> None:
        ours, theirs = ComparableAnswers(ROOT, apart), ComparableAnswers(root, apart)
        told = [(step, known_by(name, step, one)) for step, one in expected(story) if step.typed or not typed]
        wanted = [(step, ours.comparable(one)) for step, one in told]
        for (step, one), (_, answer) in zip(wanted, play(face(name), story, root), strict=True):
            known = in_a_shell(one, step.operation) if typed and isinstance(one, Refusal) else one
            assert seen(name, step, theirs.comparable(answer)) == seen(name, step, known), step

    check_each(TYPED if typed else STORIES, check)


def test_the_stories_have_answers_and_refusals_of_every_sort(expected: Callable[[str], Played]) -> None:
    answers = [answer for story in STORIES for _, answer in expected(story)]
    codes = {answer.code for answer in answers if isinstance(answer, Refusal)}
    verdicts = {answer.get("verdict") for answer in answers if isinstance(answer, dict)}
    assert codes == {ProblemCode.INVALID, ProblemCode.NOT_FOUND, ProblemCode.CONFLICT}
    assert {"created", "reinforced", "superseded", "changed", "refused"} <= verdicts


def test_the_stories_ask_for_every_operation() -> None:
    assert {step.operation for story in STORIES.values() for step in story} == set(OPERATIONS)
