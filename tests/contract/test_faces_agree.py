"""One story played through every face gives the same answers."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import RecollectError
from recollect.render import episodes, wire
from recollect.service.problems import Code, problem_of
from tests.acceptance.shell import Shell
from tests.contract.served import Grpc, Http, Mcp, serving
from tests.contract.story import SCOPE, Face, Step, play


class Python:
    """The library, called as one calls it, and rendered by the one JSON shape."""

    name = "python"

    def __init__(self, engine: recollect.Engine) -> None:
        self._engine = engine

    def ask(self, operation: str, given: Mapping[str, Any]) -> Mapping[str, Any] | Code:
        moments = ("at", "as_of")
        read = {name: datetime.fromisoformat(value) if name in moments else value for name, value in given.items()}
        try:
            answer: Mapping[str, Any] = getattr(self, operation)(**read)
        except RecollectError as error:
            return problem_of(error).code
        return answer

    def remember(self, **given: Any) -> Mapping[str, Any]:
        return wire.receipt(self._engine.remember(given.pop("text"), **given))

    def recall(self, query: str, **given: Any) -> Mapping[str, Any]:
        return wire.context(self._engine.recall(query, **given))

    def brief(self, **given: Any) -> Mapping[str, Any]:
        return wire.context(self._engine.brief(**given))

    def search(self, query: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.search(query, **given)
        self._engine.served(found, scope=SCOPE)
        return wire.search(found)

    def why(self, id: str, query: str, **given: Any) -> Mapping[str, Any]:
        return wire.why(self._engine.why(id, query, **given))

    def feedback(self, context_id: str, scope: str, helped: list[str]) -> Mapping[str, Any]:
        noted = self._engine.feedback(context_id, scope=scope, helped=helped)
        return wire.feedback(noted, context_id, scope, helped=helped, misled=())

    def revise(self, id: str, text: str, **given: Any) -> Mapping[str, Any]:
        return wire.receipt(self._engine.revise(id, text, **given))

    def forget(self, id: str, scope: str) -> Mapping[str, Any]:
        return wire.receipt(self._engine.forget(id, scope=scope))

    def restore(self, id: str, scope: str) -> Mapping[str, Any]:
        return wire.receipt(self._engine.restore(id, scope=scope))

    def pin(self, id: str, scope: str) -> Mapping[str, Any]:
        return wire.receipt(self._engine.pin(id, scope=scope))

    def unpin(self, id: str, scope: str) -> Mapping[str, Any]:
        return wire.receipt(self._engine.unpin(id, scope=scope))

    def get_memory(self, id: str, scope: str) -> Mapping[str, Any]:
        memory = self._engine.get(id, scope=scope)
        by = wire.replacement(self._engine.replacement(memory, scope=scope))
        return {**wire.memory(memory), "usage": wire.usage(self._engine.usage(id, scope=scope)), "replacement": by}

    def get_history(self, id: str, scope: str) -> Mapping[str, Any]:
        versions = [wire.memory(one) for one in self._engine.history(id, scope=scope)]
        return {"id": id, "versions": versions, "replacement": None}

    def start_episode(self, task: str, **given: Any) -> Mapping[str, Any]:
        return episodes.whole(self._engine.episodes.start(task, **given))

    def record_action(self, id: str, type: str, **given: Any) -> Mapping[str, Any]:
        return episodes.whole(self._engine.episodes.record(id, type, **given))

    def complete_episode(self, id: str, outcome: float, **given: Any) -> Mapping[str, Any]:
        return episodes.completed(self._engine.episodes.complete(id, outcome, **given))

    def get_similar_episodes(self, task: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.episodes.similar(task, **given)
        return {"scope": SCOPE, "episodes": [episodes.similar_fields(one) for one in found]}

    def erase(self, *, dry_run: bool, **given: Any) -> Mapping[str, Any]:
        return {"dry_run": dry_run, **wire.erasure(self._engine.erase(**given))}


CODES = {1: Code.INTERNAL, 2: Code.INVALID, 3: Code.NOT_FOUND, 4: Code.BUSY}
"""What the exit codes of the command line say."""

WORDS = {
    "get_memory": ("show", ("id",)),
    "get_history": ("history", ("id",)),
    "start_episode": ("episodes start", ("task",)),
    "record_action": ("episodes record", ("id", "type")),
    "complete_episode": ("episodes complete", ("id", "outcome")),
    "get_similar_episodes": ("episodes similar", ("task",)),
    "remember": ("remember", ("text",)),
    "recall": ("recall", ("query",)),
    "search": ("search", ("query",)),
    "why": ("why", ("id", "query")),
    "revise": ("revise", ("id", "text")),
    "feedback": ("feedback", ("context_id",)),
    **{name: (name, ("id",)) for name in ("forget", "restore", "pin", "unpin")},
}
"""How an operation is typed: the command, and what it takes without an option."""

OPTIONS = {"tags": "tag", "kinds": "kind", "lessons": "lesson"}
"""What an option is called that may be repeated."""


class CommandLine:
    """The command `recollect` with --json."""

    name = "command line"

    def __init__(self, store: Path) -> None:
        self._shell = Shell(store)

    def ask(self, operation: str, given: Mapping[str, Any]) -> Mapping[str, Any] | Code:
        command, plain = WORDS.get(operation, (operation, ()))
        places = [str(given[name]) for name in plain]
        options = [word for name, value in given.items() if name not in plain for word in self._typed(name, value)]
        extra = ["--yes"] if operation == "erase" else []
        outcome = self._shell.any(*command.split(), *places, *options, *extra, "--json")
        if not outcome.stdout.startswith(("{", "[")):
            return CODES[outcome.exit_code]
        return self._answer(operation, json.loads(outcome.stdout))

    def _typed(self, name: str, value: Any) -> list[str]:
        option = f"--{OPTIONS.get(name, name).replace('_', '-')}"
        match value:
            case False:
                return []
            case True:
                return [option]
            case list():
                return [word for one in value for word in (option, str(one))]
            case _:
                return [option, str(value)]

    def _answer(self, operation: str, told: Any) -> Mapping[str, Any]:
        return {"dry_run": False, **told} if operation == "erase" else told


@contextmanager
def python(folder: Path) -> Iterator[Face]:
    with recollect.open(folder / "python.db", embedder="hashing") as engine:
        yield Python(engine)


@contextmanager
def command_line(folder: Path) -> Iterator[Face]:
    yield CommandLine(folder / "shell.db")


@contextmanager
def http(folder: Path) -> Iterator[Face]:
    with serving(folder / "http.db") as served, closing(Http(served)) as face:
        yield face


@contextmanager
def mcp(mode: str, folder: Path) -> Iterator[Face]:
    with serving(folder / "mcp.db") as served, closing(Mcp(served, mode)) as face:
        yield face


@contextmanager
def grpc(folder: Path) -> Iterator[Face]:
    with serving(folder / "grpc.db") as served, closing(Grpc(served)) as face:
        yield face


FACES: Mapping[str, Callable[[Path], AbstractContextManager[Face]]] = {
    "command line": command_line,
    "http": http,
    "mcp, present revision": partial(mcp, "2026-07-28"),
    "mcp, previous revision": partial(mcp, "legacy"),
    "grpc": grpc,
}


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


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Step, Any]]:
    """The story as the library tells it."""
    with python(tmp_path_factory.mktemp("python")) as face:
        return list(play(face))


@pytest.mark.parametrize("name", FACES)
def test_the_story_is_the_same_through_every_face(name: str, played: list[tuple[Step, Any]], tmp_path: Path) -> None:
    with FACES[name](tmp_path) as face:
        for (step, expected), (_, answer) in zip(played, play(face), strict=True):
            if name == "grpc":
                assert as_sent(answer) == as_sent(expected), (name, step)
            else:
                assert answer == expected, (name, step)


def test_the_story_has_answers_and_refusals(played: list[tuple[Step, Any]]) -> None:
    codes = {answer for _, answer in played if isinstance(answer, Code)}
    verdicts = {answer.get("verdict") for _, answer in played if isinstance(answer, dict)}
    assert codes == {Code.INVALID, Code.NOT_FOUND}
    assert {"created", "reinforced", "superseded", "updated", "changed", "refused"} <= verdicts
