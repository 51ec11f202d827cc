"""A storm: every sort of write, each to be sent three times, and what there is to be afterwards, once each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import recollect
from recollect.api.operations import OPERATIONS
from recollect.model.enums import Level, Status
from tests.contract.clients import Face, Refusal

TOWNS = ("Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo")
MANY = ("Ana keeps bees", "Bo paints boats")
BEFORE, AFTER = "The gate code is in the safe", "The gate is opened by hand"
LESSON, FAILURE = "Book flights to Oslo early", "The cheap fares were gone"
DRAFT, SAID, SEEN = "Di swims at noon", "Ana reads on the train", "The tests are green"

Write = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Storm:
    """What is written below one scope, and what it is about."""

    scope: str
    revised: str
    context: str
    acted: str
    completed: str

    @classmethod
    def prepared(cls, owner: Face, scope: str) -> "Storm":
        """What a storm needs to be there."""

        def asked(operation: str, **given: Any) -> Any:
            answer = owner.ask(operation, {"scope": scope, **given})
            assert not isinstance(answer, Refusal), answer
            return answer["id"]

        revised = asked("remember", text=BEFORE)
        context = asked("recall", query="where is the gate code?")
        acted, completed = (asked("start_episode", task=task) for task in ("Paint the gate", "Fly to Oslo"))
        return cls(scope, revised, context, acted, completed)

    @property
    def writes(self) -> Sequence[Write]:
        """Every sort of write; what would else be done again has the key that makes it harmless."""
        told: list[Write] = [
            *(("remember", {"text": f"The office in {one} has a garden", "key": one}) for one in TOWNS),
            ("remember", {"text": DRAFT}),
            ("remember_all", {"drafts": [{"text": one, "key": one} for one in MANY]}),
            ("revise", {"id": self.revised, "text": AFTER}),
            ("observe", {"events": [{"content": SEEN, "role": "tool"}], "key": "seen"}),
            ("start_episode", {"task": "Sail to Lima", "key": "sail"}),
            ("record_action", {"id": self.acted, "type": "paint", "output": "green", "key": "paint"}),
            (
                "complete_episode",
                {"id": self.completed, "outcome": 0.5, "lessons": [LESSON], "failure_modes": [FAILURE]},
            ),
            ("mem_save", {"content": SAID, "type": "pattern", "title": "Reading"}),
            ("feedback", {"context_id": self.context, "helped": [self.revised]}),
        ]
        return [(name, {OPERATIONS[name].request.scope_field or "scope": self.scope, **given}) for name, given in told]

    def kept(self, engine: recollect.Engine) -> Mapping[str, Sequence[Any]]:
        """All that is kept by its level, each with how many versions it has; what was done, and what helped.

        A session has a version for each time that it is heard of, and that is no part of what is compared.
        """
        found: dict[str, list[Any]] = {}
        for one in engine.memories(scope=self.scope, statuses=list(Status)):
            level = "plain" if one.level is None else one.level.value
            versions = len(engine.history(one.id, scope=self.scope))
            said = (one.text, versions) if level in ("plain", "event", "episode") else one.level
            found.setdefault(level, []).append(said)
        done = [one.type for one in engine.episodes.show(self.acted, scope=self.scope).actions]
        helped = engine.contexts.usage(self.revised, scope=self.scope).helped
        return {**{level: sorted(said) for level, said in found.items()}, "done": done, "helped": [helped]}


ONCE: Mapping[str, Sequence[Any]] = {
    "plain": sorted(
        [
            *((f"The office in {one} has a garden", 1) for one in TOWNS),
            *((one, 1) for one in (*MANY, DRAFT, SAID, LESSON, FAILURE)),
            (AFTER, 2),
        ]
    ),
    "event": [(SEEN, 1)],
    "episode": [("Fly to Oslo", 2), ("Paint the gate", 1), ("Sail to Lima", 1)],
    "action": [Level.ACTION],
    "session": [Level.SESSION],
    "done": ["paint"],
    "helped": [1],
}
"""What there is after a storm: one of each, said once; what was revised or ended has a version more."""
