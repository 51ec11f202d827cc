"""The clients that need no server: the library and the command line."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import recollect
from recollect.api import schemas
from recollect.api.problems import CODES_BY_ERROR, ProblemCode, problem_of
from recollect.cli.main import EXIT_BUSY, EXIT_CODES
from recollect.errors import RecollectError
from recollect.ranking.profiles import BUILTIN_PROFILES
from tests.acceptance.shell import Shell
from tests.contract.clients import Answer, Refusal

MOMENTS = ("at", "as_of")


class Python:
    """The library, called as one calls it, and rendered by the one JSON shape."""

    name = "python"

    def __init__(self, store: Path | str) -> None:
        self._engine = recollect.open(store, embedder="hashing")
        self._observations = recollect.ObservationMemory(self._engine)

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        read = {name: datetime.fromisoformat(value) if name in MOMENTS else value for name, value in given.items()}
        try:
            answer: Mapping[str, Any] = getattr(self, operation)(**read)
        except RecollectError as error:
            return Refusal(**{name: getattr(problem_of(error), name) for name in ("code", "message", "field", "line")})
        return answer

    def close(self) -> None:
        self._engine.close()

    def __getattr__(self, name: str) -> Any:
        """A method of seed 003, told as it is sent."""
        method = getattr(self._observations, name)
        return lambda **given: method(**given).model_dump(mode="json")

    def mem_search(self, **given: Any) -> Mapping[str, Any]:
        found = self._observations.mem_search(**given)
        return {"observations": [one.model_dump(mode="json") for one in found]}

    def remember(self, text: str, **given: Any) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.remember(text, **given)).to_json()

    def remember_all(self, drafts: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipts.of(receipts=self._engine.remember_all(drafts, scope=scope)).to_json()

    def observe(self, events: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipts.of(receipts=self._engine.observe(_dated(events), scope=scope)).to_json()

    def extract(self, turns: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        found = self._engine.extract(_dated(turns), scope=scope)
        return schemas.events.Extracted.of([(found.receipts, found.extraction)], redacted=found.redacted).to_json()

    def browse(self, scope: str) -> Mapping[str, Any]:
        return schemas.events.Outlook.of(self._engine.timeline.browse(scope=scope)).to_json()

    def expand(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.events.Expansion.of(self._engine.timeline.expand(id, scope=scope)).to_json()

    def list_topics(self, scope: str) -> Mapping[str, Any]:
        return schemas.events.Topics.of(scope=scope, topics=self._engine.topics.list(scope=scope)).to_json()

    def recall(self, query: str, **given: Any) -> Mapping[str, Any]:
        return schemas.recall.Context.of(self._engine.recall(query, **given)).to_json()

    def brief(self, **given: Any) -> Mapping[str, Any]:
        return schemas.recall.Context.of(self._engine.brief(**given)).to_json()

    def search(self, query: str, scope: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.search(query, scope=scope, **given)
        self._engine.contexts.count_served(found, scope=scope)
        return schemas.recall.Ranking.of(found).to_json()

    def why(self, id: str, query: str, **given: Any) -> Mapping[str, Any]:
        return schemas.recall.Why.of(self._engine.why(id, query, **given)).to_json()

    def feedback(self, context_id: str, scope: str, helped: tuple[str, ...] = (), **more: Any) -> Mapping[str, Any]:
        noted = self._engine.feedback(context_id, scope=scope, helped=helped, **more)
        votes = {"helped": helped, "misled": more.get("misled", ())}
        return schemas.recall.Noted.of(noted, context=context_id, scope=scope, **votes).to_json()

    def replay(self, context_id: str, scope: str) -> Mapping[str, Any]:
        return schemas.recall.Replay.of(self._engine.contexts.replay(context_id, scope=scope)).to_json()

    def revise(self, id: str, text: str, **given: Any) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.revise(id, text, **given)).to_json()

    def forget(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.forget(id, scope=scope)).to_json()

    def restore(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.restore(id, scope=scope)).to_json()

    def pin(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.pin(id, scope=scope)).to_json()

    def unpin(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.memories.Receipt.of(self._engine.unpin(id, scope=scope)).to_json()

    def undo(self, run: int, scope: str) -> Mapping[str, Any]:
        return schemas.admin.Undone.of(self._engine.undo(run, scope=scope)).to_json()

    def get_memory(self, id: str, scope: str) -> Mapping[str, Any]:
        memory, usage = self._engine.get(id, scope=scope), self._engine.contexts.usage(id, scope=scope)
        by = self._engine.items.replacement(memory, scope=scope)
        return schemas.memories.Shown.of(memory, usage=usage, replacement=by).to_json()

    def get_history(self, id: str, scope: str) -> Mapping[str, Any]:
        versions = self._engine.history(id, scope=scope)
        by = self._engine.items.replacement(versions[-1], scope=scope)
        return schemas.memories.Versions.of(id=id, versions=versions, replacement=by).to_json()

    def list_memories(self, scope: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.memories(scope=scope, **given)
        return schemas.memories.Memories.of(scope=scope, memories=found, next=None).to_json()

    def stats(self, scope: str) -> Mapping[str, Any]:
        return schemas.admin.Stats.of(self._engine.stats(scope=scope), scope=scope).to_json()

    def list_scopes(self, scope: str) -> Mapping[str, Any]:
        return schemas.admin.Scopes.of(scopes=self._engine.scopes(scope=scope)).to_json()

    def list_profiles(self) -> Mapping[str, Any]:
        return schemas.admin.Profiles.of(profiles=list(BUILTIN_PROFILES.values())).to_json()

    def list_entities(self, scope: str) -> Mapping[str, Any]:
        return schemas.events.Entities.of(scope=scope, entities=self._engine.topics.entities(scope=scope)).to_json()

    def get_neighbours(self, name_or_id: str, scope: str) -> Mapping[str, Any]:
        return schemas.events.Neighbours.of(self._engine.neighbors(name_or_id, scope=scope)).to_json()

    def start_episode(self, task: str, **given: Any) -> Mapping[str, Any]:
        return schemas.episodes.WholeEpisode.of(self._engine.episodes.start(task, **given)).to_json()

    def record_action(self, id: str, type: str, **given: Any) -> Mapping[str, Any]:
        return schemas.episodes.WholeEpisode.of(self._engine.episodes.record(id, type, **given)).to_json()

    def complete_episode(self, id: str, outcome: float, **given: Any) -> Mapping[str, Any]:
        return schemas.episodes.CompletedEpisode.of(self._engine.episodes.complete(id, outcome, **given)).to_json()

    def get_similar_episodes(self, task: str, scope: str) -> Mapping[str, Any]:
        found = self._engine.episodes.similar(task, scope=scope)
        return schemas.episodes.SimilarEpisodes.of(scope=scope, episodes=found).to_json()

    def get_failure_modes(self, task: str, scope: str) -> Mapping[str, Any]:
        found = self._engine.episodes.failure_modes(task, scope=scope)
        return schemas.episodes.FailureModes.of(scope=scope, failure_modes=found).to_json()

    def list_episodes(self, scope: str) -> Mapping[str, Any]:
        return schemas.episodes.Episodes.of(scope=scope, episodes=self._engine.episodes.list(scope=scope)).to_json()

    def get_episode(self, id: str, scope: str) -> Mapping[str, Any]:
        return schemas.episodes.WholeEpisode.of(self._engine.episodes.show(id, scope=scope)).to_json()

    def run_job(self, job: str, *, scope: str, dry_run: bool = True) -> Mapping[str, Any]:
        if dry_run:
            return {"dry_run": True, "plan": self._engine.plan(job, scope=scope).to_json(), "runs": []}
        runs = [schemas.admin.summarize_run(one) for one in self._engine.admin.run(job, scope=scope)]
        return {"dry_run": False, "plan": None, "runs": runs}

    def prune_vector_index(self, scope: str) -> Mapping[str, Any]:
        return self.run_job("prune-vectors", scope=scope)

    def erase(self, *, dry_run: bool = True, scope: str, **given: Any) -> Mapping[str, Any]:
        if dry_run:
            ids = list(self._engine.admin.erasable(scope=scope, **given))
            return {"dry_run": True, "scope": scope, "ids": ids, "memories": len(ids)}
        return schemas.admin.Erasure.of(self._engine.erase(scope=scope, **given), dry_run=False).to_json()


def _dated(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "at": datetime.fromisoformat(one["at"])} for one in said]


WORDS = {
    "get_memory": ("show", ("id",)),
    "get_history": ("history", ("id",)),
    "list_memories": ("list", ()),
    "list_profiles": ("profiles list", ()),
    "list_entities": ("graph", ()),
    "get_neighbours": ("graph", ("name_or_id",)),
    "start_episode": ("episodes start", ("task",)),
    "record_action": ("episodes record", ("id", "type")),
    "complete_episode": ("episodes complete", ("id", "outcome")),
    "get_similar_episodes": ("episodes similar", ("task",)),
    "get_failure_modes": ("episodes failures", ("task",)),
    "list_episodes": ("episodes list", ()),
    "get_episode": ("episodes show", ("id",)),
    "remember": ("remember", ("text",)),
    "recall": ("recall", ("query",)),
    "search": ("search", ("query",)),
    "why": ("why", ("id", "query")),
    "revise": ("revise", ("id", "text")),
    "feedback": ("feedback", ("context_id",)),
    "replay": ("replay", ("context_id",)),
    "undo": ("curate undo", ("run",)),
    "run_job": ("admin plan", ("job",)),
    "prune_vector_index": ("admin plan prune-vectors", ()),
    **{name: (name, ("id",)) for name in ("forget", "restore", "pin", "unpin")},
}
"""How an operation is typed: the command, and what it takes without an option."""

OPTIONS = {"tags": "tag", "kinds": "kind", "statuses": "status", "lessons": "lesson", "failure_modes": "failure"}
"""What an option is called that may be repeated."""


class CommandLine:
    """The command `recollect` with --json."""

    name = "command line"

    def __init__(self, store: Path) -> None:
        self._shell = Shell(store)

    def ask(self, operation: str, given: Mapping[str, Any]) -> Answer:
        command, plain = WORDS.get(operation, (operation, ()))
        places = [str(given[name]) for name in plain]
        options = [word for name, value in given.items() if name not in plain for word in self._typed(name, value)]
        extra = ["--yes"] if operation == "erase" else []
        outcome = self._shell.any(*command.split(), *places, *options, *extra, "--json")
        if outcome.stdout.startswith(("{", "[")):
            told: Mapping[str, Any] = self._answer(operation, json.loads(outcome.stdout))
            return told
        return Refusal(EXITS[outcome.exit_code], outcome.stderr.partition("Error: ")[2].removesuffix("\n"))

    def close(self) -> None:
        """Nothing is held."""

    def _typed(self, name: str, value: Any) -> list[str]:
        option = _option(name)
        match value:
            case False:
                return []
            case True:
                return [option]
            case list():
                return [word for one in value for word in (option, str(one))]
            case _:
                return [option, str(value)]

    def _answer(self, operation: str, told: Any) -> Any:
        """What a command tells, in the form of the operation, which has more to say."""
        match operation:
            case "erase":  # a command asks at the terminal whether it is meant, instead of a dry run
                return {"dry_run": False, **told}
            case "list_memories":  # a command lists all there are, and the operation page by page
                return {**told, "next": None}
            case "list_profiles":  # a list of its own, which no other field could join
                return {"profiles": told}
            case "run_job" | "prune_vector_index":  # a plan is a command of its own
                return {"dry_run": True, "plan": told, "runs": []}
            case _:
                return told


EXITS = {1: ProblemCode.INTERNAL, 2: ProblemCode.INVALID, 3: ProblemCode.NOT_FOUND, 4: ProblemCode.BUSY}
"""What the exit codes of the command line say."""


def in_a_shell(refusal: Refusal, operation: str) -> Refusal:
    """The refusal as a shell tells it: by an exit code, and in words that name the options as they are typed."""
    _, plain = WORDS.get(operation, (operation, ()))
    kind = next(kind for kind, code in CODES_BY_ERROR.items() if code is refusal.code)
    code = (
        EXIT_BUSY if refusal.retryable else next(code for error, code in EXIT_CODES.items() if issubclass(kind, error))
    )
    typed = re.sub(
        r"^field '(\w+)'",
        lambda found: found.group() if found[1] in plain else f"field '{_option(found[1])}'",
        refusal.message,
    )
    return Refusal(EXITS[code], typed)


def _option(name: str) -> str:
    return f"--{OPTIONS.get(name, name).replace('_', '-')}"
