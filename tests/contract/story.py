"""Stories that every face plays: what is asked, step by step, each with what those before it gave."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.api.operations import OPERATIONS
from tests.contract.clients import Answer, Face, Refusal

THEN, NOON, NOW = "2026-03-01T09:00:00+00:00", "2026-03-02T12:00:00+00:00", "2026-03-03T09:00:00+00:00"
NOBODY = "0193e5b2-7e1c-7000-8000-0123456789ab"
"""The id of nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `{name}` stands for what an earlier step of that name gave: its id, or what `gives` leads to.

    What is not `typed` has no command of its own on the command line. What is not `worded` is refused by each face as
    what it takes: by the library as a value of Python, over a wire as what its schema does not allow, by a shell as an
    option; the code and the field are the same.
    """

    operation: str
    given: Mapping[str, Any]
    name: str | None = None
    gives: tuple[str | int, ...] = ("id",)
    typed: bool = True
    worded: bool = True


SEAT = {"text": "Ana prefers window seats", "at": NOON, "key": "again"}

MEMORIES: Sequence[Step] = (
    Step("remember", {"text": "Ana prefers window seats", "kind": "preference", "importance": 0.7, "at": THEN}, "seat"),
    Step("remember", SEAT),
    Step("remember", SEAT),
    Step("remember", {**SEAT, "text": "Ana prefers aisle seats"}),
    Step("remember", {"text": "Ana lives in Rome", "at": THEN}, "rome"),
    Step("remember", {"text": "Ana lives in Lisbon", "at": NOON}, "lisbon"),
    Step("remember", {"text": "The gate code is in the safe", "at": THEN, "tags": ["office"]}, "gate"),
    Step("remember", {"text": "<private>the gate code is 4711</private>", "at": THEN}),
    Step("search", {"query": "seat", "as_of": NOW, "profile": "five-signal"}),
    Step("recall", {"query": "which seat should Ana get?", "as_of": NOW, "tokens": 300}, "context"),
    Step("feedback", {"context_id": "{context}", "helped": ["{seat}"]}),
    Step("replay", {"context_id": "{context}"}),
    Step("search", {"query": "where does Ana live?", "as_of": NOW, "limit": 2}),
    Step("search", {"query": "where did Ana live?", "as_of": NOW, "past": True}),
    Step("brief", {"as_of": NOW, "tokens": 200}),
    Step("why", {"id": "{gate}", "query": "which seat should Ana get?", "as_of": NOW}),
    Step("revise", {"id": "{gate}", "text": "The gate code is in the red safe", "at": NOON}),
    Step("get_history", {"id": "{gate}"}, "red", ("versions", -1, "commit")),
    Step("undo", {"run": "{red}"}),
    Step("forget", {"id": "{gate}"}),
    Step("forget", {"id": "{gate}"}),
    Step("search", {"query": "gate code", "as_of": NOW}),
    Step("list_memories", {"statuses": ["active", "forgotten"]}),
    Step("restore", {"id": "{gate}"}),
    Step("pin", {"id": "{gate}"}),
    Step("unpin", {"id": "{gate}"}),
    Step("get_memory", {"id": "{seat}"}),
    Step("get_memory", {"id": "{rome}"}),
    Step("list_memories", {}),
    Step("stats", {}),
    Step("list_scopes", {}, typed=False),
    Step("list_profiles", {}),
    Step("list_entities", {}),
    Step("get_neighbours", {"name_or_id": "Ana"}),
    Step("run_job", {"job": "consolidate"}),
    Step("prune_vector_index", {}),
    Step("erase", {"id": "{gate}"}, typed=False),
    Step("get_memory", {"id": "{gate}"}),
    Step("erase", {"id": "{gate}", "dry_run": False}),
    Step("get_memory", {"id": "{gate}"}),
)
"""What is known of somebody: it is told, found, changed, and in the end erased, each first as it would be done."""

EPISODES: Sequence[Step] = (
    Step("start_episode", {"task": "Book a flight to Oslo", "plan": ["search", "book"], "at": THEN}, "episode"),
    Step("record_action", {"id": "{episode}", "type": "search", "output": "3 fares", "at": NOON, "key": "first"}),
    Step("record_action", {"id": "{episode}", "type": "search", "output": "3 fares", "at": NOON, "key": "first"}),
    Step("record_action", {"id": "{episode}", "type": "book", "output": "none", "at": NOON, "key": "first"}),
    Step("list_episodes", {}),
    Step(
        "complete_episode",
        {
            "id": "{episode}",
            "outcome": 0.6,
            "lessons": ["Book flights to Oslo early"],
            "failure_modes": ["The cheap fares were gone"],
            "at": NOW,
        },
    ),
    Step("get_episode", {"id": "{episode}"}),
    Step("get_similar_episodes", {"task": "Book a flight to Bergen"}),
    Step("get_failure_modes", {"task": "Book a flight to Bergen"}),
    Step("complete_episode", {"id": "{episode}", "outcome": 0.1, "at": NOW}),
    Step("get_episode", {"id": NOBODY}),
    Step("complete_episode", {"id": NOBODY, "outcome": 0.5}),
)
"""A task, how it went, and what it taught."""

PROBLEMS: Sequence[Step] = (
    Step("remember", {"text": "Ana lives in Rome", "at": THEN}, "rome"),
    Step("recall", {"query": "where does Ana live?", "as_of": NOW}, "context"),
    *(Step(name, {"id": NOBODY}) for name in ("get_memory", "get_history", "forget", "restore", "pin", "unpin")),
    Step("revise", {"id": NOBODY, "text": "x"}),
    Step("why", {"id": NOBODY, "query": "seat", "as_of": NOW}),
    Step("replay", {"context_id": NOBODY}),
    Step("feedback", {"context_id": NOBODY, "helped": ["{rome}"]}),
    Step("feedback", {"context_id": "{context}", "helped": [NOBODY]}),
    Step("erase", {"id": NOBODY, "dry_run": False}),
    Step("undo", {"run": 1_000_000_000}),
    Step("remember", {"text": "x", "kind": "opinion"}),
    Step("remember", {"text": "x", "provenance": "king"}),
    Step("remember", {"text": " "}),
    Step("remember", {"text": "x", "importance": 1.5}),
    Step("remember", {"text": "x", "scope": "acme//ana"}),
    Step("remember", {"text": "x", "importance": -0.5}),
    Step("recall", {"query": "seat", "as_of": "2026-03-03T09:00:00"}, worded=False),
    Step("search", {"query": "seat", "limit": 0}, worded=False),
    Step("search", {"query": ""}, worded=False),
    Step("search", {"query": "seat", "kinds": ["facts"]}),
    Step("recall", {"query": "seat", "as_of": NOW, "profile": "defualt"}),
    Step("recall", {"query": "seat", "as_of": NOW, "tokens": 3}),
    Step("list_memories", {"statuses": ["frozen"]}),
    Step("complete_episode", {"id": NOBODY, "outcome": 7.5}),
    Step("run_job", {"job": "conslidate"}),
)
"""Whatever can be wrong: ids of nothing, and fields that cannot be."""

OBSERVATIONS: Sequence[Step] = (
    Step("mem_session_start", {}),
    Step("mem_save", {"content": "Ana reads on the train", "type": "pattern", "title": "Reading"}, "train"),
    Step("mem_save", {"content": "Ana reads on the train", "type": "pattern", "title": "Reading"}),
    Step("mem_save", {"content": "Tea", "type": "preference", "title": "Drink", "topic_key": "drink"}, "drink"),
    Step("mem_save", {"content": "Green tea", "type": "preference", "title": "Drink", "topic_key": "drink"}),
    Step("mem_search", {"query": "train", "types": ["pattern"]}),
    Step("mem_search", {"query": "tea", "limit": 1, "types_exclude": ["pattern"]}),
    Step("mem_get_observation", {"observation_id": "{drink}"}),
    Step("mem_timeline", {"observation_id": "{drink}", "before": 1}),
    Step("mem_session_summary", {"summary": "We talked about trains"}),
    Step("mem_stats", {}),
    Step("mem_session_end", {"summary": "We talked about trains and tea"}),
    Step("mem_session_start", {}),
    Step("mem_get_observation", {"observation_id": NOBODY}),
    Step("mem_timeline", {"observation_id": NOBODY}),
    Step("mem_save", {"content": "x", "type": "opinion", "title": "x"}),
    Step("mem_save", {"content": "x", "type": "summary", "title": "x"}),
    Step("mem_search", {"query": "tea", "types": ["pattern"], "types_exclude": ["pattern"]}),
)
"""The eight methods of seed 003."""

SEVERAL: Sequence[Step] = (
    Step("remember_all", {"drafts": [{"text": "Bo drinks tea"}, {"text": "Cy runs at dawn", "key": "run"}]}),
    Step("remember_all", {"drafts": [{"text": "Di swims"}, {"text": "Cy sleeps at dawn", "key": "run"}]}),
    Step("observe", {"events": [{"content": "The tests are green", "role": "tool", "at": NOON}]}),
    Step("observe", {"events": [{"content": "The tests are green", "role": "tool", "at": NOON}]}),
    Step("extract", {"turns": [{"content": "I prefer tea over coffee.", "at": NOON}]}),
    Step("list_topics", {}),
    Step("browse", {}),
    Step("expand", {"id": NOBODY}),
    Step("stats", {}),
)
"""What comes in numbers, which the command line reads from files."""

STORIES = {
    "memories": MEMORIES,
    "episodes": EPISODES,
    "problems": PROBLEMS,
    "observations": OBSERVATIONS,
    "several": SEVERAL,
}
TYPED = ("memories", "episodes", "problems")
"""The stories that are told on the command line too."""


def play(face: Face, story: str, root: str) -> Iterator[tuple[Step, Answer]]:
    """Each step with what the face answers, about the memories of a scope of this story's own."""
    named: dict[str, Any] = {}
    for step in STORIES[story]:
        if not step.typed and face.name == "command line":
            continue
        whose = OPERATIONS[step.operation].request.scope_field
        scope = {} if whose is None else {whose: f"{root}/{story}"}
        answer = face.ask(step.operation, {**scope, **{name: filled(one, named) for name, one in step.given.items()}})
        if step.name is not None:
            assert not isinstance(answer, Refusal), (face.name, step, answer)
            named[step.name] = _at(answer, step.gives)
        yield step, answer


def filled(value: Any, named: Mapping[str, Any]) -> Any:
    """What is given, with what earlier steps gave."""
    match value:
        case str() if value.startswith("{"):
            return named[value[1:-1]]
        case list():
            return [filled(one, named) for one in value]
        case _:
            return value


def _at(answer: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        answer = answer[part]
    return answer
