"""Episode: a task, its plan and actions, how it went, and what it taught."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.model import validation
from recollect.model.draft import Receipt
from recollect.model.enums import Status
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope

LESSON_TAG, FAILURE_TAG = "lesson", "failure"
"""The tags of the memories made from an episode's lessons and failures."""


class Result(StrEnum):
    """The result of an action."""

    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action done for a task: its type, input, output and result.

    `context` is the context that the decision was based on, if the caller named one.
    """

    id: MemoryId
    type: str
    at: datetime
    input: str = ""
    output: str = ""
    result: Result = Result.UNKNOWN
    context: str | None = None

    def __repr__(self) -> str:
        return f"<Action {self.type}, {self.result.value}: {shorten(self.input)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task went, from 0 to 1, its lessons, and its failures."""

    score: float
    lessons: tuple[str, ...]
    failure_modes: tuple[str, ...]
    at: datetime

    def __repr__(self) -> str:
        return f"<Outcome {self.score:g}{summarize_lessons(self.lessons, self.failure_modes)}>"


def summarize_lessons(lessons: tuple[str, ...], failure_modes: tuple[str, ...]) -> str:
    """Return the first lesson and the first failure of a task, and the number of the others."""
    return f"{_summarize_texts('lesson', lessons)}{_summarize_texts('failure', failure_modes)}"


def _summarize_texts(name: str, texts: tuple[str, ...]) -> str:
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"; {name}: {shorten(texts[0])}{more}" if texts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A task with its plan, its actions in the order they were done, and its outcome, if known.

    `value` is how much the outcome teaches by the settings. `contexts` are those named on completion, beside those of
    the actions. Only the call that completes an episode sets the last three: `receipts` for its lessons and failures,
    `run` to undo the completion, and `again` if it had been completed before and nothing was written.
    """

    id: MemoryId
    scope: Scope
    task: str
    started_at: datetime
    plan: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    outcome: Outcome | None = None
    value: float | None = None
    session: str | None = None
    status: Status = Status.ACTIVE
    pinned: bool = False
    contexts: tuple[str, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    run: int | None = None
    again: bool = False

    def __repr__(self) -> str:
        went = "under way" if self.outcome is None else f"outcome {self.outcome.score:g}"
        done = f", {format_count(len(self.actions), 'action')}" if self.actions else ""
        return f"<Episode {self.id} of {self.scope}, {went}{done}: {shorten(self.task)}>"

    @property
    def finished(self) -> bool:
        """Whether it has an outcome."""
        return self.outcome is not None

    @property
    def lessons(self) -> tuple[str, ...]:
        """The lessons; empty while the task is under way."""
        return () if self.outcome is None else self.outcome.lessons

    @property
    def failure_modes(self) -> tuple[str, ...]:
        """The failures; empty while the task is under way."""
        return () if self.outcome is None else self.outcome.failure_modes


def render_action(action: Action) -> str:
    """Return an action as the text of a memory, in JSON."""
    return json.dumps(
        {
            "type": action.type,
            "input": action.input,
            "output": action.output,
            "result": action.result.value,
            "context": action.context,
        },
        ensure_ascii=False,
    )


def read_action(memory: Memory) -> Action:
    """Read an action from a memory; a text that is not a valid action becomes its output."""
    try:
        noted = json.loads(memory.text)
        return Action(
            id=memory.id,
            type=validation.require_text("type", noted["type"]),
            at=memory.created_at,
            input=validation.require_text("input", noted["input"]),
            output=validation.require_text("output", noted["output"]),
            result=Result(noted["result"]),
            context=None if noted["context"] is None else validation.require_text("context", noted["context"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return Action(id=memory.id, type="?", at=memory.created_at, output=memory.text)
