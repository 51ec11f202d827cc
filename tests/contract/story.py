"""One story that every face plays, and how its answers are made comparable."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from recollect.service.problems import Code

SCOPE = "acme/ana"
THEN, NOON, NOW = "2026-03-01T09:00:00+00:00", "2026-03-02T12:00:00+00:00", "2026-03-03T09:00:00+00:00"


class Face(Protocol):
    """A way to ask: the answer as JSON has it, or the code of the problem."""

    name: str

    def ask(self, operation: str, given: Mapping[str, Any]) -> "Mapping[str, Any] | Code":
        """What is answered."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One request; `{name}` in its texts stands for the id that an earlier step of that name gave."""

    operation: str
    given: Mapping[str, Any]
    name: str | None = None


STORY: Sequence[Step] = (
    Step("remember", {"text": "Ana prefers window seats", "kind": "preference", "importance": 0.7, "at": THEN}, "seat"),
    Step("remember", {"text": "Ana prefers window seats", "at": NOON, "key": "again"}),
    Step("remember", {"text": "Ana prefers window seats", "at": NOON, "key": "again"}),
    Step("remember", {"text": "Ana lives in Rome", "at": THEN}, "rome"),
    Step("remember", {"text": "Ana lives in Lisbon", "at": NOON}, "lisbon"),
    Step("remember", {"text": "The gate code is in the safe", "at": THEN, "tags": ["office"]}, "gate"),
    Step("remember", {"text": "<private>the gate code is 4711</private>", "at": THEN}),
    Step("search", {"query": "seat", "as_of": NOW, "profile": "five-signal"}),
    Step("recall", {"query": "which seat should Ana get?", "as_of": NOW, "tokens": 300}, "context"),
    Step("feedback", {"context_id": "{context}", "helped": ["{seat}"]}),
    Step("search", {"query": "where does Ana live?", "as_of": NOW, "limit": 2}),
    Step("search", {"query": "where did Ana live?", "as_of": NOW, "past": True}),
    Step("brief", {"as_of": NOW, "tokens": 200}),
    Step("why", {"id": "{gate}", "query": "which seat should Ana get?", "as_of": NOW}),
    Step("revise", {"id": "{gate}", "text": "The gate code is in the red safe", "at": NOON}),
    Step("get_history", {"id": "{gate}"}),
    Step("forget", {"id": "{gate}"}),
    Step("search", {"query": "gate code", "as_of": NOW}),
    Step("restore", {"id": "{gate}"}),
    Step("pin", {"id": "{gate}"}),
    Step("unpin", {"id": "{gate}"}),
    Step("get_memory", {"id": "{seat}"}),
    Step("start_episode", {"task": "Book a flight to Oslo", "plan": ["search", "book"], "at": THEN}, "episode"),
    Step("record_action", {"id": "{episode}", "type": "search", "output": "3 fares", "at": NOON}),
    Step("complete_episode", {"id": "{episode}", "outcome": 0.6, "lessons": ["Book flights to Oslo early"], "at": NOW}),
    Step("get_similar_episodes", {"task": "Book a flight to Bergen"}),
    Step("get_memory", {"id": "nobody"}),
    Step("remember", {"text": "x", "kind": "opinion"}),
    Step("remember", {"text": " "}),
    Step("recall", {"query": "seat", "as_of": "2026-03-03T09:00:00"}),
    Step("why", {"id": "nobody", "query": "seat", "as_of": NOW}),
    Step("erase", {"id": "{gate}", "dry_run": False}),
    Step("get_memory", {"id": "{gate}"}),
)


@dataclass(slots=True)
class Told:
    """The answers of a face, with what must differ between two stores put in its place."""

    ids: dict[str, str] = field(default_factory=dict[str, str])

    def comparable(self, answer: Any) -> Any:
        """The answer with ids numbered in the order in which they come up, and without what a clock gave."""
        match answer:
            case Code():
                return answer
            case Mapping():
                return {name: self._value(name, value) for name, value in sorted(answer.items()) if name not in CLOCKED}
            case str():
                return self._numbered(answer)
            case Sequence():
                return [self.comparable(one) for one in answer]
            case _:
                return answer

    def _value(self, name: str, value: Any) -> Any:
        return "…" if name in BY_CHANCE else self.comparable(value)

    def _numbered(self, text: str) -> str:
        text = PRESENT.sub("NOW", MARKER.sub("MARKER", text))
        return ID.sub(lambda found: self.ids.setdefault(found.group(), f"#{len(self.ids) + 1}"), text)


ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MARKER = re.compile(r"\b\d{18}\b")
PRESENT = re.compile(r"(?!2026-03-0)\d{4}-\d\d-\d\dT[\d:.]+\+00:00")
"""A moment that is none of the story's."""

BY_CHANCE = ("marker", "tokens", "cost", "room", "short", "search", "out_of_reach", "commit", "run", "served", "uses")
"""What depends on the digits of ids and markers, on where a store is, or on who handed a search to whom: the command
line shows what it finds to somebody who looks, and a tool hands it to an agent."""

CLOCKED = ("recorded_at", "last_served_at", "last_echoed_at")
"""What the store's clock says, and nobody else."""


def play(face: Face) -> Iterator[tuple[Step, Any]]:
    """Each step with what the face answered, made comparable."""
    named: dict[str, str] = {}
    told = Told()
    for step in STORY:
        given = {"scope": SCOPE, **{name: _filled(value, named) for name, value in step.given.items()}}
        answer = face.ask(step.operation, given)
        if step.name is not None:
            assert not isinstance(answer, Code), (face.name, step, answer)
            named[step.name] = answer["id"]
        yield step, told.comparable(answer)


def _filled(value: Any, named: Mapping[str, str]) -> Any:
    match value:
        case str() if value.startswith("{"):
            return named[value[1:-1]]
        case list():
            return [_filled(one, named) for one in value]
        case _:
            return value
