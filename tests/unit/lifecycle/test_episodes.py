"""How episodes and actions are kept in memories, and read from whatever somebody made of those."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.errors import FieldError
from recollect.lifecycle.episodes import (
    build_outcome_metadata,
    build_start_metadata,
    lesson_confidence,
    read_episode,
    read_outcome,
    require_texts,
)
from recollect.model.enums import Kind, Level
from recollect.model.episode import Action, Outcome, Result, read_action, render_action
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SAYINGS = st.lists(WORDS.filter(lambda one: bool(one.strip())), max_size=4).map(tuple)


def a_record(text: str = "sweep the yard", level: Level = Level.EPISODE, **given: Any) -> Memory:
    given = {"kind": Kind.TASK, "metadata": {}, **given}
    return Memory(id=MemoryId("e1"), scope=Scope.parse("acme"), text=text, created_at=NOON, level=level, **given)


@given(SAYINGS, st.floats(0, 1), SAYINGS, SAYINGS)
def test_an_episode_is_read_as_it_was_kept(
    plan: tuple[str, ...], score: float, lessons: tuple[str, ...], failures: tuple[str, ...]
) -> None:
    under_way = a_record(metadata=build_start_metadata(plan))
    assert read_outcome(under_way) is None
    outcome = Outcome(score=score, lessons=lessons, failure_modes=failures, at=NOON)
    found = read_episode(a_record(metadata=build_outcome_metadata(under_way.metadata, outcome, ["c1"])), value=0.5)
    assert (found.task, found.plan, found.outcome, found.value) == ("sweep the yard", plan, outcome, 0.5)
    assert (found.lessons, found.failure_modes, found.finished) == (lessons, failures, True)


@given(WORDS.filter(bool), WORDS, WORDS, st.sampled_from(Result), st.none() | st.just("c1"))
def test_an_action_is_read_as_it_was_kept(
    type: str, input: str, output: str, result: Result, context: str | None
) -> None:
    action = Action(id=MemoryId("e1"), type=type, at=NOON, input=input, output=output, result=result, context=context)
    assert read_action(a_record(render_action(action), Level.ACTION, kind=Kind.EVENT)) == action


@table(
    "text",
    [
        *("by hand", "[1]", "{}", "[" * 9999),
        json.dumps({"type": 1, "input": "", "output": "", "result": "failed", "context": None}),
        json.dumps({"type": "a", "input": "", "output": "", "result": "odd", "context": None}),
    ],
)
def test_an_action_that_somebody_wrote_over_is_told_by_its_words(text: str) -> None:
    found = read_action(a_record(text, Level.ACTION, kind=Kind.EVENT))
    assert (found.type, found.output, found.result) == ("?", text, Result.UNKNOWN)


@table(
    "metadata",
    [
        {"outcome": 2.0, "completed_at": NOON.isoformat()},
        {"outcome": "good", "completed_at": NOON.isoformat()},
        {"outcome": True, "completed_at": NOON.isoformat()},
        {"outcome": 0.5},
        {"outcome": 0.5, "completed_at": 7},
        {"outcome": 0.5, "completed_at": "noon"},
        {"outcome": 0.5, "completed_at": "2026-03-01T12:00:00"},
        {"outcome": 0.5, "completed_at": "9999-01-01T00:00:00+00:00"},
    ],
)
def test_an_outcome_that_cannot_be_is_none(metadata: dict[str, Any]) -> None:
    assert read_outcome(a_record(metadata=metadata)) is None


def test_words_that_are_no_list_of_texts_are_none() -> None:
    forged = {"plan": "a", "lessons": [1, "b"], "outcome": 0.5, "completed_at": NOON.isoformat()}
    found = read_episode(a_record(metadata=forged), value=1.0)
    assert (found.plan, found.lessons, found.failure_modes) == ((), ("b",), ())


def test_more_words_than_fit_are_refused_with_what_to_do() -> None:
    outcome = Outcome(score=1.0, lessons=("x" * 20_000,), failure_modes=(), at=NOON)
    with pytest.raises(FieldError, match="at most 16384 fit; shorten them") as caught:
        build_outcome_metadata({}, outcome, [])
    assert caught.value.field == "lessons"


def test_what_is_learned_is_the_surer_the_better_it_went_and_what_went_wrong_the_worse() -> None:
    assert [lesson_confidence(one, of_failure=False) for one in (0.0, 0.5, 1.0)] == pytest.approx([0.3, 0.6, 0.9])
    assert [lesson_confidence(one, of_failure=True) for one in (0.0, 0.5, 1.0)] == pytest.approx([0.9, 0.6, 0.3])
    with pytest.raises(FieldError):
        lesson_confidence(float("nan"), of_failure=False)


def test_the_same_text_twice_is_one_and_too_many_are_refused() -> None:
    assert require_texts("lessons", ["b", "a", "b"]) == ("b", "a")
    for bad in (["a", " "], "abc", [1], [str(number) for number in range(65)]):
        with pytest.raises(FieldError) as caught:
            require_texts("lessons", bad)  # type: ignore[arg-type]
        assert caught.value.field == "lessons"
