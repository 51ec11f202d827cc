"""The clients that need no server: the library and the command line."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import recollect
from recollect.api.problems import CODES_BY_ERROR, ProblemCode, problem_of
from recollect.cli.main import EXIT_BUSY, EXIT_CODES
from recollect.errors import RecollectError
from recollect.ranking.profiles import BUILTIN_PROFILES
from recollect.render import json_values
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
        return json_values.receipt_fields(self._engine.remember(text, **given))

    def remember_all(self, drafts: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        return {"receipts": [json_values.receipt_fields(one) for one in self._engine.remember_all(drafts, scope=scope)]}

    def observe(self, events: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        return {
            "receipts": [json_values.receipt_fields(one) for one in self._engine.observe(_dated(events), scope=scope)]
        }

    def extract(self, turns: list[dict[str, Any]], scope: str) -> Mapping[str, Any]:
        found = self._engine.extract(_dated(turns), scope=scope)
        return {
            **json_values.extraction_fields([(found.receipts, found.extraction)]),
            "redacted": dict(found.redacted),
        }

    def browse(self, scope: str) -> Mapping[str, Any]:
        return json_values.timeline_fields(self._engine.timeline.browse(scope=scope))

    def expand(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.expansion_fields(self._engine.timeline.expand(id, scope=scope))

    def list_topics(self, scope: str) -> Mapping[str, Any]:
        return {
            "scope": scope,
            "topics": [json_values.topic_fields(one) for one in self._engine.topics.list(scope=scope)],
        }

    def recall(self, query: str, **given: Any) -> Mapping[str, Any]:
        return json_values.context_fields(self._engine.recall(query, **given))

    def brief(self, **given: Any) -> Mapping[str, Any]:
        return json_values.context_fields(self._engine.brief(**given))

    def search(self, query: str, scope: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.search(query, scope=scope, **given)
        self._engine.contexts.count_served(found, scope=scope)
        return json_values.search_fields(found)

    def why(self, id: str, query: str, **given: Any) -> Mapping[str, Any]:
        return json_values.why_fields(self._engine.why(id, query, **given))

    def feedback(self, context_id: str, scope: str, helped: tuple[str, ...] = (), **more: Any) -> Mapping[str, Any]:
        noted = self._engine.feedback(context_id, scope=scope, helped=helped, **more)
        return json_values.feedback_fields(noted, context_id, scope, helped=helped, misled=more.get("misled", ()))

    def replay(self, context_id: str, scope: str) -> Mapping[str, Any]:
        return json_values.replay_fields(self._engine.contexts.replay(context_id, scope=scope))

    def revise(self, id: str, text: str, **given: Any) -> Mapping[str, Any]:
        return json_values.receipt_fields(self._engine.revise(id, text, **given))

    def forget(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.receipt_fields(self._engine.forget(id, scope=scope))

    def restore(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.receipt_fields(self._engine.restore(id, scope=scope))

    def pin(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.receipt_fields(self._engine.pin(id, scope=scope))

    def unpin(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.receipt_fields(self._engine.unpin(id, scope=scope))

    def undo(self, run: int, scope: str) -> Mapping[str, Any]:
        return json_values.undo_fields(self._engine.undo(run, scope=scope))

    def get_memory(self, id: str, scope: str) -> Mapping[str, Any]:
        memory = self._engine.get(id, scope=scope)
        by = json_values.replacement_fields(self._engine.items.replacement(memory, scope=scope))
        return {
            **json_values.memory_fields(memory),
            "usage": json_values.usage_fields(self._engine.contexts.usage(id, scope=scope)),
            "replacement": by,
        }

    def get_history(self, id: str, scope: str) -> Mapping[str, Any]:
        versions = self._engine.history(id, scope=scope)
        by = self._engine.items.replacement(versions[-1], scope=scope)
        told = [json_values.memory_fields(one) for one in versions]
        return {"id": id, "versions": told, "replacement": json_values.replacement_fields(by)}

    def list_memories(self, scope: str, **given: Any) -> Mapping[str, Any]:
        found = self._engine.memories(scope=scope, **given)
        return {"scope": scope, "memories": [json_values.memory_fields(one) for one in found], "next": None}

    def stats(self, scope: str) -> Mapping[str, Any]:
        return {"scope": scope, **json_values.stats_fields(self._engine.stats(scope=scope))}

    def list_scopes(self, scope: str) -> Mapping[str, Any]:
        return {"scopes": [str(one) for one in self._engine.scopes(scope=scope)]}

    def list_profiles(self) -> Mapping[str, Any]:
        told = [{"name": one.name, "version": one.version, "about": one.about} for one in BUILTIN_PROFILES.values()]
        return {"profiles": told}

    def list_entities(self, scope: str) -> Mapping[str, Any]:
        return {"scope": scope, "entities": json_values.entity_fields(self._engine.topics.entities(scope=scope))}

    def get_neighbours(self, name_or_id: str, scope: str) -> Mapping[str, Any]:
        return json_values.neighbor_fields(self._engine.neighbors(name_or_id, scope=scope))

    def start_episode(self, task: str, **given: Any) -> Mapping[str, Any]:
        return json_values.full_episode_fields(self._engine.episodes.start(task, **given))

    def record_action(self, id: str, type: str, **given: Any) -> Mapping[str, Any]:
        return json_values.full_episode_fields(self._engine.episodes.record(id, type, **given))

    def complete_episode(self, id: str, outcome: float, **given: Any) -> Mapping[str, Any]:
        return json_values.completed_episode_fields(self._engine.episodes.complete(id, outcome, **given))

    def get_similar_episodes(self, task: str, scope: str) -> Mapping[str, Any]:
        found = self._engine.episodes.similar(task, scope=scope)
        return {"scope": scope, "episodes": [json_values.similar_episode_fields(one) for one in found]}

    def get_failure_modes(self, task: str, scope: str) -> Mapping[str, Any]:
        found = self._engine.episodes.failure_modes(task, scope=scope)
        return {"scope": scope, "failure_modes": [json_values.failure_mode_fields(one) for one in found]}

    def list_episodes(self, scope: str) -> Mapping[str, Any]:
        return {
            "scope": scope,
            "episodes": [json_values.episode_fields(one) for one in self._engine.episodes.list(scope=scope)],
        }

    def get_episode(self, id: str, scope: str) -> Mapping[str, Any]:
        return json_values.full_episode_fields(self._engine.episodes.show(id, scope=scope))

    def run_job(self, job: str, *, scope: str, dry_run: bool = True) -> Mapping[str, Any]:
        if dry_run:
            return {"dry_run": True, "plan": json_values.plan_fields(self._engine.plan(job, scope=scope)), "runs": []}
        return {
            "dry_run": False,
            "plan": None,
            "runs": [json_values.run_id_fields(one) for one in self._engine.admin.run(job, scope=scope)],
        }

    def prune_vector_index(self, scope: str) -> Mapping[str, Any]:
        return self.run_job("prune-vectors", scope=scope)

    def erase(self, *, dry_run: bool = True, scope: str, **given: Any) -> Mapping[str, Any]:
        if dry_run:
            ids = list(self._engine.admin.erasable(scope=scope, **given))
            return {"dry_run": True, "scope": scope, "ids": ids, "memories": len(ids)}
        return {"dry_run": False, **json_values.erasure_fields(self._engine.erase(scope=scope, **given))}


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
